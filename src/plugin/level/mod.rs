//! Display of levels that were baked before, by the command line or by an earlier run.
//!
//! The asset server loads the files, and a separate thread decodes them. Then surfaces get their lightmaps as they appear,
//! however late an asynchronous scene spawns them. Each surface is matched by its key, and each light by its name and
//! place.
//!
//! Any number of levels is shown. A surface below the entity of a [`BakedLevel`] belongs to that level, any other surface
//! to the level that was baked with it at its place. A later level that takes all surfaces of an earlier one replaces it.
//! Without its [`BakedLevel`], a level disappears. A level whose asset is loaded again replaces itself.
//!
//! | file | contents |
//! | --- | --- |
//! | `read` | assets that have loaded, and threads that decode them |
//! | `files` | content of the files |
//! | `stale` | comparison with the source |
//! | `shown` | state of the shown levels, as plain data |
//! | `surfaces` | baked surfaces among the entities of the app |
//! | `lights` | baked lights among the lights of the app |

mod files;
mod lights;
mod read;
mod shown;
mod stale;
mod surfaces;

use bevy::math::Affine3A;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::assets;
use super::background;
use super::components::BakedLevel;
use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::state::{Baked, LevelFrame, LitLights, Pages, RelightOrigin};
use super::sync::SceneSyncPlugin;
use super::ticks::any_added;
use super::write_back::{
    Batch, Batches, NewBake, Owner, RemoveLightmaps, WriteBackPlugin, exchange_volume, remove_level,
};
use crate::radiosity::Content;
use files::Files;
pub use read::{BakedLevelError, BakedLevelFailed};
use read::{Decoding, Outcome};
use shown::{LevelLights, Shown, ShownLevel};
use stale::Comparison;
use surfaces::match_surfaces;

/// Event that the files of a baked level have been read, for the first time or again.
#[derive(EntityEvent, Clone, Copy, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakedLevelLoaded {
    /// Entity with the [`BakedLevel`].
    pub entity: Entity,
    /// Number of surfaces with lightmaps in the level.
    pub surfaces: usize,
    /// Time to read and decode the files, in seconds, on separate threads.
    pub seconds: f32,
}

/// Event that every present surface of a level shows its lightmap. It is triggered after the files have been read, and
/// again after lightmaps of surfaces have been added.
#[derive(EntityEvent, Clone, Copy, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakedLevelShown {
    /// Entity with the [`BakedLevel`].
    pub entity: Entity,
    /// Number of surfaces in the app that show a lightmap of the level.
    pub surfaces: usize,
}

/// Plugin that shows baked levels. It needs [`SceneSyncPlugin`] and [`WriteBackPlugin`].
pub struct BakedLevelPlugin;

impl Plugin for BakedLevelPlugin {
    fn build(&self, app: &mut App) {
        // An app that loads a level may not know that nothing shows it.
        assets::add(app);
        if !(has_plugin::<SceneSyncPlugin, _>(app, self) && has_plugin::<WriteBackPlugin, _>(app, self)) {
            return;
        }
        order_sets(app);
        background::add(app);
        app.register_type::<BakedLevel>()
            .register_type::<BakedLevelLoaded>()
            .register_type::<BakedLevelShown>()
            .register_type::<BakedLevelFailed>()
            .init_resource::<Shown>()
            .add_observer(read::begin)
            .add_observer(remove)
            .add_observer(forget_all)
            .add_systems(
                PreUpdate,
                (read::follow_assets.run_if(read::may_have_loaded), stale::compare.run_if(stale::is_pending))
                    .in_set(RadiositySystems::Levels),
            )
            .add_systems(
                PreUpdate,
                (
                    forget_replaced,
                    receive,
                    queue_surfaces,
                    match_surfaces,
                    replace.run_if(is_settled),
                    announce,
                    lights::report.run_if(is_settled),
                )
                    .chain()
                    .in_set(RadiositySystems::Levels)
                    .run_if(has_work)
                    .after(read::follow_assets),
            )
            .add_systems(PostUpdate, lights::follow.in_set(RadiositySystems::Watch).run_if(lights::any_added));
    }
}

fn receive(
    mut commands: Commands,
    mut decoding: Query<(Entity, &BakedLevel, &mut Decoding)>,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    surfaces: Query<Entity, IsSurface>,
    assets: Res<AssetServer>,
) {
    for (entity, baked, mut task) in &mut decoding {
        let Some(decoded) = task.poll() else {
            continue;
        };
        commands.entity(entity).remove::<Decoding>();
        match decoded {
            Ok(files) => {
                if let Some(comparison) = Comparison::of(baked, &files.read, &assets) {
                    commands.entity(entity).insert(comparison);
                }
                commands.trigger(BakedLevelLoaded { entity, surfaces: files.surfaces.len(), seconds: files.seconds });
                batches.drop_level(entity);
                commands.entity(entity).insert(show(files, entity, baked, &mut batches, shown.count));
                shown.count += 1;
                shown.waiting = surfaces.iter().collect();
            }
            Err(error) => read::fail(&mut commands, entity, error),
        }
    }
}

/// Starts to show a level that was read.
fn show(files: Files, entity: Entity, baked: &BakedLevel, batches: &mut Batches, number: u32) -> ShownLevel {
    let Files { pages, validity, meshes, surfaces, volume, content, read, .. } = files;
    let (lights, name) = (LevelLights::new(&read.level), read.path.to_string());
    let lit = LitLights { ambient: false, is_direct: content == Content::Full };
    let new_bake = NewBake { owner: Owner::Level(entity), lit, lights: Vec::new(), padding: read.level.padding };
    let origin = RelightOrigin::Files(baked.clone(), read);
    batches.push(Batch::bake(new_bake, Vec::new(), pages).on_attached(move |world, entity, _| {
        let Some(mut level) = world.get_mut::<ShownLevel>(entity) else {
            return;
        };
        level.lights.is_attached = true;
        level.has_new_frame = false;
        let of_bake = level.frame.unwrap_or_default();
        let now = world.get::<GlobalTransform>(entity).map_or(Affine3A::IDENTITY, GlobalTransform::affine);
        let frame = LevelFrame { root: Some(entity), of_bake, at_attach: now, now };
        world.entity_mut(entity).insert((frame, validity));
        exchange_volume(world, entity, volume.as_ref(), Some(of_bake));
        origin.set(world, entity);
        // In the same frame, since the lights would light the surfaces twice.
        if let Err(error) = world.run_system_cached(lights::mark) {
            error!("baked lights cannot be found: {error}");
        }
    }));
    ShownLevel::new(number, name, surfaces, meshes, lights)
}

/// Removes a level and all that was made for it. Other levels may know its surfaces.
fn remove(
    removed: On<Remove, BakedLevel>,
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    baked: Query<(Entity, &Baked)>,
) {
    let level = removed.entity;
    commands.entity(level).try_remove::<(Outcome, Decoding, Comparison, ShownLevel)>();
    batches.drop_level(level);
    shown.waiting.extend(baked.iter().filter(|(_, baked)| baked.level == level).map(|(entity, _)| entity));
    shown.is_at_rest = false;
    commands.queue(move |world: &mut World| remove_level(world, level));
}

/// Forgets all levels, also those that are still read.
fn forget_all(
    _: On<RemoveLightmaps>,
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    levels: Query<Entity, Or<(With<Decoding>, With<ShownLevel>)>>,
) {
    shown.waiting.clear();
    batches.drop_levels();
    for entity in &levels {
        commands.entity(entity).try_remove::<(Decoding, ShownLevel)>();
    }
}

type IsSurface = (With<Mesh3d>, With<MeshMaterial3d<StandardMaterial>>);

/// Run condition: a level is being read, or a shown one may change.
fn has_work(
    shown: Res<Shown>,
    batches: Res<Batches>,
    decoding: Query<(), With<Decoding>>,
    levels: Query<(), With<ShownLevel>>,
    mut without_pages: RemovedComponents<Pages>,
    meshes: Query<Ref<Mesh3d>, IsSurface>,
    materials: Query<Ref<MeshMaterial3d<StandardMaterial>>, IsSurface>,
) -> bool {
    let is_any_removed = without_pages.read().count() > 0;
    let has_surfaces = || any_added(&meshes) || any_added(&materials);
    let has_changes = || is_any_removed || !batches.is_empty() || has_surfaces();
    !decoding.is_empty() || !levels.is_empty() && (!shown.is_at_rest || has_changes())
}

type NewSurface = (Or<(Added<Mesh3d>, Added<MeshMaterial3d<StandardMaterial>>)>, IsSurface);

fn queue_surfaces(mut shown: ResMut<Shown>, added: Query<Entity, NewSurface>) {
    if !added.is_empty() {
        let known: std::collections::HashSet<Entity> = shown.waiting.iter().copied().collect();
        shown.waiting.extend(added.iter().filter(|entity| !known.contains(entity)));
    }
}

/// Run condition: no surface waits, and no batch is pending.
fn is_settled(shown: Res<Shown>, batches: Res<Batches>) -> bool {
    shown.waiting.is_empty() && batches.is_empty()
}

/// Removes a level that a later one has replaced: it has lost all its surfaces to it.
fn replace(mut commands: Commands, levels: Query<(Entity, &ShownLevel)>, baked: Query<&Baked>) {
    for (entity, level) in &levels {
        let by = level.taken_by.and_then(|by| levels.get(by).ok());
        let Some((_, by)) = by.filter(|_| baked.iter().all(|baked| baked.level != entity)) else {
            continue;
        };
        warn!("baked level {} replaces {}: it was baked with the same surfaces", by.name, level.name);
        commands.entity(entity).remove::<ShownLevel>();
        commands.queue(move |world: &mut World| remove_level(world, entity));
    }
}

/// Triggers [`BakedLevelShown`] once no surface waits and no batch is pending.
fn announce(
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    batches: Res<Batches>,
    mut levels: Query<(Entity, &mut ShownLevel)>,
    baked: Query<&Baked>,
) {
    let is_settled = shown.waiting.is_empty() && batches.is_empty();
    let mut is_at_rest = is_settled;
    for (entity, mut level) in levels.iter_mut().filter(|_| is_settled) {
        let surfaces = || baked.iter().filter(|baked| baked.level == entity).count();
        // Before its first lightmap, a level has nothing to report about its lights.
        is_at_rest &= level.is_announced && (level.lights.has_reported || surfaces() == 0);
        if !level.is_announced {
            level.is_announced = true;
            commands.trigger(BakedLevelShown { entity, surfaces: surfaces() });
        }
    }
    shown.is_at_rest = is_at_rest;
}

/// Forgets levels that a bake of the app has replaced.
fn forget_replaced(mut commands: Commands, levels: Query<(Entity, &ShownLevel, Has<Pages>)>, batches: Res<Batches>) {
    for (entity, level, has_pages) in &levels {
        let is_shown = if level.lights.is_attached { has_pages } else { batches.holds(entity) };
        if !is_shown {
            commands.entity(entity).remove::<ShownLevel>();
        }
    }
}
