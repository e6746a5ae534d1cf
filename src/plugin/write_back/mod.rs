//! Puts lightmaps on entities, and takes them off, without upsetting the renderer.
//!
//! Bevy 0.19 has rules about lightmaps that are written nowhere, and breaking one quits the app: the mesh must have
//! UV_1; a `Lightmap` that comes or goes must touch the entity's material in the same frame, or the pipeline does not
//! match its bindings; a `Lightmap` whose image is exchanged goes on showing the old one, unless it is gone for a frame;
//! an image that changes its size or format in place is ignored. So a `Batch` of surfaces goes through steps:
//!
//! ```text
//! stage: pages become images, meshes get copies with UV_1, a few a frame
//! detach: surfaces whose page is another image from now on lose their Lightmap
//! wait until the renderer has seen both
//! attach: meshes, lightmaps, pixels of pages that stay, and lights, all in one frame
//! ```
//!
//! `guard` looks after what has been attached: meshes that are reloaded or exchanged.

mod batch;
mod copy;
mod guard;
mod lights;
mod material;
mod page;
mod volume;

use bevy::asset::AssetEventSystems;
use bevy::pbr::{Lightmap, MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::relight::RelightOrigin;
pub use batch::{Batch, BatchTimes, Batches, LitLights, Target, apply_lights};
pub use copy::MeshCopies;
pub use lights::BakedLight;
pub use material::StandInMaterial;
use material::StandInMaterials;
pub use page::{PagePixels, Pages, half_floats};
pub use volume::{BakedVolume, exchange_volume};
use volume::{remove_volume, show_volume};

/// Marks a mesh entity that has baked light, whether or not it is being shown.
#[derive(Component, Clone, Debug, Reflect)]
#[reflect(Component, Debug, Clone)]
pub struct Baked {
    /// The mesh that the app gave the entity.
    pub original: Handle<Mesh>,
    /// Our copy of it, with lightmap coordinates.
    pub mesh: Handle<Mesh>,
    /// Our material, where it stands in for the app's: each side has triangles of its own, so neither may be drawn from
    /// behind; or its textures read UV_0, since UV_1 are the lightmap's.
    pub material: Option<StandInMaterial>,
    /// The page that holds its light.
    pub image: Handle<Image>,
    /// Its part of the page, from 0 to 1.
    pub uv_rect: Rect,
}

impl Baked {
    /// The app's material of an entity that shows `shown`.
    pub(super) fn original_material<'a>(&'a self, shown: &'a Handle<StandardMaterial>) -> &'a Handle<StandardMaterial> {
        match &self.material {
            Some(stand_in) if stand_in.shown == *shown => &stand_in.original,
            _ => shown,
        }
    }

    fn lightmap(&self) -> Lightmap {
        // Bicubic filtering reads two texels further than charts are padded.
        Lightmap { image: self.image.clone(), uv_rect: self.uv_rect, bicubic_sampling: false }
    }
}

/// Whether baked light is shown. Switching it off brings the lights back, as if nothing were baked.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct Lightmaps {
    /// True shows lightmaps, false the live lights alone.
    pub enabled: bool,
}

impl Default for Lightmaps {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Trigger it to take all baked light off: meshes, lights and entities become what they were.
#[derive(Event, Clone, Copy, Debug, Default, Reflect)]
pub struct RemoveLightmaps;

/// Frames after which the renderer, which may run one frame behind, has seen a change.
pub(super) const FRAMES_FOR_THE_RENDERER: u32 = 3;

/// Puts lightmaps on entities.
pub struct WriteBackPlugin;

impl Plugin for WriteBackPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<Baked>()
            .register_type::<BakedLight>()
            .register_type::<BakedVolume>()
            .register_type::<Lightmaps>()
            .init_resource::<Lightmaps>()
            .init_resource::<Shown>()
            .init_resource::<Batches>()
            .init_resource::<MeshCopies>()
            .init_resource::<Pages>()
            .init_resource::<LitLights>()
            .init_resource::<StandInMaterials>()
            .add_systems(PostUpdate, (toggle, batch::advance).chain().before(AssetEventSystems))
            .add_systems(
                Last,
                (guard::notice_meshes, guard::notice_entities, guard::notice_materials, material::follow_originals)
                    .after(AssetEventSystems),
            )
            .add_observer(remove_lightmaps);
    }
}

/// What is on the screen, as opposed to what [`Lightmaps`] asks for.
#[derive(Resource, Clone, Copy)]
pub(super) struct Shown {
    enabled: bool,
    frames_since_change: u32,
}

impl Default for Shown {
    fn default() -> Self {
        Self { enabled: true, frames_since_change: FRAMES_FOR_THE_RENDERER }
    }
}

/// Gives an entity its lightmap.
///
/// An entity that already shows the same page keeps its component, for Bevy ignores one that is exchanged.
fn show(entity: &mut EntityWorldMut<'_>) {
    let Some(baked) = entity.get::<Baked>().cloned() else {
        return;
    };
    if let Some(mut lightmap) = entity.get_mut::<Lightmap>() {
        lightmap.uv_rect = baked.uv_rect;
    } else {
        entity.insert(baked.lightmap());
        touch_material(entity);
    }
}

/// Takes an entity's lightmap off; its mesh may keep the coordinates.
fn hide(entity: &mut EntityWorldMut<'_>) {
    if entity.take::<Lightmap>().is_some() {
        touch_material(entity);
    }
}

/// Takes an entity's lightmap off and gives it its own mesh and material back, unless the app has given it others.
fn release(entity: &mut EntityWorldMut<'_>) {
    hide(entity);
    let Some(baked) = entity.take::<Baked>() else {
        return;
    };
    if let Some(mut mesh) = entity.get_mut::<Mesh3d>()
        && mesh.0 == baked.mesh
    {
        mesh.0 = baked.original;
    }
    if let Some(stand_in) = baked.material
        && let Some(mut material) = entity.get_mut::<MeshMaterial3d<StandardMaterial>>()
        && material.0 == stand_in.shown
    {
        material.0 = stand_in.original;
    }
}

/// Bevy chooses a pipeline anew only for entities whose mesh or material component changed.
fn touch_material(entity: &mut EntityWorldMut<'_>) {
    if let Some(mut material) = entity.get_mut::<MeshMaterial3d<StandardMaterial>>() {
        material.set_changed();
    }
}

fn baked_entities(world: &mut World) -> Vec<Entity> {
    world.query_filtered::<Entity, With<Baked>>().iter(world).collect()
}

/// Drops the meshes and materials of ours that no entity needs any more.
fn drop_unused_copies(world: &mut World) {
    let mut baked = world.query::<&Baked>();
    let meshes = baked.iter(world).map(|baked| baked.mesh.id()).collect();
    let materials = baked.iter(world).filter_map(|baked| Some(baked.material.as_ref()?.original.id())).collect();
    world.resource_mut::<MeshCopies>().keep_only(&meshes);
    world.resource_mut::<StandInMaterials>().keep_only(&materials);
}

/// Follows [`Lightmaps`]; a change waits until the renderer has seen the one before.
fn toggle(world: &mut World) {
    let wanted = world.resource::<Lightmaps>().enabled;
    let mut shown = world.resource_mut::<Shown>();
    shown.frames_since_change = shown.frames_since_change.saturating_add(1);
    if wanted == shown.enabled || shown.frames_since_change < FRAMES_FOR_THE_RENDERER {
        return;
    }
    *shown = Shown { enabled: wanted, frames_since_change: 0 };
    for entity in baked_entities(world) {
        let mut entity = world.entity_mut(entity);
        if wanted { show(&mut entity) } else { hide(&mut entity) }
    }
    show_volume(world, wanted);
    batch::apply_lights(world);
}

fn remove_lightmaps(_: On<RemoveLightmaps>, mut commands: Commands) {
    commands.queue(|world: &mut World| {
        for entity in baked_entities(world) {
            release(&mut world.entity_mut(entity));
        }
        remove_volume(world);
        *world.resource_mut::<LitLights>() = LitLights::default();
        *world.resource_mut::<Pages>() = Pages::default();
        *world.resource_mut::<RelightOrigin>() = RelightOrigin::Gone;
        batch::apply_lights(world);
        drop_unused_copies(world);
    });
}
