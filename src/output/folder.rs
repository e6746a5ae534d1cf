//! Protection of existing files against being overwritten.

use std::io;
use std::path::{Path, PathBuf};

use super::held;

/// Files in a folder that a bake may replace and delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Only files provably written by a bake: names, kinds and recorded digests match.
    #[default]
    Own,
    /// All files with names that a bake uses.
    All,
}

/// Existing file or folder at a path that a bake would write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InTheWay {
    /// A file that no bake wrote, or that has changed since.
    #[error(
        "{} is in the way: it is no file that this program wrote, or it has changed since; move it, choose another \
         place, or let a bake replace it with --force",
        .0.display()
    )]
    Foreign(PathBuf),
    /// A folder.
    #[error("{} is in the way: it is a folder; move it or choose another folder", .0.display())]
    Folder(PathBuf),
    /// A file that another program has open, so that it cannot be read or replaced.
    #[error("another program has {} open; close that program and try again", .0.display())]
    Held(PathBuf),
}

impl InTheWay {
    /// Checks that other programs let us read a regular file, waiting for some seconds if necessary.
    ///
    /// # Errors
    /// When another program keeps the file locked.
    pub(crate) fn check_open(path: &Path) -> Result<(), Self> {
        if held::is_closed(path) { Err(Self::Held(path.to_owned())) } else { Ok(()) }
    }

    /// Checks whether the file at a path may be replaced: there is none, `is_own` accepts it, or `overwrite` allows
    /// all. Links, pipes and devices are never a bake's own.
    ///
    /// # Errors
    /// Returns the file that must not be replaced.
    pub(crate) fn check(path: &Path, overwrite: Overwrite, is_own: impl FnOnce(&Path) -> bool) -> Result<(), Self> {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Err(Self::Folder(path.to_owned())),
            Ok(_) if overwrite == Overwrite::All => Ok(()),
            Ok(found) if found.is_file() && Self::check_open(path).map(|()| is_own(path))? => Ok(()),
            Ok(_) => Err(Self::Foreign(path.to_owned())),
            // Nothing exists, or nothing replaceable; writing will report the reason.
            Err(_) => Ok(()),
        }
    }
}

/// Returns true for a regular file: no link, pipe, device or folder.
pub(crate) fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Makes renames in a folder survive a power failure.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::File::open(folder)?.sync_all()
}

/// Does nothing: this system cannot open folders as files, and it orders renames itself.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
