//! What is done now and then beside a solver.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is done beside a solver may cost this part of its time.
const SHARE_OF_TIME: u32 = 10;

/// Says when something is due that costs time: not too often, and not for more than a small part of the time.
pub(super) struct Pace {
    least: Duration,
    last: Mutex<Last>,
}

struct Last {
    ended: Instant,
    cost: Duration,
}

impl Pace {
    /// Due after `least` for the first time, and never sooner than that after the last time.
    pub fn new(least: Duration) -> Self {
        Self { least, last: Mutex::new(Last { ended: Instant::now(), cost: Duration::ZERO }) }
    }

    pub fn is_due(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.ended.elapsed() >= self.least.max(SHARE_OF_TIME * last.cost)
    }

    /// Does it, and notes what that cost.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Last { ended: Instant::now(), cost: started.elapsed() };
        done
    }
}
