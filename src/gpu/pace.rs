//! How much work one submission is given.

use std::time::Duration;

/// How long one submission is meant to take: longer ones let screens stutter, and drivers give up on very long ones.
const SUBMISSION: Duration = Duration::from_millis(10);

/// Learns how much work a device does in the time of a submission.
pub(super) struct Pace {
    size: u32,
    most: u32,
}

impl Pace {
    /// Starts with some work, in whatever unit, and never gives more than the most.
    pub fn new(first: u32, most: u32) -> Self {
        Self { size: first, most }
    }

    /// How much to submit next.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Twice as much when there is time for it, half as much when it took too long.
    pub fn learn(&mut self, took: Duration) {
        if took < SUBMISSION / 2 {
            self.size = self.size.saturating_mul(2).min(self.most);
        } else if took > SUBMISSION * 2 {
            self.size = (self.size / 2).max(1);
        }
    }
}
