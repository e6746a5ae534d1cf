//! The two byte forms of glTF, and the buffers that a document needs.

use gltf::json::{self, Root};

use crate::scene::SceneError;
use crate::scene::files::source::{Source, describe_uri};

/// A parsed document and the contents of its buffers.
pub struct Document {
    pub root: Root,
    pub buffers: Vec<Vec<u8>>,
}

const HEADER_SIZE: usize = 12;
const CHUNK_HEADER_SIZE: usize = 8;

/// Parses the document and fetches its buffers.
pub fn open(bytes: &[u8], source: &Source) -> Result<Document, SceneError> {
    let malformed = |reason: String| SceneError::Malformed { file: source.name.clone(), reason };
    let (text, binary) = if bytes.starts_with(b"glTF") {
        split_binary(bytes).map_err(|reason| malformed(reason.to_owned()))?
    } else {
        (bytes, None)
    };
    // Some editors put a byte order mark before the text.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let root: Root = json::deserialize::from_slice(text).map_err(|error| malformed(error.to_string()))?;
    if !root.asset.version.starts_with("2.") {
        return Err(malformed(format!("it is glTF {}, and only glTF 2 is read", root.asset.version)));
    }
    let buffers = root
        .buffers
        .iter()
        .enumerate()
        .map(|(index, buffer)| match (&buffer.uri, binary) {
            (Some(uri), _) => source.fetch(uri).map_err(|error| SceneError::MissingBuffer {
                file: source.name.clone(),
                buffer: describe_uri(uri).to_owned(),
                reason: error.to_string(),
            }),
            (None, Some(binary)) if index == 0 => Ok(binary.to_vec()),
            // A buffer without an address is filled by an extension that is not known here.
            (None, _) => Ok(Vec::new()),
        })
        .collect::<Result<_, _>>()?;
    Ok(Document { root, buffers })
}

/// The JSON and binary chunks of a `.glb` file.
fn split_binary(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), &'static str> {
    let version = word(bytes, 4).ok_or("its header is cut off")?;
    if version != 2 {
        return Err("it is a binary glTF of a version other than 2");
    }
    let length = word(bytes, 8).ok_or("its header is cut off")? as usize;
    let body = bytes.get(HEADER_SIZE..length).ok_or("it is shorter than its header says")?;
    let (json, rest) = split_chunk(body)?;
    if json.kind != b"JSON" {
        return Err("its first chunk is not JSON");
    }
    if rest.is_empty() {
        return Ok((json.content, None));
    }
    let (binary, _) = split_chunk(rest)?;
    Ok((json.content, (binary.kind == b"BIN\0").then_some(binary.content)))
}

struct Chunk<'a> {
    kind: &'a [u8],
    content: &'a [u8],
}

/// The first chunk and what follows it.
fn split_chunk(bytes: &[u8]) -> Result<(Chunk<'_>, &[u8]), &'static str> {
    let cut = "a chunk of it is cut off";
    let length = word(bytes, 0).ok_or(cut)? as usize;
    let kind = bytes.get(4..CHUNK_HEADER_SIZE).ok_or(cut)?;
    let (content, rest) = bytes[CHUNK_HEADER_SIZE..].split_at_checked(length).ok_or(cut)?;
    Ok((Chunk { kind, content }, rest))
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..offset + 4)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}
