//! Clock of the system. A browser has a clock of its own, and that of the standard library panics there.

pub use web_time::Instant;

/// Returns the present time.
#[allow(clippy::disallowed_methods, reason = "all other code calls this function")]
pub fn now() -> Instant {
    Instant::now()
}
