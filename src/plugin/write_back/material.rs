//! Materials for surfaces whose two sides have texels of their own.
//!
//! Their meshes hold each triangle twice, once for each side, so neither may be drawn from behind.

use std::collections::{HashMap, HashSet};

use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;
use bevy::render::render_resource::Face;

use super::Baked;

/// A material of ours on an entity, and the app's that it stands in for.
#[derive(Clone, Debug, PartialEq, Eq, Reflect)]
pub struct StandInMaterial {
    /// The app's.
    pub original: Handle<StandardMaterial>,
    /// Ours, which culls the backs of triangles.
    pub shown: Handle<StandardMaterial>,
}

/// Single-sided copies of the app's materials, by the id of the app's and whether a mirroring transform turns the
/// triangles round.
#[derive(Resource, Default)]
pub struct OneSidedMaterials(HashMap<(AssetId<StandardMaterial>, bool), Handle<StandardMaterial>>);

impl OneSidedMaterials {
    /// The single-sided copy of a material, made unless there is one. `None` when the material is not loaded.
    pub fn get_or_make(
        &mut self,
        original: &Handle<StandardMaterial>,
        is_mirrored: bool,
        materials: &mut Assets<StandardMaterial>,
    ) -> Option<Handle<StandardMaterial>> {
        if let Some(copy) = self.0.get(&(original.id(), is_mirrored)) {
            return Some(copy.clone());
        }
        let copy = materials.add(one_sided(materials.get(original)?, is_mirrored));
        self.0.insert((original.id(), is_mirrored), copy.clone());
        Some(copy)
    }

    /// Drops the copies of materials that nothing needs any more.
    pub fn keep_only(&mut self, used: &HashSet<AssetId<StandardMaterial>>) {
        self.0.retain(|(original, _), _| used.contains(original));
    }
}

/// Puts a single-sided material on what shows both sides by triangles of their own, and the app's on everything else.
/// Says which of ours stands in for which of the app's.
pub fn choose_material(entity: &mut EntityWorldMut<'_>, two_sided: bool) -> Option<StandInMaterial> {
    let shown = entity.get::<MeshMaterial3d<StandardMaterial>>()?.0.clone();
    let original = match entity.get::<Baked>() {
        Some(baked) => baked.original_material(&shown).clone(),
        None => shown.clone(),
    };
    let stand_in = if two_sided { stand_in_for(entity, &original) } else { None };
    let wanted = stand_in.as_ref().map_or(&original, |stand_in| &stand_in.shown);
    if *wanted != shown {
        entity.insert(MeshMaterial3d(wanted.clone()));
    }
    stand_in
}

fn stand_in_for(entity: &mut EntityWorldMut<'_>, original: &Handle<StandardMaterial>) -> Option<StandInMaterial> {
    let is_mirrored = entity.get::<GlobalTransform>().is_some_and(|place| place.affine().matrix3.determinant() < 0.0);
    let shown = entity.world_scope(|world| {
        world.resource_scope(|world, mut copies: Mut<OneSidedMaterials>| {
            copies.get_or_make(original, is_mirrored, &mut world.resource_mut::<Assets<StandardMaterial>>())
        })
    })?;
    Some(StandInMaterial { original: original.clone(), shown })
}

fn one_sided(material: &StandardMaterial, is_mirrored: bool) -> StandardMaterial {
    // The graphics card does not know that a mirroring transform turns triangles round.
    let hidden = if is_mirrored { Face::Front } else { Face::Back };
    StandardMaterial { double_sided: false, cull_mode: Some(hidden), ..material.clone() }
}

/// Brings changes of the app's materials to their copies.
pub fn follow_originals(
    mut events: MessageReader<AssetEvent<StandardMaterial>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    copies: Res<OneSidedMaterials>,
) {
    for event in events.read() {
        let AssetEvent::Modified { id } = event else {
            continue;
        };
        for is_mirrored in [false, true] {
            if let Some(copy) = copies.0.get(&(*id, is_mirrored))
                && let Some(changed) = materials.get(*id).map(|original| one_sided(original, is_mirrored))
                && let Some(mut copy) = materials.get_mut(copy)
            {
                *copy = changed;
            }
        }
    }
}
