//! Stages of a bake, and observers of its progress.

use serde::{Deserialize, Serialize};

use super::Preview;
use super::limit::TimeLimit;
use crate::clock::{self, Instant};
use crate::progress::Monitor;

/// Stages of a bake, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Checks the settings and the scene, and estimates the memory that the bake will need.
    Check,
    /// Builds the acceleration structure for rays.
    Tree,
    /// Gives every surface lightmap coordinates and a rectangle on a page.
    Unwrap,
    /// Divides the surfaces into elements.
    Elements,
    /// Solves for direct and indirect light.
    Solve,
    /// Precomputes the transport between elements, for lights that change later.
    Relight,
    /// Makes the pages: denoising, dilation, seams.
    Filter,
    /// Gathers the irradiance volume that lights moving objects.
    Volume,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 8] =
        [Self::Check, Self::Tree, Self::Unwrap, Self::Elements, Self::Solve, Self::Relight, Self::Filter, Self::Volume];

    /// Returns the stage's name in reports.
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

    /// Returns the usual share of the stage in a bake's time. All shares add up to one.
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

    /// Returns the usual share of a bake that is done once `fraction` of this stage is done.
    fn share_of_bake(self, fraction: f32) -> f32 {
        let before: f32 = Self::ALL.iter().take_while(|&&stage| stage < self).map(|stage| stage.usual_share()).sum();
        before + self.usual_share() * fraction
    }
}

/// Progress of a bake.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Running stage.
    pub stage: Stage,
    /// Finished part of the stage, from 0 to 1.
    pub fraction: f32,
    /// Finished part of the whole bake, from 0 to 1, by the usual times of stages.
    pub total: f32,
    /// Predicted seconds until the bake ends; `None` while there is too little to judge by.
    pub seconds_left: Option<f32>,
}

impl Progress {
    /// Predicts the whole bake from the progress of a stage. The bake began `elapsed` seconds ago, and its stage
    /// `elapsed_in_stage` seconds ago.
    ///
    /// The rest of the stage follows from its own speed, and later stages from the usual times.
    pub fn new(stage: Stage, fraction: f32, elapsed: f32, elapsed_in_stage: f32) -> Self {
        let fraction = fraction.clamp(0.0, 1.0);
        let total = stage.share_of_bake(fraction);
        let seconds_left = (total > 0.02 && elapsed > 0.5).then(|| {
            let of_share = elapsed / total;
            let has_speed = fraction > 0.02 && elapsed_in_stage > 0.5;
            let usual = of_share * stage.usual_share() * (1.0 - fraction);
            let in_stage = if has_speed { elapsed_in_stage * (1.0 - fraction) / fraction } else { usual };
            in_stage + of_share * (1.0 - stage.share_of_bake(1.0)).max(0.0)
        });
        Self { stage, fraction, total, seconds_left }
    }
}

/// Observer of a bake. The command line and the plugin implement it.
pub trait Observer: Sync {
    /// Reports the bake's progress, now and then, from any thread.
    fn progress(&self, progress: Progress);

    /// Reports the accuracy after each of the solver's passes.
    fn pass_finished(&self, _pass: BakePass) {}

    /// Returns true if [`Observer::preview`] shall be called. Asked now and then.
    fn wants_preview(&self) -> bool {
        false
    }

    /// Shows the light so far. Called at most ten times a second, and for about a tenth of the solver's time.
    fn preview(&self, _preview: Preview<'_>) {}

    /// Returns the start of the command that the bake is part of, if it was earlier than the bake's. The time limit
    /// counts from then. Asked once.
    fn began(&self) -> Option<Instant> {
        None
    }

    /// Returns true to cancel: the bake then ends soon with [`BakeError::Cancelled`](super::BakeError::Cancelled).
    /// Asked now and then.
    fn is_cancelled(&self) -> bool;
}

/// Accuracy of a bake's light after a pass of its solver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
pub struct BakePass {
    /// Seconds since the bake began.
    pub seconds: f32,
    /// Estimated relative error of the worst band of brightness; see
    /// [`Report::error_estimate`](super::Report::error_estimate).
    pub error: f32,
    /// Estimated relative error of the whole scene: the area-weighted RMS error of irradiance over its mean.
    pub error_of_mean: f32,
    /// Rays traced so far.
    pub rays: u64,
}

/// Observer that ignores everything and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&self, _progress: Progress) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Adapter that reports the progress of one stage to a bake's observer.
pub(super) struct StageMonitor<'a> {
    pub observer: &'a dyn Observer,
    pub stage: Stage,
    pub bake_started: Instant,
    pub started: Instant,
    pub limit: &'a TimeLimit,
}

impl StageMonitor<'_> {
    /// Returns the seconds that are left for the stage; `None` without a time limit.
    pub fn seconds_left(&self) -> Option<f32> {
        self.limit.left_for(self.stage, clock::now())
    }
}

impl Monitor for StageMonitor<'_> {
    fn progress(&self, fraction: f32) {
        let elapsed = self.bake_started.elapsed().as_secs_f32();
        let in_stage = self.started.elapsed().as_secs_f32();
        self.observer.progress(Progress::new(self.stage, fraction, elapsed, in_stage));
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled() || self.limit.refusal(self.stage, clock::now()).is_some()
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
        // By the usual shares, half of a bake is done within the solver.
        let before: f32 = Stage::ALL[..4].iter().map(|stage| stage.usual_share()).sum();
        let half = (0.5 - before) / Stage::Solve.usual_share();
        let progress = Progress::new(Stage::Solve, half, 8.0, 8.0 * (0.5 - before) / 0.5);
        assert!((progress.total - 0.5).abs() < 1e-6);
        assert!((progress.seconds_left.unwrap() - 8.0).abs() < 1e-4);
        assert_eq!(Progress::new(Stage::Solve, half, 0.1, 0.1).seconds_left, None, "too early to say");
    }

    #[test]
    fn a_stage_that_takes_longer_than_usual_is_predicted_by_its_own_speed() {
        // Relighting is half done after a minute. By its usual share, 91.5 % of the bake are done.
        let progress = Progress::new(Stage::Relight, 0.5, 100.0, 60.0);
        let later_stages = 0.08 * 100.0 / 0.915;
        assert!((progress.seconds_left.unwrap() - (60.0 + later_stages)).abs() < 0.01);
    }
}
