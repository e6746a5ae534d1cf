//! Reading of the files that a scene file refers to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;

use super::budget::Budget;
use super::names::unquoted;
use crate::input;
use crate::portable::check_name;
use crate::scene::key;

/// Location of a scene file, which its references are relative to.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, used in surface keys and errors.
    pub name: String,
    /// Memory budget for reading.
    pub budget: Arc<Budget>,
    directory: PathBuf,
    /// Files in memory, by their addresses in the scene file. `None` for a scene of the file system.
    held: Option<Arc<HashMap<String, Vec<u8>>>>,
}

/// Error of a reference that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the data in its address is not base64")]
    Base64,
    #[error("it names a host or a scheme, and only files are read: give a path from the folder of the scene")]
    Remote,
    #[error("{0}")]
    TooMuch(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Source {
    pub fn of(path: &Path) -> Self {
        Self {
            name: path.file_name().map_or_else(|| "scene".to_owned(), |name| name.to_string_lossy().into_owned()),
            budget: Arc::default(),
            directory: path.parent().map(Path::to_path_buf).unwrap_or_default(),
            held: None,
        }
    }

    /// Takes all files from memory.
    pub fn holding(self, files: Arc<HashMap<String, Vec<u8>>>) -> Self {
        Self { held: Some(files), ..self }
    }

    /// Limits the memory of all files, in MiB; `None` is unlimited.
    pub fn within(self, memory_mib: Option<u32>) -> Self {
        Self { budget: Arc::new(Budget::new(memory_mib)), ..self }
    }

    /// Reads up to `max_bytes` from a `data:` address, or from a file name relative to the scene file.
    pub fn fetch_start(&self, uri: &str, max_bytes: u64) -> Result<Vec<u8>, FetchError> {
        match self.locate(uri)? {
            Located::Data(data) => Ok(data),
            Located::Held(held) => {
                Ok(held[..held.len().min(usize::try_from(max_bytes).unwrap_or(usize::MAX))].to_vec())
            }
            Located::File(path) => Ok(input::read_start(&path, max_bytes)?),
        }
    }

    /// Reads all bytes of such an address. More than `max_bytes` are an error.
    pub fn fetch(&self, uri: &str, max_bytes: u64) -> Result<Vec<u8>, FetchError> {
        match self.locate(uri)? {
            Located::Data(data) => Ok(data),
            Located::Held(held) if held.len() as u64 > max_bytes => Err(input::too_large(max_bytes).into()),
            Located::Held(held) => Ok(held.to_vec()),
            Located::File(path) => Ok(input::read(&path, max_bytes)?),
        }
    }

    /// Returns the bytes that reading such an address takes. A `data:` address is always read to its end.
    pub fn length(&self, uri: &str, max_bytes: u64) -> Result<u64, FetchError> {
        if let Some(data) = uri.strip_prefix("data:") {
            return Ok(data.len() as u64 / 4 * 3);
        }
        let length = match self.locate(uri)? {
            Located::Data(data) => data.len() as u64,
            Located::Held(held) => held.len() as u64,
            Located::File(path) => input::length(&path)?,
        };
        Ok(length.min(max_bytes))
    }

    /// Counts the bytes of a file in the budget. `uri` names the file in errors.
    pub fn count(&self, bytes: u64, uri: &str) -> Result<(), FetchError> {
        self.budget.take(bytes, || format!("'{}'", describe_uri(uri))).map_err(FetchError::TooMuch)
    }

    fn locate(&self, uri: &str) -> Result<Located<'_>, FetchError> {
        if let Some(data) = uri.strip_prefix("data:") {
            let (_, encoded) = data.split_once(";base64,").ok_or(FetchError::Base64)?;
            let decoded = STANDARD.decode(encoded).or_else(|_| STANDARD_NO_PAD.decode(encoded));
            return decoded.map(Located::Data).map_err(|_| FetchError::Base64);
        }
        let Some(files) = &self.held else {
            return self.path_of(uri).map(Located::File);
        };
        path_in(uri)?;
        Ok(Located::Held(files.get(uri).ok_or(io::Error::from(io::ErrorKind::NotFound))?))
    }

    fn path_of(&self, uri: &str) -> Result<PathBuf, FetchError> {
        let with_slashes = path_in(uri)?;
        let decoded = percent_decode_str(uri).decode_utf8_lossy();
        // Files that are written by hand often have plain names instead of percent-encoded ones, and backslashes
        // instead of slashes.
        let paths = [uri, &*decoded, &with_slashes].map(|name| self.directory.join(name));
        Ok(paths.iter().find(|path| path.is_file()).unwrap_or(&paths[2]).clone())
    }

    /// Returns the file that a name in an `.obj` or `.mtl` file means: in a folder, or else beside the scene file.
    ///
    /// Such names come from other machines. They may have backslashes, quotes, another case, a comment behind them, or
    /// missing folders. An exact match is preferred. Without any match, the returned path does not exist. For an
    /// address on another machine, only the file's name is used.
    pub fn find(&self, name: &str, folder: Option<&Path>) -> Result<PathBuf, FetchError> {
        let unquoted = unquoted(name);
        let with_slashes = unquoted.replace('\\', "/");
        let decoded = percent_decode_str(&with_slashes).decode_utf8_lossy().replace('\\', "/");
        let uncommented = with_slashes.rsplit_once('#').map_or("", |(before, _)| before.trim_end());
        let file_name = with_slashes.rsplit('/').next().unwrap_or_default();
        let folders = || folder.into_iter().chain([self.directory.as_path()]);
        let names: &[&str] = if is_remote(&decoded) {
            &[file_name]
        } else {
            &[name, unquoted, &with_slashes, &decoded, uncommented, file_name]
        };
        let is_possible = |name: &&str| !name.is_empty() && check_name(Path::new(name)).is_ok();
        let found = names.iter().copied().filter(is_possible).find_map(|name| {
            folders()
                .map(|folder| folder.join(name))
                .find(|path| path.is_file())
                .or_else(|| folders().find_map(|folder| in_any_case(folder, name)))
        });
        match found {
            None if is_remote(&decoded) => Err(FetchError::Remote),
            found => Ok(found.unwrap_or_else(|| folder.unwrap_or(&self.directory).join(with_slashes))),
        }
    }
}

/// Content of an address, or its place.
enum Located<'a> {
    Data(Vec<u8>),
    Held(&'a [u8]),
    File(PathBuf),
}

/// Returns the path in an address, with slashes.
///
/// # Errors
/// When it names another machine, or a device of Windows.
pub fn path_in(uri: &str) -> Result<String, FetchError> {
    let path = percent_decode_str(uri).decode_utf8_lossy().replace('\\', "/");
    if is_remote(&path) {
        return Err(FetchError::Remote);
    }
    // Checked before any file is accessed, since Windows may wait for a device.
    check_name(Path::new(&path))?;
    Ok(path)
}

/// Returns true if an address, with slashes, names another machine or a protocol. A single letter is a drive.
fn is_remote(address: &str) -> bool {
    let is_scheme = |text: &str| {
        text.len() > 1 && text.chars().all(|char| char.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&char))
    };
    // Windows begins some of its own paths with `/??/`.
    ["//", "/??/"].iter().any(|start| address.starts_with(start))
        || address.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Finds the file of a relative name, ignoring case.
fn in_any_case(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = folder.to_path_buf();
    for part in Path::new(name).components() {
        let exact = path.join(part);
        path = match part {
            Component::Normal(part) if !exact.exists() => {
                let wanted = part.to_str()?.to_lowercase();
                let listing =
                    std::fs::read_dir(if path.as_os_str().is_empty() { Path::new(".") } else { &path }).ok()?;
                let mut alike: Vec<PathBuf> = listing
                    .filter_map(|entry| Some(entry.ok()?.path()))
                    .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase() == wanted))
                    .collect();
                alike.sort();
                alike.into_iter().next()?
            }
            _ => exact,
        };
    }
    path.is_file().then_some(path)
}

/// Returns a short form of an address for messages, without embedded data.
pub fn describe_uri(uri: &str) -> Cow<'_, str> {
    if uri.starts_with("data:") { "embedded data".into() } else { key::cap(uri) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_data_is_decoded_with_and_without_padding() {
        let source = Source::of(Path::new("level.gltf"));
        for uri in ["data:application/octet-stream;base64,AQID/w==", "data:;base64,AQID/w"] {
            assert_eq!(source.fetch(uri, 4).unwrap(), [1, 2, 3, 255]);
        }
        assert!(matches!(source.fetch("data:;base64,?", 4), Err(FetchError::Base64)));
        assert!(matches!(source.fetch("https://example.org/a.bin", 4), Err(FetchError::Remote)));
    }

    #[test]
    fn addresses_on_other_machines_are_refused_and_no_host_is_asked() {
        let source = Source::of(Path::new("room.gltf"));
        for address in [
            "\\\\host\\share\\c.bin",
            "//host/share/c.bin",
            "/\\host/share/c.bin",
            "%5C%5Chost%5Cshare%5Cc.bin",
            "\\\\?\\UNC\\host\\share\\c.bin",
            "\\\\.\\pipe\\c.bin",
            "\\??\\UNC\\host\\share\\c.bin",
            "file:///c.bin",
            "file://host/share/c.bin",
            "http://host/c.bin",
            "http:\\\\host\\c.bin",
        ] {
            assert!(matches!(source.fetch(address, 4), Err(FetchError::Remote)), "{address}");
            assert!(matches!(source.find(address, None), Err(FetchError::Remote)), "{address}");
        }
    }

    #[test]
    fn backslashes_part_folders_on_every_system() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("bufs")).unwrap();
        std::fs::write(directory.path().join("bufs/the room.bin"), [1, 2]).unwrap();
        let source = Source::of(&directory.path().join("room.gltf"));
        for uri in ["bufs\\the room.bin", ".\\bufs\\the%20room.bin", "bufs%5Cthe room.bin", "bufs/the%20room.bin"] {
            assert_eq!(source.fetch(uri, 4).unwrap(), [1, 2], "{uri}");
        }
    }

    #[test]
    fn devices_of_windows_are_no_files_of_a_scene() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("aux.bin"), [1, 2]).unwrap();
        std::fs::write(directory.path().join("wood.png"), [1, 2]).unwrap();
        let source = Source::of(&directory.path().join("room.gltf"));
        for uri in ["aux.bin", "bufs\\aux.bin", "%61ux.bin", "NUL"] {
            let refusal = source.fetch(uri, 4).unwrap_err().to_string();
            assert!(refusal.contains("another name"), "{uri}: {refusal}");
        }
        for name in ["aux.bin", "maps\\aux.bin", "AUX.bin # oak"] {
            let path = source.find(name, None).unwrap();
            let refusal = input::read(&path, 4).unwrap_err().to_string();
            assert!(refusal.contains("another name"), "{name}: {refusal}");
        }
        // With a comment, blanks and dots at the end of a name are not part of it.
        assert_eq!(source.find("wood.png # oak.", None).unwrap(), directory.path().join("wood.png"));
    }

    #[test]
    fn percent_signs_are_decoded_only_where_they_are_escapes() {
        let source = Source::of(Path::new("room.gltf"));
        for (uri, name) in [("a%20b%C3%A9%", "a b\u{e9}%"), ("100%zz", "100%zz"), ("1%+5", "1%+5")] {
            assert_eq!(source.path_of(uri).unwrap(), Path::new(name), "{uri}");
        }
    }

    #[test]
    fn files_are_found_by_the_names_that_other_machines_give_them() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("Materials");
        std::fs::create_dir(&folder).unwrap();
        let (wood, beside) = (folder.join("Wood #1.png"), directory.path().join("wall.png"));
        std::fs::write(&wood, "").unwrap();
        std::fs::write(&beside, "").unwrap();
        let source = Source::of(&directory.path().join("room.obj"));
        for (name, folder, expected) in [
            ("Materials/Wood #1.png", None, &wood),
            (".\\Materials\\Wood #1.png", None, &wood),
            ("materials/wood #1.PNG", None, &wood),
            ("\"Wood #1.png\"", Some(&folder), &wood),
            ("Wood #1.png # oak", Some(&folder), &wood),
            ("C:\\Users\\me\\maps\\Wood #1.png", Some(&folder), &wood),
            ("wall.png", Some(&folder), &beside),
            ("\\\\host\\maps\\wall.png", None, &beside),
            ("C:\\\\maps\\\\wall.png", None, &beside),
            ("../wall.png", Some(&folder), &folder.join("../wall.png")),
        ] {
            assert_eq!(&source.find(name, folder.map(PathBuf::as_path)).unwrap(), expected, "{name}");
        }
        assert!(!source.find("lost.png", None).unwrap().exists());
        assert!(matches!(source.find("https://example.org/a.png", None), Err(FetchError::Remote)));
    }
}
