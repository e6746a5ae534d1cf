//! The two file forms of glTF, and the buffers of a document.

use std::collections::HashMap;
use std::sync::Arc;

use gltf::json::Root;
use serde::Deserialize;
use serde_json::Value;

use super::lookup;
use super::repair::{self, Mended, Unreadable};
use crate::input;
use crate::scene::Problem;
use crate::scene_files::SceneError;
use crate::scene_files::budget::Budget;
use crate::scene_files::source::{FetchError, Source, describe_uri};

/// A parsed document and the contents of its buffers.
#[derive(Default)]
pub struct Document {
    pub root: Root,
    /// Contents of the buffers. Buffers of one file share its bytes.
    pub buffers: Vec<Arc<Vec<u8>>>,
    /// Remaining memory budget.
    pub budget: Arc<Budget>,
    /// Animations as unparsed JSON.
    pub animations: Vec<Value>,
    /// For each material, true if it is a metal only because glTF's default says so.
    pub is_metal_by_omission: Vec<bool>,
    /// `extras` of the asset, the document and the default scene.
    pub extras: Vec<Value>,
    /// True if Blender wrote the file.
    pub is_from_blender: bool,
}

const HEADER_SIZE: usize = 12;
const CHUNK_HEADER_SIZE: usize = 8;

/// Bytes of memory of an object of the document, of its fields while it is parsed, and of a value.
const BYTES_PER_OBJECT: u64 = 300;
const BYTES_PER_FIELDS: u64 = 640;
pub const BYTES_PER_VALUE: u64 = 40;

/// Mark that some editors put before the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses the document and reads its buffers.
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
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let [kept, meanwhile] = bytes_of(text);
    let what = || "its text".to_owned();
    source.budget.take(kept, what).map_err(malformed)?;
    let parsing = source.budget.lend(meanwhile, what).map_err(malformed)?;
    let mended = repair::parse(text, default_metallic, warnings).map_err(|fault| match fault {
        Unreadable::Version(version) => of_version(version),
        Unreadable::Damaged(reason) => malformed(reason),
    })?;
    drop(parsing);
    let Mended { root, animations, is_metal_by_omission, extras, is_from_blender } = mended;
    let buffers = buffers(&root, binary, source)?;
    let budget = source.budget.clone();
    Ok(Document { root, buffers, budget, animations, is_metal_by_omission, extras, is_from_blender })
}

/// Returns the addresses of all buffers and pictures outside the document. A damaged document has none.
pub fn references(bytes: &[u8]) -> Vec<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct References {
        buffers: Vec<Reference>,
        images: Vec<Reference>,
    }
    #[derive(Deserialize)]
    struct Reference {
        uri: Option<String>,
    }
    let text = if bytes.starts_with(b"glTF") { split_binary(bytes).map_or(&[][..], |(text, _)| text) } else { bytes };
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let References { buffers, images } = serde_json::from_slice(text).unwrap_or_default();
    let addresses = buffers.into_iter().chain(images).filter_map(|reference| reference.uri);
    addresses.filter(|address| !address.starts_with("data:")).collect()
}

/// Returns the bytes that a document takes, and the further bytes while it is parsed, from its numbers of objects and
/// values. Short empty objects take the most per character.
fn bytes_of(text: &[u8]) -> [u64; 2] {
    let [mut objects, mut with_fields, mut values] = [0; 3];
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'{' => {
                objects += 1;
                with_fields += u64::from(text.get(index + 1) != Some(&b'}'));
            }
            b',' | b':' => values += 1,
            _ => {}
        }
    }
    [BYTES_PER_OBJECT * objects, BYTES_PER_FIELDS * with_fields + BYTES_PER_VALUE * values]
}

/// Reads the contents of all buffers. Each file is read once, up to the end of its longest buffer or buffer view. Files
/// may be longer than a document says, and views may rely on it.
fn buffers(root: &Root, binary: Option<&[u8]>, source: &Source) -> Result<Vec<Arc<Vec<u8>>>, SceneError> {
    let mut lengths: HashMap<&str, u64> = HashMap::new();
    let ends = root.buffer_views.iter().filter_map(|view| {
        let start = view.byte_offset.unwrap_or_default().0;
        Some((lookup(&root.buffers, view.buffer)?, start.saturating_add(view.byte_length.0)))
    });
    for (buffer, end) in root.buffers.iter().map(|buffer| (buffer, buffer.byte_length.0)).chain(ends) {
        let length = lengths.entry(buffer.uri.as_deref().unwrap_or_default()).or_default();
        *length = end.max(*length);
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
            (None, Some(binary)) if index == 0 => {
                let too_large = |reason: FetchError| SceneError::Malformed {
                    file: source.name.clone(),
                    reason: reason.to_string(),
                };
                source.count(binary.len() as u64, "its buffer").map_err(too_large)?;
                Arc::new(binary.to_vec())
            }
            // A buffer without an address is filled by an extension that is not supported here.
            (None, _) => Arc::default(),
        });
    }
    Ok(contents)
}

fn fetch(source: &Source, uri: &str, length: u64) -> Result<Vec<u8>, FetchError> {
    let max_bytes = length.min(input::LARGEST_BUFFER + 1);
    source.count(source.length(uri, max_bytes)?, uri)?;
    source.fetch_start(uri, max_bytes)
}

/// Splits a `.glb` file into its JSON and binary chunks.
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

/// Splits the first chunk from the bytes after it.
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
