//! Temporary files, and those that a killed process left behind.
//!
//! A temporary name is a random number and a digest of it. So a name proves that this program made it, and what an
//! earlier process left half-written can be told from whatever else lies in a folder.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

use tempfile::TempPath;

use super::is_regular;

const PREFIX: &str = ".radiosity-";
const SUFFIX: &str = ".part";
/// Hexadecimal digits of the number, and of its digest.
const DIGITS: usize = 16;

/// Writes a file under a temporary name, down to the disk, and closes it. Dropped, the path takes the file with it.
pub(crate) fn write_temporary(folder: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<TempPath> {
    // The standard library's random state is seeded by the system.
    let name = name_of(RandomState::new().hash_one(folder));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).rand_bytes(0);
    // Temporary files are for their owner alone; a level is as readable as anything else that is saved.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // The name must not be taken: no link is followed, and no file is opened that is there.
    let mut file = builder.tempfile_in(folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

fn name_of(number: u64) -> String {
    let digest = blake3::derive_key("bevy_radiosity 2026 temporary file", &number.to_le_bytes());
    let digest = u64::from_le_bytes(core::array::from_fn(|byte| digest[byte]));
    format!("{PREFIX}{number:016x}{digest:016x}{SUFFIX}")
}

/// True for a name that [`write_temporary`] gave.
pub(crate) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let number = digits.and_then(|digits| u64::from_str_radix(digits.get(..DIGITS)?, 16).ok());
    number.is_some_and(|number| name_of(number) == name)
}

/// Removes temporary files from a folder that nobody else is writing into, but for those that are still needed.
pub(crate) fn remove_leftovers(folder: &Path, is_needed: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_left = name.to_str().is_some_and(|name| is_temporary(name) && !is_needed(name));
        if is_left && is_regular(&entry.path()) {
            // A file that stays costs space and nothing else.
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
        let written = write_temporary(folder.path(), |file| file.write_all(b"half")).unwrap();
        let written = written.keep().unwrap();
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
