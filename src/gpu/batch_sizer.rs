//! Adaptive size of submissions.

use std::time::Duration;

/// Target duration of a submission. Longer ones make screens stutter, and drivers abort very long ones.
const SUBMISSION: Duration = Duration::from_millis(10);

/// Controller that adapts the amount of work per submission to the target duration.
pub(super) struct BatchSizer {
    size: u32,
    max_size: u32,
}

impl BatchSizer {
    /// Starts with an amount of work, in any unit, and never exceeds the maximum.
    pub fn new(first: u32, max_size: u32) -> Self {
        Self { size: first, max_size }
    }

    /// Returns the amount of work for the next submission.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Doubles the amount after fast submissions, and halves the amount after slow ones.
    pub fn learn(&mut self, took: Duration) {
        if took < SUBMISSION / 2 {
            self.size = self.size.saturating_mul(2).min(self.max_size);
        } else if took > SUBMISSION * 2 {
            self.size = (self.size / 2).max(1);
        }
    }
}
