//! Progress and cancellation of long work.

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

/// Error of work that stopped because its monitor canceled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bake was cancelled")]
pub struct Cancelled;
