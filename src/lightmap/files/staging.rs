//! Files that appear all at once or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::LevelError;

/// Files written under temporary names that [`Staging::publish`] gives their own.
///
/// Dropped before that, it leaves nothing behind.
pub(super) struct Staging {
    folder: PathBuf,
    files: Vec<(NamedTempFile, PathBuf)>,
}

impl Staging {
    pub fn new(folder: &Path) -> Result<Self, LevelError> {
        fs::create_dir_all(folder).map_err(LevelError::write(folder))?;
        Ok(Self { folder: folder.to_owned(), files: Vec::new() })
    }

    /// Writes a file under a temporary name, down to the disk.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), LevelError> {
        let path = self.folder.join(name);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".radiosity-").suffix(".part");
        // Temporary files are for their owner alone; a level is as readable as anything else that is saved.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let written = builder.tempfile_in(&self.folder).and_then(|mut file| {
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            Ok(file)
        });
        self.files.push((written.map_err(LevelError::write(&path))?, path));
        Ok(())
    }

    /// Gives all files their names, in the order in which they were added. If one cannot have its name, those before it
    /// are removed again.
    pub fn publish(self) -> Result<(), LevelError> {
        let mut published = Vec::new();
        for (file, path) in self.files {
            if let Err(error) = file.persist(&path) {
                published.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(LevelError::Write { path, source: error.error });
            }
            published.push(path);
        }
        Ok(())
    }
}
