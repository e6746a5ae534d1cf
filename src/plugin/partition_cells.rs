//! Partition of the world into subscenes, for debug views.
//!
//! ```text
//! changed? --> read, a little a frame --> thread: other polygons or settings? --> partition --> `PartitionCells`
//! ```
//!
//! While no partition is requested, nothing is watched, read or kept.

use std::collections::HashSet;
use std::sync::Arc;

use bevy::asset::UntypedAssetId;
use bevy::prelude::*;

use super::background::{self, Fault, RadiosityThreads, Task};
use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::sync::{
    AssetCache, Purpose, SceneChanges, SceneRead, SceneReader, SceneSyncPlugin, WorldReading, WorldScene,
};
use crate::geometry::Aabb;
use crate::partition::{Partition, PartitionError, PartitionSettings, Polygons, imbalance};
use crate::scene::Scene;
use crate::scene::check::repair;

/// Cells of a partition of the scene that a bake would take now.
///
/// They follow changes of meshes, transforms and materials. A thread computes them, and the earlier cells stay until
/// then.
#[derive(Resource, Debug, Default, Reflect)]
#[reflect(Resource, Default, Debug)]
pub struct PartitionCells {
    /// Settings of the partition, or `None` for no partition. If cells are balanced by power, only surfaces count as
    /// emitters.
    pub wanted: Option<PartitionSettings>,
    /// Result of the partition. `None` before the first one.
    pub cut: Option<Result<CutScene, PartitionError>>,
    /// Latest reading of the world, if any.
    pub last_read: Option<SceneRead>,
}

/// Partitioned scene.
#[derive(Clone, Debug, PartialEq, Reflect)]
#[reflect(Debug, Clone, PartialEq)]
pub struct CutScene {
    /// Boxes of all cells, in world space.
    pub cells: Vec<Aabb>,
    /// Imbalance of the loads of the cells; see [`imbalance`].
    pub sigma: f64,
}

/// Plugin that computes partitions in the background. It needs [`SceneSyncPlugin`].
pub struct PartitionCellsPlugin;

impl Plugin for PartitionCellsPlugin {
    fn build(&self, app: &mut App) {
        if !has_plugin::<SceneSyncPlugin, _>(app, self) {
            return;
        }
        order_sets(app);
        background::add(app);
        app.register_type::<PartitionCells>()
            .init_resource::<PartitionCells>()
            .init_resource::<Cutting>()
            .add_systems(Last, (watch, advance).chain().in_set(RadiositySystems::Partition).run_if(is_wanted))
            .add_systems(Last, rest.in_set(RadiositySystems::Partition).run_if(is_left_over));
    }
}

/// State of the background work.
#[derive(Resource, Default)]
struct Cutting {
    work: Work,
    /// Entities and assets of the latest scene.
    read: Option<Read>,
    is_stale: bool,
    /// Input of the latest partition.
    given: Option<Given>,
}

#[derive(Default)]
enum Work {
    #[default]
    Rest,
    Read(Box<WorldReading>),
    Cut(Task<Done>),
}

/// Entities and assets that a scene was read from.
struct Read {
    entities: HashSet<Entity>,
    assets: HashSet<UntypedAssetId>,
}

/// Input of a partition.
#[derive(Clone, PartialEq)]
struct Given {
    polygons: Arc<Polygons>,
    settings: PartitionSettings,
}

struct Done {
    given: Given,
    /// `None` if the input equals the previous one.
    cut: Option<Result<CutScene, PartitionError>>,
}

fn is_wanted(partition: Res<PartitionCells>) -> bool {
    partition.wanted.is_some()
}

/// Run condition: no partition is wanted, but something is kept for one.
fn is_left_over(partition: Res<PartitionCells>, cutting: Res<Cutting>) -> bool {
    let is_at_rest = partition.cut.is_none() && cutting.read.is_none() && matches!(cutting.work, Work::Rest);
    partition.wanted.is_none() && !is_at_rest
}

/// Marks the cells as stale when their scene has changed. Movers are no part of bakes, so only the first move of a
/// surface counts.
fn watch(mut cutting: ResMut<Cutting>, mut changes: SceneChanges) {
    let Cutting { read, is_stale, .. } = &mut *cutting;
    let has_asset = |id: UntypedAssetId| read.as_ref().is_some_and(|read| read.assets.contains(&id));
    let is_read = |entity: Entity| read.as_ref().is_some_and(|read| read.entities.contains(&entity));
    *is_stale |= changes.any(has_asset, is_read);
}

/// Advances the work by one step.
fn advance(
    mut partition: ResMut<PartitionCells>,
    mut cutting: ResMut<Cutting>,
    mut cache: ResMut<AssetCache>,
    threads: Res<RadiosityThreads>,
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
                cutting.start(settings, *threads, move || polygons)
            }
            _ => Work::Rest,
        },
        Work::Read(mut reading) => match reading.advance(&reader, &mut cache) {
            Some((world, read)) => {
                partition.last_read = Some(read);
                cutting.read = Some(Read::new(&world));
                cutting.start(settings, *threads, move || polygons_of(world.scene))
            }
            None => Work::Read(reading),
        },
        Work::Cut(mut task) => match task.poll() {
            None => Work::Cut(task),
            Some(Ok(Done { given, cut })) => {
                cutting.given = Some(given);
                if cut.is_some() {
                    partition.cut = cut;
                }
                Work::Rest
            }
            Some(Err(Fault)) => {
                warn!("cutting the world into cells stopped by a fault of its own");
                // Another try would fail again.
                cutting.given = None;
                Work::Rest
            }
        },
    };
}

/// Frees everything once no partition is requested.
fn rest(mut partition: ResMut<PartitionCells>, mut cutting: ResMut<Cutting>) {
    (partition.cut, partition.last_read) = (None, None);
    *cutting = Cutting::default();
}

impl Cutting {
    /// Starts a thread that computes the partition, unless the input is unchanged.
    fn start(
        &self,
        settings: PartitionSettings,
        threads: RadiosityThreads,
        read: impl FnOnce() -> Arc<Polygons> + Send + 'static,
    ) -> Work {
        let before = self.given.clone();
        let cut = move || async move {
            let given = Given { polygons: read(), settings };
            let is_new = before.is_none_or(|before| before != given);
            Done { cut: is_new.then(|| CutScene::new(&given)), given }
        };
        match Task::start("partition", threads, cut) {
            Ok(task) => Work::Cut(task),
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

fn polygons_of(scene: Scene) -> Arc<Polygons> {
    // Bakes report its problems.
    let (scene, _) = repair(scene);
    Arc::new(Polygons::of_scene(&scene).0)
}

impl CutScene {
    fn new(Given { polygons, settings }: &Given) -> Result<Self, PartitionError> {
        let partition = Partition::new(polygons, settings)?;
        let sigma = imbalance(&partition.loads(polygons, &settings.factor.loads(polygons)?));
        Ok(Self { cells: partition.cells().to_vec(), sigma })
    }
}
