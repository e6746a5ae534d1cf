//! What a bake is asked for.

use serde::{Deserialize, Serialize};

use super::BakeError;
use crate::kdtree::Preset;
use crate::lightmap::LayoutSettings;
use crate::pathtrace::VolumeSettings;
use crate::radiosity::low_rank::PatchKind;
use crate::radiosity::{Method, SolverSettings};

/// How hard the tree that answers rays is tried for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeQuality {
    /// Built several times faster, a few percent slower to trace: for short bakes of large scenes.
    Fast,
    /// The tree that rays like best.
    #[default]
    Best,
}

impl TreeQuality {
    /// How the tree is built.
    pub fn preset(self) -> Preset {
        match self {
            Self::Fast => Preset::fast(),
            Self::Best => Preset::best(),
        }
    }
}

/// What is done to pages after the light has been solved for. All of it by default; switch it off to see the bare result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterSettings {
    /// Smooths noise, where texels differ by no more than that.
    pub denoise: bool,
    /// Gives values to buried texels and to those around each chart that linear filtering reads with it.
    pub dilate: bool,
    /// Makes both sides of every seam show the same.
    pub stitch_seams: bool,
}

impl Default for FilterSettings {
    fn default() -> Self {
        Self { denoise: true, dilate: true, stitch_seams: true }
    }
}

/// Everything that decides what a bake yields. The defaults suit a room of a game.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BakeSettings {
    /// How finely surfaces are covered with texels, and on what pages.
    pub layout: LayoutSettings,
    /// How the light is solved for, how well, and which of it the pages hold.
    pub solver: SolverSettings,
    /// How hard the tree that answers rays is tried for. It changes the time, not the light.
    pub tree: TreeQuality,
    /// What is done to pages after the light has been solved for.
    pub filter: FilterSettings,
    /// The irradiance volume that lights what moves; `None` for none.
    pub volume: Option<VolumeSettings>,
    /// Patches to precompute the transport with for lights that change later, at most; `None` for none. More of them tell
    /// finer what light changes where, and take more memory and time at each change.
    pub relight: Option<u32>,
    /// Whether those patches are of one size or of one view. `BENCHMARKS.md` has how near either comes.
    pub relight_patches: PatchKind,
}

impl Default for BakeSettings {
    fn default() -> Self {
        Self {
            layout: LayoutSettings::default(),
            solver: SolverSettings::default(),
            tree: TreeQuality::default(),
            filter: FilterSettings::default(),
            volume: Some(VolumeSettings::default()),
            relight: None,
            relight_patches: PatchKind::default(),
        }
    }
}

impl BakeSettings {
    /// Finds settings that mean nothing, such as a negative density.
    ///
    /// # Errors
    /// Names the setting, its value, and what it may be.
    pub fn check(&self) -> Result<(), BakeError> {
        let positive = |name, value: f32| {
            let usable = value.is_finite() && value > 0.0;
            if usable { Ok(()) } else { Err(BakeError::Setting { name, value, wanted: "a number above zero" }) }
        };
        positive("density", self.layout.texels_per_metre)?;
        positive("error", self.solver.error)?;
        if let (Method::Progressive, Some(bounces @ 1..)) = (self.solver.method, self.solver.bounces) {
            let wanted = "0 or left open with the progressive method, which follows light until little is left";
            return Err(BakeError::Setting { name: "number of bounces", value: bounces as f32, wanted });
        }
        if let Some(subscenes) = self.solver.subscenes {
            if self.solver.method != Method::Progressive {
                return Err(BakeError::SubscenesOfOtherMethod);
            }
            subscenes.check()?;
        }
        if let Some(seconds) = self.solver.time_seconds {
            positive("time", seconds)?;
        }
        if let Some(volume) = self.volume {
            positive("volume", volume.spacing)?;
        }
        if self.relight == Some(0) {
            return Err(BakeError::Setting { name: "number of relight patches", value: 0.0, wanted: "one or more" });
        }
        if !(64..=16_384).contains(&self.layout.page_size) {
            let value = self.layout.page_size as f32;
            return Err(BakeError::Setting { name: "page size", value, wanted: "64 to 16384 texels" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_negative_and_nonsensical_numbers_are_refused_by_name() {
        assert!(BakeSettings::default().check().is_ok());
        for density in [0.0, -4.0, f32::NAN, f32::INFINITY] {
            let mut settings = BakeSettings::default();
            settings.layout.texels_per_metre = density;
            let refusal = settings.check().unwrap_err().to_string();
            assert!(refusal.contains("density"), "{refusal}");
        }
        let mut settings = BakeSettings::default();
        settings.solver = SolverSettings { method: Method::Progressive, bounces: Some(3), ..settings.solver };
        assert!(settings.check().unwrap_err().to_string().contains("number of bounces"));
        let settings = BakeSettings { relight: Some(0), ..BakeSettings::default() };
        assert!(settings.check().unwrap_err().to_string().contains("relight patches"));
        let mut settings = BakeSettings::default();
        settings.solver.time_seconds = Some(-1.0);
        assert!(settings.check().unwrap_err().to_string().contains("time"));
    }
}
