//! glTF 2.0 in both file forms, read leniently: faults are reported, and the rest of the file is read.
//!
//! `container` parses the bytes, `repair` mends the JSON, and `accessors` reads numbers from buffers. `primitives`
//! makes meshes, and `materials` and `lights` convert the rest. `nodes` places everything in the world, and `instances`
//! repeats meshes. `animations` finds moving nodes, and `extras` reads our own keys, `shapes` those of curved
//! shapes. `extensions` lists the support of extensions. `coordinates` drops texture coordinates that nothing reads.
//!
//! The document is kept as `gltf::json`, and every reference is checked when it is looked up. The `gltf` crate's own
//! accessors assume a valid file.

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
mod node_reports;
mod nodes;
mod primitives;
mod repair;
mod shapes;
mod specular_glossiness;
mod textures;

#[cfg(feature = "gltf")]
pub use animations::animated_nodes;
pub use container::references;
#[cfg(feature = "plugin")]
pub use extras::Overrides;
use gltf::json::Index;

use super::source::Source;
use super::units::{self, Units};
use super::{Parsed, Purpose, SceneError, SceneOptions};
use crate::parts::pause;
use crate::scene::key;

/// Parses the bytes of a `.gltf` or `.glb` file.
pub async fn read(
    bytes: &[u8],
    source: &Source,
    purpose: Purpose,
    options: &SceneOptions,
) -> Result<Parsed, SceneError> {
    let mut parsed = Parsed::default();
    let document = container::open(bytes, source, options.default_metallic, &mut parsed.warnings)?;
    extensions::report(&document.root, source, purpose, &mut parsed.warnings)?;
    pause().await;
    materials::read(&document, source, purpose, &mut parsed).await;
    pause().await;
    nodes::read(&document, purpose, options, &mut parsed);
    pause().await;
    coordinates::forget_unread(&mut parsed.scene);
    let declared = document.extras.iter().find_map(|extras| Units::of_extras(extras, &mut parsed.warnings));
    match options.units.or(declared) {
        Some(units) => units.apply(&mut parsed.scene),
        None => parsed.warnings.extend(units::compare(&parsed.scene, document.is_from_blender)),
    }
    Ok(parsed)
}

/// Returns the item that an index of the document refers to, if it exists.
fn lookup<T>(list: &[T], index: Index<T>) -> Option<&T> {
    list.get(index.value())
}

/// Returns a name for messages: the name in the file, or the kind of the item and its index.
fn name_or(name: Option<&String>, kind: &str, index: usize) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| format!("{kind}{index}"), |name| key::cap(name).into_owned())
}

#[cfg(test)]
mod tests;
