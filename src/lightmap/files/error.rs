//! Errors of levels on disk.

use std::io;
use std::path::{Path, PathBuf};

use crate::output::{InTheWay, WriteError, is_held_by_another};

/// Error of a level that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// A file of the level would replace a file or folder that no bake wrote, or another program holds a file of the
    /// level.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}; give a folder that a bake has finished, or bake the level again", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file has invalid content.
    #[error("{} is damaged: {fault}; bake the level again with --force", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the fault.
        fault: String,
    },
    /// A file is from another version of this crate.
    #[error(
        "{} has format {found}, but this version reads format {expected}; bake the level again with --force",
        path.display()
    )]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        found: u32,
        /// Format that this version reads.
        expected: u32,
    },
    /// The level would be refused when read, so it is not written.
    #[error("the level is not written, since it could not be read again: {0}; bake it with other settings")]
    Impossible(String),
    /// The scene's mesh has changed since the level was baked.
    #[error("{} was made for another mesh than \"{mesh}\"; bake the level again", path.display())]
    OtherMesh {
        /// Path of the file with the unwrapped mesh.
        path: PathBuf,
        /// Name of the scene's mesh.
        mesh: String,
    },
}

impl LevelError {
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| WriteError::of(path)(source).into()
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| {
            let path = path.to_owned();
            if is_held_by_another(&source, &path) { InTheWay::Held(path).into() } else { Self::Read { path, source } }
        }
    }

    pub(super) fn damaged(path: &Path, fault: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), fault: fault.to_string() }
    }
}
