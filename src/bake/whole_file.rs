//! Output files that exist whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

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
    let temporary = temporary_name(path);
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        WriteError::new(path, source)
    })
}

/// Whether a file may be written here: to be asked before the work whose result it shall hold.
///
/// # Errors
/// When it may not.
pub fn check_place(path: &Path) -> Result<(), WriteError> {
    if path.is_dir() {
        return Err(WriteError::new(path, io::ErrorKind::IsADirectory.into()));
    }
    let temporary = temporary_name(path);
    File::create(&temporary).and_then(|_| fs::remove_file(&temporary)).map_err(|source| WriteError::new(path, source))
}

fn temporary_name(path: &Path) -> OsString {
    let mut name = OsString::from(path);
    name.push(".partial");
    name
}
