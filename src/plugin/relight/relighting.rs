//! Work on one level: requests to its thread, and its results.

use std::time::Duration;

use bevy::prelude::*;

use super::doors::DoorState;
use super::graphics::{Drawn, choose_device};
use super::settings::{Relight, RelightStatus};
use super::update::{Done, Job};
use super::watch::Surfaces;
use crate::DeviceChoice;
use crate::clock::{self, Instant};
use crate::gpu::Gpu;
use crate::lightmap::PageFormat;
use crate::plugin::background::Worker;
use crate::plugin::renderer::Renderer;
use crate::plugin::state::{Pages, RemovedFromLightmaps};
use crate::relight::{LiveLight, LivePanel, PlacedOccluder, UpdateSettings};

/// Upper bound of the time since the last update in the temporal smoothing, in seconds, where frames are shorter.
const LONGEST_FRAME: f32 = 0.1;

/// Upper bound of a frame time in the budget of work, in seconds.
const LONGEST_BUDGET: f32 = 1.0;

/// Rays of one step of work, which takes some milliseconds.
const STEP_RAYS: u32 = if cfg!(target_arch = "wasm32") { 2_000 } else { 10_000 };

/// Level that is being relit.
pub struct Relighting {
    pub worker: Worker<Job, Done>,
    pub surfaces: Surfaces,
    pub door_state: DoorState,
    /// New placement of doors and colors, not yet sent to the worker.
    placed: Option<PlacedOccluder>,
    /// True while the worker processes a placement.
    is_placing: bool,
    /// Current lights and panels, not yet sent to the worker.
    pub news: Option<(Vec<LiveLight>, Vec<LivePanel>)>,
    /// Time to read them, and the places of doors, in this frame.
    pub reading: Duration,
    format: PageFormat,
    /// Requested device, and the resulting one.
    pub device: Option<DeviceChoice>,
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

/// Pages of a level where they are shown.
pub struct Screen<'a> {
    pub pages: &'a Pages,
    pub images: &'a mut Assets<Image>,
    pub drawn: &'a mut Drawn,
}

impl Screen<'_> {
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

/// Work of a level in one frame.
pub struct Worked {
    pub has_worked: bool,
    /// True if other lamps than before have moved.
    pub has_moved: bool,
    /// Time to compute a placement of doors or colors, if there is a new one.
    pub doors: Option<Duration>,
}

impl Relighting {
    /// Starts with a level at rest.
    pub fn new(worker: Worker<Job, Done>, surfaces: Surfaces, door_state: DoorState, format: PageFormat) -> Self {
        Self {
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
        }
    }

    /// Chooses the device. Returns true if the worker does not know it yet.
    fn choose_device(&mut self, wanted: DeviceChoice, renderer: &Renderer) -> bool {
        if self.device != Some(wanted) || renderer.is_new() {
            (self.device, self.gpu) = (Some(wanted), choose_device(wanted, renderer));
            self.is_device_new = true;
        }
        self.is_device_new
    }

    /// Adds the time of a frame to the budget. Frames at rest leave none to later ones.
    pub fn count_frame(&mut self, now: Instant) {
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

    /// Shows the worker's result, and sends the next job.
    pub fn advance(
        &mut self,
        settings: &Relight,
        renderer: &Renderer,
        status: &mut RelightStatus,
        removed: &mut Mut<RemovedFromLightmaps>,
        screen: &mut Screen,
    ) -> Worked {
        let has_other_device = self.choose_device(settings.device, renderer);
        let placed = self.door_state.advance(settings.enabled);
        let doors = placed.as_ref().map(|(_, time)| *time);
        if let Some((placed, time)) = placed {
            status.door_milliseconds = 1e3 * time.as_secs_f32();
            self.placed = Some(placed);
        }
        let done = if self.worker.is_busy() { self.worker.take(Duration::ZERO) } else { None };
        let mut has_worked = done.is_some();
        let mut has_moved = done.is_some_and(|done| self.show(done, status, removed, screen));
        let is_asked = self.placed.is_some()
            || (settings.enabled && (self.news.is_some() || !self.is_settled))
            || self.was_enabled != settings.enabled
            || has_other_device;
        if !self.worker.is_busy() && is_asked {
            has_worked = true;
            self.ask(settings);
            let patience = settings.max_wait.min(Duration::from_secs(1));
            if self.last_update <= patience
                && let Some(done) = self.worker.take(patience)
            {
                has_moved |= self.show(done, status, removed, screen);
            }
        }
        let are_doors_moving = self.door_state.is_behind() || self.placed.is_some() || self.is_placing;
        if status.are_doors_moving != are_doors_moving {
            status.are_doors_moving = are_doors_moving;
        }
        Worked { has_worked, has_moved, doors }
    }

    /// Writes the pages of a result and updates the status. Returns true if other lamps than before have moved.
    fn show(
        &mut self,
        done: Done,
        status: &mut RelightStatus,
        removed: &mut Mut<RemovedFromLightmaps>,
        screen: &mut Screen,
    ) -> bool {
        done.warnings.iter().for_each(|warning| warn!("{warning}"));
        self.is_settled = done.update.is_settled();
        self.last_update = done.time;
        self.is_placing = false;
        done.pages.into_iter().for_each(|(page, data)| screen.write(page, data, self.format));
        let moved = RemovedFromLightmaps(done.moved.iter().filter_map(|&bits| Entity::try_from_bits(bits)).collect());
        status.is_on_graphics = done.on_graphics.is_some();
        let unwanted = self.gpu.as_ref().err().cloned().flatten();
        status.processor_reason = done.refusal.or(unwanted).filter(|_| !status.is_on_graphics);
        screen.drawn.set(done.on_graphics, done.is_drawn_there);
        status.updates += 1;
        status.waiting = done.update.waiting;
        status.behind = done.update.behind;
        status.is_refining = done.update.is_refining;
        status.rays = done.update.rays;
        status.update_milliseconds = 1e3 * done.time.as_secs_f32();
        removed.set_if_neq(moved)
    }
}
