//! Atomic replacement of a set of files, whenever the process ends.
//!
//! New files are written under temporary names. One file, the index, lists the files that belong together. In the first
//! step, an index with the temporary names replaces the old index atomically. The old files are now unused and are
//! removed, and the new files get their final names. In the last step, a second index with the final names replaces the
//! first.
//!
//! A final name may stay taken, because a reader holds the file (Windows) or another file has appeared. Then the new
//! file gets a spare name, and the second index lists it. If that is taken as well, the file keeps its temporary name.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::LevelError;
use crate::input::open_regular;
use crate::output::{InTheWay, Patience, keep, remove_leftovers, rename, sync_folder, write_temporary};

/// New files under temporary names. None of them is open.
///
/// Dropping it before they are published removes them.
pub(super) struct Staging {
    folder: PathBuf,
    files: Vec<Staged>,
}

struct Staged {
    path: TempPath,
    /// Final name.
    name: String,
    /// Name to use if the final name is taken.
    spare: String,
}

/// Present names of files.
#[derive(Default)]
pub(super) struct Names {
    /// Names of files that do not have their final name, by final name.
    others: HashMap<String, String>,
    /// Obsolete files that still exist.
    obsolete: Vec<String>,
}

impl Names {
    /// Returns the present name of the file with this final name.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.others.get(name).map_or(name, String::as_str)
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

    /// Writes a file under a temporary name and syncs it to the disk.
    pub fn add(&mut self, name: &str, spare: String, bytes: &[u8]) -> Result<(), LevelError> {
        let path = written(&self.folder, bytes).map_err(LevelError::write(&self.folder.join(name)))?;
        self.files.push(Staged { path, name: name.to_owned(), spare });
        Ok(())
    }

    /// Gives all files their names, and removes the `obsolete` files of the old index. `text` returns the content of
    /// the index for the present names.
    pub fn publish(
        self,
        index: &str,
        obsolete: Vec<String>,
        text: impl Fn(&Names) -> Result<String, LevelError>,
    ) -> Result<Names, LevelError> {
        self.publish_watched(index, obsolete, text, || ())
    }

    /// Publishes as [`publish`](Self::publish) does, and calls `watch` before the first step and after each. At each
    /// call, all files of either the old index or the new one exist.
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
            let text = text(names)?;
            let replaced =
                written(&folder, text.as_bytes()).and_then(|written| rename(written, &index, &Patience::begin()));
            replaced.map_err(LevelError::write(&index))
        };
        let mut names = Names { others: HashMap::new(), obsolete };
        for Staged { path, name, .. } in &files {
            names.others.insert(name.clone(), name_of(path));
        }
        watch();
        replace(&names)?;
        // From here on, the temporary files are the level, even if a later step fails.
        let files: Vec<(PathBuf, [String; 2])> =
            files.into_iter().map(|Staged { path, name, spare }| (keep(path), [name, spare])).collect();
        // Not every file system can sync folders. The level is complete without it.
        let _ = sync_folder(&folder);
        watch();
        let patience = Patience::begin();
        names.obsolete.retain(|name| {
            let path = folder.join(name);
            // The level continues to list a file that a reader holds.
            patience.retry(|| fs::remove_file(&path)).is_err() && path.symlink_metadata().is_ok()
        });
        for (path, [name, spare]) in &files {
            let gets = |given: &&String| has_second_name(path, &folder.join(given), &patience);
            if let Some(given) = [name, spare].into_iter().find(gets) {
                names.others.insert(name.clone(), given.clone());
            }
            watch();
        }
        replace(&names)?;
        let _ = sync_folder(&folder);
        watch();
        let is_needed = |temporary: &str| names.others.values().any(|needed| needed == temporary);
        for (path, _) in files.iter().filter(|(path, _)| !is_needed(&name_of(path))) {
            // A temporary file that cannot be removed only costs space.
            let _ = patience.retry(|| fs::remove_file(path));
            watch();
        }
        remove_leftovers(&folder, is_needed);
        Ok(names)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn written(folder: &Path, bytes: &[u8]) -> io::Result<TempPath> {
    write_temporary(folder, |file| file.write_all(bytes))
}

/// Gives a file a second name, unless that name is taken.
fn has_second_name(from: &Path, to: &Path, patience: &Patience) -> bool {
    // Not every file system has links.
    to.symlink_metadata().is_err()
        && (patience.retry(|| fs::hard_link(from, to)).is_ok() || copy(from, to, patience).is_ok())
}

fn copy(from: &Path, to: &Path, patience: &Patience) -> io::Result<()> {
    let folder = to.parent().unwrap_or(Path::new(""));
    let copied = write_temporary(folder, |file| io::copy(&mut open_regular(from)?, file).map(drop))?;
    // Copying takes long enough for somebody to put a file there.
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    rename(copied, to, patience)
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    /// Writes an index, `INDEX`, of two files with `content`, and watches each step.
    fn write(folder: &Path, content: &str, obsolete: &[&str], watch: impl FnMut()) {
        let mut staging = Staging::new(folder).expect("a folder");
        for name in ["one", "two"] {
            staging.add(name, format!("{name}-{content}"), content.as_bytes()).expect("a temporary file");
        }
        let obsolete = obsolete.iter().map(|&name| name.to_owned()).collect();
        let text = |names: &Names| Ok(["one", "two"].map(|name| names.of(name)).join("\n"));
        staging.publish_watched("INDEX", obsolete, text, watch).expect("there is room");
    }

    /// Returns the contents of the files that the index names.
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
        // The steps: two indices, and two files with two names each.
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
        // Each state in which a process may stop is the start of the next one.
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
            staging.add(name, format!("{name}-new"), b"new").expect("a temporary file");
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
        let count = || fs::read_dir(folder.path()).expect("the folder").count();
        fs::write(folder.path().join("one"), "somebody's").expect("a file");
        write(folder.path(), "new", &[], || ());
        assert_eq!(read(folder.path()), ["new"; 2]);
        assert_eq!(fs::read(folder.path().join("one")).expect("the file"), b"somebody's");
        let index = || fs::read_to_string(folder.path().join("INDEX")).expect("an index");
        assert_eq!((index().as_str(), count()), ("one-new\ntwo", 4));
        // If the spare name is taken as well, the file keeps its temporary name until the next level.
        write(folder.path(), "new", &["two"], || ());
        assert_eq!((read(folder.path()), count()), (["new"; 2].map(str::to_owned).to_vec(), 5));
        assert!(index().starts_with(".radiosity-"));
        write(folder.path(), "newest", &["one", "one-new", "two"], || ());
        assert_eq!((index().as_str(), count()), ("one\ntwo", 3));
    }

    #[test]
    fn what_cannot_be_removed_is_listed_and_fails_nothing() {
        let folder = tempdir().expect("a temporary folder");
        // A folder replaces a file that a reader holds: neither can be removed as a file.
        fs::create_dir(folder.path().join("three")).expect("a folder");
        fs::write(folder.path().join("four"), "old").expect("a file");
        let mut staging = Staging::new(folder.path()).expect("a folder");
        staging.add("one", "one-new".to_owned(), b"new").expect("a temporary file");
        let obsolete = ["three", "four"].map(str::to_owned).to_vec();
        let names = staging.publish("INDEX", obsolete, |_| Ok(String::new())).expect("there is room");
        assert!(names.is_left("three") && !names.is_left("four"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_file_that_has_been_written_stays_open() {
        let folder = tempdir().expect("a temporary folder");
        let mut staging = Staging::new(folder.path()).expect("a folder");
        for number in 0..20 {
            staging.add(&number.to_string(), format!("{number}-new"), b"new").expect("a temporary file");
        }
        let open = fs::read_dir("/proc/self/fd").expect("the process's files").flatten();
        let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        assert_eq!(open.filter(|path| path.starts_with(folder.path())).count(), 0);
    }
}
