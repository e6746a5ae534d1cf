//! How long work says where it is, and learns that it should stop.

/// Watches a piece of long work. All rooms take one; the bake, the command line and the plugin implement it.
pub trait Monitor: Sync {
    /// Told now and then how much of the work is done, from 0 to 1, never falling.
    fn progress(&self, fraction: f32);

    /// Asked now and then; once true, the work ends soon with [`Cancelled`].
    fn is_cancelled(&self) -> bool;

    /// [`Monitor::is_cancelled`] as a result, for `?`.
    fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Watches nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

/// The work was asked to stop and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bake was cancelled")]
pub struct Cancelled;
