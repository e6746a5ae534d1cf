//! Output files that exist whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use super::write_temporary;

/// Why an output file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}; choose another place or make room")]
pub struct WriteError {
    path: String,
    source: io::Error,
}

impl WriteError {
    fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.display().to_string(), source }
    }
}

/// Writes a file under a temporary name beside its place and renames it when it is complete.
///
/// # Errors
/// When it cannot be written; what had this name before is still there then.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_temporary(parent(path), |file| file.write_all(content))
        .and_then(|temporary| Ok(temporary.persist(path)?))
        .map_err(|source| WriteError::new(path, source))
}

/// Whether a file may be written here: to be asked before the work whose result it shall hold. A link would be
/// replaced; a folder, a pipe or a device is refused.
///
/// # Errors
/// When it may not.
pub fn check_place(path: &Path) -> Result<(), WriteError> {
    let refused = |source| Err(WriteError::new(path, source));
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => return refused(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() && !found.is_symlink() => {
            return refused(io::Error::other("it is no regular file"));
        }
        _ => {}
    }
    write_temporary(parent(path), |_| Ok(())).map(drop).map_err(|source| WriteError::new(path, source))
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
        write_whole(&link, b"light").unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"light");
        assert_eq!(fs::read(&target).unwrap(), b"three years");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_is_refused_by_name_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("light.csv");
        fs::create_dir(&place).unwrap();
        assert!(check_place(&place).unwrap_err().to_string().contains("light.csv"));
        assert!(write_whole(&place, b"light").unwrap_err().to_string().contains("light.csv"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
