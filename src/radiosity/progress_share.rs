//! Progress of one observer, divided over consecutive pieces of work.

use std::time::Duration;

use super::{LightSoFar, Pass, Snapshot, SolveObserver, StepError};
use crate::clock::{self, Instant};
use crate::progress::Monitor;

/// Section of the total progress, from 0 to 1.
pub(super) struct ProgressShare<'a> {
    pub observer: &'a dyn SolveObserver,
    pub from: f32,
    pub to: f32,
    /// Deadline of the work, besides that of the observer. `None` for no deadline.
    pub ends: Option<Instant>,
}

impl<'a> ProgressShare<'a> {
    /// Returns the whole progress, with a deadline after `time_limit` from now.
    pub fn within(observer: &'a dyn SolveObserver, time_limit: Option<Duration>) -> Self {
        let ends = time_limit.and_then(|limit| clock::now().checked_add(limit));
        Self { observer, from: 0.0, to: 1.0, ends }
    }

    /// Returns the first section, with `share` of the progress.
    pub fn first(observer: &'a dyn SolveObserver, share: f32) -> Self {
        Self { observer, from: 0.0, to: share, ends: None }
    }

    /// Returns the next section, with `share` of the remaining progress.
    pub fn next(&self, share: f32) -> Self {
        Self { from: self.to, to: self.to + (1.0 - self.to) * share, ..*self }
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

    fn step_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.observer.step_finished(state)
    }

    fn wants_to_stop(&self) -> bool {
        self.observer.wants_to_stop()
    }

    fn has_room_for_hits(&self, bytes: u64) -> bool {
        self.observer.has_room_for_hits(bytes)
    }

    fn seconds_left(&self) -> Option<f32> {
        let of_work = self.ends.map(|end| end.saturating_duration_since(clock::now()).as_secs_f32());
        let asked = self.observer.seconds_left();
        of_work.into_iter().chain(asked).reduce(f32::min)
    }

    fn light_improved(&self, light: &dyn Fn() -> LightSoFar) {
        self.observer.light_improved(light);
    }
}
