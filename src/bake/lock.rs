//! Lock of an output folder: a file that the system locks for one process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::output::{InTheWay, is_regular};

const NAME: &str = ".bake.lock";
/// Bytes to read of a lock's file, more than such a file ever holds.
const LONGEST: u64 = 64;
/// Most attempts to take the lock. Its holder may release it between our opening and locking the file.
const MAX_TRIES: u32 = 100;

/// Error of a lock that cannot be taken.
pub(super) enum LockError {
    /// Another bake holds the lock. Holds the process identifier, or `unknown`.
    Held(String),
    /// Another file has the name of the lock's file.
    InTheWay(InTheWay),
    /// The operating system refused.
    Io(PathBuf, io::Error),
}

/// Lock that is held until dropped. The operating system owns the lock, so the lock of a dead process is released by
/// itself.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    #[expect(clippy::disallowed_methods, reason = "a browser has no files")]
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        static HOLDERS: AtomicU32 = AtomicU32::new(0);
        let path = folder.join(NAME);
        let holder = format!("{} {}\n", std::process::id(), HOLDERS.fetch_add(1, Ordering::Relaxed));
        let unusable = |fault| LockError::Io(path.clone(), fault);
        for _ in 0..MAX_TRIES {
            let Some(mut file) = open(&path)? else { continue };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder_in(&mut file))),
                Err(TryLockError::Error(fault)) => return Err(unusable(fault)),
            }
            // The last holder may have removed the file between our opening and locking it: then we hold a nameless
            // file. A link may also have replaced the file before we opened it.
            if !is_still_at(&file, &path) {
                continue;
            }
            let content = content(&mut file).map_err(unusable)?;
            if !is_of_holder(&content) {
                return Err(LockError::InTheWay(InTheWay::Foreign(path)));
            }
            let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes()));
            written.map_err(unusable)?;
            return Ok(Self { path, file });
        }
        Err(LockError::Held("unknown".to_owned()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked, so that no other process can lock a file that is about to vanish.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Opens or creates the lock's file. `None` if the file appeared or vanished in between.
fn open(path: &Path) -> Result<Option<File>, LockError> {
    let opened = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    match opened {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done.map(Some).map_err(|fault| LockError::Io(path.to_owned(), fault)),
    }
    // Opening a pipe would block, and a link leads to a foreign file.
    if !is_regular(path) {
        let is_there = path.symlink_metadata().is_ok();
        let in_the_way = if path.is_dir() { InTheWay::Folder } else { InTheWay::Foreign };
        return if is_there { Err(LockError::InTheWay(in_the_way(path.to_owned()))) } else { Ok(None) };
    }
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some).map_err(|fault| LockError::Io(path.to_owned(), fault)),
    }
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    let (opened, named) = (file.metadata().map(id), path.symlink_metadata().map(id));
    matches!((opened, named), (Ok(opened), Ok(named)) if opened == named)
}

/// Returns true for a regular file: an open file cannot be removed on this system.
#[cfg(not(unix))]
fn is_still_at(_file: &File, path: &Path) -> bool {
    is_regular(path)
}

fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(LONGEST).read_to_end(&mut content)?;
    Ok(content)
}

/// Returns true for the content of a lock's file: a process and a number, or nothing if a process died before writing.
fn is_of_holder(content: &[u8]) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let line = content.strip_suffix(b"\n");
    content.is_empty()
        || line.is_some_and(|line| {
            line.split(|&byte| byte == b' ').count() == 2 && line.split(|&byte| byte == b' ').all(is_number)
        })
}

/// Returns the process that holds a lock, or `unknown`. Some systems do not let others read a locked file.
fn holder_in(file: &mut File) -> String {
    let content = content(file).ok().filter(|content| is_of_holder(content)).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(folder: &Path) -> String {
        match Lock::take(folder) {
            Err(LockError::InTheWay(refusal)) => refusal.to_string(),
            Err(LockError::Held(process)) => process,
            Err(LockError::Io(path, fault)) => format!("{}: {fault}", path.display()),
            Ok(_) => panic!("the lock was taken"),
        }
    }

    #[test]
    fn a_lock_that_a_dead_process_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        for left in ["4194304 0\n", ""] {
            fs::write(folder.path().join(NAME), left).unwrap();
            drop(Lock::take(folder.path()).ok().unwrap());
            assert!(!folder.path().join(NAME).exists());
        }
    }

    #[test]
    fn a_file_of_somebody_else_is_no_lock_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for theirs in ["three years of work", "12 13 14\n", "7 \n", "1 0"] {
            fs::write(&path, theirs).unwrap();
            assert!(refusal(folder.path()).contains(NAME), "{theirs}");
            assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(refusal(folder.path()).contains("it is a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_no_locks() {
        let folder = tempfile::tempdir().unwrap();
        let (path, thesis) = (folder.path().join(NAME), folder.path().join("thesis.txt"));
        fs::write(&thesis, "1 0\n").unwrap();
        std::os::unix::fs::symlink(&thesis, &path).unwrap();
        assert!(refusal(folder.path()).contains(NAME));
        assert_eq!(fs::read_to_string(&thesis).unwrap(), "1 0\n");
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(refusal(folder.path()).contains(NAME));
    }
}
