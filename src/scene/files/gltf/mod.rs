//! glTF 2.0, both byte forms, read leniently: what can be read is, and what cannot is said.
//!
//! `container` takes the bytes apart, `accessors` reads numbers out of buffers, `primitives` makes meshes of them,
//! `materials` and `lights` translate the rest, `nodes` places everything in the world, and `extras` are our own keys.
//! `coordinates` drops texture coordinates that nothing reads.
//!
//! The document is taken as `gltf::json`, whose references are looked up with a check each time; the `gltf` crate's
//! own accessors take a valid file for granted.

mod accessors;
mod container;
mod coordinates;
mod extras;
mod lights;
mod materials;
mod nodes;
mod primitives;

#[cfg(feature = "plugin")]
pub use extras::Overrides;
use gltf::json::{Index, Root};

use super::source::Source;
use super::{Loaded, Purpose, SceneError};
use crate::scene::Problem;

/// Extensions that are understood, or that change nothing about diffuse light.
const KNOWN_EXTENSIONS: [&str; 19] = [
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_texture_transform",
    "KHR_mesh_quantization",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_animation_pointer",
    "KHR_node_visibility",
    "KHR_xmp_json_ld",
    "KHR_materials_unlit",
];

/// Reads a `.gltf` or `.glb` file's bytes.
pub fn read(bytes: &[u8], source: &Source, purpose: Purpose) -> Result<Loaded, SceneError> {
    let document = container::open(bytes, source)?;
    let mut loaded = Loaded::default();
    report_extensions(&document.root, &mut loaded.warnings);
    materials::read(&document, source, purpose, &mut loaded);
    nodes::read(&document, &mut loaded);
    coordinates::forget_unread(&mut loaded.scene);
    Ok(loaded)
}

fn report_extensions(root: &Root, warnings: &mut Vec<Problem>) {
    let mut names: Vec<&String> = root.extensions_used.iter().chain(&root.extensions_required).collect();
    names.sort();
    names.dedup();
    warnings.extend(names.into_iter().filter(|name| !KNOWN_EXTENSIONS.contains(&name.as_str())).map(|name| {
        Problem::UnknownExtension { name: name.clone(), required: root.extensions_required.contains(name) }
    }));
}

/// What an index of the document refers to, if anything.
fn lookup<T>(list: &[T], index: Index<T>) -> Option<&T> {
    list.get(index.value())
}

/// A name for messages: the file's, or what it is and where it stands in the file.
fn name_or(name: Option<&String>, kind: &str, index: usize) -> String {
    name.filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| format!("{kind}{index}"))
}

#[cfg(test)]
mod tests;
