//! Record of a level's file, to detect changes.

use core::cmp::Ordering;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::LevelError;
use crate::input::open_regular;
use crate::scene::Hash;

/// A file beside `level.ron`, as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelFile {
    /// Name of the file.
    pub name: String,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Digest of its content.
    pub blake3: Hash,
}

impl LevelFile {
    pub(super) fn new(name: &str, content: &[u8]) -> Self {
        Self { name: name.to_owned(), bytes: content.len() as u64, blake3: Hash(*blake3::hash(content).as_bytes()) }
    }

    /// Returns an error if the content is not what was written. `path` names the file in errors.
    pub(super) fn check(&self, content: &[u8], path: &Path) -> Result<(), LevelError> {
        self.check_length(content.len() as u64, path)?;
        if !self.is_same(&Self::new(&self.name, content)) {
            return Err(LevelError::damaged(path, "its content is not what was written"));
        }
        Ok(())
    }

    /// Returns an error if the length is not what was written.
    pub(super) fn check_length(&self, length: u64, path: &Path) -> Result<(), LevelError> {
        let expected = self.bytes;
        match length.cmp(&expected) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(LevelError::damaged(
                path,
                format!("it has {length} bytes and not the {expected} that were written"),
            )),
            // More than one byte too many may not have been read.
            Ordering::Greater => {
                Err(LevelError::damaged(path, format!("it has more than the {expected} bytes that were written")))
            }
        }
    }

    /// Returns true if both have the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.bytes, self.blake3) == (other.bytes, other.blake3)
    }

    /// Returns the record of an existing file.
    pub(super) fn of_path(path: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut open_regular(path)?, &mut hasher)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, bytes, blake3: Hash(*hasher.finalize().as_bytes()) })
    }
}
