//! Files that appear all at once or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

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
        let mut builder = hidden_name();
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

    /// Gives all files their names, in the order in which they were added. Files that have these names give way before,
    /// the last first, and get them back if one of the new files cannot have its own.
    pub fn publish(self) -> Result<(), LevelError> {
        let mut replaced = Replaced::default();
        for (_, path) in self.files.iter().rev() {
            replaced.set_aside(path, &self.folder).map_err(LevelError::write(path))?;
        }
        for (file, path) in self.files {
            file.persist(&path).map_err(|fault| LevelError::write(&path)(fault.error))?;
            replaced.by.push(path);
        }
        replaced.settle();
        Ok(())
    }
}

/// Files that gave way to others. They come back unless it is settled that the others stay.
#[derive(Default)]
struct Replaced {
    files: Vec<(TempPath, PathBuf)>,
    by: Vec<PathBuf>,
}

impl Replaced {
    fn set_aside(&mut self, path: &Path, folder: &Path) -> io::Result<()> {
        if path.symlink_metadata().is_ok() {
            let aside = hidden_name().tempfile_in(folder)?.into_temp_path();
            fs::rename(path, &aside)?;
            self.files.push((aside, path.to_owned()));
        }
        Ok(())
    }

    fn settle(mut self) {
        self.by.clear();
        self.files.clear();
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        for path in self.by.drain(..) {
            let _ = fs::remove_file(path);
        }
        for (aside, path) in self.files.drain(..).rev() {
            // What cannot go back is not lost either: it stays under the name that it has now.
            if let Err(fault) = aside.persist(path) {
                let _ = fault.path.keep();
            }
        }
    }
}

fn hidden_name() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".radiosity-").suffix(".part");
    builder
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn when_a_file_cannot_have_its_name_those_before_it_give_theirs_back() {
        let folder = tempdir().expect("a temporary folder");
        fs::write(folder.path().join("first"), "old").expect("a file");
        let mut staging = Staging::new(folder.path()).expect("a folder");
        for name in ["first", "second", "no such folder/third"] {
            staging.add(name, b"new").expect("a temporary file");
        }
        let error = staging.publish().expect_err("the folder is missing");
        assert!(error.to_string().contains("third"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
        assert_eq!(fs::read(folder.path().join("first")).expect("the file"), b"old");
    }
}
