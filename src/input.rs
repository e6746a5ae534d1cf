//! Reading files that somebody else wrote: regular files alone, and no more of them than a limit.
//!
//! A named pipe or a device is refused before it is opened, so that nothing waits for it. A limit for each kind of file
//! keeps a single one from filling the memory.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a scene: a `.glb` file can say no more.
pub const LARGEST_SCENE: u64 = 4 << 30;
/// Most bytes of a glTF buffer.
pub const LARGEST_BUFFER: u64 = 4 << 30;
/// Most bytes of a picture, as it is stored.
pub const LARGEST_PICTURE: u64 = 1 << 30;
/// Most bytes of an `.mtl` file.
pub const LARGEST_MATERIALS: u64 = 256 << 20;
/// Most bytes of a file of points or rays.
#[cfg(feature = "cli")]
pub const LARGEST_LIST: u64 = 4 << 30;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("it is {0}, and only regular files are read")]
    Irregular(&'static str),
    #[error("it is larger than the {0} MiB that are read of such a file")]
    TooLarge(u64),
}

/// All bytes of a regular file of at most so many.
///
/// # Errors
/// When the file cannot be read, is larger, or is a pipe, a device or a folder.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, Refusal::TooLarge(most >> 20));
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let bytes = read_from(file, most.saturating_add(1))?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The first bytes of a regular file, at most so many.
///
/// # Errors
/// When the file cannot be read, or is a pipe, a device or a folder.
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_from(open_regular(path)?, most)
}

/// [`read`] of UTF-8 text.
///
/// # Errors
/// As [`read`], and when it is no text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens a regular file to read.
///
/// # Errors
/// When the file cannot be opened, or is a pipe, a device or a folder.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The path may be a pipe by now: then opening does not wait, and the second check refuses it.
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &Metadata) -> io::Result<()> {
    let refuse = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, Refusal::Irregular(what)));
    match metadata {
        _ if metadata.is_file() => Ok(()),
        _ if metadata.is_dir() => refuse("a folder"),
        _ => refuse("a pipe, a socket or a device"),
    }
}

fn read_from(file: File, most: u64) -> io::Result<Vec<u8>> {
    let expected = file.metadata()?.len().min(most);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [1, 2, 3]).unwrap();
        assert_eq!(read(&path, 3).unwrap(), [1, 2, 3]);
        assert!(read(&path, 2).unwrap_err().to_string().contains("larger"));
        assert_eq!(read_start(&path, 2).unwrap(), [1, 2]);
    }

    #[test]
    fn folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path(), 10).unwrap_err().to_string().contains("a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(read(path, 10).unwrap_err().to_string().contains("only regular files"), "{path:?}");
            assert!(read_start(path, 10).is_err(), "{path:?}");
        }
    }
}
