//! glTF 2.0, both byte forms, read leniently: what can be read is, and what cannot is said.
//!
//! `container` takes the bytes apart, `repair` mends the JSON, `accessors` reads numbers out of buffers, `primitives`
//! makes meshes of them, `materials` and `lights` translate the rest, `nodes` places everything in the world, `instances`
//! in many places at once, `animations` says what moves there, and `extras` are our own keys. `extensions` lists what is
//! known of extensions. `coordinates` drops texture coordinates that nothing reads.
//!
//! The document is taken as `gltf::json`, whose references are looked up with a check each time; the `gltf` crate's
//! own accessors take a valid file for granted.

mod accessors;
mod animations;
mod container;
mod coordinates;
mod extensions;
mod extras;
mod instances;
mod lights;
mod materials;
mod metal;
mod nodes;
mod primitives;
mod repair;
mod said;
mod specular_glossiness;

#[cfg(feature = "gltf")]
pub use animations::animated_nodes;
#[cfg(feature = "plugin")]
pub use extras::Overrides;
use gltf::json::Index;

use super::source::Source;
use super::units::{self, Units};
use super::{Loaded, Purpose, SceneError, SceneOptions};
use crate::scene::key;

/// Reads a `.gltf` or `.glb` file's bytes.
pub fn read(bytes: &[u8], source: &Source, purpose: Purpose, options: &SceneOptions) -> Result<Loaded, SceneError> {
    let mut loaded = Loaded::default();
    let document = container::open(bytes, source, options.default_metallic, &mut loaded.warnings)?;
    extensions::report(&document.root, source, purpose, &mut loaded.warnings)?;
    materials::read(&document, source, purpose, &mut loaded);
    nodes::read(&document, purpose, options, &mut loaded);
    coordinates::forget_unread(&mut loaded.scene);
    let said = document.extras.iter().find_map(|extras| Units::of_extras(extras, &mut loaded.warnings));
    match options.units.or(said) {
        Some(units) => units.apply(&mut loaded.scene),
        None => loaded.warnings.extend(units::compare(&loaded.scene, document.is_from_blender)),
    }
    Ok(loaded)
}

/// What an index of the document refers to, if anything.
fn lookup<T>(list: &[T], index: Index<T>) -> Option<&T> {
    list.get(index.value())
}

/// A name for messages: the file's, or what it is and where it stands in the file.
fn name_or(name: Option<&String>, kind: &str, index: usize) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| format!("{kind}{index}"), |name| key::cap(name).into_owned())
}

#[cfg(test)]
mod tests;
