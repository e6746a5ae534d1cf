//! One observer for several pieces of work, one after the other.

use super::{LightSoFar, Pass, Snapshot, SolveObserver, StepError};
use crate::progress::Monitor;

/// A part of the whole progress.
pub(super) struct ProgressShare<'a> {
    pub observer: &'a dyn SolveObserver,
    pub from: f32,
    pub to: f32,
}

impl ProgressShare<'_> {
    /// The part after this one, when that will do `share` of the rest.
    pub fn next(&self, share: f32) -> Self {
        Self { observer: self.observer, from: self.to, to: self.to + (1.0 - self.to) * share }
    }
}

impl Monitor for ProgressShare<'_> {
    fn progress(&self, fraction: f32) {
        self.observer.progress(self.from + (self.to - self.from) * fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }
}

impl SolveObserver for ProgressShare<'_> {
    fn pass_finished(&self, pass: &Pass, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.observer.pass_finished(pass, state)
    }

    fn shot_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.observer.shot_finished(state)
    }

    fn wants_to_stop(&self) -> bool {
        self.observer.wants_to_stop()
    }

    fn light_improved(&self, light: &dyn Fn() -> LightSoFar) {
        self.observer.light_improved(light);
    }
}
