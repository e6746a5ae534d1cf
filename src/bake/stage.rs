//! What a bake does when, and who watches it.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Preview;
use crate::progress::Monitor;

/// The steps of a bake, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Finds what is wrong with the scene and mends what can be mended; estimates the memory that the bake will need.
    Check,
    /// Builds the tree that answers rays.
    Tree,
    /// Gives every surface lightmap coordinates and a rectangle on a page.
    Unwrap,
    /// Cuts the surfaces into elements.
    Elements,
    /// Solves for the light, direct and reflected.
    Solve,
    /// Precomputes how light goes from element to element, for lights that change later.
    Relight,
    /// Fills the pages: dilation and seams.
    Filter,
    /// Gathers light in the air, for what moves.
    Volume,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 8] =
        [Self::Check, Self::Tree, Self::Unwrap, Self::Elements, Self::Solve, Self::Relight, Self::Filter, Self::Volume];

    /// The stage's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Tree => "tree",
            Self::Unwrap => "unwrap",
            Self::Elements => "elements",
            Self::Solve => "solve",
            Self::Relight => "relight",
            Self::Filter => "filter",
            Self::Volume => "volume",
        }
    }

    /// The part of a bake's time that the stage usually takes; all together are one.
    const fn usual_share(self) -> f32 {
        match self {
            Self::Check => 0.01,
            Self::Tree => 0.03,
            Self::Unwrap => 0.05,
            Self::Elements => 0.04,
            Self::Solve => 0.78,
            Self::Relight => 0.01,
            Self::Filter => 0.03,
            Self::Volume => 0.05,
        }
    }

    /// How much of a bake is usually done when this stage is done to `fraction`.
    fn share_of_bake(self, fraction: f32) -> f32 {
        let before: f32 = Self::ALL.iter().take_while(|&&stage| stage < self).map(|stage| stage.usual_share()).sum();
        before + self.usual_share() * fraction
    }
}

/// Where a bake is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The running stage.
    pub stage: Stage,
    /// How much of the stage is done, from 0 to 1.
    pub fraction: f32,
    /// How much of the whole bake is done, from 0 to 1, by the time that stages usually take.
    pub total: f32,
    /// Seconds that the rest of the bake will take; `None` while there is too little to judge by.
    pub seconds_left: Option<f32>,
}

impl Progress {
    /// Judges the whole bake by how far a stage is, `elapsed` seconds after the bake began.
    pub fn new(stage: Stage, fraction: f32, elapsed: f32) -> Self {
        let fraction = fraction.clamp(0.0, 1.0);
        let total = stage.share_of_bake(fraction);
        let seconds_left = (total > 0.02 && elapsed > 0.5).then(|| elapsed * (1.0 - total).max(0.0) / total);
        Self { stage, fraction, total, seconds_left }
    }
}

/// Watches a bake. The command line and the plugin implement it.
pub trait Observer: Sync {
    /// Told now and then, from any thread, where the bake is.
    fn progress(&self, progress: Progress);

    /// Told after each of the solver's passes how good its light is.
    fn pass_finished(&self, _pass: BakePass) {}

    /// Asked now and then whether [`Observer::preview`] should be told of the light so far.
    fn wants_preview(&self) -> bool {
        false
    }

    /// Told of the light so far, no more often than ten times a second and for about a tenth of the solver's time.
    fn preview(&self, _preview: Preview<'_>) {}

    /// Asked now and then; once true, the bake ends soon with [`BakeError::Cancelled`](super::BakeError::Cancelled).
    fn is_cancelled(&self) -> bool;
}

/// How good a bake's light is after a pass of its solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakePass {
    /// Seconds since the bake began.
    pub seconds: f32,
    /// Estimated error of the worst band of brightness, as [`Report::error_estimate`](super::Report::error_estimate) is.
    pub error: f32,
    /// Estimated error of the whole scene: the area-weighted RMS error of irradiance over its mean.
    pub error_of_mean: f32,
    /// Rays traced so far.
    pub rays: u64,
}

/// Watches nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _progress: Progress) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Tells a bake's observer how far one stage is.
pub(super) struct StageMonitor<'a> {
    pub observer: &'a dyn Observer,
    pub stage: Stage,
    pub bake_started: Instant,
}

impl Monitor for StageMonitor<'_> {
    fn progress(&self, fraction: f32) {
        let elapsed = self.bake_started.elapsed().as_secs_f32();
        self.observer.progress(Progress::new(self.stage, fraction, elapsed));
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_together_are_the_whole_bake() {
        assert!((Stage::Volume.share_of_bake(1.0) - 1.0).abs() < 1e-6);
        for pair in Stage::ALL.windows(2) {
            assert!((pair[0].share_of_bake(1.0) - pair[1].share_of_bake(0.0)).abs() < 1e-6, "{pair:?}");
        }
    }

    #[test]
    fn half_a_job_leaves_as_much_again() {
        // Where the usual shares put one half: within the solver.
        let before: f32 = Stage::ALL[..4].iter().map(|stage| stage.usual_share()).sum();
        let half = (0.5 - before) / Stage::Solve.usual_share();
        let progress = Progress::new(Stage::Solve, half, 8.0);
        assert!((progress.total - 0.5).abs() < 1e-6);
        assert!((progress.seconds_left.unwrap() - 8.0).abs() < 1e-4);
        assert_eq!(Progress::new(Stage::Solve, half, 0.1).seconds_left, None, "too early to say");
    }
}
