//! The folder that a bake writes into: one bake at a time, nothing that is somebody else's, and the checkpoint in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::Checkpoints;
use super::lock::{Lock, LockError};
use super::{Bake, BakeError, Report};
use crate::lightmap::files::{Level, LevelError};
use crate::output::{InTheWay, Overwrite, WriteError, check_place};

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
    /// A file is in the way that no bake wrote.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// The level that it holds cannot be replaced.
    #[error(transparent)]
    Level(#[from] LevelError),
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
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    overwrite: Overwrite,
    created: bool,
    /// Dropped before the folder is removed.
    lock: Option<Lock>,
}

impl OutputFolder {
    /// Creates the folder where needed and takes it. A level that is there will be replaced.
    ///
    /// # Errors
    /// When it cannot be written into, another bake holds it, or a file is in the way that no bake wrote.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        Self::open_over(path, Overwrite::Own)
    }

    /// Takes a folder as [`open`](Self::open) does, to write in place of all that `overwrite` names.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_over(path: impl Into<PathBuf>, overwrite: Overwrite) -> Result<Self, FolderError> {
        let path = path.into();
        let unwritable = |path: &Path, source| FolderError::Unwritable { path: path.to_owned(), source };
        let mut folder = Self { created: !path.exists(), path, overwrite, lock: None };
        let path = &folder.path;
        fs::create_dir_all(path).map_err(|fault| unwritable(path, fault))?;
        folder.lock = Some(Lock::take(path).map_err(|refusal| match refusal {
            LockError::Held(process) => FolderError::InUse { path: path.clone(), process },
            LockError::InTheWay(fault) => fault.into(),
            LockError::Io(lock, fault) => unwritable(&lock, fault),
        })?);
        // Found out now rather than when all else is written.
        let report = path.join(Report::FILE);
        InTheWay::check(&report, overwrite, Report::is_at)?;
        Level::prepare(path, overwrite)?;
        folder.checkpoints().check_place(overwrite)?;
        check_place(&report)?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The checkpoints of the bake in this folder.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::in_folder(&self.path)
    }

    /// Writes a bake into it; see [`Bake::write`].
    ///
    /// # Errors
    /// As [`Bake::write`].
    pub fn write(&self, bake: &mut Bake) -> Result<(), BakeError> {
        bake.write_over(&self.path, self.overwrite)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.lock = None;
        if self.created {
            // Only an empty folder goes: a bake that failed early leaves nothing behind.
            let _ = fs::remove_dir(&self.path);
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
        fs::write(folder.path().join(".bake.lock"), "4194304 0\n").unwrap();
        OutputFolder::open(folder.path()).unwrap();
    }

    #[test]
    fn files_of_somebody_else_are_named_and_stay_unless_they_may_be_overwritten() {
        for name in ["page_0.exr", "page_12.ktx2", "volume.exr", "level.ron", "report.json", "checkpoint.bin"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::write(&path, "three years of work").unwrap();
            let refusal = OutputFolder::open(folder.path()).unwrap_err().to_string();
            assert!(refusal.contains(name) && refusal.contains("--force"), "{refusal}");
            assert_eq!(fs::read(&path).unwrap(), b"three years of work");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
            OutputFolder::open_over(folder.path(), Overwrite::All).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["notes.txt", "page_x.exr", "page_01.exr", "pages_0.exr"] {
            fs::write(folder.path().join(name), "three years of work").unwrap();
        }
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
