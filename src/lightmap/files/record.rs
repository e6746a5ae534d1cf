//! Record of a level's file, to detect changes.

use std::io::{self, Read};
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

    /// Reads the file and checks that its content has not changed.
    pub(super) fn read(&self, folder: &Path) -> Result<Vec<u8>, LevelError> {
        let path = folder.join(&self.name);
        let file = open_regular(&path).map_err(LevelError::read(&path))?;
        let length = file.metadata().map_err(LevelError::read(&path))?.len();
        if length != self.bytes {
            let expected = self.bytes;
            return Err(LevelError::damaged(
                &path,
                format!("it has {length} bytes and not the {expected} that were written"),
            ));
        }
        let mut content = Vec::new();
        file.take(length).read_to_end(&mut content).map_err(LevelError::read(&path))?;
        if !self.is_same(&Self::new(&self.name, &content)) {
            return Err(LevelError::damaged(&path, "its content is not what was written"));
        }
        Ok(content)
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
