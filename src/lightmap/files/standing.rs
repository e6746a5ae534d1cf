//! Files that a folder holds before a level is written into it, and their owners.

use std::fs;
use std::path::Path;

use super::names::is_of_level;
use super::{LEVEL_FILE, Level, LevelError, LevelFile};
use crate::output::{InTheWay, Overwrite, is_regular, is_temporary, remove_leftovers};

/// Existing files that a new level may replace and delete.
pub(super) struct Standing {
    /// The level before.
    level: Option<Level>,
    /// Unchanged files that the level before has recorded.
    pub own: Vec<LevelFile>,
    /// Names of other files that may be overwritten.
    pub others: Vec<String>,
}

impl Standing {
    /// Inspects a folder. A file is a bake's own if it has a name of a level's file, and the existing level has
    /// recorded its size and digest.
    ///
    /// # Errors
    /// Names the first foreign file that is in the way.
    pub fn inspect(folder: &Path, overwrite: Overwrite) -> Result<Self, LevelError> {
        let path = folder.join(LEVEL_FILE);
        InTheWay::check(&path, overwrite, |_| true)?;
        let level = match is_regular(&path).then(|| Level::read(folder)) {
            // The fault of the existing level is the error, unless the level may be overwritten.
            Some(Err(fault)) if overwrite == Overwrite::Own => return Err(fault),
            read => read.and_then(Result::ok),
        };
        let recorded: Vec<&LevelFile> = level.iter().flat_map(Level::records).collect();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for name in names_in(folder).into_iter().filter(|name| is_of_level(name)) {
            let path = folder.join(&name);
            // The length is compared first, since a foreign file may be endless.
            let may_be_own = |length| recorded.iter().any(|file| file.bytes == length);
            let found = match path.symlink_metadata() {
                Ok(found) if found.is_file() && may_be_own(found.len()) => {
                    InTheWay::check_open(&path)?;
                    LevelFile::of_path(&path).map(Some)
                }
                _ => Ok(None),
            };
            let found = found.map_err(LevelError::read(&path))?;
            let found = found.filter(|found| recorded.iter().any(|file| file.is_same(found)));
            InTheWay::check(&path, overwrite, |_| found.is_some())?;
            match found {
                Some(file) => own.push(file),
                None => others.push(name),
            }
        }
        Ok(Self { level, own, others })
    }

    /// Returns true if an own file of this name and content exists.
    pub fn has(&self, file: &LevelFile) -> bool {
        self.own.contains(file)
    }
}

impl Level {
    /// Checks that a level may be written into a folder. Call it before the work whose result the folder shall hold.
    /// Temporary files of a killed bake are removed, so no other process may be writing into the folder.
    ///
    /// # Errors
    /// Names the first file in the way that no bake wrote.
    pub fn prepare(folder: &Path, overwrite: Overwrite) -> Result<(), LevelError> {
        let Standing { level, .. } = Standing::inspect(folder, overwrite)?;
        // A killed bake may have left a level whose files still have temporary names.
        if level.is_some() || !folder.join(LEVEL_FILE).exists() {
            let is_needed = |name: &str| level.iter().flat_map(Self::files).any(|file| file.name == name);
            remove_leftovers(folder, is_needed);
        }
        Ok(())
    }
}

/// Returns true for a name that a file beside `level.ron` may have.
pub(super) fn is_possible(name: &str) -> bool {
    is_of_level(name) || is_temporary(name)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
