//! Rate limit for side work during a solve, such as checkpoints and previews.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, Instant};

/// Rate limit of repeated work: a least interval, and a small share of the time.
pub struct RateLimit {
    min_interval: Duration,
    min_ratio: u32,
    last: Mutex<Last>,
}

struct Last {
    ended: Instant,
    cost: Duration,
}

impl RateLimit {
    /// Creates a limit. The work is first due after `min_interval`, and again at the earliest after as long.
    /// The time between two runs is at least `min_ratio` times that of a run.
    pub fn new(min_interval: Duration, min_ratio: u32) -> Self {
        Self { min_interval, min_ratio, last: Mutex::new(Last { ended: clock::now(), cost: Duration::ZERO }) }
    }

    pub fn is_due(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.ended.elapsed() >= self.min_interval.max(self.min_ratio * last.cost)
    }

    /// Does the work and records its time.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = clock::now();
        let done = work();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Last { ended: clock::now(), cost: started.elapsed() };
        done
    }
}
