//! Interrupts: the first Ctrl-C stops the work cleanly, the second ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Failure, complain};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Delay before the hint about a second Ctrl-C. Most work has stopped by then, and needs no hint.
const PATIENCE: Duration = Duration::from_secs(1);

/// Installs the handler. The first Ctrl-C (or termination request) makes [`is_asked_to_stop`] true; another ends the
/// process.
#[expect(clippy::disallowed_methods, reason = "no browser runs the command line")]
pub fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
        // If no thread can start, the hint is missing, but a second Ctrl-C still works.
        let _ = thread::Builder::new().spawn(mention_the_second);
    })?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "no browser runs the command line")]
fn mention_the_second() {
    thread::sleep(PATIENCE);
    complain("\nstopping once what is under way can be kept; Ctrl-C again stops at once");
}

/// Returns true once the user has requested a stop.
pub fn is_asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}
