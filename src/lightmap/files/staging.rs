//! Files that replace others all at once, whenever the process ends.
//!
//! New files are written under temporary names. One file, the index, says which files belong together, and it alone
//! decides: a first index that names the temporary files takes the place of the old one in a single step. What the old
//! one named is nobody's then and makes way for the names that the new files are to have, until a second index, which
//! names those, takes the place of the first.
//!
//! Where a name stays taken, since a reader holds the file (Windows) or somebody else has come first, the new file keeps
//! its temporary name, and the second index says so.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::LevelError;
use crate::input::open_regular;
use crate::output::{InTheWay, remove_leftovers, sync_folder, write_temporary};

/// Files that have been written under temporary names. None of them is open.
///
/// Dropped before they are published, it leaves nothing behind.
pub(super) struct Staging {
    folder: PathBuf,
    files: Vec<Staged>,
}

struct Staged {
    path: TempPath,
    /// The name that it is to have.
    name: String,
}

/// The names that files go by.
#[derive(Default)]
pub(super) struct Names {
    /// Temporary names of files that do not have their own.
    temporary: HashMap<String, String>,
    /// Obsolete files that are still there.
    obsolete: Vec<String>,
}

impl Names {
    /// The name that a file goes by which is to have this one.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.temporary.get(name).map_or(name, String::as_str)
    }

    pub fn is_left(&self, obsolete: &str) -> bool {
        self.obsolete.iter().any(|name| name == obsolete)
    }
}

impl Staging {
    pub fn new(folder: &Path) -> Result<Self, LevelError> {
        fs::create_dir_all(folder).map_err(LevelError::write(folder))?;
        Ok(Self { folder: folder.to_owned(), files: Vec::new() })
    }

    /// Writes a file under a temporary name, down to the disk.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), LevelError> {
        let path = written(&self.folder, bytes).map_err(LevelError::write(&self.folder.join(name)))?;
        self.files.push(Staged { path, name: name.to_owned() });
        Ok(())
    }

    /// Gives all files their names, and removes those that nobody needs any more: `obsolete`, which the index before may
    /// have named. `text` is the index with the names that files go by.
    pub fn publish(
        self,
        index: &str,
        obsolete: Vec<String>,
        text: impl Fn(&Names) -> Result<String, LevelError>,
    ) -> Result<Names, LevelError> {
        self.publish_watched(index, obsolete, text, || ())
    }

    /// Calls `watch` before the first step and after each: whichever is the last, the files of one index are there, of
    /// the old one or of the new.
    fn publish_watched(
        self,
        index: &str,
        obsolete: Vec<String>,
        text: impl Fn(&Names) -> Result<String, LevelError>,
        mut watch: impl FnMut(),
    ) -> Result<Names, LevelError> {
        let Self { folder, files } = self;
        let index = folder.join(index);
        for path in files.iter().map(|staged| folder.join(&staged.name)).chain([index.clone()]) {
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(InTheWay::Folder(path).into());
            }
        }
        let replace = |names: &Names| {
            let written = written(&folder, text(names)?.as_bytes()).map_err(LevelError::write(&index))?;
            written.persist(&index).map_err(|fault| LevelError::write(&index)(fault.error))
        };
        let mut names = Names { temporary: HashMap::new(), obsolete };
        for Staged { path, name } in &files {
            let temporary = path.file_name().unwrap_or_default().to_string_lossy();
            names.temporary.insert(name.clone(), temporary.into_owned());
        }
        watch();
        replace(&names)?;
        // From here on the temporary files are the level, whatever happens.
        let temporary: Vec<(PathBuf, String)> =
            files.into_iter().map(|Staged { path, name }| (kept(path), name)).collect();
        // Not every file system can; the level is whole without.
        let _ = sync_folder(&folder);
        watch();
        names.obsolete.retain(|name| {
            let path = folder.join(name);
            // Where a reader holds it, the level goes on to list it.
            fs::remove_file(&path).is_err() && path.symlink_metadata().is_ok()
        });
        for (path, name) in &temporary {
            if has_second_name(path, &folder.join(name)) {
                names.temporary.remove(name);
            }
            watch();
        }
        replace(&names)?;
        let _ = sync_folder(&folder);
        watch();
        for (path, _) in temporary.iter().filter(|(_, name)| names.of(name) == name) {
            // What stays costs space and nothing else.
            let _ = fs::remove_file(path);
            watch();
        }
        remove_leftovers(&folder, |name| names.temporary.values().any(|needed| needed == name));
        Ok(names)
    }
}

/// A temporary file that stays.
fn kept(mut path: TempPath) -> PathBuf {
    path.disable_cleanup(true);
    path.keep().unwrap_or_else(|fault| fault.path.to_path_buf())
}

fn written(folder: &Path, bytes: &[u8]) -> io::Result<TempPath> {
    write_temporary(folder, |file| file.write_all(bytes))
}

/// Gives a file a second name, unless something has that.
fn has_second_name(from: &Path, to: &Path) -> bool {
    if to.symlink_metadata().is_ok() {
        return false;
    }
    // Not every file system has links.
    fs::hard_link(from, to).is_ok() || copy(from, to).is_ok()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().unwrap_or(Path::new(""));
    let copied = write_temporary(folder, |file| io::copy(&mut open_regular(from)?, file).map(drop))?;
    Ok(copied.persist_noclobber(to)?)
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
        let obsolete = obsolete.iter().map(|&name| name.to_owned()).collect();
        let text = |names: &Names| Ok(["one", "two"].map(|name| names.of(name)).join("\n"));
        staging.publish_watched("INDEX", obsolete, text, watch).expect("there is room");
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
        write(folder.path(), "new", &["one", "two"], || seen.push(read(folder.path())));
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
        write(folder.path(), "new", &["one", "two", "three"], || states.push(copy()));
        let states: Vec<Vec<(std::ffi::OsString, Vec<u8>)>> = states;
        for state in states {
            names().iter().for_each(|name| fs::remove_file(folder.path().join(name)).expect("a file"));
            for (name, bytes) in state {
                fs::write(folder.path().join(name), bytes).expect("a file");
            }
            write(folder.path(), "newest", &["one", "two", "three"], || ());
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
        let error = staging.publish("INDEX", Vec::new(), |_| Ok(String::new()));
        let error = error.err().expect("a folder cannot be replaced");
        assert!(error.to_string().contains("second"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
        assert_eq!(fs::read(folder.path().join("first")).expect("the file"), b"old");
    }

    #[test]
    fn a_name_that_stays_taken_fails_nothing_and_its_file_is_left_alone() {
        let folder = tempdir().expect("a temporary folder");
        fs::write(folder.path().join("one"), "somebody's").expect("a file");
        write(folder.path(), "new", &[], || ());
        assert_eq!(read(folder.path()), ["new"; 2]);
        assert_eq!(fs::read(folder.path().join("one")).expect("the file"), b"somebody's");
        // It goes by its temporary name until the next level.
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 4);
        write(folder.path(), "newest", &["one", "two"], || ());
        assert_eq!(read(folder.path()), ["newest"; 2]);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_file_that_has_been_written_stays_open() {
        let folder = tempdir().expect("a temporary folder");
        let mut staging = Staging::new(folder.path()).expect("a folder");
        for number in 0..20 {
            staging.add(&number.to_string(), b"new").expect("a temporary file");
        }
        let open = fs::read_dir("/proc/self/fd").expect("the process's files").flatten();
        let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        assert_eq!(open.filter(|path| path.starts_with(folder.path())).count(), 0);
    }
}
