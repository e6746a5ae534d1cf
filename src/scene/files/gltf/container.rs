//! The two byte forms of glTF, and the buffers that a document needs.

use gltf::json::Root;
use serde_json::Value;

use super::repair::{self, Mended, Unreadable};
use crate::scene::files::source::{Source, describe_uri};
use crate::scene::{Problem, SceneError};

/// A parsed document and the contents of its buffers.
#[derive(Default)]
pub struct Document {
    pub root: Root,
    pub buffers: Vec<Vec<u8>>,
    /// The animations as they stand in the file.
    pub animations: Vec<Value>,
    /// For each material, whether it is a metal only because nothing says otherwise.
    pub is_metal_by_omission: Vec<bool>,
    /// The `extras` that speak for the whole file.
    pub extras: Vec<Value>,
    /// Blender wrote it.
    pub is_from_blender: bool,
}

const HEADER_SIZE: usize = 12;
const CHUNK_HEADER_SIZE: usize = 8;

/// Parses the document and fetches its buffers.
pub fn open(
    bytes: &[u8],
    source: &Source,
    default_metallic: Option<f32>,
    warnings: &mut Vec<Problem>,
) -> Result<Document, SceneError> {
    let malformed = |reason: String| SceneError::Malformed { file: source.name.clone(), reason };
    let of_version = |version| SceneError::OldVersion { file: source.name.clone(), version };
    if bytes.starts_with(b"glTF") && word(bytes, 4) == Some(1) {
        return Err(of_version("1.0".to_owned()));
    }
    let (text, binary) = if bytes.starts_with(b"glTF") {
        split_binary(bytes).map_err(|reason| malformed(reason.to_owned()))?
    } else {
        (bytes, None)
    };
    // Some editors put a byte order mark before the text.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mended = repair::parse(text, default_metallic, warnings).map_err(|fault| match fault {
        Unreadable::Version(version) => of_version(version),
        Unreadable::Damaged(reason) => malformed(reason),
    })?;
    let Mended { root, animations, is_metal_by_omission, extras, is_from_blender } = mended;
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
    Ok(Document { root, buffers, animations, is_metal_by_omission, extras, is_from_blender })
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
