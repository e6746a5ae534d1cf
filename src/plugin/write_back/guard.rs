//! Reactions to meshes and materials that change under a lightmap.

use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::batch::stage_copy;
use super::copy::{MeshCopies, restore_lightmap_coordinates, unwrapped_copy};
use super::entity::release;
use super::material::choose_material;
use crate::plugin::state::{Baked, ShownMaterial};
use crate::plugin::sync::Names;
use crate::plugin::ticks::any_changed;

/// Handles meshes that are reloaded or edited, before the renderer sees them.
///
/// A copy that lost UV_1 gets it back. A reloaded mesh of the same shape is copied again. A mesh of another shape loses
/// its lightmap.
pub fn notice_meshes(
    mut commands: Commands,
    mut events: MessageReader<AssetEvent<Mesh>>,
    mut meshes: ResMut<Assets<Mesh>>,
    copies: Res<MeshCopies>,
    baked: Query<(Entity, &Baked)>,
    names: Names,
) {
    let mut lost: Vec<AssetId<Mesh>> = Vec::new();
    for event in events.read() {
        let AssetEvent::Modified { id } = event else {
            continue;
        };
        if let Some(copy) = copies.get(*id) {
            let has_coordinates =
                meshes.get(*id).is_some_and(|mesh| mesh.try_contains_attribute(Mesh::ATTRIBUTE_UV_1).unwrap_or(true));
            let restored = has_coordinates
                || meshes.get_mut(*id).is_some_and(|mut mesh| restore_lightmap_coordinates(&mut mesh, &copy.unwrap));
            if !restored {
                lost.push(*id);
            }
        }
        for copy in copies.of(*id) {
            let renewed =
                meshes.get(*id).and_then(|original| unwrapped_copy(original, &copy.unwrap, copy.uv1_is_moved));
            let is_renewed = renewed.is_some_and(|mesh| meshes.insert(copy.handle.id(), mesh).is_ok());
            if !is_renewed {
                lost.push(copy.handle.id());
            }
        }
    }
    for (entity, _) in baked.iter().filter(|(_, baked)| lost.contains(&baked.mesh.id())) {
        let who = names.describe(entity);
        warn!("the mesh of {who} has changed its shape and lost its lightmap; bake again to light it");
        commands.queue(move |world: &mut World| {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                release(&mut entity);
            }
        });
    }
}

/// Run condition: entities with a lightmap may have another mesh.
pub fn any_mesh_changed(meshes: Query<Ref<Mesh3d>, With<Baked>>) -> bool {
    any_changed(&meshes)
}

/// Removes the lightmap of entities that got another mesh.
pub fn notice_entities(mut commands: Commands, changed: Query<(Entity, &Mesh3d, &Baked), Changed<Mesh3d>>) {
    for (entity, ..) in changed.iter().filter(|(_, mesh, baked)| mesh.0 != baked.mesh) {
        commands.queue(move |world: &mut World| {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                release(&mut entity);
            }
        });
    }
}

/// Run condition: entities with a lightmap may have another material.
pub fn any_material_changed(materials: Query<Ref<MeshMaterial3d<StandardMaterial>>, With<Baked>>) -> bool {
    any_changed(&materials)
}

/// Handles entities that got another material, which may need a stand-in.
pub fn notice_materials(
    mut commands: Commands,
    changed: Query<(Entity, ShownMaterial), (With<Baked>, Changed<MeshMaterial3d<StandardMaterial>>)>,
) {
    for (entity, _) in changed.iter().filter(|(_, material)| material.stand_in().is_none()) {
        commands.queue(move |world: &mut World| refit(world, entity));
    }
}

/// Gives an entity the mesh copy and stand-in that its current material needs.
fn refit(world: &mut World, entity: Entity) {
    let Some(baked) = world.get::<Baked>(entity).cloned() else {
        return;
    };
    let Some(unwrap) = world.resource::<MeshCopies>().get(baked.mesh.id()).map(|copy| copy.unwrap.clone()) else {
        return;
    };
    let copy = stage_copy(world, entity, &baked.original, &unwrap);
    let Ok(mut entity) = world.get_entity_mut(entity) else {
        return;
    };
    let Some(copy) = copy else {
        return release(&mut entity);
    };
    choose_material(&mut entity, unwrap.is_two_sided(), copy.uv1);
    if let Some(mut mesh) = entity.get_mut::<Mesh3d>()
        && mesh.0 == baked.mesh
        && mesh.0 != copy.mesh
    {
        mesh.0 = copy.mesh.clone();
    }
    if copy.mesh != baked.mesh {
        entity.insert(Baked { mesh: copy.mesh, ..baked });
    }
}
