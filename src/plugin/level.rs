//! Shows a level that was baked before, by the command line or by an earlier run.
//!
//! Files are read on a thread of their own. After that, surfaces get their light as they appear, however late an
//! asynchronous scene spawns them: each is known by its key.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bevy::light::{DirectionalLight, PointLight, SpotLight};
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use rayon::prelude::*;

use super::components::BakeExclude;
use super::convert::mesh_from_bevy;
use super::job::{BakeFinished, uv_rect};
use super::overlay::{PageValidity, TexelValidity};
use super::relight::RelightOrigin;
use super::sync::Names;
use super::write_back::{
    Baked, Batch, Batches, LitLights, PagePixels, RemoveLightmaps, Target, apply_lights, exchange_volume,
};
use crate::bake::BakeSettings;
use crate::lightmap::files::{Level, LevelError, LevelMesh, LevelSurface};
use crate::lightmap::{PageFormat, Unwrap, Voxels};
use crate::radiosity::Content;
use crate::scene::{KeyIndex, SurfaceKey, hash, load};

/// Shows the lightmaps of a baked level: spawn it once, before or after the level itself.
///
/// ```no_run
/// # use bevy::prelude::*;
/// # use bevy_radiosity::prelude::*;
/// # fn setup(mut commands: Commands) {
/// commands.spawn(BakedLevel::new("assets/level.baked"));
/// # }
/// ```
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct BakedLevel {
    /// The folder that the bake wrote.
    pub folder: PathBuf,
    /// The file that was baked. When given, it is compared with what was baked, on a thread, and a warning says when
    /// the lightmaps are out of date.
    pub source: Option<PathBuf>,
}

impl BakedLevel {
    /// The level in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), source: None }
    }

    /// Compares the bake with the file that it was made of.
    #[must_use]
    pub fn with_source(self, source: impl Into<PathBuf>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

/// Triggered when a baked level's files have been read.
#[derive(Event, Clone, Copy, Debug)]
pub struct BakedLevelLoaded {
    /// The entity with the [`BakedLevel`].
    pub entity: Entity,
    /// Surfaces that the level has light for.
    pub surfaces: usize,
    /// Seconds that reading took, on its own thread.
    pub seconds: f32,
}

/// Triggered when every surface that is there shows its light: after the level's files have been read, and again after
/// surfaces have appeared or light has come anew.
#[derive(Event, Clone, Copy, Debug)]
pub struct BakedLevelShown {
    /// Surfaces of the app that show baked light.
    pub surfaces: usize,
}

/// Triggered when a baked level cannot be shown.
#[derive(Event, Clone, Debug)]
pub struct BakedLevelFailed {
    /// The entity with the [`BakedLevel`].
    pub entity: Entity,
    /// The fault of the files.
    pub error: Arc<LevelError>,
}

/// Shows baked levels.
pub struct BakedLevelPlugin;

impl Plugin for BakedLevelPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<BakedLevel>()
            .init_resource::<Shown>()
            .add_observer(start)
            .add_observer(|_: On<BakeFinished>, mut shown: ResMut<Shown>| *shown = Shown::default())
            .add_observer(|_: On<RemoveLightmaps>, mut shown: ResMut<Shown>| *shown = Shown::default())
            .add_systems(PreUpdate, (receive, queue_surfaces, match_surfaces, silence_lights, announce).chain());
    }
}

/// Main thread time that finding surfaces may take of a frame.
const MATCHING_BUDGET: Duration = Duration::from_micros(1000);

/// A level's files, being read.
#[derive(Component)]
struct Loading(Option<JoinHandle<Result<Files, LevelError>>>);

/// Contents of a level's files.
struct Files {
    pages: Vec<PagePixels>,
    validity: TexelValidity,
    meshes: Vec<LevelMesh>,
    surfaces: HashMap<SurfaceKey, Place>,
    volume: Option<Voxels>,
    content: Content,
    level: Level,
    seconds: f32,
}

#[derive(Clone)]
struct Place {
    /// Index of the mesh among the level's.
    mesh: usize,
    page: usize,
    uv_rect: Rect,
}

/// The level that is being shown, and the surfaces that wait for it.
#[derive(Resource, Default)]
struct Shown {
    level: Option<ShownLevel>,
    waiting: VecDeque<Entity>,
}

struct ShownLevel {
    surfaces: HashMap<SurfaceKey, Place>,
    index: KeyIndex,
    content: Content,
    /// Who has which key.
    owners: HashMap<SurfaceKey, Entity>,
    meshes: Vec<LevelMesh>,
    /// One unwrap for each mesh asset and level mesh, so that instances share their copy.
    unwraps: HashMap<(AssetId<Mesh>, usize), Option<Arc<Unwrap>>>,
    has_warned: bool,
}

fn start(added: On<Add, BakedLevel>, mut commands: Commands, levels: Query<&BakedLevel>) {
    let Ok(level) = levels.get(added.entity) else {
        return;
    };
    let BakedLevel { folder, source } = level.clone();
    let spawned = std::thread::Builder::new().name("baked level".to_owned()).spawn(move || {
        let files = read_files(&folder)?;
        if let Some(source) = source {
            let content_hash = files.level.content_hash.clone();
            std::thread::spawn(move || warn_when_stale(&source, &content_hash));
        }
        Ok(files)
    });
    match spawned {
        Ok(thread) => {
            commands.entity(added.entity).insert(Loading(Some(thread)));
        }
        Err(error) => error!("no thread to read a baked level with: {error}"),
    }
}

fn read_files(folder: &Path) -> Result<Files, LevelError> {
    let started = Instant::now();
    let files = Level::read_with(folder, |level| read_files_of(level, folder))?;
    Ok(Files { seconds: started.elapsed().as_secs_f32(), ..files })
}

fn read_files_of(level: &Level, folder: &Path) -> Result<Files, LevelError> {
    let pages = (0..level.pages.len())
        .into_par_iter()
        .map(|page| {
            let data = level.read_texture(folder, page)?;
            let (width, height) = (level.pages[page].width, level.pages[page].height);
            Ok(PagePixels { width, height, format: PageFormat::SharedExponent, data })
        })
        .collect::<Result<_, LevelError>>()?;
    let validity = read_validity(level, folder)?;
    let meshes = level.read_meshes(folder)?;
    let place = |surface: &LevelSurface| {
        let page = surface.page as usize;
        Place { mesh: surface.mesh as usize, page, uv_rect: uv_rect(surface.rectangle, level.pages[page].size()) }
    };
    let surfaces = level.surfaces.iter().map(|surface| (surface.key.clone(), place(surface))).collect();
    let volume = level.read_volume(folder)?;
    // What a later version may have written is no reason to show nothing.
    let settings: BakeSettings = serde_json::from_value(level.settings.clone()).unwrap_or_default();
    let content = settings.solver.content;
    Ok(Files { pages, validity, meshes, surfaces, volume, content, level: level.clone(), seconds: 0.0 })
}

/// Validity of a level's texels: of all pages, or of none.
fn read_validity(level: &Level, folder: &Path) -> Result<TexelValidity, LevelError> {
    let pages = (0..level.pages.len()).into_par_iter().map(|page| {
        let texels = level.read_validity(folder, page)?;
        Ok(texels.map(|texels| Arc::new(PageValidity::new(level.pages[page].size(), texels))))
    });
    let pages: Option<Vec<_>> = pages.collect::<Result<Vec<_>, LevelError>>()?.into_iter().collect();
    Ok(TexelValidity(pages.unwrap_or_default()))
}

/// Says once when a file is not what was baked.
fn warn_when_stale(source: &Path, content_hash: &str) {
    let name = source.display();
    match load(&source.to_string_lossy()) {
        Ok(mut loaded) => {
            crate::scene::check::repair(&mut loaded.scene);
            if hash(&loaded.scene).to_string() != content_hash {
                warn!("{name} has changed since it was baked: its lightmaps are out of date; bake it again");
            }
        }
        Err(error) => warn!("{name} cannot be compared with its lightmaps: {error}"),
    }
}

fn receive(
    mut commands: Commands,
    mut loading: Query<(Entity, &BakedLevel, &mut Loading)>,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    surfaces: Query<Entity, IsSurface>,
) {
    for (entity, baked, mut thread) in &mut loading {
        if !thread.0.as_ref().is_some_and(JoinHandle::is_finished) {
            continue;
        }
        commands.entity(entity).remove::<Loading>();
        let read = thread.0.take().map(JoinHandle::join);
        let Some(Ok(read)) = read else {
            error!("reading a baked level stopped by a fault of its own");
            continue;
        };
        match read {
            Ok(Files { pages, validity, meshes, surfaces: places, volume, content, level, seconds }) => {
                commands.trigger(BakedLevelLoaded { entity, surfaces: places.len(), seconds });
                commands.queue(move |world: &mut World| exchange_volume(world, volume.as_ref()));
                let lights = LitLights { is_direct: content == Content::Full, ..default() };
                let batch = Batch::bake(Vec::new(), pages, lights);
                let origin = RelightOrigin::Files(baked.clone(), Box::new(level));
                batches.push(batch.on_attached(|world, _| {
                    world.insert_resource(validity);
                    world.insert_resource(origin);
                }));
                shown.level = Some(ShownLevel {
                    index: KeyIndex::new(sorted_keys(&places)),
                    surfaces: places,
                    content,
                    owners: HashMap::new(),
                    meshes,
                    unwraps: HashMap::new(),
                    has_warned: false,
                });
                shown.waiting = surfaces.iter().collect();
            }
            Err(error) => {
                error!("{error}");
                commands.trigger(BakedLevelFailed { entity, error: Arc::new(error) });
            }
        }
    }
}

type IsSurface = (With<Mesh3d>, With<MeshMaterial3d<StandardMaterial>>, Without<BakeExclude>);
type NewSurface = (Added<Mesh3d>, IsSurface);

fn queue_surfaces(mut shown: ResMut<Shown>, added: Query<Entity, NewSurface>) {
    if shown.level.is_some() && !added.is_empty() {
        let known: std::collections::HashSet<Entity> = shown.waiting.iter().copied().collect();
        shown.waiting.extend(added.iter().filter(|entity| !known.contains(entity)));
    }
}

/// Finds the light of surfaces that wait, as far as the frame's budget goes.
fn match_surfaces(
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    surfaces: Query<(&Mesh3d, &GlobalTransform), Without<Baked>>,
    living: Query<(), With<Mesh3d>>,
    names: Names,
    assets: Res<AssetServer>,
    meshes: Res<Assets<Mesh>>,
) {
    let shown = &mut *shown;
    let Some(level) = &mut shown.level else {
        return;
    };
    let started = Instant::now();
    let mut targets = Vec::new();
    for _ in 0..shown.waiting.len() {
        if started.elapsed() > MATCHING_BUDGET {
            break;
        }
        let Some(entity) = shown.waiting.pop_front() else {
            break;
        };
        let Ok((mesh, transform)) = surfaces.get(entity) else {
            continue;
        };
        let Some(asset) = meshes.get(&mesh.0) else {
            shown.waiting.push_back(entity);
            continue;
        };
        let key = names.surface_key(entity, assets.get_path(mesh.0.id()).as_ref(), transform.translation());
        targets.extend(level.target(entity, &key, &mesh.0, asset, |owner| living.contains(owner)));
    }
    if !targets.is_empty() {
        batches.push(Batch::more(targets));
    }
}

/// Triggers [`BakedLevelShown`] once no surface of the level waits and no batch is on its way.
fn announce(
    shown: Res<Shown>,
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
}

impl ShownLevel {
    /// The light of a surface, if the level has any that no other living entity of the same name has taken.
    fn target(
        &mut self,
        entity: Entity,
        key: &SurfaceKey,
        handle: &Handle<Mesh>,
        mesh: &Mesh,
        is_alive: impl Fn(Entity) -> bool,
    ) -> Option<Target> {
        let is_free = |key: &SurfaceKey| self.owners.get(key).is_none_or(|&owner| owner == entity || !is_alive(owner));
        let candidates = self.index.candidates(key).into_iter().filter(|key| is_free(key)).collect::<Vec<_>>();
        for candidate in &candidates {
            let Some(place) = self.surfaces.get(*candidate) else { continue };
            let unwrap = self
                .unwraps
                .entry((handle.id(), place.mesh))
                .or_insert_with(|| self.meshes[place.mesh].unwrap(&mesh_from_bevy(&key.0, mesh).ok()?).map(Arc::new));
            if let Some(unwrap) = unwrap.clone() {
                self.owners.insert((*candidate).clone(), entity);
                let (page, uv_rect) = (place.page, place.uv_rect);
                return Some(Target { entity, original: handle.clone(), unwrap, page, uv_rect });
            }
        }
        if !candidates.is_empty() && !core::mem::replace(&mut self.has_warned, true) {
            warn!("'{key}' is not the mesh that was baked: the level's lightmaps are out of date; bake it again");
        }
        None
    }
}

/// Keys in an order of their own, so that numbered ones follow each other.
fn sorted_keys(places: &HashMap<SurfaceKey, Place>) -> Vec<SurfaceKey> {
    let mut keys: Vec<SurfaceKey> = places.keys().cloned().collect();
    keys.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.cmp(b)));
    keys
}

type NewLight = Or<(Added<PointLight>, Added<SpotLight>, Added<DirectionalLight>)>;

/// Lights that a file spawned, and those below the level's own entity, are in its lightmaps, if those hold direct
/// light.
fn silence_lights(
    shown: Res<Shown>,
    mut lit: ResMut<LitLights>,
    mut commands: Commands,
    lights: Query<Entity, Or<(With<PointLight>, With<SpotLight>, With<DirectionalLight>)>>,
    added: Query<(), NewLight>,
    parents: Query<&ChildOf>,
    files: Query<(), Or<(With<WorldAssetRoot>, With<BakedLevel>)>>,
) {
    let Some(level) = &shown.level else {
        return;
    };
    if level.content != Content::Full || (added.is_empty() && !shown.is_changed()) {
        return;
    }
    let of_file = |light: &Entity| parents.iter_ancestors(*light).any(|ancestor| files.contains(ancestor));
    let of_files: Vec<Entity> = lights.iter().filter(of_file).collect();
    if of_files != lit.lights {
        lit.lights = of_files;
        commands.queue(apply_lights);
    }
}
