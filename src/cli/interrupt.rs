//! Ctrl-C: the first asks the work to stop in good order, the second stops it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Failure, complain};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Most work has stopped by then, and there is nothing to say.
const PATIENCE: Duration = Duration::from_secs(1);

/// From now on the first Ctrl-C (or a request to terminate) makes [`is_asked_to_stop`] true; another ends the process.
pub fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(1);
        }
        // Without a thread the second one goes unmentioned, but works.
        let _ = thread::Builder::new().spawn(mention_the_second);
    })?;
    Ok(())
}

fn mention_the_second() {
    thread::sleep(PATIENCE);
    complain("\nstopping once what is under way can be kept; Ctrl-C again stops at once");
}

/// True once the user has asked the work to stop.
pub fn is_asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}
