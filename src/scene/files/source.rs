//! Fetching what a file refers to.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::budget::Budget;
use super::names::unquoted;
use crate::input;
use crate::scene::key;

/// Where a scene file lies, and so what its references mean.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, the first part of surface keys and what errors call the file.
    pub name: String,
    /// The memory that may still be taken.
    pub budget: Arc<Budget>,
    directory: PathBuf,
}

/// Why a reference could not be followed.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the data in its address is not base64")]
    Base64,
    #[error("it lies on the network, and only files are read")]
    Remote,
    #[error("{0}")]
    TooMuch(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Source {
    pub fn of(path: &Path) -> Self {
        Self {
            name: path.file_name().map_or_else(|| "scene".to_owned(), |name| name.to_string_lossy().into_owned()),
            budget: Arc::default(),
            directory: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// Limits the memory that files may take, in MiB; `None` lifts the limit.
    pub fn within(self, memory_mib: Option<u32>) -> Self {
        Self { budget: Arc::new(Budget::new(memory_mib)), ..self }
    }

    /// The first bytes behind a `data:` address or a file name relative to the scene file, at most so many.
    pub fn fetch_start(&self, uri: &str, most: u64) -> Result<Vec<u8>, FetchError> {
        self.fetch_with(uri, |path| input::read_start(path, most))
    }

    /// All bytes behind such an address, which must be no more.
    pub fn fetch(&self, uri: &str, most: u64) -> Result<Vec<u8>, FetchError> {
        self.fetch_with(uri, |path| input::read(path, most))
    }

    /// Counts what a file takes, which is named for messages.
    pub fn count(&self, bytes: usize, uri: &str) -> Result<(), FetchError> {
        self.budget.take(bytes as u64, || format!("'{}'", describe_uri(uri))).map_err(FetchError::TooMuch)
    }

    fn fetch_with(&self, uri: &str, read: impl Fn(&Path) -> std::io::Result<Vec<u8>>) -> Result<Vec<u8>, FetchError> {
        if let Some(data) = uri.strip_prefix("data:") {
            let (_, encoded) = data.split_once(";base64,").ok_or(FetchError::Base64)?;
            return STANDARD
                .decode(encoded)
                .or_else(|_| STANDARD_NO_PAD.decode(encoded))
                .map_err(|_| FetchError::Base64);
        }
        if uri.contains("://") {
            return Err(FetchError::Remote);
        }
        // Files written by hand often hold the plain name where the address should be percent-encoded.
        let plain = self.directory.join(uri);
        let path = if plain.is_file() { plain } else { self.directory.join(decode_percent(uri)) };
        Ok(read(&path)?)
    }

    /// The file that a name in an `.obj` or `.mtl` file means, in a folder or else beside the scene file.
    ///
    /// Such names come from other machines: they may have backslashes, quotes, another case, a comment behind them, or
    /// folders that are not here. A file that is named exactly is preferred; without any, the result does not exist.
    pub fn find(&self, name: &str, folder: Option<&Path>) -> Result<PathBuf, FetchError> {
        if name.contains("://") {
            return Err(FetchError::Remote);
        }
        let unquoted = unquoted(name);
        let with_slashes = unquoted.replace('\\', "/");
        let decoded = decode_percent(&with_slashes);
        let uncommented = with_slashes.rsplit_once('#').map_or("", |(before, _)| before.trim_end());
        let file_name = with_slashes.rsplit('/').next().unwrap_or_default();
        let folders = || folder.into_iter().chain([self.directory.as_path()]);
        let names = [name, unquoted, &with_slashes, &decoded, uncommented, file_name];
        let found = names.into_iter().filter(|name| !name.is_empty()).find_map(|name| {
            folders()
                .map(|folder| folder.join(name))
                .find(|path| path.is_file())
                .or_else(|| folders().find_map(|folder| in_any_case(folder, name)))
        });
        Ok(found.unwrap_or_else(|| folder.unwrap_or(&self.directory).join(with_slashes)))
    }
}

/// The file of a relative name, upper and lower case being the same.
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

/// `%20` and the like become the bytes that they stand for; anything else stays.
fn decode_percent(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escaped = (bytes[index] == b'%')
            .then(|| uri.get(index + 1..index + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
            .flatten();
        decoded.push(escaped.unwrap_or(bytes[index]));
        index += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A short form of an address for messages: embedded data is not printed.
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
    fn percent_signs_are_decoded_only_where_they_are_escapes() {
        assert_eq!(decode_percent("a%20b%C3%A9%"), "a b\u{e9}%");
        assert_eq!(decode_percent("100%zz"), "100%zz");
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
            ("../wall.png", Some(&folder), &folder.join("../wall.png")),
        ] {
            assert_eq!(&source.find(name, folder.map(PathBuf::as_path)).unwrap(), expected, "{name}");
        }
        assert!(!source.find("lost.png", None).unwrap().exists());
        assert!(matches!(source.find("https://example.org/a.png", None), Err(FetchError::Remote)));
    }
}
