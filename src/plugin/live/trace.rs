//! Tracing within a frame.

use bevy::prelude::*;
use bevy::render::camera::ExtractedCamera;
use bevy::render::renderer::{RenderDevice, RenderGraph, RenderQueue};
use bevy::render::sync_world::MainEntity;
use bevy::render::view::ExtractedView;
use bevy::render::{Render, RenderStartup, RenderSystems};

use super::camera::view_of;
use super::frame::DrawnPicture;
use super::frame_budget::FrameBudget;
use super::layers::{FROM_CAMERA, FROM_LIGHTS, Kinds, LEVELS, Layers, Piece, Room, size_at};
use super::rebuild::LiveWorld;
use super::shared::{Reports, Shown, Wanted};
use super::stopwatch::Stopwatch;
use crate::clock::Instant;
use crate::gpu::{FilteredPicture, GpuFault, GpuFilm, LightDeposits, LightPass, PathPass, is_worth_filtering};
use crate::pathtrace::{PassKind, View};
use crate::plugin::components::{LiveChannel, LiveIntegrator, LiveView, LiveViewStatus};
use crate::plugin::schedule::RadiositySystems;

/// Time limit of a dispatch and of a submission, in milliseconds. Longer ones stutter, and much longer ones trigger a
/// GPU reset.
const DISPATCH_MILLISECONDS: f32 = 10.0;
/// Minimum number of pixels per dispatch.
const MIN_PIXELS: f32 = 4096.0;
/// Bytes per pixel of a film's larger buffer.
const BYTES_PER_PIXEL: u64 = 32;

/// Films and progress of a view on the GPU.
#[derive(Component)]
pub struct Tracing {
    films: [Option<GpuFilm>; LEVELS],
    /// Light of light paths, of the layer that grows.
    deposits: Option<LightDeposits>,
    /// Integrator of the image, which may be another than the wanted one.
    integrator: LiveIntegrator,
    filtered: Option<Filtered>,
    subject: Option<Subject>,
    layers: Option<Layers>,
    /// Number of images started. It seeds the random numbers.
    pictures: u32,
    frame_budget: FrameBudget,
    stopwatch: Stopwatch,
    pub drawn: DrawnPicture,
}

/// Filtered version of the shown layer.
struct Filtered {
    picture: FilteredPicture,
    /// Image and level that were filtered last.
    of: (u32, usize),
    samples: u32,
    revision: u64,
}

/// Inputs of an image. Any change starts a new image.
#[derive(Clone, Debug, PartialEq)]
struct Subject {
    revision: u64,
    bounces: u32,
    ends_at_lightmaps: bool,
    integrator: LiveIntegrator,
    background: Vec3,
    view: View,
}

/// Adds the systems of the render world.
pub fn add(render_app: &mut SubApp) {
    render_app
        .add_systems(RenderStartup, forget_device.in_set(RadiositySystems::LiveView))
        .add_systems(Render, begin.in_set(RenderSystems::PrepareResources).in_set(RadiositySystems::LiveView))
        .add_systems(RenderGraph, trace.in_set(RadiositySystems::LiveView));
}

/// Removes resources of a lost device.
fn forget_device(mut commands: Commands, views: Query<Entity, With<Tracing>>) {
    for view in &views {
        commands.entity(view).remove::<Tracing>();
    }
}

/// Creates the resources of a view once there is a scene: a device too weak for tracing may lack even the features for
/// drawing.
fn begin(
    mut commands: Commands,
    shown: Res<Shown>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    views: Query<Entity, (With<Wanted>, Without<Tracing>)>,
) {
    if shown.world.is_none() {
        return;
    }
    for view in &views {
        commands.entity(view).insert(Tracing {
            films: Default::default(),
            deposits: None,
            integrator: LiveIntegrator::default(),
            filtered: None,
            subject: None,
            layers: None,
            pictures: 0,
            frame_budget: FrameBudget::default(),
            stopwatch: Stopwatch::new(device.wgpu_device(), &queue.0),
            drawn: DrawnPicture::new(device.wgpu_device()),
        });
    }
}

fn trace(
    mut shown: ResMut<Shown>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    reports: Res<Reports>,
    clear_color: Option<Res<ClearColor>>,
    mut views: Query<(&MainEntity, &Wanted, &ExtractedCamera, &ExtractedView, &mut Tracing)>,
) {
    let clear_color = clear_color.map_or(Color::BLACK, |clear_color| clear_color.0);
    let device = device.wgpu_device();
    let (changes, revision) = (core::mem::take(&mut shown.changes), shown.revision);
    let Some(world) = shown.world.as_ref().filter(|world| world.tracer.gpu.device() == device) else {
        return;
    };
    for change in changes {
        change.write(&world.tracer.gpu);
    }
    for (main, wanted, camera, view, mut tracing) in &mut views {
        let settings = wanted.settings;
        for measurement in tracing.stopwatch.poll(device) {
            tracing.frame_budget.learn(&measurement, budget(&settings));
        }
        if !tracing.stopwatch.is_behind() {
            if let Some(subject) = subject(revision, &settings, (camera, view), clear_color, device) {
                if let Err(fault) = tracing.trace(world, subject, &settings, device, &queue) {
                    warn_once!("a live view cannot be shown: {fault}");
                    tracing.layers = None;
                }
            } else {
                tracing.layers = None;
            }
        }
        reports.set(main.id(), tracing.status());
    }
}

fn budget(settings: &LiveView) -> f32 {
    settings.frame_budget.max(0.0)
}

/// Returns the inputs of an image, or `None` if the camera cannot be traced.
fn subject(
    revision: u64,
    settings: &LiveView,
    (camera, view): (&ExtractedCamera, &ExtractedView),
    clear_color: Color,
    device: &wgpu::Device,
) -> Option<Subject> {
    let size = picture_size(camera.physical_viewport_size?, settings.render_scale, device)?;
    let view = view_of(&view.clip_from_view, &view.world_from_view, size);
    if view.is_none() {
        warn_once!(
            "a `LiveView` shows Bevy's own picture: only finite cameras can be path traced, and not a part of a perspective one's picture"
        );
    }
    let LiveView { bounces, ends_at_lightmaps, integrator, .. } = *settings;
    let clear_color = match camera.clear_color {
        ClearColorConfig::Default => clear_color,
        ClearColorConfig::Custom(color) => color,
        ClearColorConfig::None => Color::BLACK,
    };
    // Bevy draws it as it is, whereas radiance is exposed.
    let background = clear_color.to_linear().to_vec3() / camera.exposure.max(f32::MIN_POSITIVE);
    Some(Subject { revision, bounces, ends_at_lightmaps, integrator, background, view: view? })
}

/// Returns the size of the image to trace in pixels, limited by the GPU's buffer size.
fn picture_size(viewport: UVec2, scale: f32, device: &wgpu::Device) -> Option<UVec2> {
    if viewport.min_element() == 0 {
        return None;
    }
    let limits = device.limits();
    let max_pixels = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / BYTES_PER_PIXEL;
    let scaled = viewport.as_vec2() * if scale.is_finite() { scale.clamp(0.05, 4.0) } else { 1.0 };
    let excess = scaled.element_product() / max_pixels as f32;
    if excess > 1.0 {
        warn_once!("a live view of {viewport} is traced with fewer pixels: its GPU has buffers for {max_pixels}");
    }
    let size = (scaled / excess.max(1.0).sqrt()).floor().as_uvec2().max(UVec2::ONE);
    Some(size)
}

impl Tracing {
    fn trace(
        &mut self,
        world: &LiveWorld,
        subject: Subject,
        settings: &LiveView,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<(), GpuFault> {
        let full = subject.view.size;
        let is_same = self.subject.as_ref() == Some(&subject);
        if self.layers.is_none() || !is_same {
            self.pictures = self.pictures.wrapping_add(1);
            if self.subject.as_ref().is_none_or(|before| before.view.size != full) {
                self.films = Default::default();
                self.deposits = None;
            }
            let kinds = self.choose_integrator(world, &subject, device, queue);
            self.layers = Some(Layers::new(full, kinds, &self.room(settings)));
        }
        let room = self.room(settings);
        let pieces = self.layers.as_mut().map_or_else(Vec::new, |layers| layers.plan(&room, settings.max_samples));
        for piece in &pieces {
            let film = &mut self.films[piece.level];
            if film.is_none() {
                *film = Some(GpuFilm::new(&world.tracer.gpu, size_at(full, piece.level))?);
            }
        }
        if !pieces.is_empty() {
            let (started, mut encoder) = self.record(world, &subject, &pieces, &room, device, queue);
            self.filter(world, &subject, settings, &mut encoder)?;
            let mut pixels = [0.0; 2];
            pieces.iter().for_each(|piece| pixels[piece.kind as usize] += piece.pixels as f32);
            self.stopwatch.stop(started, encoder, device, queue, pixels);
        }
        self.subject = Some(subject);
        Ok(())
    }

    fn room(&self, settings: &LiveView) -> Room {
        Room {
            in_frame: self.frame_budget.pixels_in(budget(settings)),
            in_dispatch: self.frame_budget.pixels_in(DISPATCH_MILLISECONDS).max(MIN_PIXELS),
            light_cost: self.frame_budget.light_cost(),
        }
    }

    /// Chooses the integrator of a new image: the wanted one, or paths from the camera where it is not to be had. Returns
    /// the kinds of paths of a sample.
    fn choose_integrator(
        &mut self,
        world: &LiveWorld,
        subject: &Subject,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Kinds {
        let wanted = subject.integrator;
        let refused = subject.ends_at_lightmaps && wanted != LiveIntegrator::Path;
        if refused {
            warn_once!(
                "a live view shows `LiveIntegrator::Path`: for another one, set `LiveView::ends_at_lightmaps` to false"
            );
        }
        let is_ready = !refused && world.tracer.has(wanted);
        let mut integrator = if is_ready { wanted } else { LiveIntegrator::Path };
        if integrator.is_from_lights() && self.deposits.is_none() {
            match LightDeposits::new(&world.tracer.gpu, subject.view.size.element_product()) {
                Ok(deposits) => self.deposits = Some(deposits),
                Err(fault) => {
                    warn_once!("a live view shows `LiveIntegrator::Path`: {fault}");
                    integrator = LiveIntegrator::Path;
                }
            }
        }
        if !integrator.is_from_lights() {
            self.deposits = None;
        }
        if self.integrator != integrator {
            self.integrator = integrator;
            // Paths of other integrators have other speeds.
            self.frame_budget = FrameBudget::default();
            self.stopwatch = Stopwatch::new(device, queue);
        }
        if integrator.is_from_lights() { FROM_LIGHTS } else { FROM_CAMERA }
    }

    /// Records the pieces, and submits all but the last submission's worth. Also returns the start time.
    fn record(
        &mut self,
        world: &LiveWorld,
        subject: &Subject,
        pieces: &[Piece],
        room: &Room,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> (Instant, wgpu::CommandEncoder) {
        let new_encoder =
            || device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("live view") });
        let started = self.stopwatch.start(device, queue);
        let mut encoder = new_encoder();
        let mut recorded = 0.0;
        for piece in pieces {
            let cost = piece.pixels as f32 * room.cost(piece.kind);
            if recorded + cost > room.in_dispatch {
                queue.submit([core::mem::replace(&mut encoder, new_encoder()).finish()]);
                recorded = 0.0;
            }
            self.record_piece(world, subject, piece, &mut encoder);
            recorded += cost;
        }
        (started, encoder)
    }

    fn record_piece(
        &mut self,
        world: &LiveWorld,
        subject: &Subject,
        piece: &Piece,
        encoder: &mut wgpu::CommandEncoder,
    ) {
        let Some(film) = &self.films[piece.level] else {
            return;
        };
        let (tracer, scene) = (&world.tracer, &*world.buffers);
        let gpu = &tracer.gpu;
        let view = View { size: film.size(), ..subject.view.clone() };
        let in_hybrid = self.integrator == LiveIntegrator::Hybrid;
        let pixels = piece.rows.start * view.size.x..piece.rows.end * view.size.x;
        let lights = tracer.lights.as_deref().zip(self.deposits.as_mut());
        let record_camera_paths = |encoder: &mut wgpu::CommandEncoder, bounces| {
            let pass = PathPass {
                sample: piece.sample,
                seed: self.pictures,
                max_bounces: Some(bounces),
                rows: piece.rows.clone(),
                ends_at_lightmaps: subject.ends_at_lightmaps,
                in_hybrid,
                background: subject.background,
            };
            let whitted = tracer.whitted.as_ref().filter(|_| self.integrator == LiveIntegrator::Whitted);
            whitted.unwrap_or(&tracer.paths).record(gpu, encoder, scene, film, &view, &pass);
        };
        match (piece.kind, lights) {
            (PassKind::Eye, None) => record_camera_paths(encoder, subject.bounces),
            (PassKind::Eye, Some((kernel, deposits))) => {
                // Without a hybrid, camera paths add only the emission that light paths leave out.
                let bounces = if in_hybrid { subject.bounces } else { 0 };
                let record = |encoder: &mut _| record_camera_paths(encoder, bounces);
                kernel.add_with(gpu, encoder, deposits, film, &pixels, record);
            }
            (PassKind::Light, Some((kernel, deposits))) => {
                if piece.rows.start == 0 {
                    deposits.clear(encoder);
                    deposits.set_units(scene, &view);
                }
                let pass = LightPass {
                    number: piece.sample,
                    seed: self.pictures,
                    max_bounces: Some(subject.bounces),
                    paths: pixels,
                    in_hybrid,
                };
                kernel.record(gpu, encoder, scene, deposits, &view, &pass);
            }
            (PassKind::Light, None) => {}
        }
    }

    /// Records the filter pass, if the shown layer has new samples and few enough of them.
    fn filter(
        &mut self,
        world: &LiveWorld,
        subject: &Subject,
        settings: &LiveView,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), GpuFault> {
        if !settings.filter {
            self.filtered = None;
            return Ok(());
        }
        let shown = self.layers.as_ref().and_then(Layers::shown).filter(|&(_, samples)| is_worth_filtering(samples));
        let Some((level, samples)) = shown else {
            return Ok(());
        };
        let Some(film) = &self.films[level] else {
            return Ok(());
        };
        let gpu = &world.tracer.gpu;
        let view = View { size: film.size(), ..subject.view.clone() };
        let of = (self.pictures, level);
        let filtered = match &mut self.filtered {
            Some(filtered) => filtered,
            None => {
                let picture = FilteredPicture::new(gpu, view.clone())?;
                self.filtered.insert(Filtered { picture, of, samples: 0, revision: subject.revision })
            }
        };
        if filtered.of != of {
            filtered.picture.begin(gpu, view, filtered.revision == subject.revision)?;
            (filtered.of, filtered.samples, filtered.revision) = (of, 0, subject.revision);
        }
        if filtered.samples != samples {
            world.tracer.filter.record(gpu, encoder, film, &mut filtered.picture, samples);
            filtered.samples = samples;
        }
        Ok(())
    }

    /// Returns the buffer of a channel, its vectors per pixel, and the size in pixels.
    pub fn channel(&self, channel: LiveChannel) -> Option<(&wgpu::Buffer, u32, UVec2)> {
        let film = self.films[self.layers.as_ref()?.shown()?.0].as_ref()?;
        match channel {
            LiveChannel::Light => self.picture(),
            LiveChannel::Albedo | LiveChannel::Normal => Some((film.features(), 3, film.size())),
            LiveChannel::TreeCost | LiveChannel::Noise => Some((film.radiance(), 2, film.size())),
        }
    }

    fn picture(&self) -> Option<(&wgpu::Buffer, u32, UVec2)> {
        let (level, samples) = self.layers.as_ref()?.shown()?;
        let film = self.films[level].as_ref()?;
        let filtered = self.filtered.as_ref().filter(|filtered| filtered.of == (self.pictures, level));
        let filtered = filtered.filter(|_| is_worth_filtering(samples)).and_then(|filtered| filtered.picture.picture());
        Some(filtered.map_or((film.radiance(), 2, film.size()), |picture| (picture, 1, film.size())))
    }

    fn status(&self) -> LiveViewStatus {
        let shown = self.layers.as_ref().and_then(|layers| Some((layers.shown()?.1, layers.shown_size())));
        let (samples, size) = shown.unwrap_or_default();
        LiveViewStatus {
            pictures: self.pictures,
            samples,
            integrator: self.integrator,
            size,
            frame_milliseconds: self.frame_budget.milliseconds(),
            paths_per_second: self
                .frame_budget
                .paths_per_second(self.layers.as_ref().map_or(FROM_CAMERA, Layers::kinds)),
        }
    }
}
