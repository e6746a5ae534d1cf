//! Materials for surfaces whose two sides have texels of their own.
//!
//! Their meshes hold each triangle twice, once for each side, so neither may be drawn from behind.

use std::collections::HashMap;

use bevy::pbr::StandardMaterial;
use bevy::prelude::*;
use bevy::render::render_resource::Face;

/// Single-sided copies of the app's materials, by the id of the app's.
#[derive(Resource, Default)]
pub struct OneSidedMaterials(HashMap<AssetId<StandardMaterial>, Handle<StandardMaterial>>);

impl OneSidedMaterials {
    /// The single-sided copy of a material, made unless there is one. `None` when the material is not loaded.
    pub fn get_or_make(
        &mut self,
        original: &Handle<StandardMaterial>,
        materials: &mut Assets<StandardMaterial>,
    ) -> Option<Handle<StandardMaterial>> {
        if let Some(copy) = self.0.get(&original.id()) {
            return Some(copy.clone());
        }
        let copy = materials.add(one_sided(materials.get(original)?));
        self.0.insert(original.id(), copy.clone());
        Some(copy)
    }
}

fn one_sided(material: &StandardMaterial) -> StandardMaterial {
    StandardMaterial { double_sided: false, cull_mode: Some(Face::Back), ..material.clone() }
}

/// Brings changes of the app's materials to their copies.
pub fn follow_originals(
    mut events: MessageReader<AssetEvent<StandardMaterial>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    copies: Res<OneSidedMaterials>,
) {
    for event in events.read() {
        if let AssetEvent::Modified { id } = event
            && let Some(copy) = copies.0.get(id)
            && let Some(changed) = materials.get(*id).map(one_sided)
            && let Some(mut copy) = materials.get_mut(copy)
        {
            *copy = changed;
        }
    }
}
