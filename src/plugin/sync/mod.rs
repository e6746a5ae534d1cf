//! Conversion of the Bevy world to a [`Scene`](crate::scene::Scene), and detection of changes.
//!
//! A bake or a live view requests a reading. Meshes and textures are converted into the `AssetCache`, a few per frame,
//! so that the game keeps its frame rate. Then `SceneReader::assemble` builds the scene in one frame. Later readings
//! convert only changed assets. [`SceneStatus`] reports the changes and the cost.
//!
//! | file | contents |
//! | --- | --- |
//! | `read` | `SceneReader`: roles of entities, required assets, and the scene |
//! | `reading` | incremental reading, within a time budget per frame |
//! | `loading` | assets that are still loading |
//! | `cache` | converted meshes and textures |
//! | `key` | stable keys of surfaces |
//! | `movers` | detection of moved entities |
//! | `changes`, `lights` | change detection for surfaces, assets and lights |
//! | `extras`, `file_nodes` | bake settings and node properties of glTF files |
//! | `status` | reported counts and times |

mod cache;
mod changes;
#[cfg(feature = "gltf")]
mod extras;
#[cfg(feature = "gltf")]
mod file_nodes;
mod key;
mod lights;
mod loading;
mod movers;
mod read;
mod reading;
mod status;

use bevy::ecs::entity::EntityHashMap;
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::components::*;
use super::schedule::{RadiositySystems, order_sets};
use super::state::{AppBake, Baked, Pages, ShownMaterial, SilencedLight};
use super::ticks::{any_added, any_changed};
pub use cache::AssetCache;
pub use changes::SceneChanges;
pub use key::{Names, list_names};
pub use lights::LightChanges;
use lights::{AnyLightChanged, RemovedLights};
pub use loading::{Loading, LoadingAssets};
pub use movers::RestPose;
pub use movers::{Moved, can_stand};
pub use read::{FoundLight, Needed, Purpose, SceneReader, WorldScene};
pub use reading::WorldReading;
pub use status::{LiveMove, LiveRebuild, SceneCounts, SceneRead, SceneStatus};

/// Plugin that watches the Bevy world for changes. It needs no other plugin of this crate.
pub struct SceneSyncPlugin;

impl Plugin for SceneSyncPlugin {
    fn build(&self, app: &mut App) {
        order_sets(app);
        app.register_type::<BakeRole>()
            .register_type::<BakeResolution>()
            .register_type::<BakeTint>()
            .register_type::<BakeId>()
            .register_type::<Moved>()
            .register_type::<SceneSettings>()
            .register_type::<SceneStatus>()
            .init_resource::<SceneSettings>()
            .init_resource::<SceneStatus>()
            .init_resource::<AssetCache>()
            .init_resource::<movers::Settling>()
            .add_systems(
                PostUpdate,
                (movers::follow_levels, movers::settle, movers::note_movement)
                    .chain()
                    .in_set(RadiositySystems::Watch)
                    .run_if(movers::has_motion),
            )
            .add_systems(
                Last,
                (
                    watch_assets.run_if(any_asset_changed),
                    watch_surfaces.run_if(any_surface_changed),
                    watch_materials.run_if(any_material_changed),
                    watch_lights.run_if(any_light_changed),
                    watch_levels.run_if(any_lightmap_added),
                )
                    .chain()
                    .in_set(RadiositySystems::Watch),
            );
    }

    #[cfg(feature = "gltf")]
    fn finish(&self, app: &mut App) {
        file_nodes::mark_nodes(app);
    }
}

/// Reads the scene that a bake would take now. It converts all meshes and textures at once; a bake takes several frames
/// for that. What is still loading is left out. The scene is empty without [`SceneSyncPlugin`].
pub fn read_scene(world: &mut World) -> WorldScene {
    world.run_system_cached(read_at_once).unwrap_or_else(|error| {
        error!("the scene cannot be read: {error}");
        WorldScene::default()
    })
}

fn read_at_once(reader: SceneReader, mut cache: ResMut<AssetCache>) -> WorldScene {
    for needed in reader.needed(Purpose::Bake) {
        reader.read(needed, &mut cache);
    }
    reader.assemble(&cache, Purpose::Bake)
}

fn any_asset_changed(
    mut meshes: MessageReader<AssetEvent<Mesh>>,
    mut images: MessageReader<AssetEvent<Image>>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
) -> bool {
    meshes.read().count() + images.read().count() + materials.read().count() > 0
}

fn watch_assets(
    mut status: ResMut<SceneStatus>,
    mut cache: ResMut<AssetCache>,
    mut meshes: MessageReader<AssetEvent<Mesh>>,
    mut images: MessageReader<AssetEvent<Image>>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
    levels: Query<&Pages>,
) {
    let mut changed = SceneCounts::default();
    let is_own = |id: AssetId<Image>| levels.iter().flat_map(|pages| &pages.images).any(|page| page.id() == id);
    for event in meshes.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } = event {
            changed.meshes += usize::from(cache.forget_mesh(*id));
        }
    }
    for event in images.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } = event {
            changed.textures += usize::from(cache.forget_texture(*id) && !is_own(*id));
        }
    }
    changed.materials += materials.read().filter(|event| matches!(event, AssetEvent::Modified { .. })).count();
    if !changed.is_zero() {
        status.add_assets(changed);
    }
}

type WatchedSurface = (Entity, Ref<'static, Mesh3d>, Ref<'static, GlobalTransform>, Option<&'static Baked>);

fn any_surface_changed(
    meshes: Query<Ref<Mesh3d>, Without<Moved>>,
    places: Query<Ref<GlobalTransform>, (With<Mesh3d>, Without<Moved>)>,
    mut removed: RemovedComponents<Mesh3d>,
) -> bool {
    removed.read().count() > 0 || any_changed(&meshes) || any_changed(&places)
}

fn watch_surfaces(
    mut status: ResMut<SceneStatus>,
    surfaces: Query<WatchedSurface, (Or<(Changed<Mesh3d>, Changed<GlobalTransform>)>, Without<Moved>)>,
    roles: Roles,
    mut removed: RemovedComponents<Mesh3d>,
) {
    let is_change = |(entity, mesh, transform, baked): &(Entity, Ref<Mesh3d>, Ref<GlobalTransform>, Option<&Baked>)| {
        let is_own = baked.is_some_and(|baked| baked.mesh == mesh.0);
        let is_excluded = || roles.of(*entity) == Some(BakeRole::Excluded);
        (transform.is_changed() || (mesh.is_changed() && !is_own)) && !is_excluded()
    };
    let changed: Vec<Entity> = surfaces.iter().filter(is_change).map(|(entity, ..)| entity).collect();
    let removed: Vec<Entity> = removed.read().collect();
    if !(changed.is_empty() && removed.is_empty()) {
        status.add_surfaces(changed, removed);
    }
}

fn any_material_changed(
    shown: Query<Ref<MeshMaterial3d<StandardMaterial>>>,
    mut removed: RemovedComponents<MeshMaterial3d<StandardMaterial>>,
) -> bool {
    removed.read().count() > 0 || any_changed(&shown)
}

/// Notes surfaces that got another material. Lightmaps mark materials as changed, so handles are compared.
fn watch_materials(
    mut status: ResMut<SceneStatus>,
    mut known: Local<EntityHashMap<AssetId<StandardMaterial>>>,
    shown: Query<(Entity, ShownMaterial), Changed<MeshMaterial3d<StandardMaterial>>>,
    roles: Roles,
    mut removed: RemovedComponents<MeshMaterial3d<StandardMaterial>>,
) {
    removed.read().for_each(|entity| _ = known.remove(&entity));
    let mut exchanged = Vec::new();
    for (entity, material) in &shown {
        let original = material.original().id();
        let before = known.insert(entity, original);
        let is_exchanged = before.is_some_and(|before| before != original);
        if is_exchanged && roles.of(entity) != Some(BakeRole::Excluded) {
            exchanged.push(entity);
        }
    }
    if !exchanged.is_empty() {
        status.add_surfaces(exchanged, Vec::new());
    }
}

/// Marks count as well: `watch_lights` compares them with the changes of their lights.
fn any_light_changed(mut lights: LightChanges, marks: Query<Ref<SilencedLight>>) -> bool {
    lights.any() || any_changed(&marks)
}

fn watch_lights(
    mut status: ResMut<SceneStatus>,
    lights: Query<(Entity, Option<Ref<SilencedLight>>), AnyLightChanged>,
    mut removed: RemovedLights,
) {
    let is_own = |mark: &Option<Ref<SilencedLight>>| mark.as_ref().is_some_and(|mark| mark.is_changed());
    let changed: Vec<Entity> = lights.iter().filter(|(_, mark)| !is_own(mark)).map(|(entity, _)| entity).collect();
    let removed = removed.read();
    if !(changed.is_empty() && removed.is_empty()) {
        status.add_lights(changed, removed);
    }
}

fn any_lightmap_added(baked: Query<Ref<Baked>>) -> bool {
    any_added(&baked)
}

/// Takes surfaces that a baked level has found for unchanged.
fn watch_levels(
    mut status: ResMut<SceneStatus>,
    found: Query<(Entity, &Baked), Added<Baked>>,
    levels: Query<(), (With<Pages>, Without<AppBake>)>,
) {
    let found = found.iter().filter(|(_, baked)| levels.contains(baked.level)).map(|(entity, _)| entity);
    let found: Vec<Entity> = found.collect();
    if !found.is_empty() {
        status.take_for_unchanged(found);
    }
}
