//! Background rebuild of the GPU buffers from the Bevy world.
//!
//! ```text
//! stale -> read, a little a frame -> unchanged? nothing to do
//!                                 -> other lights or materials: a thread fills new buffers
//!                                 -> other triangles: a thread builds new trees as well
//! another integrator wanted -> a thread compiles its shaders
//! movers -> moved? their parts of the buffers are written in the same frame
//! ```

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};

use bevy::asset::UntypedAssetId;
use bevy::prelude::*;

use crate::accel::Preset;
use crate::clock;
use crate::geometry::SurfaceId;
use crate::gpu::{
    Block, Gpu, GpuFault, GpuMovers, GpuScene, GpuTree, LightKernel, PathKernel, PictureFilter, SceneChange, Stack,
    Trees,
};
use crate::plugin::background::{Fault, RadiosityThreads, Task};
use crate::plugin::components::{LiveIntegrator, LiveView};
use crate::plugin::renderer::Renderer;
use crate::plugin::sync::{
    AssetCache, LiveMove, LiveRebuild, Purpose, SceneReader, SceneStatus, WorldReading, WorldScene, can_stand,
};
use crate::plugin::tree_cells::TreeCells;
use crate::scene::check::repair;
use crate::scene::{Role, Scene, Severity, Sky, Surface};

/// GPU scene that views trace.
pub struct LiveWorld {
    pub tracer: Tracer,
    pub buffers: Arc<GpuScene>,
    trees: Arc<WalkedTrees>,
}

/// Acceleration structures on the GPU, and their cells for debug views.
pub struct WalkedTrees {
    trees: GpuTree,
    cells: TreeCells,
}

/// CPU scene behind the current buffers, with movers at their current places.
struct Subject {
    /// Scene as read, for comparison with the next one.
    read: Scene,
    /// Scene as uploaded.
    scene: Scene,
    movers: GpuMovers,
    surfaces: BTreeMap<Entity, SurfaceId>,
}

/// Integrators on the renderer's own device.
#[derive(Clone)]
pub struct Tracer {
    pub gpu: Arc<Gpu>,
    pub paths: Arc<PathKernel>,
    /// Whitted's method, once a view has wanted it.
    pub whitted: Option<Arc<PathKernel>>,
    /// Light paths, once a view has wanted them.
    pub lights: Option<Arc<LightKernel>>,
    pub filter: Arc<PictureFilter>,
}

impl Tracer {
    /// Compiles kernels for integrators and trees. Takes those that have been compiled before.
    fn new(gpu: Arc<Gpu>, before: Option<Self>, trees: Trees, wanted: &[LiveIntegrator]) -> Self {
        let (paths, whitted, lights, filter) = before.map_or((None, None, None, None), |before| {
            let Self { paths, whitted, lights, filter, .. } = before;
            (Some(paths), whitted, lights, Some(filter))
        });
        // Once something has moved, more moves may follow. So kernels for all trees are kept.
        let suits = |kernel: Trees| kernel == Trees::All || trees == Trees::Static;
        let paths = paths.filter(|paths| suits(paths.trees()));
        let paths = paths.unwrap_or_else(|| Arc::new(PathKernel::new(&gpu, Stack::default(), trees)));
        let filter = filter.unwrap_or_else(|| Arc::new(PictureFilter::new(&gpu)));
        let mut whitted = whitted.filter(|whitted| suits(whitted.trees()));
        if whitted.is_none() && wanted.contains(&LiveIntegrator::Whitted) {
            whitted = Some(Arc::new(PathKernel::whitted(&gpu, trees, Block::default())));
        }
        let mut lights = lights.filter(|lights| suits(lights.trees()));
        if lights.is_none() && wanted.iter().any(|wanted| wanted.is_from_lights()) {
            lights = Some(Arc::new(LightKernel::new(&gpu, trees)));
        }
        Self { gpu, paths, whitted, lights, filter }
    }

    /// Returns true if an integrator's kernels are compiled.
    pub fn has(&self, integrator: LiveIntegrator) -> bool {
        match integrator {
            LiveIntegrator::Path => true,
            LiveIntegrator::Light | LiveIntegrator::Hybrid => self.lights.is_some(),
            LiveIntegrator::Whitted => self.whitted.is_some(),
        }
    }
}

/// Current GPU scene, and the state of its rebuild.
#[derive(Resource, Default)]
pub struct LiveScene {
    /// Shown scene. `None` before the first one is complete.
    pub current: Option<Arc<LiveWorld>>,
    /// Update to write into its buffers in this frame.
    pub change: Option<Arc<SceneChange>>,
    /// Number that changes with every new scene or move.
    pub revision: u64,
    subject: Option<Subject>,
    work: Work,
    is_stale: bool,
    is_awake: bool,
    /// True after a fault in compiling kernels, which is not tried again.
    lacks_kernels: bool,
    assets: HashSet<UntypedAssetId>,
    /// Warnings in the log. Each is written once.
    said: HashSet<String>,
}

#[derive(Default)]
enum Work {
    #[default]
    Rest,
    Read(Box<WorldReading>),
    Build(Box<Building>),
    Compile(Task<Tracer>),
}

struct Building {
    task: Task<Result<Built, GpuFault>>,
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
    /// Marks the scene as stale if `changed` is true.
    pub fn note(&mut self, changed: bool) {
        self.is_stale |= changed;
    }

    /// Returns true if an asset is part of the shown scene.
    pub fn shows(&self, asset: UntypedAssetId) -> bool {
        self.assets.contains(&asset)
    }

    /// Returns true if an entity is a known mover, which views update without a rebuild.
    pub fn follows(&self, entity: Entity) -> bool {
        self.subject.as_ref().is_some_and(|subject| subject.surfaces.contains_key(&entity))
    }

    /// Starts to compile the kernels that views want and that are not compiled.
    fn compile(&mut self, views: &Query<&LiveView>, threads: RadiosityThreads) {
        let Some(current) = self.current.as_ref().filter(|_| !self.lacks_kernels) else {
            return;
        };
        let wanted = wanted_integrators(views);
        if wanted.iter().all(|&integrator| current.tracer.has(integrator)) {
            return;
        }
        let (tracer, trees) = (current.tracer.clone(), current.buffers.trees());
        let compile = move || async move { Tracer::new(Arc::clone(&tracer.gpu), Some(tracer), trees, &wanted) };
        match Task::start("live shaders", threads, compile) {
            Ok(task) => self.work = Work::Compile(task),
            Err(reason) => self.cannot_compile(&reason),
        }
    }

    fn cannot_compile(&mut self, reason: &str) {
        warn!("live views show `LiveIntegrator::Path`: {reason}");
        self.lacks_kernels = true;
    }

    /// Discards everything that was built on a lost device.
    fn forget_device(&mut self) {
        self.current = None;
        self.subject = None;
        self.work = Work::Rest;
        self.is_stale = true;
    }
}

/// Advances the rebuild by one step.
pub fn advance(
    mut live: ResMut<LiveScene>,
    mut status: ResMut<SceneStatus>,
    mut cache: ResMut<AssetCache>,
    renderer: Renderer,
    threads: Res<RadiosityThreads>,
    reader: SceneReader,
    views: Query<&LiveView>,
) {
    let live = &mut *live;
    if !renderer.exists() {
        warn_once!("there is no graphics adapter: `LiveView` shows nothing");
        return;
    }
    if !live.is_awake || renderer.is_new() {
        live.is_awake = true;
        live.forget_device();
    }
    match core::mem::take(&mut live.work) {
        Work::Rest if live.is_stale => {
            live.is_stale = false;
            live.work = Work::Read(Box::new(WorldReading::new(Purpose::View)));
        }
        Work::Rest => live.compile(&views, *threads),
        Work::Compile(mut task) => match task.poll() {
            None => live.work = Work::Compile(task),
            Some(Ok(tracer)) => {
                live.current = live.current.take().map(|current| Arc::new(current.with_tracer(tracer)));
                live.revision += 1;
            }
            Some(Err(Fault)) => live.cannot_compile(FAULT),
        },
        Work::Read(mut reading) => match reading.advance(&reader, &mut cache) {
            None => live.work = Work::Read(reading),
            Some((mut scene, read)) => {
                live.assets = core::mem::take(&mut scene.assets);
                if live.subject.as_ref().is_some_and(|subject| is_same(&subject.read, &scene.scene)) {
                    return;
                }
                let report = LiveRebuild { read, ..default() };
                let wanted = wanted_integrators(&views);
                match Building::start(live, *threads, scene, report, &renderer, wanted) {
                    Ok(building) => live.work = Work::Build(Box::new(building)),
                    Err(reason) => warn!("the live view shows nothing new: {reason}"),
                }
            }
        },
        Work::Build(mut building) => match building.task.poll() {
            None => live.work = Work::Build(building),
            Some(built) => match building.finish(live, built) {
                Ok(report) => {
                    for warning in &report.read.warnings {
                        if live.said.insert(warning.clone()) {
                            warn!("live view: {warning}");
                        }
                    }
                    status.last_live_rebuild = Some(report);
                }
                Err(reason) => warn!("the live view shows nothing new: {reason}"),
            },
        },
    }
}

/// Moves movers to their current places.
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
    let started = clock::now();
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
        // The visible sides may depend on the handedness of the transform.
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

/// Publishes the cells of a new tree.
pub fn publish_tree(live: Res<LiveScene>, mut cells: ResMut<TreeCells>, mut published: Local<Weak<WalkedTrees>>) {
    if let Some(current) = &live.current
        && published.as_ptr() != Arc::as_ptr(&current.trees)
    {
        *published = Arc::downgrade(&current.trees);
        *cells = current.trees.cells.clone();
    }
}

/// Run condition: something is kept for live views.
pub fn is_awake(live: Res<LiveScene>) -> bool {
    live.is_awake
}

/// Frees everything once no view is enabled.
pub fn rest(mut live: ResMut<LiveScene>) {
    *live = LiveScene { revision: live.revision, ..default() };
}

impl Building {
    fn start(
        live: &LiveScene,
        threads: RadiosityThreads,
        world: WorldScene,
        report: LiveRebuild,
        renderer: &Renderer,
        wanted: Vec<LiveIntegrator>,
    ) -> Result<Self, String> {
        let movers = movers_of(&world);
        let read = world.scene;
        let before = live.current.as_ref().zip(live.subject.as_ref());
        let trees = before.filter(|(_, subject)| has_same_triangles(&subject.read, &read));
        let trees = trees.map(|(current, _)| Arc::clone(&current.trees));
        let device = match &live.current {
            Some(current) => Device::Prepared(current.tracer.clone()),
            None => {
                let gpu = renderer.gpu().ok_or("there is no graphics adapter")?;
                Device::New(gpu.map_err(|fault| fault.to_string())?)
            }
        };
        let copy = read.clone();
        let build = move || async move { build(copy, trees, device, &wanted) };
        let task = Task::start("live scene", threads, build)?;
        Ok(Self { task, read, movers, report })
    }

    fn finish(
        self,
        live: &mut LiveScene,
        built: Result<Result<Built, GpuFault>, Fault>,
    ) -> Result<LiveRebuild, String> {
        let built = built.map_err(|Fault| FAULT)?;
        let Built { scene, tracer, buffers, trees, tree_seconds, buffer_seconds, mut warnings } =
            built.map_err(|fault| fault.to_string())?;
        let mut report = LiveRebuild { tree_seconds, buffer_seconds, ..self.report };
        report.read.warnings.append(&mut warnings);
        live.subject = Some(Subject { read: self.read, scene, movers: buffers.movers(), surfaces: self.movers });
        live.current = Some(Arc::new(LiveWorld { tracer, buffers: Arc::new(buffers), trees }));
        live.revision += 1;
        Ok(report)
    }
}

/// Reason of a fault on a thread.
const FAULT: &str = "a fault of this crate; please report it with the scene";

/// Returns the integrators of all enabled views.
fn wanted_integrators(views: &Query<&LiveView>) -> Vec<LiveIntegrator> {
    views.iter().filter(|view| view.enabled).map(|view| view.integrator).collect()
}

impl LiveWorld {
    fn with_tracer(&self, tracer: Tracer) -> Self {
        Self { tracer, buffers: Arc::clone(&self.buffers), trees: Arc::clone(&self.trees) }
    }
}

/// Returns the moving entities and their surfaces.
fn movers_of(world: &WorldScene) -> BTreeMap<Entity, SurfaceId> {
    let movers = world.scene.surface_ids().filter(|id| world.scene.surface(*id).role == Role::Mover);
    movers.filter_map(|id| Some((world.surfaces.get(&world.scene.surface(id).key)?.0, id))).collect()
}

/// Tree preset of scenes that change: faster to build, slightly slower to traverse.
const IN_HASTE: Preset = Preset {
    intersection_cost: Preset::narrow().intersection_cost,
    leaf_width: Preset::narrow().leaf_width,
    ..Preset::fast()
};

/// Builds the scene on its thread.
fn build(
    read: Scene,
    trees: Option<Arc<WalkedTrees>>,
    device: Device,
    wanted: &[LiveIntegrator],
) -> Result<Built, GpuFault> {
    let (scene, problems) = repair(read.with_solid_glass());
    let warnings =
        problems.iter().filter(|problem| problem.severity() == Severity::Warning).map(ToString::to_string).collect();
    let started = clock::now();
    let is_new = trees.is_none();
    let preset = if matches!(device, Device::New(_)) { Preset::narrow() } else { IN_HASTE };
    let trees = trees.unwrap_or_else(|| Arc::new(WalkedTrees::build(&scene, &preset)));
    let tree_seconds = is_new.then(|| started.elapsed().as_secs_f32());
    let started = clock::now();
    let (gpu, prepared) = match device {
        Device::Prepared(tracer) => (Arc::clone(&tracer.gpu), Some(tracer)),
        Device::New(gpu) => (Arc::new(gpu), None),
    };
    let buffers = GpuScene::with_tree(&gpu, &scene, &trees.trees)?;
    let tracer = Tracer::new(gpu, prepared, buffers.trees(), wanted);
    let buffer_seconds = started.elapsed().as_secs_f32();
    Ok(Built { scene: scene.into_inner(), tracer, buffers, trees, tree_seconds, buffer_seconds, warnings })
}

impl WalkedTrees {
    fn build(scene: &Scene, preset: &Preset) -> Self {
        let trees = GpuTree::build(scene, preset);
        Self { cells: TreeCells::of(trees.tree()), trees }
    }
}

/// Returns true if both scenes look the same, apart from the places of movers.
fn is_same(a: &Scene, b: &Scene) -> bool {
    let are_same_pictures =
        a.textures.len() == b.textures.len() && a.textures.iter().zip(&b.textures).all(|(a, b)| Arc::ptr_eq(a, b));
    let is_same_sky = match (&a.sky, &b.sky) {
        (Sky::Map(a), Sky::Map(b)) => {
            Arc::ptr_eq(&a.texture, &b.texture) && a.scale == b.scale && a.rotation == b.rotation
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

/// Returns true if rays hit the same triangles in both scenes, apart from the places of movers.
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

/// Returns true if both surfaces have the same transform, or are movers.
fn stands_alike(a: &Surface, b: &Surface) -> bool {
    a.to_world == b.to_world || (a.role == Role::Mover && b.role == Role::Mover)
}
