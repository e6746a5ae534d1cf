//! How the world would be cut into subscenes, for whoever wants to draw it.
//!
//! ```text
//! changed? --> read, a little a frame --> a thread: other polygons, or other settings? --> cut --> `PartitionCells`
//! ```
//!
//! While nobody wants to see cells, nothing is watched, read or kept.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;

use bevy::asset::{AssetEventSystems, UntypedAssetId};
use bevy::prelude::*;

use super::components::SceneSettings;
use super::sync::{AssetCache, AssetChanges, Purpose, SceneReader, SurfaceChanges, WorldReading, WorldScene};
use crate::geometry::Aabb;
use crate::partition::{Partition, PartitionError, PartitionSettings, Polygons, imbalance};
use crate::scene::Scene;
use crate::scene::check::repair;

/// The cells of a partition of all that would take part in a bake now. They follow meshes, places and materials, and are cut
/// in the background: those before are shown until then.
#[derive(Resource, Debug, Default)]
pub struct PartitionCells {
    /// How to cut; `None` cuts nothing. Of power, only surfaces have any.
    pub wanted: Option<PartitionSettings>,
    /// What came of it; `None` while nothing has been cut.
    pub cut: Option<Result<CutScene, PartitionError>>,
}

/// A scene that has been cut.
#[derive(Clone, Debug, PartialEq)]
pub struct CutScene {
    /// All cells.
    pub cells: Vec<Aabb>,
    /// How unequal the loads in them are that were to be shared out: [`imbalance`].
    pub sigma: f64,
}

/// Cuts in the background.
pub struct PartitionCellsPlugin;

impl Plugin for PartitionCellsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<PartitionCells>()
            .init_resource::<Cutting>()
            .add_systems(Last, (watch, advance).chain().after(AssetEventSystems).run_if(is_wanted))
            .add_systems(Last, rest.run_if(not(is_wanted)));
    }
}

/// The work of keeping cells right.
#[derive(Resource, Default)]
struct Cutting {
    work: Work,
    /// What was read last.
    read: Option<Read>,
    is_stale: bool,
    /// What was cut last.
    given: Option<Given>,
}

#[derive(Default)]
enum Work {
    #[default]
    Rest,
    Read(Box<WorldReading>),
    Cut(JoinHandle<Done>),
}

/// Of what a scene was read.
struct Read {
    entities: HashSet<Entity>,
    assets: HashSet<UntypedAssetId>,
}

/// What is cut, and how.
#[derive(Clone, PartialEq)]
struct Given {
    polygons: Arc<Polygons>,
    settings: PartitionSettings,
}

struct Done {
    given: Given,
    /// None when that was what had been cut last.
    cut: Option<Result<CutScene, PartitionError>>,
}

fn is_wanted(partition: Res<PartitionCells>) -> bool {
    partition.wanted.is_some()
}

/// Takes note of whether something that is cut has changed. What moves is no part of bakes: it is when it begins to move
/// that something changes.
fn watch(
    mut cutting: ResMut<Cutting>,
    mut surfaces: SurfaceChanges,
    mut assets: AssetChanges,
    moved: Query<Entity, (With<Mesh3d>, Changed<GlobalTransform>)>,
    settings: Res<SceneSettings>,
) {
    let Cutting { read, is_stale, .. } = &mut *cutting;
    let is_read = |id: UntypedAssetId| read.as_ref().is_some_and(|read| read.assets.contains(&id));
    let has_moved = |entity: Entity| read.as_ref().is_some_and(|read| read.entities.contains(&entity));
    let is_other = [surfaces.any(), assets.any(is_read), moved.iter().any(has_moved), settings.is_changed()];
    *is_stale |= is_other.contains(&true);
}

/// Goes on with what there is to do.
fn advance(
    mut partition: ResMut<PartitionCells>,
    mut cutting: ResMut<Cutting>,
    mut cache: ResMut<AssetCache>,
    reader: SceneReader,
) {
    let (cutting, Some(settings)) = (&mut *cutting, partition.wanted) else {
        return;
    };
    cutting.work = match core::mem::take(&mut cutting.work) {
        Work::Rest if cutting.is_stale || cutting.read.is_none() => {
            cutting.is_stale = false;
            Work::Read(Box::new(WorldReading::new(Purpose::Bake)))
        }
        Work::Rest => match &cutting.given {
            Some(given) if given.settings != settings => {
                let polygons = Arc::clone(&given.polygons);
                cutting.start(settings, move || polygons)
            }
            _ => Work::Rest,
        },
        Work::Read(mut reading) => match reading.advance(&reader, &mut cache) {
            Some((world, _)) => {
                cutting.read = Some(Read::new(&world));
                cutting.start(settings, move || polygons_of(world.scene))
            }
            None => Work::Read(reading),
        },
        Work::Cut(thread) if thread.is_finished() => {
            match thread.join() {
                Ok(Done { given, cut }) => {
                    cutting.given = Some(given);
                    if cut.is_some() {
                        partition.cut = cut;
                    }
                }
                Err(_) => {
                    warn!("cutting the world into cells stopped by a fault of its own");
                    // The same again would end the same.
                    cutting.given = None;
                }
            }
            Work::Rest
        }
        work => work,
    };
}

/// Frees everything once nobody wants to see cells.
fn rest(mut partition: ResMut<PartitionCells>, mut cutting: ResMut<Cutting>) {
    if partition.cut.is_some() || cutting.read.is_some() || !matches!(cutting.work, Work::Rest) {
        partition.cut = None;
        *cutting = Cutting::default();
    }
}

impl Cutting {
    /// Cuts in a thread, unless that has been done.
    fn start(&self, settings: PartitionSettings, read: impl FnOnce() -> Arc<Polygons> + Send + 'static) -> Work {
        let before = self.given.clone();
        let cut = move || {
            let given = Given { polygons: read(), settings };
            let is_new = before.is_none_or(|before| before != given);
            Done { cut: is_new.then(|| CutScene::new(&given)), given }
        };
        match std::thread::Builder::new().name("partition".to_owned()).spawn(cut) {
            Ok(thread) => Work::Cut(thread),
            Err(error) => {
                warn_once!("there is no thread to cut the world into cells with: {error}");
                Work::Rest
            }
        }
    }
}

impl Read {
    fn new(world: &WorldScene) -> Self {
        let surfaces = world.scene.surfaces.iter().filter(|surface| surface.is_in_bake());
        let entities = surfaces.filter_map(|surface| Some(world.surfaces.get(&surface.key)?.0)).collect();
        Self { entities, assets: world.assets.clone() }
    }
}

fn polygons_of(mut scene: Scene) -> Arc<Polygons> {
    // What bakes warn of is left to them.
    repair(&mut scene);
    Arc::new(Polygons::of_scene(&scene).0)
}

impl CutScene {
    fn new(Given { polygons, settings }: &Given) -> Result<Self, PartitionError> {
        let partition = Partition::new(polygons, settings)?;
        let sigma = imbalance(&partition.loads(polygons, &settings.factor.loads(polygons)?));
        Ok(Self { cells: partition.cells().to_vec(), sigma })
    }
}
