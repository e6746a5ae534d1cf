//! The two byte forms of glTF, and the buffers that a document needs.

use std::collections::HashMap;
use std::sync::Arc;

use gltf::json::Root;
use serde_json::Value;

use super::repair::{self, Mended, Unreadable};
use crate::input;
use crate::scene::files::budget::Budget;
use crate::scene::files::source::{FetchError, Source, describe_uri};
use crate::scene::{Problem, SceneError};

/// A parsed document and the contents of its buffers.
#[derive(Default)]
pub struct Document {
    pub root: Root,
    /// Buffers of one file share its bytes.
    pub buffers: Vec<Arc<Vec<u8>>>,
    /// The memory that may still be taken.
    pub budget: Arc<Budget>,
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
    let buffers = buffers(&root, binary, source)?;
    let budget = source.budget.clone();
    Ok(Document { root, buffers, budget, animations, is_metal_by_omission, extras, is_from_blender })
}

/// The contents of all buffers; each file is read once, as far as the longest buffer of it goes.
fn buffers(root: &Root, binary: Option<&[u8]>, source: &Source) -> Result<Vec<Arc<Vec<u8>>>, SceneError> {
    let mut lengths: HashMap<&str, u64> = HashMap::new();
    for buffer in &root.buffers {
        let length = lengths.entry(buffer.uri.as_deref().unwrap_or_default()).or_default();
        *length = buffer.byte_length.0.max(*length);
    }
    let mut known: HashMap<&str, Arc<Vec<u8>>> = HashMap::new();
    let mut contents = Vec::with_capacity(root.buffers.len());
    for (index, buffer) in root.buffers.iter().enumerate() {
        contents.push(match (buffer.uri.as_deref(), binary) {
            (Some(uri), _) => match known.get(uri) {
                Some(content) => content.clone(),
                None => {
                    let content = fetch(source, uri, lengths[uri]).map_err(|error| SceneError::MissingBuffer {
                        file: source.name.clone(),
                        buffer: describe_uri(uri).into_owned(),
                        reason: error.to_string(),
                    })?;
                    known.entry(uri).or_insert(Arc::new(content)).clone()
                }
            },
            (None, Some(binary)) if index == 0 => Arc::new(binary.to_vec()),
            // A buffer without an address is filled by an extension that is not known here.
            (None, _) => Arc::default(),
        });
    }
    Ok(contents)
}

fn fetch(source: &Source, uri: &str, length: u64) -> Result<Vec<u8>, FetchError> {
    let most = source.budget.at_most(input::LARGEST_BUFFER).saturating_add(1);
    let content = source.fetch_start(uri, length.min(most))?;
    source.count(content.len(), uri)?;
    Ok(content)
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
