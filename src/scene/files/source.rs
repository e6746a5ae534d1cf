//! Fetching what a file refers to.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// Where a scene file lies, and so what its references mean.
#[derive(Clone, Debug)]
pub struct Source {
    /// File name, the first part of surface keys and what errors call the file.
    pub name: String,
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
    Io(#[from] std::io::Error),
}

impl Source {
    pub fn of(path: &Path) -> Self {
        Self {
            name: path.file_name().map_or_else(|| "scene".to_owned(), |name| name.to_string_lossy().into_owned()),
            directory: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// The bytes behind a `data:` address or a file name relative to the scene file.
    pub fn fetch(&self, uri: &str) -> Result<Vec<u8>, FetchError> {
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
        Ok(std::fs::read(path)?)
    }
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
pub fn describe_uri(uri: &str) -> &str {
    if uri.starts_with("data:") { "embedded data" } else { uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_data_is_decoded_with_and_without_padding() {
        let source = Source::of(Path::new("level.gltf"));
        for uri in ["data:application/octet-stream;base64,AQID/w==", "data:;base64,AQID/w"] {
            assert_eq!(source.fetch(uri).unwrap(), [1, 2, 3, 255]);
        }
        assert!(matches!(source.fetch("data:;base64,?"), Err(FetchError::Base64)));
        assert!(matches!(source.fetch("https://example.org/a.bin"), Err(FetchError::Remote)));
    }

    #[test]
    fn percent_signs_are_decoded_only_where_they_are_escapes() {
        assert_eq!(decode_percent("a%20b%C3%A9%"), "a b\u{e9}%");
        assert_eq!(decode_percent("100%zz"), "100%zz");
    }
}
