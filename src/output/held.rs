//! Files that other programs have open. Windows neither replaces nor deletes such files, unless the programs allow it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::clock::{self, Instant};

/// Longest time to wait for other programs. Virus scanners and viewers hold a file only briefly.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Remaining time for waiting until other programs close files, shared by any number of files.
pub(crate) struct Patience {
    end: Instant,
}

impl Patience {
    pub fn begin() -> Self {
        Self { end: clock::now() + LONGEST_WAIT }
    }

    /// Repeats an attempt that fails because a file may be open elsewhere, until it succeeds or the time is over.
    pub fn retry<T>(&self, attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        self.retry_while(may_be_held, attempt)
    }

    #[expect(clippy::disallowed_methods, reason = "a browser has no files")]
    fn retry_while<T>(
        &self,
        is_held: impl Fn(&io::Error) -> bool,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt() {
                Err(fault) if is_held(&fault) && clock::now() < self.end => thread::sleep(PAUSE),
                done => return done,
            }
        }
    }
}

/// Returns true if an error occurred because another program has the file open.
pub(crate) fn is_held_by_another(fault: &io::Error, path: &Path) -> bool {
    may_be_held(fault) && is_open(path)
}

const SHARING_VIOLATION: i32 = 32;

/// Returns true for the errors that Windows reports for files that are open elsewhere. They also have other causes.
fn may_be_held(fault: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const LOCK_VIOLATION: i32 = 33;
    cfg!(windows) && matches!(fault.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION))
}

/// Returns true if another program has a file open.
fn is_open(path: &Path) -> bool {
    let mut options = File::options();
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
    is_refused(options.read(true).open(path))
}

/// Returns true if another program has a file open, and does not let others read it in time.
pub(super) fn is_closed(path: &Path) -> bool {
    cfg!(windows) && is_refused(Patience::begin().retry(|| File::open(path)))
}

fn is_refused(opened: io::Result<File>) -> bool {
    opened.is_err_and(|fault| fault.raw_os_error() == Some(SHARING_VIOLATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_held(fault: &io::Error) -> bool {
        fault.kind() == io::ErrorKind::ResourceBusy
    }

    /// Returns an attempt that finds the file held a number of times.
    fn held(mut times: u32) -> impl FnMut() -> io::Result<&'static str> {
        move || match times.checked_sub(1) {
            Some(left) => {
                times = left;
                Err(io::ErrorKind::ResourceBusy.into())
            }
            None => Ok("written"),
        }
    }

    #[test]
    fn what_is_held_for_a_moment_is_tried_again() {
        let patience = Patience { end: clock::now() + Duration::from_secs(60) };
        assert_eq!(patience.retry_while(is_held, held(2)).unwrap(), "written");
    }

    #[test]
    fn what_stays_held_or_fails_otherwise_is_an_error() {
        let impatient = Patience { end: clock::now() };
        assert!(impatient.retry_while(is_held, held(1)).is_err_and(|fault| is_held(&fault)));
        let mut tries = 0;
        let full = || -> io::Result<()> {
            tries += 1;
            Err(io::ErrorKind::StorageFull.into())
        };
        let fault = Patience::begin().retry_while(is_held, full).unwrap_err();
        assert_eq!((fault.kind(), tries), (io::ErrorKind::StorageFull, 1));
    }
}
