//! Settings of bakes.

use serde::{Deserialize, Serialize};

use super::{BakeError, usual_memory_mib};
use crate::DeviceChoice;
use crate::accel::Preset;
use crate::lightmap::{LayoutSettings, PageSize};
use crate::low_rank::{Coherence, PatchKind};
use crate::pathtrace::VolumeSettings;
use crate::radiosity::{Content, CountedSettings, Method, SolverSettings, SubsceneSettings};

/// Quality of the acceleration structure for rays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum TreeQuality {
    /// Several times faster to build, a few percent slower to trace: for short bakes of large scenes.
    Fast,
    /// Fastest to trace.
    #[default]
    Best,
}

impl TreeQuality {
    /// Returns the build settings of the acceleration structure.
    pub fn preset(self) -> Preset {
        match self {
            Self::Fast => Preset::fast(),
            Self::Best => Preset::best(),
        }
    }
}

/// Filters that are applied to pages after the solve. All are on by default; switch them off to see the raw result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct FilterSettings {
    /// Smooths differences between texels that are within the estimated noise.
    pub denoise: bool,
    /// Fills buried texels, and the texels around each chart that linear filtering reads.
    pub dilate: bool,
    /// Makes both sides of every seam show the same values.
    pub stitch_seams: bool,
}

impl Default for FilterSettings {
    fn default() -> Self {
        Self { denoise: true, dilate: true, stitch_seams: true }
    }
}

/// Maximum number of patches of a level that is relit, one or more.
///
/// More patches resolve changes of light more finely. They need more memory, and more time at each change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
pub struct RelightPatches(pub u32);

/// All settings that decide the result of a bake. The defaults suit a room of a game.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default)]
pub struct BakeSettings {
    /// Texel density and pages.
    pub layout: LayoutSettings,
    /// Solver, its accuracy, and the part of the light that the pages hold.
    pub solver: SolverSettings,
    /// Quality of the acceleration structure. It changes the time, not the light.
    pub tree: TreeQuality,
    /// Most memory to use, MiB: a bake that needs more is refused. `None` uses [`usual_memory_mib`]. This default
    /// depends on the machine, but never changes the light.
    pub memory_mib: Option<u32>,
    /// Device that traces the rays of the solve. Devices round differently, but find the same light. The CPU does all
    /// other work, and all of [`Method::Progressive`] after the direct light. It continues if a GPU fails or lacks
    /// memory. Default [`DeviceChoice::Auto`].
    pub device: DeviceChoice,
    /// Filters that are applied to pages after the solve.
    pub filter: FilterSettings,
    /// Irradiance volume that lights moving objects; `None` for none.
    pub volume: Option<VolumeSettings>,
    /// Precomputes transport for lights that change at run time. Default: `None`, none.
    pub relight: Option<RelightPatches>,
    /// Kind of these patches: uniform size or similar view. `docs/validation/relighting.md` compares their accuracy.
    pub relight_patches: PatchKind,
    /// Conditions for coherent patches as published (`001` algorithm 1): they decide the number of patches, which `relight`
    /// only limits. Default: `None`, as many patches as `relight` allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relight_coherence: Option<Coherence>,
}

impl Default for BakeSettings {
    fn default() -> Self {
        Self {
            layout: LayoutSettings::default(),
            solver: SolverSettings::default(),
            tree: TreeQuality::default(),
            memory_mib: None,
            device: DeviceChoice::default(),
            filter: FilterSettings::default(),
            volume: Some(VolumeSettings::default()),
            relight: None,
            relight_patches: PatchKind::default(),
            relight_coherence: None,
        }
    }
}

impl BakeSettings {
    /// Returns the memory that the bake may use, MiB.
    pub fn max_memory_mib(&self) -> u32 {
        self.memory_mib.unwrap_or_else(usual_memory_mib)
    }

    /// Returns the solver's settings with its memory limit. The machine's memory only limits data that is kept to save
    /// time.
    pub(super) fn solver_within_memory(&self) -> SolverSettings {
        let most = match self.solver.method {
            Method::Progressive => Some(self.max_memory_mib()),
            Method::Gather | Method::Stochastic | Method::Counted | Method::Path => self.memory_mib,
        };
        let memory_mib = most.map_or(self.solver.memory_mib, |most| most.min(self.solver.memory_mib));
        SolverSettings { memory_mib, ..self.solver }
    }

    /// Refuses invalid settings, such as a negative density.
    ///
    /// # Errors
    /// Names the setting, its value, and the valid values.
    pub fn check(&self) -> Result<(), BakeError> {
        let positive = |name, value: f32| {
            let usable = value.is_finite() && value > 0.0;
            if usable { Ok(()) } else { Err(BakeError::Setting { name, value, wanted: "a number above zero" }) }
        };
        positive("density", self.layout.texels_per_meter)?;
        positive("error", self.solver.error)?;
        if self.solver.error < f32::EPSILON {
            let wanted = "1.2e-7 or more, since light has 32-bit numbers";
            return Err(BakeError::Setting { name: "error", value: self.solver.error, wanted });
        }
        self.check_counted()?;
        if let (Method::Progressive | Method::Counted, Some(bounces @ 1..)) = (self.solver.method, self.solver.bounces)
        {
            let wanted = "0 or left open with this method, which follows light until little is left";
            return Err(BakeError::Setting { name: "number of bounces", value: bounces as f32, wanted });
        }
        if self.solver.faithful {
            self.check_faithful()?;
        }
        if let Some(subscenes) = self.solver.subscenes {
            let needs_masks = subscenes.mask_resolution != SubsceneSettings::default().mask_resolution;
            match self.solver.method {
                Method::Progressive => {}
                Method::Counted if needs_masks || subscenes.ranks => return Err(BakeError::MasksOrRanksOfCounted),
                Method::Counted => {}
                Method::Gather | Method::Stochastic | Method::Path => return Err(BakeError::SubscenesOfOtherMethod),
            }
            subscenes.check()?;
        }
        if let Some(limit) = self.solver.time_limit {
            positive("time", limit.as_secs_f32())?;
        }
        if let Some(volume) = self.volume {
            positive("volume", volume.spacing)?;
        }
        if self.relight == Some(RelightPatches(0)) {
            return Err(BakeError::Setting { name: "number of relight patches", value: 0.0, wanted: "one or more" });
        }
        if let Some(Coherence { max_difference, min_area }) = self.relight_coherence {
            if self.relight.is_none() || self.relight_patches != PatchKind::Coherent {
                return Err(BakeError::CoherenceOfOtherPatches);
            }
            for (name, value) in [("relight threshold", max_difference), ("least area of patches", min_area)] {
                if !value.is_finite() || value < 0.0 {
                    return Err(BakeError::Setting { name, value, wanted: "zero or a positive number" });
                }
            }
        }
        if !(64..=PageSize::LARGEST_EDGE).contains(&self.layout.page_size) {
            let value = self.layout.page_size as f32;
            return Err(BakeError::Setting { name: "page size", value, wanted: "64 to 16384 texels" });
        }
        Ok(())
    }

    /// Refuses what shards cannot share.
    pub(super) fn check_shared(&self) -> Result<(), BakeError> {
        match self.solver.method {
            Method::Progressive => Err(BakeError::NotShared { what: "the method progressive" }),
            _ => self.check_on_ranks(),
        }
    }

    /// Refuses what ranks of several processes cannot share.
    pub(super) fn check_on_ranks(&self) -> Result<(), BakeError> {
        let refuse = |what| Err(BakeError::NotShared { what });
        let has_ranks = self.solver.subscenes.is_some_and(|subscenes| subscenes.ranks);
        match self.solver {
            SolverSettings { method: Method::Counted, .. } => refuse("the method counted"),
            SolverSettings { method: Method::Progressive, .. } if !has_ranks => {
                refuse("the method progressive without --subscenes and --ranks")
            }
            SolverSettings { time_limit: Some(_), .. } => refuse("a time limit"),
            _ => Ok(()),
        }
    }

    /// Refuses impossible settings of counted rays, and those of another method.
    fn check_counted(&self) -> Result<(), BakeError> {
        let CountedSettings { min_area, epsilon, stage, block } = self.solver.counted;
        if self.solver.method != Method::Counted && !self.solver.counted.are_default() {
            return Err(BakeError::CountedOfOtherMethod);
        }
        let refuse = |name, value, wanted| Err(BakeError::Setting { name, value, wanted });
        if let Some(area) = min_area.filter(|area| !area.is_finite() || *area < 0.0) {
            return refuse("minimum area", area, "zero or more square meters");
        }
        if !(f32::EPSILON..1.0).contains(&epsilon) {
            return refuse("epsilon", epsilon, "from 1.2e-7 to below 1, the part of the power that is not shot");
        }
        if stage == 0 {
            return refuse("number of elements in a stage", 0.0, "one or more");
        }
        if block == 0 || !block.is_multiple_of(8) {
            return refuse("number of threads in a block", block as f32, "a multiple of 8, such as 64");
        }
        Ok(())
    }

    /// Refuses what the progressive method as published does not have.
    fn check_faithful(&self) -> Result<(), BakeError> {
        let refuse = |option, reason| Err(BakeError::NotFaithful { option, reason });
        match &self.solver {
            solver if solver.method != Method::Progressive => {
                refuse("another method", "only progressive is published so")
            }
            SolverSettings { content: Content::Indirect, .. } => {
                refuse("content indirect", "shots do not tell direct light from indirect")
            }
            SolverSettings { bounces: Some(_), .. } => {
                refuse("a number of bounces", "shots end at a part of the first one's power")
            }
            SolverSettings { error, .. } if *error >= 1.0 => {
                refuse("an error of 1 or more", "it is the part of the first shot's power at which shots end")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn zero_negative_and_nonsensical_numbers_are_refused_by_name() {
        assert!(BakeSettings::default().check().is_ok());
        for density in [0.0, -4.0, f32::NAN, f32::INFINITY] {
            let mut settings = BakeSettings::default();
            settings.layout.texels_per_meter = density;
            let refusal = settings.check().unwrap_err().to_string();
            assert!(refusal.contains("density"), "{refusal}");
        }
        let mut settings = BakeSettings::default();
        settings.solver = SolverSettings { method: Method::Progressive, bounces: Some(3), ..settings.solver };
        assert!(settings.check().unwrap_err().to_string().contains("number of bounces"));
        settings.solver.method = Method::Counted;
        assert!(settings.check().unwrap_err().to_string().contains("number of bounces"));
        let settings = BakeSettings { relight: Some(RelightPatches(0)), ..BakeSettings::default() };
        assert!(settings.check().unwrap_err().to_string().contains("relight patches"));
        let coherence = |max_difference, min_area| Some(Coherence { max_difference, min_area });
        let coherent = BakeSettings {
            relight: Some(RelightPatches(9)),
            relight_patches: PatchKind::Coherent,
            relight_coherence: coherence(0.3, 0.0),
            ..BakeSettings::default()
        };
        assert!(coherent.check().is_ok());
        for (settings, word) in [
            (BakeSettings { relight_coherence: coherence(f32::NAN, 0.0), ..coherent }, "threshold"),
            (BakeSettings { relight_coherence: coherence(0.3, -1.0), ..coherent }, "least area"),
            (BakeSettings { relight_patches: PatchKind::Uniform, ..coherent }, "--relight-patches coherent"),
        ] {
            let refusal = settings.check().unwrap_err().to_string();
            assert!(refusal.contains(word), "{refusal}");
        }
        let mut settings = BakeSettings::default();
        settings.solver.time_limit = Some(Duration::ZERO);
        assert!(settings.check().unwrap_err().to_string().contains("time"));
    }

    #[test]
    fn what_published_methods_do_not_have_is_refused() {
        let check = |solver: SolverSettings| BakeSettings { solver, ..BakeSettings::default() }.check();
        let faithful = SolverSettings { method: Method::Progressive, faithful: true, ..SolverSettings::default() };
        assert!(check(faithful).is_ok());
        for solver in [
            SolverSettings { method: Method::Gather, ..faithful },
            SolverSettings { content: Content::Indirect, ..faithful },
            SolverSettings { bounces: Some(0), ..faithful },
            SolverSettings { error: 1.0, ..faithful },
        ] {
            assert!(matches!(check(solver), Err(BakeError::NotFaithful { .. })), "{solver:?}");
        }
        let of = |counted| SolverSettings { method: Method::Counted, counted, ..SolverSettings::default() };
        let usual = CountedSettings::default();
        let swept = CountedSettings { min_area: Some(0.0), epsilon: 0.5, stage: 1, block: 8 };
        assert!(check(of(usual)).is_ok() && check(of(swept)).is_ok());
        assert!(matches!(
            check(SolverSettings { method: Method::Gather, ..of(swept) }),
            Err(BakeError::CountedOfOtherMethod)
        ));
        for counted in [
            CountedSettings { min_area: Some(-1.0), ..usual },
            CountedSettings { min_area: Some(f32::NAN), ..usual },
            CountedSettings { epsilon: 1.0, ..usual },
            CountedSettings { epsilon: 1e-9, ..usual },
            CountedSettings { stage: 0, ..usual },
            CountedSettings { block: 0, ..usual },
            CountedSettings { block: 60, ..usual },
        ] {
            assert!(matches!(check(of(counted)), Err(BakeError::Setting { .. })), "{counted:?}");
        }
    }

    #[test]
    fn subscenes_go_with_methods_that_have_them_and_masks_and_ranks_with_the_progressive_one() {
        let check = |method, subscenes| {
            let solver = SolverSettings { method, subscenes: Some(subscenes), ..SolverSettings::default() };
            BakeSettings { solver, ..BakeSettings::default() }.check()
        };
        let plain = SubsceneSettings::default();
        for method in [Method::Gather, Method::Stochastic, Method::Path] {
            assert!(matches!(check(method, plain), Err(BakeError::SubscenesOfOtherMethod)), "{method:?}");
        }
        for method in [Method::Progressive, Method::Counted] {
            assert!(check(method, plain).is_ok(), "{method:?}");
        }
        let masks = SubsceneSettings { mask_resolution: 8, ..plain };
        for subscenes in [masks, SubsceneSettings { ranks: true, ..plain }] {
            assert!(check(Method::Progressive, subscenes).is_ok());
            assert!(matches!(check(Method::Counted, subscenes), Err(BakeError::MasksOrRanksOfCounted)));
        }
    }
}
