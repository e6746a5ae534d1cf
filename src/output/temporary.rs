//! Temporary files, including those left behind by a killed process.
//!
//! A temporary name consists of a random number and its digest. So a name proves that this program created it.
//! Half-written files of an earlier process are recognized among other files.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::{Patience, is_regular};

const PREFIX: &str = ".radiosity-";
const SUFFIX: &str = ".part";
/// Number of hexadecimal digits of the random number, and of its digest.
const DIGITS: usize = 16;

/// Writes a file under a temporary name, syncs it to disk, and closes it. Dropping the path deletes the file.
pub(crate) fn write_temporary(folder: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<TempPath> {
    write_temporary_unsynced(folder, |file| {
        write(file)?;
        file.sync_all()
    })
}

/// Writes a file under a temporary name, and closes it. Dropping the path deletes the file.
pub(super) fn write_temporary_unsynced(
    folder: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<TempPath> {
    // The system seeds the standard library's random state.
    let name = name_of(RandomState::new().hash_one(folder));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // `create_new` fails if the name exists, so no link is followed and no existing file is opened. The standard
    // library gives the file the same permissions as any other.
    let open = |path: &Path| File::options().write(true).create_new(true).open(path);
    let mut file = tempfile::Builder::new().prefix(&name).rand_bytes(0).make_in(folder, open)?;
    write(file.as_file_mut())?;
    Ok(file.into_temp_path())
}

/// Renames a temporary file to its final name, and replaces an existing file.
pub(crate) fn rename(temporary: TempPath, path: &Path, patience: &Patience) -> io::Result<()> {
    // The standard library supports paths longer than 260 characters on Windows.
    patience.retry(|| fs::rename(&temporary, path))?;
    keep(temporary);
    Ok(())
}

/// Keeps a temporary file, or one that was renamed, from being deleted.
pub(crate) fn keep(mut temporary: TempPath) -> PathBuf {
    temporary.disable_cleanup(true);
    temporary.to_path_buf()
}

fn name_of(number: u64) -> String {
    let digest = blake3::derive_key("bevy_radiosity 2026 temporary file", &number.to_le_bytes());
    let digest = u64::from_le_bytes(core::array::from_fn(|byte| digest[byte]));
    format!("{PREFIX}{number:016x}{digest:016x}{SUFFIX}")
}

/// Returns true for a name created by [`write_temporary`].
pub(crate) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let number = digits.and_then(|digits| u64::from_str_radix(digits.get(..DIGITS)?, 16).ok());
    number.is_some_and(|number| name_of(number) == name)
}

/// Removes temporary files from a folder, except those still needed. Nobody else may be writing into the folder.
pub(crate) fn remove_leftovers(folder: &Path, is_needed: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_left = name.to_str().is_some_and(|name| is_temporary(name) && !is_needed(name));
        if is_left && is_regular(&entry.path()) {
            // A file that cannot be removed only costs space.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_names_that_this_program_made_are_taken_for_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let written = keep(write_temporary(folder.path(), |file| file.write_all(b"half")).unwrap());
        for name in [".radiosity-thesis.part", ".radiosity-0123456789abcdef0123456789abcdef.part", ".radiosity-.part"] {
            fs::write(folder.path().join(name), "somebody's").unwrap();
        }
        remove_leftovers(folder.path(), |_| true);
        assert!(written.exists());
        remove_leftovers(folder.path(), |_| false);
        assert!(!written.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn no_two_temporary_files_have_one_name_and_none_stays() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<TempPath> = (0..50).map(|_| write_temporary(folder.path(), |_| Ok(())).unwrap()).collect();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 50);
        drop(files);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
