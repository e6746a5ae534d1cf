//! Ctrl-C: the first asks the work to stop in good order, the second stops it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Failure;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C (or a request to terminate) makes [`is_asked_to_stop`] true; another ends the process.
pub fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
    })?;
    Ok(())
}

/// True once the user has asked the work to stop.
pub fn is_asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}
