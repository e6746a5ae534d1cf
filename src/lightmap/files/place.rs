//! Places that hold the files of a level.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::{LevelError, LevelFile};
use crate::input::open_regular;

/// Place that holds the files of a level: a folder, or [memory](LevelBytes).
pub trait LevelFiles {
    /// Returns the path of a file, for errors.
    fn path(&self, file: &LevelFile) -> PathBuf;

    /// Reads a file and checks that its content is what was written.
    ///
    /// # Errors
    /// When the file is missing or damaged.
    fn read(&self, file: &LevelFile) -> Result<Cow<'_, [u8]>, LevelError>;
}

impl LevelFiles for Path {
    fn path(&self, file: &LevelFile) -> PathBuf {
        self.join(&file.name)
    }

    fn read(&self, file: &LevelFile) -> Result<Cow<'_, [u8]>, LevelError> {
        let path = self.path(file);
        let opened = open_regular(&path).map_err(LevelError::read(&path))?;
        let length = opened.metadata().map_err(LevelError::read(&path))?.len();
        // The length is compared first, since another file may be endless.
        file.check_length(length, &path)?;
        let mut content = Vec::new();
        opened.take(length).read_to_end(&mut content).map_err(LevelError::read(&path))?;
        file.check(&content, &path)?;
        Ok(content.into())
    }
}

/// Files of a level in memory, as they were read from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct LevelBytes {
    folder: PathBuf,
    files: HashMap<String, Vec<u8>>,
}

impl LevelBytes {
    /// Creates an empty place. `folder` is the path of the level in errors.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), files: HashMap::new() }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// When its content is not what was written.
    pub fn insert(&mut self, file: &LevelFile, content: Vec<u8>) -> Result<(), LevelError> {
        file.check(&content, &self.path(file))?;
        self.files.insert(file.name.clone(), content);
        Ok(())
    }
}

impl LevelFiles for LevelBytes {
    fn path(&self, file: &LevelFile) -> PathBuf {
        self.folder.join(&file.name)
    }

    fn read(&self, file: &LevelFile) -> Result<Cow<'_, [u8]>, LevelError> {
        let missing = || LevelError::read(&self.path(file))(ErrorKind::NotFound.into());
        self.files.get(&file.name).map(|content| content.as_slice().into()).ok_or_else(missing)
    }
}
