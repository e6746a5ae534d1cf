//! Why a level cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use crate::output::InTheWay;

/// Why a level cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// A file or folder stands where a file of the level would be written, and no bake wrote it.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// The system refused to write.
    #[error("cannot write {}: {source}; make room on the disk or choose another folder", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to read.
    #[error("cannot read {}: {source}; give a folder that a bake has finished, or bake the level again", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not hold what it should.
    #[error("{} is damaged: {fault}; bake the level again with --force", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// The file is from another version of this crate.
    #[error(
        "{} has format {found}, but this version reads format {expected}; bake the level again with --force",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The format it says it has.
        found: u32,
        /// The format that can be read.
        expected: u32,
    },
    /// The scene's mesh has changed since the level was baked.
    #[error("{} was made for another mesh than \"{mesh}\"; bake the level again", path.display())]
    OtherMesh {
        /// The file with the unwrapped mesh.
        path: PathBuf,
        /// The scene's mesh.
        mesh: String,
    },
}

impl LevelError {
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, fault: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), fault: fault.to_string() }
    }
}
