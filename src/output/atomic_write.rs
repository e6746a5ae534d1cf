//! Output files that are written atomically.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::temporary::write_temporary_unsynced;
use super::{InTheWay, Patience, held, rename, write_temporary};
use crate::portable::check_name;

/// Error of a file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system refused.
    #[error("cannot write {}: {source}; make room on the disk or choose another place", path.display())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another program has the file open that would be replaced.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
}

impl WriteError {
    pub(crate) fn of(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| {
            let path = path.to_owned();
            if held::is_held_by_another(&source, &path) {
                InTheWay::Held(path).into()
            } else {
                Self::Refused { path, source }
            }
        }
    }
}

/// Writes a file under a temporary name beside its path, and renames it when complete.
///
/// # Errors
/// Fails if the file cannot be written. An existing file at the path then remains unchanged.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_by(path, |folder| write_temporary(folder, |file| file.write_all(content)))
}

/// Writes a file as [`write_atomic`] does, without waiting for the disk. A crash of the system may damage the file, so its
/// reader must check it.
///
/// # Errors
/// Those of [`write_atomic`].
pub(crate) fn write_unsynced(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_by(path, |folder| write_temporary_unsynced(folder, |file| file.write_all(content)))
}

fn write_by(path: &Path, write: impl FnOnce(&Path) -> io::Result<TempPath>) -> Result<(), WriteError> {
    let write = || {
        check_name(path)?;
        rename(write(parent(path))?, path, &Patience::begin())
    };
    write().map_err(WriteError::of(path))
}

/// Checks whether a file can be written at a path, before the work that produces it. A link would be replaced; a
/// folder, a pipe or a device is refused.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn check_place(path: &Path) -> Result<(), WriteError> {
    let check = || {
        // Checked first, since Windows may wait for a device.
        check_name(path)?;
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() && !found.is_symlink() => Err(io::Error::other("it is no regular file")),
            _ => write_temporary(parent(path), |_| Ok(())).map(drop),
        }
    };
    check().map_err(WriteError::of(path))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_its_target_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("thesis.txt"), folder.path().join("light.csv"));
        fs::write(&target, "three years").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        check_place(&link).unwrap();
        write_atomic(&link, b"light").unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"light");
        assert_eq!(fs::read(&target).unwrap(), b"three years");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_device_of_windows_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["nul.csv", "light.csv."] {
            let place = folder.path().join(name);
            for refusal in [check_place(&place), write_atomic(&place, b"light")] {
                let refusal = refusal.unwrap_err().to_string();
                assert!(refusal.contains(name) && refusal.contains("another name"), "{refusal}");
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_refused_by_name_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("light.csv");
        fs::create_dir(&place).unwrap();
        assert!(check_place(&place).unwrap_err().to_string().contains("light.csv"));
        assert!(write_atomic(&place, b"light").unwrap_err().to_string().contains("light.csv"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
