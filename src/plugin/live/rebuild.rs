//! From the Bevy world to buffers on the GPU, without stopping the game.
//!
//! ```text
//! stale -> read, a little a frame -> the same as before? nothing to do
//!                                 -> other light, other colours: a thread fills new buffers
//!                                 -> other triangles: a thread builds a new tree as well
//! ```

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use bevy::asset::UntypedAssetId;
use bevy::prelude::*;
use bevy::render::renderer::{RenderAdapterInfo, RenderDevice, RenderQueue};

use crate::gpu::{Gpu, GpuFault, GpuScene, GpuTree, PathKernel, PictureFilter, Stack};
use crate::kdtree::Preset;
use crate::plugin::sync::{AssetCache, LiveRebuild, Purpose, SceneReader, SceneStatus, WorldReading, WorldScene};
use crate::plugin::tree_cells::TreeCells;
use crate::scene::check::repair;
use crate::scene::{Scene, Severity, Sky};

/// What views trace.
pub struct LiveWorld {
    pub tracer: Tracer,
    pub buffers: GpuScene,
    /// Differs from that of every other live world.
    pub revision: u64,
    tree: Arc<GpuTree>,
    read: Scene,
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
    work: Work,
    is_stale: bool,
    is_awake: bool,
    revisions: u64,
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
    scene: Scene,
    report: LiveRebuild,
}

enum Device {
    Prepared(Tracer),
    New(Gpu),
}

struct Built {
    tracer: Tracer,
    buffers: GpuScene,
    tree: Arc<GpuTree>,
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

    /// Lets go of what was built on a device that is no more.
    fn forget_device(&mut self) {
        self.current = None;
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
                if live.current.as_ref().is_some_and(|current| is_same(&current.read, &scene.scene)) {
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

/// Shows the tree that views trace through, when it is another.
pub fn publish_tree(live: Res<LiveScene>, mut cells: ResMut<TreeCells>, mut published: Local<Weak<GpuTree>>) {
    if let Some(current) = &live.current
        && published.as_ptr() != Arc::as_ptr(&current.tree)
    {
        *published = Arc::downgrade(&current.tree);
        *cells = TreeCells::of(current.tree.tree());
    }
}

/// Frees everything once no view wants it.
pub fn rest(mut live: ResMut<LiveScene>) {
    if live.is_awake {
        *live = LiveScene { revisions: live.revisions, ..default() };
    }
}

impl Building {
    fn start(
        live: &mut LiveScene,
        world: WorldScene,
        report: LiveRebuild,
        gpu: impl FnOnce() -> Result<Gpu, GpuFault>,
    ) -> Result<Self, String> {
        let WorldScene { scene, .. } = world;
        let threads = live.threads().map_err(|error| error.to_string())?;
        let current = live.current.as_deref();
        let tree = current.filter(|current| has_same_triangles(&current.read, &scene)).map(|current| &current.tree);
        let tree = tree.map(Arc::clone);
        let device = match current {
            Some(current) => Device::Prepared(current.tracer.clone()),
            None => Device::New(gpu().map_err(|fault| fault.to_string())?),
        };
        let copy = scene.clone();
        let build = move || build(copy, tree, device);
        let thread = std::thread::Builder::new()
            .name("live scene".to_owned())
            .spawn(move || threads.install(build))
            .map_err(|error| error.to_string())?;
        Ok(Self { thread, scene, report })
    }

    fn finish(self, live: &mut LiveScene) -> Result<LiveRebuild, String> {
        let built = self.thread.join().map_err(|_| "a fault of this crate; please report it with the scene")?;
        let Built { tracer, buffers, tree, tree_seconds, buffer_seconds, mut warnings } =
            built.map_err(|fault| fault.to_string())?;
        live.revisions += 1;
        let mut report = LiveRebuild { tree_seconds, buffer_seconds, ..self.report };
        report.read.warnings.append(&mut warnings);
        let revision = live.revisions;
        live.current = Some(Arc::new(LiveWorld { tracer, buffers, revision, tree, read: self.scene }));
        Ok(report)
    }
}

/// Trees of scenes in which something moves: walked a little slower, built sooner.
const IN_HASTE: Preset = Preset {
    intersection_cost: Preset::narrow().intersection_cost,
    leaf_width: Preset::narrow().leaf_width,
    ..Preset::fast()
};

/// What the thread does.
fn build(scene: Scene, tree: Option<Arc<GpuTree>>, device: Device) -> Result<Built, GpuFault> {
    let mut scene = scene.with_solid_glass();
    let problems = repair(&mut scene);
    let warnings =
        problems.iter().filter(|problem| problem.severity() == Severity::Warning).map(ToString::to_string).collect();
    let started = Instant::now();
    let is_new = tree.is_none();
    let preset = if matches!(device, Device::New(_)) { Preset::narrow() } else { IN_HASTE };
    let tree = tree.unwrap_or_else(|| Arc::new(GpuTree::build(&scene, &preset)));
    let tree_seconds = is_new.then(|| started.elapsed().as_secs_f32());
    let started = Instant::now();
    let tracer = match device {
        Device::Prepared(tracer) => tracer,
        Device::New(gpu) => {
            let paths = Arc::new(PathKernel::new(&gpu, Stack::default()));
            let filter = Arc::new(PictureFilter::new(&gpu));
            Tracer { gpu: Arc::new(gpu), paths, filter }
        }
    };
    let buffers = GpuScene::with_tree(&tracer.gpu, &scene, &tree)?;
    Ok(Built { tracer, buffers, tree, tree_seconds, buffer_seconds: started.elapsed().as_secs_f32(), warnings })
}

fn is_same(a: &Scene, b: &Scene) -> bool {
    let are_same_pictures =
        a.textures.len() == b.textures.len() && a.textures.iter().zip(&b.textures).all(|(a, b)| Arc::ptr_eq(a, b));
    let is_same_sky = match (&a.sky, &b.sky) {
        (Sky::Map(a), Sky::Map(b)) => {
            Arc::ptr_eq(&a.picture, &b.picture) && a.scale == b.scale && a.rotation == b.rotation
        }
        (a, b) => a == b,
    };
    has_same_triangles(a, b)
        && are_same_pictures
        && is_same_sky
        && a.surfaces == b.surfaces
        && a.materials == b.materials
        && a.lights == b.lights
}

/// Whether rays meet the same in both, whatever it looks like.
fn has_same_triangles(a: &Scene, b: &Scene) -> bool {
    let are_same_meshes =
        a.meshes.len() == b.meshes.len() && a.meshes.iter().zip(&b.meshes).all(|(a, b)| Arc::ptr_eq(a, b));
    let are_same_surfaces = a.surfaces.len() == b.surfaces.len()
        && a.surfaces.iter().zip(&b.surfaces).all(|(ours, theirs)| {
            let is_passable = |scene: &Scene, surface: &crate::scene::Surface| {
                scene.materials[surface.material.index()].can_be_passed()
            };
            ours.mesh == theirs.mesh
                && ours.to_world == theirs.to_world
                && ours.role == theirs.role
                && is_passable(a, ours) == is_passable(b, theirs)
        });
    are_same_meshes && are_same_surfaces
}
