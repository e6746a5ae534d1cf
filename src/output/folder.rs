//! Files that stand in the way of others.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a folder that a bake may replace and delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Files that a bake provably wrote: their names, their kinds and their recorded digests fit.
    #[default]
    Own,
    /// All files with names that bakes give.
    All,
}

/// A file or folder that stands where a bake would write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InTheWay {
    /// A file that no bake wrote, or that has changed since.
    #[error(
        "{} is in the way: it is no file that a bake wrote, or it has changed since; move it, choose another folder, or \
         replace it with --force",
        .0.display()
    )]
    Foreign(PathBuf),
    /// A folder.
    #[error("{} is in the way: it is a folder; move it or choose another folder", .0.display())]
    Folder(PathBuf),
}

impl InTheWay {
    /// Whether the file at a path may be replaced: there is none, it is a bake's as `is_own` says, or all may be.
    /// Links, pipes and devices are nobody's own.
    ///
    /// # Errors
    /// Names the file that may not.
    pub(crate) fn check(path: &Path, overwrite: Overwrite, is_own: impl FnOnce(&Path) -> bool) -> Result<(), Self> {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Err(Self::Folder(path.to_owned())),
            Ok(_) if overwrite == Overwrite::All => Ok(()),
            Ok(found) if found.is_file() && is_own(path) => Ok(()),
            Ok(_) => Err(Self::Foreign(path.to_owned())),
            // There is nothing, or nothing that could be replaced: writing will say why.
            Err(_) => Ok(()),
        }
    }
}

/// True for a file that is no link, pipe, device or folder.
pub(crate) fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Makes renames in a folder last through a power cut.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Folders cannot be opened as files here; the system orders renames itself.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
