//! Output folder of a bake: one bake at a time, no foreign files replaced, checkpoints inside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::Checkpoints;
use super::lock::{Lock, LockError};
use super::{BakeError, BakeOutput, Report};
use crate::lightmap::files::{Level, LevelError};
use crate::output::{InTheWay, Overwrite, WriteError, check_place};
use crate::portable::check_name;

/// Error of an output folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be created or written into.
    #[error("cannot write into {}: {source}; choose another folder or make room", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The report cannot be written into the folder.
    #[error(transparent)]
    Report(#[from] WriteError),
    /// A file that no bake wrote is in the way.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// The level in the folder cannot be replaced.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// Another bake is using the folder.
    #[error("{} is being written by another bake (process {process}); wait for it or choose another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Identifier of the process that holds the folder, or `unknown`.
        process: String,
    },
}

/// Output folder that is locked against other bakes until dropped.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    overwrite: Overwrite,
    created: bool,
    /// Lock of the folder, dropped before the folder is removed.
    lock: Option<Lock>,
}

impl OutputFolder {
    /// Creates the folder if needed and locks it. A level in the folder will be replaced.
    ///
    /// # Errors
    /// When the folder cannot be written into, another bake holds it, or a file that no bake wrote is in the way.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, FolderError> {
        Self::open_over(path, Overwrite::Own)
    }

    /// Opens a folder as [`open`](Self::open) does, and replaces all files that `overwrite` allows.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_over(path: impl Into<PathBuf>, overwrite: Overwrite) -> Result<Self, FolderError> {
        let path = path.into();
        let unwritable = |path: &Path, source| FolderError::Unwritable { path: path.to_owned(), source };
        check_name(&path).map_err(|fault| unwritable(&path, fault))?;
        let mut folder = Self { created: !path.exists(), path, overwrite, lock: None };
        let path = &folder.path;
        fs::create_dir_all(path).map_err(|fault| unwritable(path, fault))?;
        folder.lock = Some(Lock::take(path).map_err(|refusal| match refusal {
            LockError::Held(process) => FolderError::InUse { path: path.clone(), process },
            LockError::InTheWay(fault) => fault.into(),
            LockError::Io(lock, fault) => unwritable(&lock, fault),
        })?);
        // Checked early, so that a long bake does not fail at its end.
        let report = path.join(Report::FILE);
        InTheWay::check(&report, overwrite, Report::is_at)?;
        Level::prepare(path, overwrite)?;
        folder.checkpoints().check_place(overwrite)?;
        check_place(&report)?;
        Ok(folder)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the checkpoints of the bake in this folder.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::in_folder(&self.path)
    }

    /// Writes a bake into the folder, and returns the level; see [`BakeOutput::write_over`].
    ///
    /// # Errors
    /// The errors of [`BakeOutput::write`].
    pub fn write(&self, bake: &mut BakeOutput) -> Result<Level, BakeError> {
        bake.write_over(&self.path, self.overwrite)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.lock = None;
        if self.created {
            // Removes only an empty folder, so that a bake that failed early leaves nothing behind.
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
    fn a_folder_of_a_name_that_windows_changes_is_refused_and_not_made() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["con", "trail. "] {
            let refusal = OutputFolder::open(parent.path().join(name)).unwrap_err().to_string();
            assert!(refusal.contains(name) && refusal.contains("another name"), "{refusal}");
        }
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
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
