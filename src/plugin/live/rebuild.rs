//! From the Bevy world to buffers on the GPU, without stopping the game.
//!
//! ```text
//! stale -> read, a little a frame -> the same as before? nothing to do
//!                                 -> other light, other colours: a thread fills new buffers
//!                                 -> other triangles: a thread builds new trees as well
//! movers -> stand elsewhere? their parts of the buffers are written in the same frame
//! ```

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use bevy::asset::UntypedAssetId;
use bevy::prelude::*;
use bevy::render::renderer::{RenderAdapterInfo, RenderDevice, RenderQueue};

use crate::geometry::SurfaceId;
use crate::gpu::{Gpu, GpuFault, GpuMovers, GpuScene, GpuTree, PathKernel, PictureFilter, SceneChange, Stack, Trees};
use crate::kdtree::Preset;
use crate::plugin::sync::{
    AssetCache, LiveMove, LiveRebuild, Purpose, SceneReader, SceneStatus, WorldReading, WorldScene, can_stand,
};
use crate::plugin::tree_cells::TreeCells;
use crate::scene::check::repair;
use crate::scene::{Role, Scene, Severity, Sky, Surface};

/// What views trace.
pub struct LiveWorld {
    pub tracer: Tracer,
    pub buffers: GpuScene,
    trees: Arc<WalkedTrees>,
}

/// What rays walk through, and how it looks.
pub struct WalkedTrees {
    trees: GpuTree,
    cells: TreeCells,
}

/// What the world that views trace was made of, its movers where they stand now.
struct Subject {
    /// As it was read, to be compared with what is read next.
    read: Scene,
    /// As it was uploaded.
    scene: Scene,
    movers: GpuMovers,
    surfaces: BTreeMap<Entity, SurfaceId>,
}

/// The tracer on the renderer's own device.
#[derive(Clone)]
pub struct Tracer {
    pub gpu: Arc<Gpu>,
    pub paths: Arc<PathKernel>,
    pub filter: Arc<PictureFilter>,
}

/// The Bevy world as views trace it, and the work of keeping it so.
#[derive(Resource, Default)]
pub struct LiveScene {
    /// What is shown; none while the first one is being built.
    pub current: Option<Arc<LiveWorld>>,
    /// What is to be written into its buffers before they are used in this frame.
    pub change: Option<Arc<SceneChange>>,
    /// Another one whenever something else is shown, or the same in other places.
    pub revision: u64,
    subject: Option<Subject>,
    work: Work,
    is_stale: bool,
    is_awake: bool,
    assets: HashSet<UntypedAssetId>,
    threads: Option<Arc<rayon::ThreadPool>>,
}

#[derive(Default)]
enum Work {
    #[default]
    Rest,
    Read(Box<WorldReading>),
    Build(Box<Building>),
}

struct Building {
    thread: JoinHandle<Result<Built, GpuFault>>,
    read: Scene,
    movers: BTreeMap<Entity, SurfaceId>,
    report: LiveRebuild,
}

enum Device {
    Prepared(Tracer),
    New(Gpu),
}

struct Built {
    scene: Scene,
    tracer: Tracer,
    buffers: GpuScene,
    trees: Arc<WalkedTrees>,
    tree_seconds: Option<f32>,
    buffer_seconds: f32,
    warnings: Vec<String>,
}

impl LiveScene {
    /// Takes note of whether something has changed.
    pub fn note(&mut self, changed: bool) {
        self.is_stale |= changed;
    }

    /// Whether an asset is part of what is shown.
    pub fn shows(&self, asset: UntypedAssetId) -> bool {
        self.assets.contains(&asset)
    }

    /// Whether an entity is a mover, which views follow without being told.
    pub fn follows(&self, entity: Entity) -> bool {
        self.subject.as_ref().is_some_and(|subject| subject.surfaces.contains_key(&entity))
    }

    /// Lets go of what was built on a device that is no more.
    fn forget_device(&mut self) {
        self.current = None;
        self.subject = None;
        self.work = Work::Rest;
        self.is_stale = true;
    }

    fn threads(&mut self) -> Result<Arc<rayon::ThreadPool>, rayon::ThreadPoolBuildError> {
        if let Some(threads) = &self.threads {
            return Ok(Arc::clone(threads));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(cores.saturating_sub(1).max(1))
            .thread_name(|index| format!("live scene {index}"))
            .build()?;
        Ok(Arc::clone(self.threads.insert(Arc::new(threads))))
    }
}

/// Goes on with what there is to do.
pub fn advance(
    mut live: ResMut<LiveScene>,
    mut status: ResMut<SceneStatus>,
    mut cache: ResMut<AssetCache>,
    device: Option<Res<RenderDevice>>,
    queue: Option<Res<RenderQueue>>,
    adapter: Option<Res<RenderAdapterInfo>>,
    reader: SceneReader,
) {
    let live = &mut *live;
    let (Some(device), Some(queue), Some(adapter)) = (device, queue, adapter) else {
        warn_once!("there is no graphics adapter: `LiveView` shows nothing");
        return;
    };
    if !live.is_awake || device.is_changed() {
        live.is_awake = true;
        live.forget_device();
    }
    match core::mem::take(&mut live.work) {
        Work::Rest if live.is_stale => {
            live.is_stale = false;
            live.work = Work::Read(Box::new(WorldReading::new(Purpose::View)));
        }
        Work::Rest => {}
        Work::Read(mut reading) => match reading.advance(&reader, &mut cache) {
            None => live.work = Work::Read(reading),
            Some((mut scene, read)) => {
                live.assets = core::mem::take(&mut scene.assets);
                if live.subject.as_ref().is_some_and(|subject| is_same(&subject.read, &scene.scene)) {
                    return;
                }
                let gpu = || {
                    let device = device.wgpu_device().clone();
                    Gpu::from_device(device, wgpu::Queue::clone(&queue.0), wgpu::AdapterInfo::clone(&adapter.0))
                };
                let report = LiveRebuild { read, ..default() };
                match Building::start(live, scene, report, gpu) {
                    Ok(building) => live.work = Work::Build(Box::new(building)),
                    Err(reason) => warn!("the live view shows nothing new: {reason}"),
                }
            }
        },
        Work::Build(building) if !building.thread.is_finished() => live.work = Work::Build(building),
        Work::Build(building) => match building.finish(live) {
            Ok(report) => status.last_live_rebuild = Some(report),
            Err(reason) => warn!("the live view shows nothing new: {reason}"),
        },
    }
}

/// Puts movers where they stand now.
pub fn follow_movers(
    mut live: ResMut<LiveScene>,
    mut status: ResMut<SceneStatus>,
    transforms: Query<&GlobalTransform>,
) {
    let live = &mut *live;
    live.change = None;
    let (Some(current), Some(subject)) = (&live.current, &mut live.subject) else {
        return;
    };
    let started = Instant::now();
    let mut moved = Vec::new();
    for (&entity, &id) in &subject.surfaces {
        let Ok(to_world) = transforms.get(entity).map(GlobalTransform::affine) else {
            continue;
        };
        let before = &mut subject.read.surfaces[id.index()];
        if before.to_world == to_world {
            continue;
        }
        if !can_stand(&to_world) {
            live.is_stale = true;
            continue;
        }
        // Which sides are seen may depend on which way round it is.
        let was_mirrored = before.is_mirrored();
        before.to_world = to_world;
        live.is_stale |= before.is_mirrored() != was_mirrored;
        subject.scene.surfaces[id.index()].to_world = to_world;
        moved.push(id);
    }
    if moved.is_empty() {
        return;
    }
    let surfaces = moved.len();
    live.change = Some(Arc::new(subject.movers.place(&subject.scene, &current.trees.trees, moved)));
    live.revision += 1;
    status.last_live_move = Some(LiveMove { surfaces, seconds: started.elapsed().as_secs_f32() });
}

/// Shows the tree that views trace through, when it is another.
pub fn publish_tree(live: Res<LiveScene>, mut cells: ResMut<TreeCells>, mut published: Local<Weak<WalkedTrees>>) {
    if let Some(current) = &live.current
        && published.as_ptr() != Arc::as_ptr(&current.trees)
    {
        *published = Arc::downgrade(&current.trees);
        *cells = current.trees.cells.clone();
    }
}

/// Frees everything once no view wants it.
pub fn rest(mut live: ResMut<LiveScene>) {
    if live.is_awake {
        *live = LiveScene { revision: live.revision, ..default() };
    }
}

impl Building {
    fn start(
        live: &mut LiveScene,
        world: WorldScene,
        report: LiveRebuild,
        gpu: impl FnOnce() -> Result<Gpu, GpuFault>,
    ) -> Result<Self, String> {
        let movers = movers_of(&world);
        let read = world.scene;
        let threads = live.threads().map_err(|error| error.to_string())?;
        let before = live.current.as_ref().zip(live.subject.as_ref());
        let trees = before.filter(|(_, subject)| has_same_triangles(&subject.read, &read));
        let trees = trees.map(|(current, _)| Arc::clone(&current.trees));
        let device = match &live.current {
            Some(current) => Device::Prepared(current.tracer.clone()),
            None => Device::New(gpu().map_err(|fault| fault.to_string())?),
        };
        let copy = read.clone();
        let build = move || build(copy, trees, device);
        let thread = std::thread::Builder::new()
            .name("live scene".to_owned())
            .spawn(move || threads.install(build))
            .map_err(|error| error.to_string())?;
        Ok(Self { thread, read, movers, report })
    }

    fn finish(self, live: &mut LiveScene) -> Result<LiveRebuild, String> {
        let built = self.thread.join().map_err(|_| "a fault of this crate; please report it with the scene")?;
        let Built { scene, tracer, buffers, trees, tree_seconds, buffer_seconds, mut warnings } =
            built.map_err(|fault| fault.to_string())?;
        let mut report = LiveRebuild { tree_seconds, buffer_seconds, ..self.report };
        report.read.warnings.append(&mut warnings);
        live.subject = Some(Subject { read: self.read, scene, movers: buffers.movers(), surfaces: self.movers });
        live.current = Some(Arc::new(LiveWorld { tracer, buffers, trees }));
        live.revision += 1;
        Ok(report)
    }
}

/// The entities that move, and which surface each is.
fn movers_of(world: &WorldScene) -> BTreeMap<Entity, SurfaceId> {
    let movers = world.scene.surface_ids().filter(|id| world.scene.surface(*id).role == Role::Mover);
    movers.filter_map(|id| Some((world.surfaces.get(&world.scene.surface(id).key)?.0, id))).collect()
}

/// Trees of scenes in which something moves: walked a little slower, built sooner.
const IN_HASTE: Preset = Preset {
    intersection_cost: Preset::narrow().intersection_cost,
    leaf_width: Preset::narrow().leaf_width,
    ..Preset::fast()
};

/// What the thread does.
fn build(read: Scene, trees: Option<Arc<WalkedTrees>>, device: Device) -> Result<Built, GpuFault> {
    let meshes = read.meshes.clone();
    let mut scene = read.with_solid_glass();
    let problems = repair(&mut scene);
    // Most are sound, and need not be in memory twice.
    for (repaired, read) in scene.meshes.iter_mut().zip(meshes).filter(|(repaired, read)| repaired == &read) {
        *repaired = read;
    }
    let warnings =
        problems.iter().filter(|problem| problem.severity() == Severity::Warning).map(ToString::to_string).collect();
    let started = Instant::now();
    let is_new = trees.is_none();
    let preset = if matches!(device, Device::New(_)) { Preset::narrow() } else { IN_HASTE };
    let trees = trees.unwrap_or_else(|| Arc::new(WalkedTrees::build(&scene, &preset)));
    let tree_seconds = is_new.then(|| started.elapsed().as_secs_f32());
    let started = Instant::now();
    let (gpu, prepared) = match device {
        Device::Prepared(Tracer { gpu, paths, filter }) => (gpu, Some((paths, filter))),
        Device::New(gpu) => (Arc::new(gpu), None),
    };
    let buffers = GpuScene::with_tree(&gpu, &scene, &trees.trees)?;
    let (paths, filter) = prepared.unzip();
    // Once something has moved, more may follow.
    let paths = paths.filter(|paths| paths.trees() == Trees::All || buffers.trees() == Trees::Resting);
    let paths = paths.unwrap_or_else(|| Arc::new(PathKernel::new(&gpu, Stack::default(), buffers.trees())));
    let filter = filter.unwrap_or_else(|| Arc::new(PictureFilter::new(&gpu)));
    let tracer = Tracer { gpu, paths, filter };
    let buffer_seconds = started.elapsed().as_secs_f32();
    Ok(Built { scene, tracer, buffers, trees, tree_seconds, buffer_seconds, warnings })
}

impl WalkedTrees {
    fn build(scene: &Scene, preset: &Preset) -> Self {
        let trees = GpuTree::build(scene, preset);
        Self { cells: TreeCells::of(trees.tree()), trees }
    }
}

/// Whether both look the same, movers apart that stand elsewhere.
fn is_same(a: &Scene, b: &Scene) -> bool {
    let are_same_pictures =
        a.textures.len() == b.textures.len() && a.textures.iter().zip(&b.textures).all(|(a, b)| Arc::ptr_eq(a, b));
    let is_same_sky = match (&a.sky, &b.sky) {
        (Sky::Map(a), Sky::Map(b)) => {
            Arc::ptr_eq(&a.picture, &b.picture) && a.scale == b.scale && a.rotation == b.rotation
        }
        (a, b) => a == b,
    };
    let is_same_surface = |(a, b): (&Surface, &Surface)| {
        a == b || (stands_alike(a, b) && Surface { to_world: a.to_world, ..b.clone() } == *a)
    };
    has_same_triangles(a, b)
        && are_same_pictures
        && is_same_sky
        && a.surfaces.iter().zip(&b.surfaces).all(is_same_surface)
        && a.materials == b.materials
        && a.lights == b.lights
}

/// Whether rays meet the same in both, whatever it looks like, and wherever movers stand.
fn has_same_triangles(a: &Scene, b: &Scene) -> bool {
    let are_same_meshes =
        a.meshes.len() == b.meshes.len() && a.meshes.iter().zip(&b.meshes).all(|(a, b)| Arc::ptr_eq(a, b));
    let are_same_surfaces = a.surfaces.len() == b.surfaces.len()
        && a.surfaces.iter().zip(&b.surfaces).all(|(ours, theirs)| {
            let is_passable =
                |scene: &Scene, surface: &Surface| scene.materials[surface.material.index()].can_be_passed();
            ours.mesh == theirs.mesh
                && stands_alike(ours, theirs)
                && ours.role == theirs.role
                && is_passable(a, ours) == is_passable(b, theirs)
        });
    are_same_meshes && are_same_surfaces
}

/// Whether both stand in the same place, or can be put there without building anything anew.
fn stands_alike(a: &Surface, b: &Surface) -> bool {
    a.to_world == b.to_world || (a.role == Role::Mover && b.role == Role::Mover)
}
