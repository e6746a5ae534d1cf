//! Display of levels that were baked before, by the command line or by an earlier run.
//!
//! The asset server loads the files, and a separate thread decodes them. Then surfaces get their lightmaps as they appear,
//! however late an asynchronous scene spawns them. Each surface is matched by its key, and each light by its name and
//! place.
//!
//! One level is shown at a time: a later [`BakedLevel`] replaces an earlier one. Without its [`BakedLevel`], a level
//! disappears. A level whose asset is loaded again replaces itself.
//!
//! | file | contents |
//! | --- | --- |
//! | `read` | assets that have loaded, and threads that decode them |
//! | `files` | content of the files |
//! | `stale` | comparison with the source |
//! | `shown` | state of the shown level, as plain data |
//! | `surfaces` | baked surfaces among the entities of the app |
//! | `lights` | baked lights among the lights of the app |

mod files;
mod lights;
mod read;
mod shown;
mod stale;
mod surfaces;

use std::collections::VecDeque;

use bevy::math::Affine3A;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::assets;
use super::background;
use super::components::BakedLevel;
use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::state::{Baked, LevelFrame, LightmapSource, LitLights, RelightOrigin};
use super::sync::SceneSyncPlugin;
use super::ticks::any_added;
use super::write_back::{Batch, Batches, NewBake, RemoveLightmaps, WriteBackPlugin, exchange_volume, remove_all};
use crate::radiosity::Content;
use files::Files;
pub use read::{BakedLevelError, BakedLevelFailed};
use read::{Decoding, Outcome};
use shown::{LevelLights, Shown, ShownLevel};
use stale::Comparison;
use surfaces::match_surfaces;

/// Event that the files of a baked level have been read, for the first time or again.
#[derive(Event, Clone, Copy, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakedLevelLoaded {
    /// Entity with the [`BakedLevel`].
    pub entity: Entity,
    /// Number of surfaces with lightmaps in the level.
    pub surfaces: usize,
    /// Time to read and decode the files, in seconds, on separate threads.
    pub seconds: f32,
}

/// Event that every present surface shows its lightmap. It is triggered after the files have been read, and again after
/// surfaces or lightmaps have been added.
#[derive(Event, Clone, Copy, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakedLevelShown {
    /// Number of surfaces in the app that show a lightmap.
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
                (forget_replaced, receive, queue_surfaces, match_surfaces, announce, lights::report)
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
    levels: Query<(), With<BakedLevel>>,
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
                batches.drop_levels();
                // The one before may have been read in this frame.
                let before = shown.level.as_ref().map(|level| level.entity).or(shown.attached);
                if before.is_some_and(|other| other != entity && levels.contains(other)) {
                    warn!("one baked level is shown at a time: {} replaces the one before", files.read.path);
                }
                shown.level = Some(show(files, entity, baked, &mut batches));
                shown.waiting = surfaces.iter().collect();
            }
            Err(error) => read::fail(&mut commands, entity, error),
        }
    }
}

/// Starts to show a level that was read.
fn show(files: Files, entity: Entity, baked: &BakedLevel, batches: &mut Batches) -> ShownLevel {
    let Files { pages, validity, meshes, surfaces, volume, content, read, .. } = files;
    let lights = LevelLights::new(&read.level);
    let lit = LitLights { ambient: false, is_direct: content == Content::Full };
    let new_bake = NewBake { source: LightmapSource::Level, lit, lights: Vec::new(), padding: read.level.padding };
    let origin = RelightOrigin::Files(baked.clone(), read);
    batches.push(Batch::bake(new_bake, Vec::new(), pages).on_attached(move |world, _| {
        let mut shown = world.resource_mut::<Shown>();
        shown.attached = Some(entity);
        let of_bake = shown.level.as_ref().and_then(|level| level.frame()).unwrap_or_default();
        let now = world.get::<GlobalTransform>(entity).map_or(Affine3A::IDENTITY, GlobalTransform::affine);
        world.insert_resource(LevelFrame { root: Some(entity), of_bake, at_attach: now, now });
        world.insert_resource(validity);
        exchange_volume(world, volume.as_ref(), world.get_entity(entity).is_ok().then_some((entity, of_bake)));
        origin.set(world);
        // In the same frame, since the lights would light the surfaces twice.
        if let Err(error) = world.run_system_cached(lights::mark) {
            error!("baked lights cannot be found: {error}");
        }
    }));
    ShownLevel::new(entity, surfaces, meshes, lights)
}

/// Removes a level and all that was made for it. A level that is read meanwhile stays.
fn remove(
    removed: On<Remove, BakedLevel>,
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    source: Res<LightmapSource>,
) {
    commands.entity(removed.entity).try_remove::<(Outcome, Decoding, Comparison)>();
    if shown.level.as_ref().is_some_and(|level| level.entity == removed.entity) {
        (shown.level, shown.waiting) = (None, VecDeque::new());
        batches.drop_levels();
    }
    if shown.attached == Some(removed.entity) && *source == LightmapSource::Level {
        shown.attached = None;
        commands.queue(|world: &mut World| {
            remove_all(world);
            RelightOrigin::Gone.set(world);
        });
    }
}

/// Forgets all levels, also those that are still read.
fn forget_all(
    _: On<RemoveLightmaps>,
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    decoding: Query<Entity, With<Decoding>>,
) {
    *shown = Shown::default();
    batches.drop_levels();
    for entity in &decoding {
        commands.entity(entity).try_remove::<Decoding>();
    }
}

type IsSurface = (With<Mesh3d>, With<MeshMaterial3d<StandardMaterial>>);

/// Run condition: a level is being read, or the shown one may change.
fn has_work(
    shown: Res<Shown>,
    batches: Res<Batches>,
    source: Res<LightmapSource>,
    decoding: Query<(), With<Decoding>>,
    meshes: Query<Ref<Mesh3d>, IsSurface>,
    materials: Query<Ref<MeshMaterial3d<StandardMaterial>>, IsSurface>,
) -> bool {
    let has_surfaces = || any_added(&meshes) || any_added(&materials);
    let has_changes = || !batches.is_empty() || source.is_changed() || has_surfaces();
    !decoding.is_empty() || shown.level.is_some() && (!shown.is_at_rest || has_changes())
}

type NewSurface = (Or<(Added<Mesh3d>, Added<MeshMaterial3d<StandardMaterial>>)>, IsSurface);

fn queue_surfaces(mut shown: ResMut<Shown>, added: Query<Entity, NewSurface>) {
    if shown.level.is_some() && !added.is_empty() {
        let known: std::collections::HashSet<Entity> = shown.waiting.iter().copied().collect();
        shown.waiting.extend(added.iter().filter(|entity| !known.contains(entity)));
    }
}

/// Triggers [`BakedLevelShown`] once no surface waits and no batch is pending.
fn announce(
    mut shown: ResMut<Shown>,
    batches: Res<Batches>,
    baked: Query<(), With<Baked>>,
    mut was_settled: Local<bool>,
    mut commands: Commands,
) {
    let is_settled = shown.level.is_some() && shown.waiting.is_empty() && batches.is_empty();
    if is_settled && !*was_settled {
        commands.trigger(BakedLevelShown { surfaces: baked.iter().len() });
    }
    *was_settled = is_settled;
    // Before its first lightmap, a level has nothing to report about its lights.
    let has_reported = shown.level.as_ref().is_some_and(|level| level.lights.has_reported);
    shown.is_at_rest = is_settled && (has_reported || baked.is_empty());
}

/// Forgets a level that a bake has replaced.
fn forget_replaced(mut shown: ResMut<Shown>, source: Res<LightmapSource>, batches: Res<Batches>) {
    let is_shown = |level: &ShownLevel| match level.lights.is_attached {
        true => *source == LightmapSource::Level,
        false => batches.holds_level(),
    };
    if shown.level.as_ref().is_some_and(|level| !is_shown(level)) {
        *shown = Shown::default();
    }
}
