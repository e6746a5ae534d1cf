//! Stand-in materials: copies of the app's materials where a lightmap requires a change.
//!
//! If each side of a surface has its own texels, its mesh holds each triangle twice. So back faces must be culled. If a
//! texture reads UV_1, which Bevy reserves for lightmaps, the stand-in reads UV_0 instead.

use std::collections::{HashMap, HashSet};

use bevy::mesh::UvChannel as BevyUvChannel;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;
use bevy::render::render_resource::Face;

use super::copy::keeps_uv1;
use crate::lightmap::Unwrap;
use crate::plugin::convert;
use crate::plugin::state::{ShownMaterial, StandInMaterial};
use crate::scene::UvChannel;

/// Change of a material to free UV_1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Uv1Change {
    /// No change: the material does not read UV_1, or the lightmap leaves it unchanged.
    #[default]
    None,
    /// Textures read UV_0, which holds the mesh's former UV_1.
    Move,
    /// The occlusion texture is dropped; baked light does not need it.
    DropOcclusion,
}

/// Error of a surface whose textures read both UV sets, while its lightmap has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uv1IsTaken;

impl Uv1Change {
    /// Returns the change that a material needs on an unwrapped mesh.
    ///
    /// # Errors
    ///
    /// Returns an error when its textures need both UV_0 and UV_1 unchanged, so that it can show no lightmap.
    pub fn of(material: &StandardMaterial, original: &Mesh, unwrap: &Unwrap) -> Result<Self, Uv1IsTaken> {
        let drawn = convert::drawn_uv(material);
        let reads_uv1 = drawn.contains(UvChannel::Uv1);
        let shades_by_uv1 = material.occlusion_texture.is_some() && material.occlusion_channel == BevyUvChannel::Uv1;
        if !(reads_uv1 || shades_by_uv1) || keeps_uv1(original, unwrap) {
            return Ok(Self::None);
        }
        // Bevy reads UV_0 where a mesh has no UV_1.
        let has_uv1 = original.try_contains_attribute(Mesh::ATTRIBUTE_UV_1).unwrap_or(false);
        match (reads_uv1, drawn.contains(UvChannel::Uv0) && has_uv1) {
            (true, true) => Err(Uv1IsTaken),
            (true, false) => Ok(Self::Move),
            (false, _) => Ok(Self::DropOcclusion),
        }
    }
}

/// Difference between a stand-in and its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Difference {
    /// Cull back faces.
    is_one_sided: bool,
    /// The transform is mirroring, which reverses the winding.
    is_mirrored: bool,
    uv1: Uv1Change,
}

impl Difference {
    fn apply(self, material: &StandardMaterial) -> StandardMaterial {
        let mut copy = material.clone();
        if self.is_one_sided {
            // GPU culling does not account for the reversed winding of a mirroring transform.
            copy.cull_mode = Some(if self.is_mirrored { Face::Front } else { Face::Back });
            copy.double_sided = false;
        }
        match self.uv1 {
            Uv1Change::None => {}
            Uv1Change::Move => {
                // Occlusion on UV_0 would read the replaced coordinates.
                if copy.occlusion_channel == BevyUvChannel::Uv0 {
                    copy.occlusion_texture = None;
                }
                convert::move_to_uv0(&mut copy);
            }
            Uv1Change::DropOcclusion => copy.occlusion_texture = None,
        }
        copy
    }
}

/// Stand-ins by original and difference.
#[derive(Resource, Default)]
pub struct StandInMaterials(HashMap<(AssetId<StandardMaterial>, Difference), Handle<StandardMaterial>>);

impl StandInMaterials {
    /// Returns the stand-in of a material, and creates it if needed. `None` when the material is not loaded.
    fn get_or_make(
        &mut self,
        original: &Handle<StandardMaterial>,
        difference: Difference,
        materials: &mut Assets<StandardMaterial>,
    ) -> Option<Handle<StandardMaterial>> {
        if let Some(copy) = self.0.get(&(original.id(), difference)) {
            return Some(copy.clone());
        }
        let copy = materials.add(difference.apply(materials.get(original)?));
        self.0.insert((original.id(), difference), copy.clone());
        Some(copy)
    }

    /// Drops unused stand-ins.
    pub fn keep_only(&mut self, used: &HashSet<AssetId<StandardMaterial>>) {
        self.0.retain(|(original, _), _| used.contains(original));
    }
}

/// Returns the app's material of an entity, whether or not a stand-in is shown.
pub fn original_material(entity: EntityRef<'_>) -> Option<Handle<StandardMaterial>> {
    let material = entity.get_components::<ShownMaterial>().ok()?;
    Some(material.original().clone())
}

/// Puts a stand-in on an entity that needs one, and the app's material on any other.
pub fn choose_material(entity: &mut EntityWorldMut<'_>, is_one_sided: bool, uv1: Uv1Change) {
    let Some(original) = original_material(EntityRef::from(&*entity)) else {
        return;
    };
    let is_different = is_one_sided || uv1 != Uv1Change::None;
    let stand_in = if is_different { stand_in_for(entity, &original, is_one_sided, uv1) } else { None };
    let wanted = stand_in.as_ref().map_or(&original, |stand_in| &stand_in.shown);
    if entity.get::<MeshMaterial3d<StandardMaterial>>().is_some_and(|shown| shown.0 != *wanted) {
        entity.insert(MeshMaterial3d(wanted.clone()));
    }
    match stand_in {
        Some(stand_in) => entity.insert(stand_in),
        None => entity.remove::<StandInMaterial>(),
    };
}

fn stand_in_for(
    entity: &mut EntityWorldMut<'_>,
    original: &Handle<StandardMaterial>,
    is_one_sided: bool,
    uv1: Uv1Change,
) -> Option<StandInMaterial> {
    let is_mirrored = entity.get::<GlobalTransform>().is_some_and(|place| place.affine().matrix3.determinant() < 0.0);
    let difference = Difference { is_one_sided, is_mirrored: is_one_sided && is_mirrored, uv1 };
    let shown = entity.world_scope(|world| {
        world.resource_scope(|world, mut copies: Mut<StandInMaterials>| {
            copies.get_or_make(original, difference, &mut world.resource_mut::<Assets<StandardMaterial>>())
        })
    })?;
    Some(StandInMaterial { original: original.clone(), shown })
}

/// Updates stand-ins after changes of their originals.
pub fn follow_originals(
    mut events: MessageReader<AssetEvent<StandardMaterial>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    copies: Res<StandInMaterials>,
) {
    for event in events.read() {
        let AssetEvent::Modified { id } = event else {
            continue;
        };
        for ((_, difference), copy) in copies.0.iter().filter(|((original, _), _)| original == id) {
            if let Some(changed) = materials.get(*id).map(|original| difference.apply(original))
                && let Some(mut copy) = materials.get_mut(copy)
            {
                *copy = changed;
            }
        }
    }
}
