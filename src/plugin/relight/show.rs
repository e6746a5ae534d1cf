//! From frame to frame: what to ask the worker for, and where its pages go.

use std::collections::HashSet;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bevy::diagnostic::Diagnostics;
use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::doors::{DoorWorld, Doorway};
use super::graphics::{Drawn, Renderer};
use super::origin::{OriginError, RelightLevel, RelightOrigin};
use super::update::{Done, Drawer, Job};
use super::watch::{Changes, Surfaces, read_lights};
use super::worker::Worker;
use super::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight,
    RelightDevice, RelightExclude, RelightStatus,
};
use crate::gpu::Gpu;
use crate::lightmap::PageFormat;
use crate::plugin::components::SceneSettings;
use crate::plugin::sync::SceneReader;
use crate::plugin::write_back::{Baked, Pages, apply_lights};
use crate::relight::{LiveLight, LivePanel, Placed, UpdateSettings};

/// Seconds that one frame counts at most.
const LONGEST_FRAME: f32 = 0.1;

/// Lamps whose direct light is no longer in pages that held it.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct HandedOver(pub HashSet<Entity>);

/// The level that is being relit, or is on its way to be.
#[derive(Resource, Default)]
pub struct Showing(Stage);

#[derive(Default)]
enum Stage {
    #[default]
    Nothing,
    Reading(JoinHandle<Result<RelightLevel, OriginError>>),
    Waiting(Box<RelightLevel>),
    Relighting(Box<Relighting>),
}

struct Relighting {
    worker: Worker<Job, Done>,
    surfaces: Surfaces,
    doorway: Doorway,
    /// The level with its doors and colours as they are, which the worker has yet to be told of.
    placed: Option<Placed>,
    /// It has been told of it, and has yet to show it.
    is_placing: bool,
    /// Lights and panels that the worker has yet to be told of.
    news: Option<(Vec<LiveLight>, Vec<LivePanel>)>,
    /// What reading them took of this frame.
    reading: Duration,
    format: PageFormat,
    /// What was asked to draw pages, and what does.
    device: Option<RelightDevice>,
    gpu: Result<Gpu, Option<String>>,
    is_device_new: bool,
    is_settled: bool,
    was_enabled: bool,
    shown: Option<Instant>,
    last_update: Duration,
}

/// What is read of the world for an update.
#[derive(SystemParam)]
pub struct LitWorld<'w, 's> {
    reader: SceneReader<'w, 's>,
    excluded: Query<'w, 's, (), With<RelightExclude>>,
    parents: Query<'w, 's, &'static ChildOf>,
    surfaces: Query<'w, 's, (&'static Baked, &'static MeshMaterial3d<StandardMaterial>)>,
    materials: Res<'w, Assets<StandardMaterial>>,
    settings: Res<'w, SceneSettings>,
    pages: Res<'w, Pages>,
}

/// What relighting tells others.
#[derive(SystemParam)]
pub struct Said<'w> {
    status: ResMut<'w, RelightStatus>,
    handed: ResMut<'w, HandedOver>,
    changes: ResMut<'w, Changes>,
    drawn: ResMut<'w, Drawn>,
}

/// Where pages are shown.
#[derive(SystemParam)]
pub struct Screen<'w> {
    pages: Res<'w, Pages>,
    images: ResMut<'w, Assets<Image>>,
}

/// Takes up what has been baked or read since the frame before.
pub fn begin(
    mut showing: ResMut<Showing>,
    mut origin: ResMut<RelightOrigin>,
    mut said: Said,
    relight: Option<Res<Relight>>,
    screen: Screen,
) {
    if relight.is_none() {
        return;
    }
    let origin = core::mem::take(&mut *origin);
    if !matches!(origin, RelightOrigin::None) {
        said.drawn.begin(&[]);
        said.handed.set_if_neq(HandedOver::default());
    }
    match origin {
        RelightOrigin::None => {}
        RelightOrigin::Gone => {
            *said.status = RelightStatus::default();
            showing.0 = Stage::Nothing;
        }
        RelightOrigin::Static(reason) => showing.0 = said.stop(reason),
        RelightOrigin::Bake(level) => showing.0 = Stage::Waiting(level),
        RelightOrigin::Files(baked, shown) => {
            let read = move || RelightLevel::read(&baked, &shown);
            showing.0 = match std::thread::Builder::new().name("relight files".to_owned()).spawn(read) {
                Ok(thread) => Stage::Reading(thread),
                Err(error) => said.stop(format!("there is no thread to relight with: {error}")),
            };
        }
    }
    showing.0 = match core::mem::take(&mut showing.0) {
        Stage::Reading(thread) if thread.is_finished() => match thread.join() {
            Ok(Ok(level)) => Stage::Waiting(Box::new(level)),
            Ok(Err(error)) => said.stop(error.to_string()),
            Err(_) => said.stop("reading what to relight with stopped by a fault of its own".to_owned()),
        },
        Stage::Waiting(level) if screen.shows(&level) => said.start(*level, &screen.pages.0),
        other => other,
    };
}

impl Said<'_> {
    /// Begins to relight a level that is shown.
    fn start(&mut self, level: RelightLevel, images: &[Handle<Image>]) -> Stage {
        let surfaces = Surfaces::new(&level);
        let doorway = Doorway::new(&level);
        let RelightLevel { level, format, error, .. } = level;
        match Worker::start("relight", move || Drawer::new(level, format), Drawer::work) {
            Ok(worker) => {
                *self.status = RelightStatus { is_active: true, transport_error: error, ..default() };
                *self.changes = Changes { lights: true, materials: true };
                self.drawn.begin(images);
                Stage::Relighting(Box::new(Relighting {
                    worker,
                    surfaces,
                    doorway,
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
                    last_update: Duration::MAX,
                }))
            }
            Err(reason) => self.stop(format!("there are no threads to relight with: {reason}")),
        }
    }

    /// Says why lightmaps do not follow.
    fn stop(&mut self, reason: String) -> Stage {
        warn!("{reason}; lightmaps stay as they are");
        self.drawn.begin(&[]);
        *self.status = RelightStatus { problem: Some(reason), ..default() };
        Stage::Nothing
    }
}

impl Screen<'_> {
    /// True when a level's pages are on the screen, so that they can be rewritten.
    fn shows(&self, level: &RelightLevel) -> bool {
        let sizes = level.level.pages.iter().map(|page| UVec2::new(page.width, page.height));
        let format = level.format.texture_format();
        let fits = |(handle, size): (&Handle<Image>, UVec2)| {
            let image = self.images.get(handle);
            image.is_some_and(|image| image.size() == size && image.texture_descriptor.format == format)
        };
        self.pages.0.len() == level.level.pages.len() && self.pages.0.iter().zip(sizes).all(fits)
    }

    /// Rewrites a page, unless another bake has put another image there.
    fn write(&mut self, page: usize, data: Vec<u8>, format: PageFormat) {
        let Some(handle) = self.pages.0.get(page) else {
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

/// Reads lights and materials where they may have changed. It reads images too, so it is not the system that writes them.
pub fn read(
    mut showing: ResMut<Showing>,
    mut changes: ResMut<Changes>,
    relight: Option<Res<Relight>>,
    world: LitWorld,
) {
    let Stage::Relighting(relighting) = &mut showing.0 else {
        return;
    };
    if relight.is_some_and(|relight| relight.enabled) && (changes.lights || changes.materials) {
        let started = Instant::now();
        *changes = Changes::default();
        let lights = read_lights(&world.reader, &world.excluded, &world.parents);
        let (panels, paints) =
            relighting.surfaces.read(&world.surfaces, &world.materials, &world.settings, &world.pages);
        relighting.doorway.paint(paints);
        relighting.news = Some((lights, panels));
        relighting.reading = started.elapsed();
    }
}

/// Looks where doors are.
pub fn find_doors(mut showing: ResMut<Showing>, relight: Option<Res<Relight>>, world: DoorWorld) {
    if let Stage::Relighting(relighting) = &mut showing.0
        && relight.is_some_and(|relight| relight.enabled)
    {
        relighting.doorway.read(&world);
    }
}

/// Shows what the worker has done, and asks it for more.
pub fn advance(
    mut commands: Commands,
    mut showing: ResMut<Showing>,
    mut said: Said,
    mut screen: Screen,
    mut diagnostics: Diagnostics,
    relight: Option<Res<Relight>>,
    renderer: Renderer,
) {
    let Stage::Relighting(relighting) = &mut showing.0 else {
        return;
    };
    let started = Instant::now();
    let without = Relight { enabled: false, device: relighting.device.unwrap_or_default(), ..default() };
    let settings = relight.map_or(without, |relight| *relight);
    let has_other_device = relighting.choose_device(settings.device, &renderer);
    if let Some((placed, time)) = relighting.doorway.advance(settings.enabled) {
        said.status.door_milliseconds = 1e3 * time.as_secs_f32();
        diagnostics.add_measurement(&RELIGHT_DOORS, || 1e3 * time.as_secs_f64());
        relighting.placed = Some(placed);
    }
    let done = if relighting.worker.is_busy() { relighting.worker.take(Duration::ZERO) } else { None };
    let mut has_worked = done.is_some();
    if let Some(done) = done {
        show(done, relighting, &mut said, &mut screen, &mut commands);
    }
    let is_asked = relighting.placed.is_some()
        || (settings.enabled && (relighting.news.is_some() || !relighting.is_settled))
        || relighting.was_enabled != settings.enabled
        || has_other_device;
    if !relighting.worker.is_busy() && is_asked {
        has_worked = true;
        relighting.ask(&settings);
        let patience = (settings.wait_milliseconds * 1e-3).clamp(0.0, 1.0);
        let patience = Duration::try_from_secs_f32(patience).unwrap_or_default();
        if relighting.last_update <= patience
            && let Some(done) = relighting.worker.take(patience)
        {
            show(done, relighting, &mut said, &mut screen, &mut commands);
        }
    }
    if relighting.worker.is_lost() {
        showing.0 = said.stop("relighting stopped by a fault of its own".to_owned());
        return;
    }
    let are_doors_moving = relighting.doorway.is_behind() || relighting.placed.is_some() || relighting.is_placing;
    if said.status.are_doors_moving != are_doors_moving {
        said.status.are_doors_moving = are_doors_moving;
    }
    let reading = core::mem::take(&mut relighting.reading);
    if has_worked {
        let milliseconds = 1e3 * (reading + started.elapsed()).as_secs_f64();
        said.status.main_thread_milliseconds = milliseconds as f32;
        diagnostics.add_measurement(&RELIGHT_MAIN_THREAD, || milliseconds);
        diagnostics.add_measurement(&RELIGHT_UPDATE, || f64::from(said.status.update_milliseconds));
        diagnostics.add_measurement(&RELIGHT_BEHIND, || f64::from(said.status.behind));
        diagnostics.add_measurement(&RELIGHT_TRANSPORT_ERROR, || f64::from(said.status.transport_error));
    }
}

impl Relighting {
    /// Looks what is to draw pages; true when the worker has yet to be told.
    fn choose_device(&mut self, wanted: RelightDevice, renderer: &Renderer) -> bool {
        if self.device != Some(wanted) || renderer.is_new() {
            (self.device, self.gpu) = (Some(wanted), renderer.choose(wanted));
            self.is_device_new = true;
        }
        self.is_device_new
    }

    /// Gives the worker what has changed, and how much it may do.
    fn ask(&mut self, settings: &Relight) {
        self.was_enabled = settings.enabled;
        let now = Instant::now();
        let before = self.shown.replace(now);
        // After a rest, a change begins as if a frame had passed.
        let since = before.map_or(0.0, |before| (now - before).as_secs_f32().min(LONGEST_FRAME));
        let is_smooth = settings.smoothing_seconds > 0.0 && settings.enabled && before.is_some();
        let keep = if is_smooth { (-since / settings.smoothing_seconds).exp() } else { 0.0 };
        let update = UpdateSettings { rays: settings.rays, keep, sweeps: settings.sweeps };
        let lights = self.news.take();
        let placed = self.placed.take();
        self.is_placing = placed.is_some();
        self.is_device_new = false;
        let (is_enabled, gpu) = (settings.enabled, self.gpu.clone().ok());
        self.worker.give(Job { placed, lights, settings: update, is_enabled, gpu });
    }
}

/// Writes pages where they are shown, and says what happened.
fn show(done: Done, relighting: &mut Relighting, said: &mut Said, screen: &mut Screen, commands: &mut Commands) {
    done.warnings.iter().for_each(|warning| warn!("{warning}"));
    relighting.is_settled = done.update.is_settled();
    relighting.last_update = done.time;
    relighting.is_placing = false;
    done.pages.into_iter().for_each(|(page, data)| screen.write(page, data, relighting.format));
    let moved = HandedOver(done.moved.iter().filter_map(|&bits| Entity::try_from_bits(bits)).collect());
    if said.handed.set_if_neq(moved) {
        commands.queue(apply_lights);
    }
    let status = &mut *said.status;
    status.is_on_graphics = done.on_graphics.is_some();
    let unwanted = relighting.gpu.as_ref().err().cloned().flatten();
    status.processor_reason = done.refusal.or(unwanted).filter(|_| !status.is_on_graphics);
    said.drawn.set(done.on_graphics, done.is_drawn_there);
    status.updates += 1;
    status.waiting = done.update.waiting;
    status.behind = done.update.behind;
    status.is_refining = done.update.is_refining;
    status.rays = done.update.rays;
    status.update_milliseconds = 1e3 * done.time.as_secs_f32();
}
