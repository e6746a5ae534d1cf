//! Per-frame logic: requests to the relighting thread, and display of its pages.

use std::time::Duration;

use bevy::diagnostic::Diagnostics;
use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::doors::{DoorState, DoorWorld, RelightDoor};
use super::graphics::{Drawn, choose_device};
use super::origin::{LevelAssets, OriginError};
use super::settings::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight,
    RelightExclude, RelightStatus,
};
use super::update::{Done, Drawer, Job};
use super::watch::{HasChanges, Surfaces, read_lights};
use crate::DeviceChoice;
use crate::clock::{self, Instant};
use crate::gpu::Gpu;
use crate::lightmap::PageFormat;
use crate::plugin::assets::{RelightFiles, SceneFile};
use crate::plugin::background::{Fault, RadiosityThreads, Task, Worker};
use crate::plugin::components::SceneSettings;
use crate::plugin::renderer::Renderer;
use crate::plugin::state::{Baked, LevelFrame, Pages, RelightLevel, RelightOrigin, RemovedFromLightmaps};
use crate::plugin::sync::SceneReader;
use crate::plugin::write_back::apply_lights;
use crate::relight::{LiveLight, LivePanel, PlacedOccluder, UpdateSettings, transport_errors, transport_warning};

/// Upper bound of the time since the last update in the temporal smoothing, in seconds, where frames are shorter.
const LONGEST_FRAME: f32 = 0.1;

/// Upper bound of a frame time in the budget of work, in seconds.
const LONGEST_BUDGET: f32 = 1.0;

/// Rays of one step of work, which takes some milliseconds.
const STEP_RAYS: u32 = 10_000;

/// Level that is being relit or prepared.
#[derive(Resource, Default)]
pub struct RelightState(Stage);

#[derive(Default)]
enum Stage {
    #[default]
    Nothing,
    Loading(LevelAssets),
    Reading(Task<Result<RelightLevel, OriginError>>),
    Waiting(Box<RelightLevel>),
    Relighting(Box<Relighting>),
}

struct Relighting {
    worker: Worker<Job, Done>,
    surfaces: Surfaces,
    door_state: DoorState,
    /// New placement of doors and colors, not yet sent to the worker.
    placed: Option<PlacedOccluder>,
    /// True while the worker processes a placement.
    is_placing: bool,
    /// Current lights and panels, not yet sent to the worker.
    news: Option<(Vec<LiveLight>, Vec<LivePanel>)>,
    /// Time to read them, and the places of doors, in this frame.
    reading: Duration,
    format: PageFormat,
    /// Requested device, and the resulting one.
    device: Option<DeviceChoice>,
    gpu: Result<Gpu, Option<String>>,
    is_device_new: bool,
    is_settled: bool,
    was_enabled: bool,
    shown: Option<Instant>,
    /// Start of the last frame, its length, and the time of the frames since the last job, in seconds.
    frame: Option<Instant>,
    last_frame_seconds: f32,
    frame_seconds: f32,
    last_update: Duration,
}

/// World state that an update reads.
#[derive(SystemParam)]
pub struct RelightInput<'w, 's> {
    reader: SceneReader<'w, 's>,
    excluded: Query<'w, 's, (), With<RelightExclude>>,
    parents: Query<'w, 's, &'static ChildOf>,
    surfaces: Query<'w, 's, (&'static Baked, &'static MeshMaterial3d<StandardMaterial>)>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
    pages: Res<'w, Pages>,
    frame: Res<'w, LevelFrame>,
}

/// Outputs of relighting.
#[derive(SystemParam)]
pub struct RelightOutput<'w> {
    status: ResMut<'w, RelightStatus>,
    removed: ResMut<'w, RemovedFromLightmaps>,
    changes: ResMut<'w, HasChanges>,
    drawn: ResMut<'w, Drawn>,
}

/// Images of the shown pages.
#[derive(SystemParam)]
pub struct LightmapImages<'w> {
    pages: Res<'w, Pages>,
    images: ResMut<'w, Assets<Image>>,
}

/// Assets that relight a level.
#[derive(SystemParam)]
pub struct RelightAssets<'w> {
    server: Res<'w, AssetServer>,
    files: Res<'w, Assets<RelightFiles>>,
    scenes: Res<'w, Assets<SceneFile>>,
}

/// Run condition: there is a new level, and relighting is enabled or ends.
pub fn may_begin(relight: Option<Res<Relight>>, origin: Res<RelightOrigin>, state: Res<RelightState>) -> bool {
    let is_preparing = matches!(state.0, Stage::Loading(_) | Stage::Reading(_) | Stage::Waiting(_));
    match *origin {
        RelightOrigin::Gone => true,
        RelightOrigin::None => is_preparing && relight.is_some(),
        _ => relight.is_some(),
    }
}

/// Starts relighting of a level that was baked or read since the previous frame.
pub fn begin(
    mut state: ResMut<RelightState>,
    mut origin: ResMut<RelightOrigin>,
    mut output: RelightOutput,
    screen: LightmapImages,
    assets: RelightAssets,
    threads: Res<RadiosityThreads>,
) {
    let origin = core::mem::take(&mut *origin);
    if !matches!(origin, RelightOrigin::None) {
        output.drawn.begin(&[]);
        output.removed.set_if_neq(RemovedFromLightmaps::default());
    }
    match origin {
        RelightOrigin::None => {}
        RelightOrigin::Gone => {
            *output.status = RelightStatus::default();
            state.0 = Stage::Nothing;
        }
        RelightOrigin::Static(reason) => state.0 = output.stop(reason),
        RelightOrigin::Bake(level) => state.0 = Stage::Waiting(level),
        RelightOrigin::Files(baked, shown) => {
            state.0 = match LevelAssets::load(&baked, shown, &assets.server) {
                Ok(loading) => Stage::Loading(loading),
                Err(error) => output.stop(error.to_string()),
            };
        }
    }
    state.0 = match core::mem::take(&mut state.0) {
        Stage::Loading(loading) => match loading.poll(&assets.server, &assets.files, &assets.scenes) {
            Ok(None) => Stage::Loading(loading),
            Ok(Some(source)) => match Task::start("relight files", *threads, move || source.read()) {
                Ok(task) => Stage::Reading(task),
                Err(error) => output.stop(format!("there is no thread to relight with: {error}")),
            },
            Err(error) => output.stop(error.to_string()),
        },
        Stage::Reading(mut task) => match task.poll() {
            None => Stage::Reading(task),
            Some(Ok(Ok(level))) => {
                // A bake of this app has logged its warnings.
                warning_of(&level).iter().for_each(|warning| warn!("{warning}"));
                Stage::Waiting(Box::new(level))
            }
            Some(Ok(Err(error))) => output.stop(error.to_string()),
            Some(Err(Fault)) => output.stop("reading what to relight with stopped by a fault of its own".to_owned()),
        },
        Stage::Waiting(level) if screen.shows(&level) => output.start(*level, &screen.pages.images, *threads),
        other => other,
    };
}

impl RelightOutput<'_> {
    /// Starts relighting of a shown level.
    fn start(&mut self, level: RelightLevel, images: &[Handle<Image>], threads: RadiosityThreads) -> Stage {
        let surfaces = Surfaces::new(&level);
        let door_state = DoorState::new(&level, threads);
        let transport_warning = warning_of(&level);
        let RelightLevel { level, format, error, .. } = level;
        match Worker::start("relight", threads, move || Drawer::new(level, format), Drawer::work) {
            Ok(worker) => {
                *self.status =
                    RelightStatus { is_active: true, transport_error: error, transport_warning, ..default() };
                self.changes.0 = true;
                self.drawn.begin(images);
                Stage::Relighting(Box::new(Relighting {
                    worker,
                    surfaces,
                    door_state,
                    placed: None,
                    is_placing: false,
                    news: None,
                    reading: Duration::ZERO,
                    format,
                    device: None,
                    gpu: Err(None),
                    is_device_new: false,
                    is_settled: true,
                    was_enabled: true,
                    shown: None,
                    frame: None,
                    last_frame_seconds: 0.0,
                    frame_seconds: 0.0,
                    last_update: Duration::MAX,
                }))
            }
            Err(reason) => self.stop(format!("there are no threads to relight with: {reason}")),
        }
    }

    /// Stops with a reason.
    fn stop(&mut self, reason: String) -> Stage {
        warn!("{reason}; lightmaps stay as they are");
        self.drawn.begin(&[]);
        *self.status = RelightStatus { problem: Some(reason), ..default() };
        Stage::Nothing
    }
}

fn warning_of(RelightLevel { level, .. }: &RelightLevel) -> Option<String> {
    transport_warning(&transport_errors(&level.scene, &level.precomputed.contributions))
}

impl LightmapImages<'_> {
    /// Returns true when the images of a level's pages exist and can be rewritten.
    fn shows(&self, level: &RelightLevel) -> bool {
        let sizes = level.level.pages.iter().map(|page| UVec2::new(page.width, page.height));
        let format = level.format.texture_format();
        let fits = |(handle, size): (&Handle<Image>, UVec2)| {
            let image = self.images.get(handle);
            image.is_some_and(|image| image.size() == size && image.texture_descriptor.format == format)
        };
        self.pages.images.len() == level.level.pages.len() && self.pages.images.iter().zip(sizes).all(fits)
    }

    /// Rewrites a page, unless another bake has replaced its image.
    fn write(&mut self, page: usize, data: Vec<u8>, format: PageFormat) {
        let Some(handle) = self.pages.images.get(page) else {
            return;
        };
        let fits = self.images.get(handle).is_some_and(|image| {
            let is_same = image.texture_descriptor.format == format.texture_format();
            is_same && image.data.as_ref().is_some_and(|before| before.len() == data.len())
        });
        if fits && let Some(mut image) = self.images.get_mut(handle) {
            image.data = Some(data);
        }
    }
}

/// Run condition: a level is being relit, or returns to its baked light.
pub fn is_relighting(state: Res<RelightState>) -> bool {
    matches!(state.0, Stage::Relighting(_))
}

/// Run condition: lights and materials have changed, and relighting is enabled.
pub fn has_changes(changes: Res<HasChanges>, relight: Option<Res<Relight>>) -> bool {
    changes.0 && relight.is_some_and(|relight| relight.enabled)
}

/// Reads lights and materials after changes. This system also reads images, so another one writes them.
pub fn read(mut state: ResMut<RelightState>, mut changes: ResMut<HasChanges>, world: RelightInput) {
    let Stage::Relighting(relighting) = &mut state.0 else {
        return;
    };
    let started = clock::now();
    changes.0 = false;
    let lights = read_lights(&world.reader, &world.excluded, &world.parents, &world.frame);
    let (panels, paints) = relighting.surfaces.read(&world.surfaces, &world.materials, &world.settings, &world.pages);
    relighting.door_state.paint(paints);
    relighting.news = Some((lights, panels));
    relighting.reading = started.elapsed();
}

/// Run condition: a relit level has doors, or had some, and relighting is enabled.
pub fn has_doors(state: Res<RelightState>, relight: Option<Res<Relight>>, doors: Query<(), With<RelightDoor>>) -> bool {
    let Stage::Relighting(relighting) = &state.0 else {
        return false;
    };
    relight.is_some_and(|relight| relight.enabled) && (!doors.is_empty() || relighting.door_state.has_doors())
}

/// Reads the places of doors.
pub fn find_doors(mut state: ResMut<RelightState>, world: DoorWorld) {
    if let Stage::Relighting(relighting) = &mut state.0 {
        let started = clock::now();
        relighting.door_state.read(&world);
        relighting.reading += started.elapsed();
    }
}

/// Shows the worker's result, and sends the next job.
pub fn advance(
    mut commands: Commands,
    mut state: ResMut<RelightState>,
    mut output: RelightOutput,
    mut screen: LightmapImages,
    mut diagnostics: Diagnostics,
    relight: Option<Res<Relight>>,
    renderer: Renderer,
) {
    let Stage::Relighting(relighting) = &mut state.0 else {
        return;
    };
    let started = clock::now();
    relighting.count_frame(started);
    let without = Relight { enabled: false, device: relighting.device.unwrap_or_default(), ..default() };
    let settings = relight.map_or(without, |relight| *relight);
    let has_other_device = relighting.choose_device(settings.device, &renderer);
    if let Some((placed, time)) = relighting.door_state.advance(settings.enabled) {
        output.status.door_milliseconds = 1e3 * time.as_secs_f32();
        diagnostics.add_measurement(&RELIGHT_DOORS, || 1e3 * time.as_secs_f64());
        relighting.placed = Some(placed);
    }
    let done = if relighting.worker.is_busy() { relighting.worker.take(Duration::ZERO) } else { None };
    let mut has_worked = done.is_some();
    if let Some(done) = done {
        show(done, relighting, &mut output, &mut screen, &mut commands);
    }
    let is_asked = relighting.placed.is_some()
        || (settings.enabled && (relighting.news.is_some() || !relighting.is_settled))
        || relighting.was_enabled != settings.enabled
        || has_other_device;
    if !relighting.worker.is_busy() && is_asked {
        has_worked = true;
        relighting.ask(&settings);
        let patience = settings.max_wait.min(Duration::from_secs(1));
        if relighting.last_update <= patience
            && let Some(done) = relighting.worker.take(patience)
        {
            show(done, relighting, &mut output, &mut screen, &mut commands);
        }
    }
    if relighting.worker.is_lost() {
        state.0 = output.stop("relighting stopped by a fault of its own".to_owned());
        return;
    }
    let are_doors_moving = relighting.door_state.is_behind() || relighting.placed.is_some() || relighting.is_placing;
    if output.status.are_doors_moving != are_doors_moving {
        output.status.are_doors_moving = are_doors_moving;
    }
    let reading = core::mem::take(&mut relighting.reading);
    if has_worked {
        let milliseconds = 1e3 * (reading + started.elapsed()).as_secs_f64();
        output.status.main_thread_milliseconds = milliseconds as f32;
        diagnostics.add_measurement(&RELIGHT_MAIN_THREAD, || milliseconds);
        diagnostics.add_measurement(&RELIGHT_UPDATE, || f64::from(output.status.update_milliseconds));
        diagnostics.add_measurement(&RELIGHT_BEHIND, || f64::from(output.status.behind));
        diagnostics.add_measurement(&RELIGHT_TRANSPORT_ERROR, || f64::from(output.status.transport_error));
    }
}

impl Relighting {
    /// Chooses the device. Returns true if the worker does not know it yet.
    fn choose_device(&mut self, wanted: DeviceChoice, renderer: &Renderer) -> bool {
        if self.device != Some(wanted) || renderer.is_new() {
            (self.device, self.gpu) = (Some(wanted), choose_device(wanted, renderer));
            self.is_device_new = true;
        }
        self.is_device_new
    }

    /// Adds the time of a frame to the budget. Frames at rest leave none to later ones.
    fn count_frame(&mut self, now: Instant) {
        let since = self.frame.replace(now).map_or(0.0, |before| (now - before).as_secs_f32());
        self.last_frame_seconds = since;
        let is_at_rest = self.is_settled && !self.worker.is_busy();
        let before = if is_at_rest { 0.0 } else { self.frame_seconds };
        self.frame_seconds = (before + since).min(LONGEST_BUDGET);
    }

    /// Sends the worker all changes and the budget.
    fn ask(&mut self, settings: &Relight) {
        self.was_enabled = settings.enabled;
        let now = clock::now();
        let before = self.shown.replace(now);
        // The first change after a rest counts at most one frame.
        let longest = LONGEST_FRAME.max(self.last_frame_seconds);
        let since = before.map_or(0.0, |before| (now - before).as_secs_f32().min(longest));
        let is_smooth = !settings.smoothing.is_zero() && settings.enabled && before.is_some();
        let keep = if is_smooth { libm::expf(-since / settings.smoothing.as_secs_f32()) } else { 0.0 };
        let update = UpdateSettings { rays: STEP_RAYS, keep, bounces: settings.bounces };
        let seconds = core::mem::take(&mut self.frame_seconds) * settings.work_per_second.as_secs_f32().min(1.0);
        let time = Duration::try_from_secs_f32(seconds).unwrap_or_default();
        let lights = self.news.take();
        let placed = self.placed.take();
        self.is_placing = placed.is_some();
        self.is_device_new = false;
        let (is_enabled, gpu) = (settings.enabled, self.gpu.clone().ok());
        self.worker.give(Job { placed, lights, settings: update, time, is_enabled, gpu });
    }
}

/// Writes the pages of a result and updates the status.
fn show(
    done: Done,
    relighting: &mut Relighting,
    output: &mut RelightOutput,
    screen: &mut LightmapImages,
    commands: &mut Commands,
) {
    done.warnings.iter().for_each(|warning| warn!("{warning}"));
    relighting.is_settled = done.update.is_settled();
    relighting.last_update = done.time;
    relighting.is_placing = false;
    done.pages.into_iter().for_each(|(page, data)| screen.write(page, data, relighting.format));
    let moved = RemovedFromLightmaps(done.moved.iter().filter_map(|&bits| Entity::try_from_bits(bits)).collect());
    if output.removed.set_if_neq(moved) {
        commands.queue(apply_lights);
    }
    let status = &mut *output.status;
    status.is_on_graphics = done.on_graphics.is_some();
    let unwanted = relighting.gpu.as_ref().err().cloned().flatten();
    status.processor_reason = done.refusal.or(unwanted).filter(|_| !status.is_on_graphics);
    output.drawn.set(done.on_graphics, done.is_drawn_there);
    status.updates += 1;
    status.waiting = done.update.waiting;
    status.behind = done.update.behind;
    status.is_refining = done.update.is_refining;
    status.rays = done.update.rays;
    status.update_milliseconds = 1e3 * done.time.as_secs_f32();
}
