//! Lightmaps of single entities: shown, hidden and removed.

use bevy::pbr::{EntitiesNeedingSpecialization, Lightmap, MeshMaterial3d, RenderMeshInstances, StandardMaterial};
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::batching::NoAutomaticBatching;

use crate::plugin::state::{Baked, StandInMaterial};

/// Frames until the renderer has seen a change. It may run one frame behind.
pub const FRAMES_FOR_THE_RENDERER: u32 = 3;

/// Current visibility, as opposed to the requested one in [`Lightmaps`](super::Lightmaps).
#[derive(Resource, Clone, Copy)]
pub struct Shown {
    pub enabled: bool,
    pub bicubic: bool,
    pub frames_since_change: u32,
}

impl Default for Shown {
    fn default() -> Self {
        Self { enabled: true, bicubic: true, frames_since_change: FRAMES_FOR_THE_RENDERER }
    }
}

/// True if the renderer draws instances of a mesh together without regard to their pages, so that all show one page.
/// Bevy 0.19 does so where it prepares instances on the processor, as with WebGL2.
#[derive(Resource, Clone, Copy, Default)]
pub struct IgnoresPages(bool);

impl IgnoresPages {
    /// Finds out for an app that is complete.
    pub fn of(app: &App) -> Self {
        let instances = app.get_sub_app(RenderApp).and_then(|app| app.world().get_resource::<RenderMeshInstances>());
        Self(matches!(instances, Some(RenderMeshInstances::CpuBuilding(_))))
    }
}

/// Marks an entity that is drawn alone because of its lightmap.
#[derive(Component)]
struct Alone;

/// Shows an entity's lightmap.
///
/// An entity that already shows the same page keeps its component, since Bevy ignores an exchanged one.
pub fn show(entity: &mut EntityWorldMut<'_>) {
    let Some(baked) = entity.get::<Baked>().cloned() else {
        return;
    };
    if let Some(mut lightmap) = entity.get_mut::<Lightmap>() {
        lightmap.uv_rect = baked.uv_rect;
    } else {
        let bicubic_sampling = baked.allows_bicubic && entity.world().resource::<Shown>().bicubic;
        entity.insert(Lightmap { image: baked.image, uv_rect: baked.uv_rect, bicubic_sampling });
        if entity.world().resource::<IgnoresPages>().0 && !entity.contains::<NoAutomaticBatching>() {
            entity.insert((NoAutomaticBatching, Alone));
        }
        touch_material(entity);
    }
}

/// Hides an entity's lightmap. Its mesh may keep the coordinates.
pub fn hide(entity: &mut EntityWorldMut<'_>) {
    if entity.take::<Lightmap>().is_some() {
        if entity.take::<Alone>().is_some() {
            entity.remove::<NoAutomaticBatching>();
        }
        touch_material(entity);
    }
}

/// Removes an entity's lightmap and restores its mesh and material, unless the app has replaced them.
pub fn release(entity: &mut EntityWorldMut<'_>) {
    hide(entity);
    let Some(baked) = entity.take::<Baked>() else {
        return;
    };
    if let Some(mut mesh) = entity.get_mut::<Mesh3d>()
        && mesh.0 == baked.mesh
    {
        mesh.0 = baked.original;
    }
    if let Some(stand_in) = entity.take::<StandInMaterial>()
        && let Some(mut material) = entity.get_mut::<MeshMaterial3d<StandardMaterial>>()
        && material.0 == stand_in.shown
    {
        material.0 = stand_in.original;
    }
}

/// Marks the material as changed: Bevy selects a new pipeline only for entities with a changed mesh or material.
///
/// Bevy looks for them in `PostUpdate`. What happens later in a frame is added to its list, since a pipeline for lightmaps
/// cannot draw an entity without one.
fn touch_material(entity: &mut EntityWorldMut<'_>) {
    let Some(mut material) = entity.get_mut::<MeshMaterial3d<StandardMaterial>>() else {
        return;
    };
    material.set_changed();
    let id = entity.id();
    entity.world_scope(|world| {
        if let Some(mut list) = world.get_resource_mut::<EntitiesNeedingSpecialization<StandardMaterial>>() {
            list.changed.push(id);
        }
    });
}

/// Returns all entities with a lightmap.
pub fn baked_entities(world: &mut World) -> Vec<Entity> {
    world.query_filtered::<Entity, With<Baked>>().iter(world).collect()
}
