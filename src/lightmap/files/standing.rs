//! Files in a folder before a level is written into it, and their owners.

use std::fs;
use std::path::Path;

use super::names::is_of_level;
use super::{LEVEL_FILE, Level, LevelError, LevelFile};
use crate::output::{InTheWay, Overwrite, is_temporary, remove_leftovers};

/// Files of a folder that a new level may replace and delete.
#[derive(Default)]
pub(super) struct Standing {
    /// Files that the level before has recorded, and that are as it recorded them.
    pub own: Vec<LevelFile>,
    /// Names of others that may be overwritten.
    pub others: Vec<String>,
}

impl Standing {
    /// Looks at a folder. A file is a bake's own when a level's file could have its name, and the level that is there
    /// has recorded its size and digest.
    ///
    /// # Errors
    /// Names the first file that is in the way and not a bake's own.
    pub fn look(folder: &Path, overwrite: Overwrite) -> Result<Self, LevelError> {
        let path = folder.join(LEVEL_FILE);
        let mut level = None;
        InTheWay::check(&path, overwrite, |_| {
            level = Some(Level::read(folder));
            true
        })?;
        // Whatever is wrong with it is what the user has to hear.
        let level = level.transpose()?;
        let recorded: Vec<&LevelFile> = level.iter().flat_map(Level::records).collect();
        let mut standing = Self::default();
        for name in names_in(folder).into_iter().filter(|name| is_of_level(name)) {
            let path = folder.join(&name);
            // The length is asked first: somebody else's file may be endless.
            let may_be_own = |length| recorded.iter().any(|file| file.bytes == length);
            let found = match path.symlink_metadata() {
                Ok(found) if found.is_file() && may_be_own(found.len()) => LevelFile::of_path(&path).map(Some),
                _ => Ok(None),
            };
            let found = found.map_err(LevelError::read(&path))?;
            let own = found.filter(|found| recorded.iter().any(|file| file.is_same(found)));
            InTheWay::check(&path, overwrite, |_| own.is_some())?;
            match own {
                Some(file) => standing.own.push(file),
                None => standing.others.push(name),
            }
        }
        Ok(standing)
    }

    /// True when a file of this name and content is there.
    pub fn has(&self, file: &LevelFile) -> bool {
        self.own.contains(file)
    }
}

impl Level {
    /// Whether a level may be written into a folder: to be asked before the work whose result it shall hold. Temporary
    /// files of a bake that was killed are removed; so nobody else may be writing into the folder.
    ///
    /// # Errors
    /// Names the first file that is in the way and that no bake wrote.
    pub fn prepare(folder: &Path, overwrite: Overwrite) -> Result<(), LevelError> {
        Standing::look(folder, overwrite)?;
        // A bake that was killed may have left a level that still goes by temporary names.
        let level = Self::read(folder).ok();
        if level.is_some() || !folder.join(LEVEL_FILE).exists() {
            let is_needed = |name: &str| level.iter().flat_map(Self::files).any(|file| file.name == name);
            remove_leftovers(folder, is_needed);
        }
        Ok(())
    }
}

/// True for a name that a file beside `level.ron` may have.
pub(super) fn is_possible(name: &str) -> bool {
    is_of_level(name) || is_temporary(name)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
