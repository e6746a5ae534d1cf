//! What a solver is asked, and what it answers.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::HALVES;
use crate::partition::masks::Mask;
use crate::partition::{PartitionError, PartitionKind, PartitionSettings};

/// How a bake is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Every element keeps what its gather rays hit and the hits are iterated to convergence. The fastest; its memory
    /// grows with elements times rays.
    #[default]
    Gather,
    /// Monte Carlo radiosity by incremental stochastic Jacobi iteration, then one gather. Needs no memory for hits.
    Stochastic,
    /// Progressive refinement: patches shoot, the strongest first, with analytic form factors, and gather rays correct what
    /// those get wrong. Slow with many texels, on the processor alone, and it knows no number of bounces.
    Progressive,
    /// Paths: every gather ray goes on until it dies. Knows no elements but the one that it began at, so that elements do
    /// not stand for evenly bright pieces; free of bias and of memory for hits, and the noisiest where light bounces much.
    Path,
}

/// Which light the pages hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Direct and indirect light: baked lights can be switched off for lightmapped meshes.
    #[default]
    Full,
    /// Indirect light only: the lights stay live.
    Indirect,
}

/// What a solver is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SolverSettings {
    /// How to solve.
    pub method: Method,
    /// Which light to deliver.
    pub content: Content,
    /// Wanted error. It is reached by the whole scene, relative to its mean irradiance, and then by each of the bands of
    /// brightness that [`Solution::error_estimate`] tells of, relative to the light nearby, as far as a quarter as many
    /// rays again reach, or 2,048 of each element up to eight million if that is more. Lower values reduce noise at a cost
    /// that grows with the inverse square or a little less.
    pub error: f32,
    /// Most seconds to spend; passes stop when they are over.
    pub time_seconds: Option<f32>,
    /// Most bounces of indirect light; `None` follows them until nothing is left.
    pub bounces: Option<u32>,
    /// Which random numbers. The same seed gives the same bytes.
    pub seed: u32,
    /// Most memory for stored hits and the like, MiB.
    pub memory_mib: u32,
    /// Work subscene by subscene, with the progressive method; `None` for the whole scene at once.
    pub subscenes: Option<SubsceneSettings>,
}

/// How a scene is worked on subscene by subscene.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubsceneSettings {
    /// How the scene is cut. More subscenes are smaller each, and tell each other more.
    pub partition: PartitionSettings,
    /// Cells along each edge of the masks that tell what is seen through a border, 1 to 256. More make shadows that fall
    /// through borders sharper, at a cost that grows with the square where something stands in the way.
    pub mask_resolution: u32,
}

impl Default for SubsceneSettings {
    fn default() -> Self {
        let partition = PartitionSettings { kind: PartitionKind::Uniform, count: 4, ..PartitionSettings::default() };
        Self { partition, mask_resolution: 16 }
    }
}

impl SubsceneSettings {
    /// Finds settings that no scene can be worked on with.
    ///
    /// # Errors
    /// Names what is wrong, and what may be asked for.
    pub fn check(&self) -> Result<(), PartitionError> {
        self.partition.check()?;
        Mask::check_resolution(self.mask_resolution)
    }
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self {
            method: Method::default(),
            content: Content::default(),
            error: 0.05,
            time_seconds: None,
            bounces: None,
            seed: 0,
            memory_mib: 4096,
            subscenes: None,
        }
    }
}

/// What a solver found. Irradiance is in lux per channel, averaged over the part of an element that light can reach.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Irradiance that came straight from lights, sky and emissive surfaces, one an element.
    pub direct: Vec<Vec3>,
    /// Irradiance that came by way of at least one reflection, one an element.
    pub indirect: Vec<Vec3>,
    /// Irradiance of the light that was asked for, as each of two halves found it that share no random number.
    pub halves: [Vec<Vec3>; HALVES],
    /// How much of each element is open to light, 0 for one that is wholly buried in other geometry.
    pub visible_fraction: Vec<f32>,
    /// Standard error of the sum of both, luminance, lux, one an element.
    pub standard_error: Vec<f32>,
    /// Estimated error of the worst band of brightness.
    ///
    /// The error of each texel is divided by its adaptation level: the mean irradiance around it, or a tenth of the mean
    /// irradiance of the surfaces that it sees, if that is more; at least a hundred-thousandth of the scene's mean. Texels
    /// are sorted by this level into bands two photographic stops wide. The error of a band is the area-weighted RMS.
    pub error_estimate: f32,
    /// The mean adaptation level of that band, lux.
    pub worst_irradiance: f32,
    /// Estimated error of the whole scene: area-weighted RMS error of irradiance over its mean.
    pub error_of_mean: f32,
    /// Residual of the radiosity equation (`000` 2.13) as judged by rays that the solver has not used, whose noise is
    /// removed: area-weighted RMS over the first bounce, of luminance. Zero where the number of bounces was limited.
    pub residual: f32,
    /// By how much the residual would be larger if its square were larger by its standard error.
    pub residual_standard_error: f32,
    /// How much more indirect light arrives than leaves, relative; it should be zero but for noise and discretisation.
    pub energy_balance: f32,
    /// Share of the light's power that was not followed to its end.
    pub unshot: f32,
    /// Iterations until convergence.
    pub iterations: u32,
    /// Rays traced.
    pub rays: u64,
    /// What a user should know: fallbacks, limits reached.
    pub warnings: Vec<String>,
}
