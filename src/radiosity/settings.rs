//! Settings and results of solvers.

use glam::Vec3;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::HALVES;
use super::backend::UNSHOT;
use crate::partition::masks::Mask;
use crate::partition::{PartitionError, PartitionKind, PartitionSettings};

/// Method of a solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Stores the hits of each element's gather rays, and iterates radiosities on them to convergence. The fastest
    /// method. Memory grows with the number of elements times rays.
    #[default]
    Gather,
    /// Monte Carlo radiosity by incremental stochastic Jacobi iteration, followed by one gather. Stores no hits.
    Stochastic,
    /// Progressive refinement. Patches shoot with analytic form factors, the strongest first, and gather rays correct
    /// the error of the form factors. Slow with many texels. Shots run only on the CPU. A limit of bounces is ignored
    /// unless it is 0.
    Progressive,
    /// Monte Carlo radiosity by counted rays that traverse the cells of a partition (`000` S16). Stores no hits. Only
    /// the error of the whole scene is pursued, so dim places have more noise than bright ones. Surfaces that let light
    /// through are refused. A limit of bounces is ignored unless it is 0.
    Counted,
    /// Path tracing: every gather ray continues until it ends. Radiosity is not constant over elements here, so the
    /// method is unbiased. It stores no hits, and is the noisiest method in scenes with many bounces.
    Path,
}

/// Content of the lightmap pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Direct and indirect light. Baked lights can then be switched off for lightmapped meshes.
    #[default]
    Full,
    /// Indirect light only. The lights stay live.
    Indirect,
}

/// Settings of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct SolverSettings {
    /// Method of the solver. Default: [`Method::Gather`].
    pub method: Method,
    /// Content of the lightmap pages. Default: [`Content::Full`].
    pub content: Content,
    /// Requested error, relative. Default: 0.05.
    ///
    /// The whole scene reaches this error first, relative to its mean irradiance. Brightness bands follow, relative to
    /// their adaptation levels (see [`Solution::error_estimate`]). Bands may add a quarter of the previous rays. If
    /// more, they may add 2,048 for each element, up to eight million. Lower values reduce noise, at a cost that grows
    /// with almost the inverse square.
    pub error: f32,
    /// Time limit of the passes. Default: none.
    #[serde(rename = "time_seconds", with = "in_seconds")]
    pub time_limit: Option<Duration>,
    /// Maximum number of indirect bounces, or `None` without a limit. Default: `None`.
    pub bounces: Option<u32>,
    /// Seed of the random numbers. The same seed gives the same bytes. Default: 0.
    pub seed: u32,
    /// Memory limit of stored hits and similar data, in MiB. Default: 4096, and 512 in a browser.
    pub memory_mib: u32,
    /// Subscenes of the progressive or the counted method. With `None` the progressive method solves the whole scene at
    /// once, and the counted method takes the default partition. Default: `None`.
    pub subscenes: Option<SubsceneSettings>,
    /// True for the progressive method as published (`000` S1, S8). Emission is shot, all triangles are tested against
    /// each shaft, and no rays correct the result. Shots end when no patch has more than the fraction `error` of the
    /// first shot's power. Default: false.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub faithful: bool,
    /// Settings of the counted method.
    #[serde(skip_serializing_if = "CountedSettings::are_default")]
    pub counted: CountedSettings,
}

/// Settings of counted rays that the thesis varies (`000` S16, S18 to S20).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct CountedSettings {
    /// Minimum area of the elements that determine the number of rays (equation 4.8), in square meters. A larger area
    /// means fewer rays a run, and more runs. Default: half of the mean area.
    pub min_area: Option<f32>,
    /// Fraction of the power at which a run ends. Lower values follow light for more bounces. Default: 0.001.
    pub epsilon: f32,
    /// Number of elements of each subscene that shoot at a time. The time limit and requests to stop are checked between
    /// stages. Results do not depend on it. Default: 1024.
    pub stage: u32,
    /// Number of threads of a workgroup on a graphics card, a multiple of 8. Results do not depend on it. Default: 64.
    pub block: u32,
}

impl CountedSettings {
    /// Returns true if all settings have their defaults.
    pub fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for CountedSettings {
    fn default() -> Self {
        Self { min_area: None, epsilon: UNSHOT as f32, stage: 1024, block: 64 }
    }
}

/// A time limit in files: seconds, or `null` for none.
mod in_seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(limit: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        limit.map(|limit| limit.as_secs_f32()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f32>::deserialize(deserializer)?;
        seconds.map(Duration::try_from_secs_f32).transpose().map_err(D::Error::custom)
    }
}

/// Settings of a solution subscene by subscene.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct SubsceneSettings {
    /// Partition of the scene. More subscenes are smaller, and exchange more light. Default: 4 uniform ones.
    pub partition: PartitionSettings,
    /// Number of cells along each edge of a border's visibility mask, 1 to 256. Higher values sharpen shadows that fall
    /// through borders. The cost grows with the square near occluders. Counted rays need no masks. Default: 16.
    pub mask_resolution: u32,
    /// True if subscenes work at the same time, each on a rank of its own: a process of `mpirun`, or else a thread. Those
    /// of threads must fit into memory together. Default: false.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ranks: bool,
}

impl Default for SubsceneSettings {
    fn default() -> Self {
        let partition = PartitionSettings { kind: PartitionKind::Uniform, count: 4, ..PartitionSettings::default() };
        Self { partition, mask_resolution: 16, ranks: false }
    }
}

impl SubsceneSettings {
    /// Maximum number of ranks.
    pub const MAX_RANKS: u32 = 64;

    /// Checks the settings.
    ///
    /// # Errors
    /// Returns an error that names the invalid value and the valid ones.
    pub fn check(&self) -> Result<(), PartitionError> {
        self.partition.check()?;
        let (count, max) = (self.partition.count, Self::MAX_RANKS);
        if self.ranks && count > max {
            return Err(PartitionError::TooManyRanks { count, max });
        }
        Mask::check_resolution(self.mask_resolution)
    }
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self {
            method: Method::default(),
            content: Content::default(),
            error: 0.05,
            time_limit: None,
            bounces: None,
            seed: 0,
            memory_mib: if cfg!(target_pointer_width = "32") { 512 } else { 4096 },
            subscenes: None,
            faithful: false,
            counted: CountedSettings::default(),
        }
    }
}

/// Result of a solver. Irradiance is in lux per channel, averaged over the visible part of an element.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Direct irradiance of each element, from lights, sky and emissive surfaces.
    pub direct: Vec<Vec3>,
    /// Indirect irradiance of each element, reflected at least once.
    pub indirect: Vec<Vec3>,
    /// Irradiance of the requested content in each of the two halves, which share no random number.
    pub halves: [Vec<Vec3>; HALVES],
    /// Visible fraction of each element. 0 for an element completely inside other geometry.
    pub visible_fraction: Vec<f32>,
    /// Standard error of each element's total irradiance, luminance in lux.
    pub standard_error: Vec<f32>,
    /// Estimated error of the worst brightness band.
    ///
    /// The error of each texel is divided by its adaptation level. This is the larger of the mean irradiance around the
    /// texel, and a tenth of that of visible surfaces. The minimum is 1e-5 of the scene's mean. Texels are sorted by
    /// level into bands two photographic stops wide. The error of a band is the area-weighted RMS.
    pub error_estimate: f32,
    /// Mean adaptation level of the worst band, in lux.
    pub worst_irradiance: f32,
    /// Estimated error of the whole scene: area-weighted RMS error of irradiance over mean irradiance.
    pub error_of_mean: f32,
    /// Residual of the radiosity equation, measured with rays that the solver has not used, without their noise.
    /// Area-weighted RMS of luminance, relative to the first bounce; `000` equation 2.13 uses another norm. Zero if the
    /// number of bounces was limited.
    pub residual: f32,
    /// One-sigma error bar of the residual.
    pub residual_standard_error: f32,
    /// Relative excess of arriving over leaving indirect light. Only noise and discretization make it differ from zero.
    pub energy_balance: f32,
    /// Fraction of the light's power that was not propagated to the end.
    pub unshot: f32,
    /// Number of iterations to convergence.
    pub iterations: u32,
    /// Number of traced rays.
    pub rays: u64,
    /// Warnings for users, about fallbacks and limits.
    pub warnings: Vec<String>,
}
