//! Progress and cancellation of long work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Receives progress from long work and may cancel it. The bake, the command line and the plugin implement it.
pub trait Monitor: Sync {
    /// Reports the fraction of the work that is done, from 0 to 1. The fraction never decreases.
    fn progress(&self, fraction: f32);

    /// Returns true when the work should stop. The work polls it and then ends soon with [`Cancelled`].
    fn is_cancelled(&self) -> bool;

    /// Returns [`Monitor::is_cancelled`] as a result, for use with `?`.
    fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Monitor that ignores progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Monitor that forwards cancellation, and no progress.
pub(crate) struct Silent<'a>(pub &'a dyn Monitor);

impl Monitor for Silent<'_> {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Monitor of a piece of work, which reports progress as a part of the whole.
pub(crate) struct Part<'a> {
    pub monitor: &'a dyn Monitor,
    /// Finished part of the whole before the piece, and after it.
    pub from: f32,
    pub to: f32,
}

impl Monitor for Part<'_> {
    fn progress(&self, fraction: f32) {
        self.monitor.progress(self.from + (self.to - self.from) * fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.monitor.is_cancelled()
    }
}

/// Progress of pieces of work that threads finish in any order.
pub(crate) struct PieceProgress<'a> {
    monitor: &'a dyn Monitor,
    total: usize,
    finished: AtomicUsize,
    /// Last reported count. It is locked during a report, so that no thread reports an older count later.
    reported: Mutex<usize>,
}

impl<'a> PieceProgress<'a> {
    /// Maximum number of reports. Pieces may be so short that a report of each would take longer than the work.
    const REPORTS: usize = 1000;

    /// Starts with none of `total` pieces finished.
    pub fn new(monitor: &'a dyn Monitor, total: usize) -> Self {
        Self { monitor, total, finished: AtomicUsize::new(0), reported: Mutex::new(0) }
    }

    /// Counts one more finished piece, and reports it if enough are finished since the last report.
    pub fn finish_piece(&self) {
        let finished = self.finished.fetch_add(1, Ordering::Relaxed) + 1;
        let reports = |count: usize| count as u64 * Self::REPORTS as u64 / self.total.max(1) as u64;
        if reports(finished) == reports(finished - 1) {
            return;
        }
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if finished > *reported {
            *reported = finished;
            self.monitor.progress(finished as f32 / self.total as f32);
        }
    }
}

/// Error of work that stopped because its monitor canceled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bake was cancelled")]
pub struct Cancelled;

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Reports(Mutex<Vec<f32>>);

    impl Monitor for Reports {
        fn progress(&self, fraction: f32) {
            self.0.lock().unwrap().push(fraction);
        }

        fn is_cancelled(&self) -> bool {
            false
        }
    }

    #[test]
    fn progress_of_pieces_on_many_threads_never_falls_and_ends_at_one() {
        for total in [1, 7, 1000, 50_000] {
            let reports = Reports::default();
            let progress = PieceProgress::new(&reports, total);
            (0..total).into_par_iter().for_each(|_| progress.finish_piece());
            let reports = reports.0.into_inner().unwrap();
            assert!(reports.is_sorted() && reports.len() <= total.min(1000), "{total}: {reports:?}");
            assert_eq!(reports.last(), Some(&1.0));
        }
    }
}
