//! The folder that a bake writes into: one bake at a time, and the checkpoint in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::checkpoint::Checkpoints;
use super::{WriteError, check_place};

const LOCK_NAME: &str = ".bake.lock";

/// Why an output folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be created or written into.
    #[error("cannot write into {}: {source}; choose another folder or make room", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The report cannot be written into it.
    #[error(transparent)]
    Report(#[from] WriteError),
    /// Another bake is at work in it.
    #[error("{} is being written by another bake (process {process}); wait for it or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The process that holds it, as far as it said.
        process: String,
    },
}

/// An output folder, held against other bakes until dropped.
///
/// The system's file lock decides who holds it, so the lock of a process that died is free again by itself.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    created: bool,
    lock: File,
}

impl OutputFolder {
    /// Creates the folder where needed and takes it.
    ///
    /// # Errors
    /// When it cannot be written into or another bake holds it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let path = path.into();
        let unwritable = |source| FolderError::Unwritable { path: path.clone(), source };
        let created = !path.exists();
        fs::create_dir_all(&path).map_err(unwritable)?;
        let lock = match take_lock(&path.join(LOCK_NAME)) {
            Ok(lock) => lock,
            Err(TryLockError::WouldBlock) => {
                let process = fs::read_to_string(path.join(LOCK_NAME)).unwrap_or_default();
                let process = process.split_whitespace().next().unwrap_or("unknown").to_owned();
                return Err(FolderError::InUse { path, process });
            }
            Err(TryLockError::Error(source)) => return Err(unwritable(source)),
        };
        let folder = Self { path, created, lock };
        // Found out now rather than when all else is written.
        check_place(&folder.report_path())?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn report_path(&self) -> PathBuf {
        self.path.join("report.json")
    }

    /// The checkpoints of the bake in this folder.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::in_folder(&self.path)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody can take a file that is about to vanish unnoticed.
        let _ = fs::remove_file(self.path.join(LOCK_NAME));
        let _ = self.lock.unlock();
        if self.created {
            // Only an empty folder goes: a bake that failed early leaves nothing behind.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn take_lock(path: &Path) -> Result<File, TryLockError> {
    static HOLDERS: AtomicU32 = AtomicU32::new(0);
    let holder = format!("{} {}\n", std::process::id(), HOLDERS.fetch_add(1, Ordering::Relaxed));
    loop {
        let mut file =
            OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())).map_err(TryLockError::Error)?;
        // The last holder may have removed the file between our opening and locking it; then we hold a nameless file.
        // Elsewhere than on Unix a locked file cannot be read again to find out, nor removed under one's hands.
        if !cfg!(unix) || fs::read_to_string(path).is_ok_and(|content| content == holder) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_by_one_bake_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let first = OutputFolder::open(&path).unwrap();
        let refusal = OutputFolder::open(&path).unwrap_err();
        assert!(matches!(&refusal, FolderError::InUse { process, .. } if *process == std::process::id().to_string()));
        drop(first);
        OutputFolder::open(&path).unwrap();
    }

    #[test]
    fn a_lock_that_a_dead_process_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK_NAME), "4194304 0\n").unwrap();
        OutputFolder::open(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_that_was_made_for_nothing_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        drop(OutputFolder::open(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_below_a_file_is_refused_by_name() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let refusal = OutputFolder::open(file.join("out")).unwrap_err().to_string();
        assert!(refusal.starts_with("cannot write into") && refusal.contains("file/out"), "{refusal}");
    }
}
