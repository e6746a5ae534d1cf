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

/// Writes a file under a temporary name beside its place and renames it when it is complete.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let mut temporary = OsString::from(path);
    temporary.push(".partial");
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        WriteError { path: path.display().to_string(), source }
    })
}
