//! Files that replace others all at once, whenever the process ends.
//!
//! New files are written under hidden names. One file, the index, says which files belong together, and it alone
//! decides: a first index that names the hidden files takes the place of the old one in a single step. What the old one
//! named is nobody's then and makes way for the names that the new files are to have, until a second index, which names
//! those, takes the place of the first.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::LevelError;

const HIDDEN_PREFIX: &str = ".radiosity-";
const HIDDEN_SUFFIX: &str = ".part";

/// Files that have been written under hidden names.
///
/// Dropped before they are published, it leaves nothing behind.
pub(super) struct Staging {
    folder: PathBuf,
    files: Vec<Staged>,
}

struct Staged {
    file: NamedTempFile,
    /// The name that it is to have.
    name: String,
}

impl Staging {
    pub fn new(folder: &Path) -> Result<Self, LevelError> {
        fs::create_dir_all(folder).map_err(LevelError::write(folder))?;
        Ok(Self { folder: folder.to_owned(), files: Vec::new() })
    }

    /// Writes a file under a hidden name, down to the disk.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), LevelError> {
        let file = self.written(bytes).map_err(LevelError::write(&self.folder.join(name)))?;
        self.files.push(Staged { file, name: name.to_owned() });
        Ok(())
    }

    /// The hidden name of a file that is to have this one.
    pub fn hidden_name(&self, name: &str) -> Option<String> {
        let staged = self.files.iter().find(|staged| staged.name == name)?;
        Some(staged.file.path().file_name()?.to_string_lossy().into_owned())
    }

    /// Gives all files their names and removes those that nobody needs any more.
    ///
    /// `first` and `second` are the texts of the index, with hidden names and with those that the files are to have;
    /// `obsolete` are names of files that the index before these named.
    pub fn publish(self, index: &str, first: &str, second: &str, obsolete: Vec<String>) -> Result<(), LevelError> {
        self.publish_watched(index, [first, second], obsolete, || ())
    }

    /// Calls `watch` before the first step and after each: whichever is the last, the files of one index are there, of
    /// the old one or of the new.
    fn publish_watched(
        self,
        index: &str,
        texts: [&str; 2],
        obsolete: Vec<String>,
        mut watch: impl FnMut(),
    ) -> Result<(), LevelError> {
        let place = |name: &str| self.folder.join(name);
        let index = place(index);
        for path in self.files.iter().map(|staged| place(&staged.name)).chain([index.clone()]) {
            if path.is_dir() {
                return Err(LevelError::write(&path)(io::ErrorKind::IsADirectory.into()));
            }
        }
        let obsolete = obsolete.iter().map(|name| place(name)).chain(self.left_behind()).collect::<Vec<_>>();
        let [first, second] = texts.map(|text| self.written(text.as_bytes()).map_err(LevelError::write(&index)));
        let (first, second) = (first?, second?);
        watch();
        let replace =
            |file: NamedTempFile| file.persist(&index).map_err(|fault| LevelError::write(&index)(fault.error));
        replace(first)?;
        watch();
        // From here on the hidden files are the level, whatever happens.
        let hidden = self.files.into_iter().map(|Staged { file, name }| {
            let kept = file.into_temp_path().keep();
            Ok((kept.map_err(|fault| LevelError::write(&index)(fault.error))?, self.folder.join(name)))
        });
        let hidden = hidden.collect::<Result<Vec<(PathBuf, PathBuf)>, LevelError>>()?;
        for (hidden, path) in &hidden {
            duplicate(hidden, path).map_err(LevelError::write(path))?;
            watch();
        }
        replace(second)?;
        watch();
        for path in hidden.iter().map(|(hidden, _)| hidden).chain(&obsolete) {
            // What stays costs space and nothing else.
            let _ = fs::remove_file(path);
            watch();
        }
        Ok(())
    }

    /// Hidden files of processes that ended before they were done.
    fn left_behind(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_hidden = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(HIDDEN_PREFIX) && name.ends_with(HIDDEN_SUFFIX)
        };
        let is_ours = |path: &PathBuf| self.files.iter().any(|staged| staged.file.path() == path);
        entries.filter(|path| is_hidden(path) && !is_ours(path)).collect()
    }

    fn written(&self, bytes: &[u8]) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(HIDDEN_PREFIX).suffix(HIDDEN_SUFFIX);
        // Temporary files are for their owner alone; a level is as readable as anything else that is saved.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

/// Gives a file a second name; a file that has it is replaced.
fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to)?;
    }
    // Not every file system has links.
    fs::hard_link(from, to).or_else(|_| {
        fs::copy(from, to)?;
        File::open(to)?.sync_all()
    })
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    /// Writes an index, `INDEX`, that names two files of some content, and watches.
    fn write(folder: &Path, content: &str, obsolete: &[&str], watch: impl FnMut()) {
        let mut staging = Staging::new(folder).expect("a folder");
        for name in ["one", "two"] {
            staging.add(name, content.as_bytes()).expect("a temporary file");
        }
        let hidden = ["one", "two"].map(|name| staging.hidden_name(name).expect("it was added"));
        let obsolete = obsolete.iter().map(|&name| name.to_owned()).collect();
        staging.publish_watched("INDEX", [&hidden.join("\n"), "one\ntwo"], obsolete, watch).expect("there is room");
    }

    /// What the files hold that the index names.
    fn read(folder: &Path) -> Vec<String> {
        let index = fs::read_to_string(folder.join("INDEX")).expect("an index");
        index.lines().map(|name| fs::read_to_string(folder.join(name)).expect("what the index names")).collect()
    }

    #[test]
    fn wherever_writing_stops_the_old_files_or_the_new_are_there() {
        let folder = tempdir().expect("a temporary folder");
        write(folder.path(), "old", &[], || ());
        let mut seen = Vec::new();
        write(folder.path(), "new", &[], || seen.push(read(folder.path())));
        let count_of_old = seen.iter().take_while(|content| **content == ["old"; 2]).count();
        assert_eq!(count_of_old, 1, "one step decides");
        // Two indices, two files with two names each.
        assert_eq!(seen.len(), 1 + 2 + 2 + 2);
        assert!(seen[1..].iter().all(|content| *content == ["new"; 2]), "{seen:?}");
    }

    #[test]
    fn what_a_stopped_process_left_behind_is_removed_by_the_next() {
        let folder = tempdir().expect("a temporary folder");
        let names = || {
            let entries = fs::read_dir(folder.path()).expect("the folder");
            let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
            names.sort();
            names
        };
        // Each state that a process may stop in becomes the state that the next begins with.
        let mut states = Vec::new();
        write(folder.path(), "old", &[], || ());
        fs::write(folder.path().join("three"), "of a larger level").expect("a file");
        let copy = || {
            names()
                .into_iter()
                .map(|name| (name.clone(), fs::read(folder.path().join(name)).expect("a file")))
                .collect()
        };
        write(folder.path(), "new", &["three"], || states.push(copy()));
        let states: Vec<Vec<(std::ffi::OsString, Vec<u8>)>> = states;
        for state in states {
            names().iter().for_each(|name| fs::remove_file(folder.path().join(name)).expect("a file"));
            for (name, bytes) in state {
                fs::write(folder.path().join(name), bytes).expect("a file");
            }
            write(folder.path(), "newest", &["three"], || ());
            assert_eq!(names(), ["INDEX", "one", "two"]);
            assert_eq!(read(folder.path()), ["newest"; 2]);
        }
    }

    #[test]
    fn a_name_that_a_folder_has_is_an_error_and_nothing_changes() {
        let folder = tempdir().expect("a temporary folder");
        fs::write(folder.path().join("first"), "old").expect("a file");
        fs::create_dir(folder.path().join("second")).expect("a folder");
        let mut staging = Staging::new(folder.path()).expect("a folder");
        for name in ["first", "second"] {
            staging.add(name, b"new").expect("a temporary file");
        }
        let error = staging.publish("INDEX", "", "", Vec::new()).expect_err("a folder cannot be replaced");
        assert!(error.to_string().contains("second"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
        assert_eq!(fs::read(folder.path().join("first")).expect("the file"), b"old");
    }
}
