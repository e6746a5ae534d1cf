//! Reading of input files: only regular files, up to a size limit.
//!
//! A named pipe or a device is refused before it is opened, so that nothing waits for it. Each kind of file has a
//! limit, so that a single file cannot fill the memory.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use exr::meta::{BlockDescription, MetaData};

use crate::portable::check_name;

/// Largest scene file, bytes. A `.glb` file cannot state a greater length.
pub const LARGEST_SCENE: u64 = 4 << 30;
/// Largest glTF buffer, bytes.
pub const LARGEST_BUFFER: u64 = 4 << 30;
/// Largest texture file, bytes.
pub const LARGEST_IMAGE: u64 = 1 << 30;
/// Largest `.mtl` file, bytes.
pub const LARGEST_MATERIALS: u64 = 256 << 20;
/// Largest file of points or rays, bytes.
#[cfg(feature = "cli")]
pub const LARGEST_LIST: u64 = 4 << 30;

/// Reason for refusing a file.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("it is {0}, and only regular files are read")]
    Irregular(&'static str),
    #[error("it is larger than the {0} MiB that are read of such a file")]
    TooLarge(u64),
}

/// Reads all bytes of a regular file.
///
/// # Errors
/// When the file cannot be read, is larger than `max_bytes`, or is a pipe, a device or a folder.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    if file.metadata()?.len() > max_bytes {
        return Err(too_large(max_bytes));
    }
    let bytes = read_from(file, max_bytes.saturating_add(1))?;
    if bytes.len() as u64 > max_bytes { Err(too_large(max_bytes)) } else { Ok(bytes) }
}

/// Returns the error of a file with more than `max_bytes`.
pub fn too_large(max_bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, Refusal::TooLarge(max_bytes >> 20))
}

/// Returns the length of a regular file, in bytes.
///
/// # Errors
/// When the file cannot be opened, or is a pipe, a device or a folder.
pub fn length(path: &Path) -> io::Result<u64> {
    Ok(open_regular(path)?.metadata()?.len())
}

/// Reads the first bytes of a regular file, at most `max_bytes`.
///
/// # Errors
/// When the file cannot be read, or is a pipe, a device or a folder.
pub fn read_start(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_from(open_regular(path)?, max_bytes)
}

/// Reads UTF-8 text as [`read`] does.
///
/// # Errors
/// The errors of [`read`], and when the file is not UTF-8 text.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    String::from_utf8(read(path, max_bytes)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens a regular file for reading.
///
/// # Errors
/// When the file cannot be opened, is a pipe, a device or a folder, or has a name that means another file on Windows.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check_name(path)?;
    check(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe may have replaced the file by now. Then opening does not block, and the second check refuses the pipe.
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

fn read_from(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let expected = file.metadata()?.len().min(max_bytes);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX))?;
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes of the largest block of pixels that an EXR file claims to have. Its decoder may allocate as many for
/// what is stored of a block, and again for what is decoded, whatever the size of the picture.
pub fn max_exr_block_bytes(meta: &MetaData) -> u64 {
    let of_layers = meta.headers.iter().map(|header| {
        let block = header.max_block_pixel_size();
        let height = match header.blocks {
            BlockDescription::ScanLines => block.height().min(header.layer_size.height()),
            BlockDescription::Tiles(_) => block.height(),
        };
        [block.width(), height, header.channels.bytes_per_pixel].map(|size| size as u64)
    });
    of_layers.map(|sizes| sizes.into_iter().fold(1, u64::saturating_mul)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use exr::prelude::{Blocks, Compression, Encoding, Image, LineOrder, SpecificChannels, Vec2, WritableImage};

    use super::*;

    #[test]
    fn a_block_of_an_exr_file_has_its_tiles_size_or_no_more_lines_than_the_picture() {
        // Three channels of four bytes.
        for (blocks, pixels) in [(Blocks::Tiles(Vec2(64, 100)), 64 * 100), (Blocks::ScanLines, 9 * 5)] {
            let encoding = Encoding { compression: Compression::PIZ, blocks, line_order: LineOrder::Increasing };
            let channels = SpecificChannels::rgb(|_| (1.0f32, 1.0f32, 1.0f32));
            let mut bytes = io::Cursor::new(Vec::new());
            Image::from_encoded_channels((9, 5), encoding, channels).write().to_buffered(&mut bytes).unwrap();
            let meta = MetaData::read_from_buffered(io::Cursor::new(bytes.into_inner()), true).unwrap();
            assert_eq!(max_exr_block_bytes(&meta), pixels * 12);
        }
    }

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
