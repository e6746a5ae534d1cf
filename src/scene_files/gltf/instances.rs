//! `EXT_mesh_gpu_instancing`: one node with many instances of its mesh.

use glam::{Affine3A, Quat, Vec3};
use gltf::json::Index;
use gltf::json::scene::Node;
use serde_json::Value;

use super::accessors::Accessors;
use crate::geometry::unit_rotation;

const NAME: &str = "EXT_mesh_gpu_instancing";

/// Returns the transforms of a node's instances, in the node's space. `None` for a node without the extension.
///
/// # Errors
/// The fault of the instances, as a sentence.
pub fn read(node: &Node, accessors: &Accessors) -> Option<Result<Vec<Affine3A>, String>> {
    let extension = node.extensions.as_ref()?.others.get(NAME)?;
    Some(transforms(extension.get("attributes"), accessors))
}

fn transforms(attributes: Option<&Value>, accessors: &Accessors) -> Result<Vec<Affine3A>, String> {
    let accessor = |key: &str| {
        let index = attributes?.get(key)?;
        Some(
            index
                .as_u64()
                .and_then(|index| u32::try_from(index).ok())
                .map(Index::new)
                .ok_or("its instances refer to no accessor"),
        )
    };
    let translations = accessor("TRANSLATION").transpose()?.map(|index| accessors.vectors::<3>(index)).transpose()?;
    let rotations = accessor("ROTATION").transpose()?.map(|index| accessors.vectors::<4>(index)).transpose()?;
    let scales = accessor("SCALE").transpose()?.map(|index| accessors.vectors::<3>(index)).transpose()?;
    let counts = [translations.as_ref().map(Vec::len), rotations.as_ref().map(Vec::len), scales.as_ref().map(Vec::len)];
    let count = counts.iter().flatten().copied().next().ok_or("its instances have no transforms")?;
    if counts.iter().flatten().any(|&other| other != count) {
        return Err("its instances have not as many of each attribute".to_owned());
    }
    let transform = |instance: usize| {
        let translation = translations.as_ref().map_or(Vec3::ZERO, |list| Vec3::from_array(list[instance]));
        let rotation = rotations.as_ref().map_or(Quat::IDENTITY, |list| Quat::from_array(list[instance]));
        let scale = scales.as_ref().map_or(Vec3::ONE, |list| Vec3::from_array(list[instance]));
        Affine3A::from_scale_rotation_translation(scale, unit_rotation(rotation), translation)
    };
    Ok((0..count).map(transform).collect())
}
