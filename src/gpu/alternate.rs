//! Pictures by light paths and paths from the eye in turn, on a device.

use std::time::Instant;

use wgpu::CommandEncoderDescriptor;

use super::light_path::{LightPass, LightPaths};
use super::pace::Pace;
use super::{Gpu, GpuFault, GpuFilm, GpuScene, Pass, PathKernel, Stack};
use crate::pathtrace::{Film, RenderSettings, Turn, TwoKinds, View, take_turns};
use crate::progress::Monitor;
use crate::scene::Scene;

/// What paths from lights are to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromLights {
    /// Whether paths from the eye find what mirrors and glass show, which light paths leave out then.
    pub hybrid: bool,
    /// Most bounces of a path.
    pub most_bounces: Option<u32>,
}

/// Draws what a camera sees by paths from lights, as [`pathtrace::render_from_lights`](crate::pathtrace::render_from_lights)
/// does: the same paths bring the same light, up to rounding.
///
/// Light is summed in fixed point, so a picture does not depend on how a device schedules its threads.
///
/// # Errors
/// When the device has no room for the picture, or is lost.
pub fn render_from_lights(
    gpu: &Gpu,
    scene: &Scene,
    on_gpu: &GpuScene,
    view: &View,
    from_lights: FromLights,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<Film, GpuFault> {
    let mut picture = Picture::new(gpu, scene, on_gpu, view, from_lights, settings.seed)?;
    take_turns(&mut picture, settings, monitor)
}

struct Picture<'a> {
    gpu: &'a Gpu,
    scene: &'a GpuScene,
    view: &'a View,
    from_lights: FromLights,
    seed: u32,
    light_paths: LightPaths,
    eye_paths: PathKernel,
    light: GpuFilm,
    eye: GpuFilm,
    /// Of light paths, and of rays from the eye.
    passes: [u32; 2],
    contributions: u64,
    paths_at_once: Pace,
    rows_at_once: Pace,
}

impl TwoKinds for Picture<'_> {
    type Fault = GpuFault;

    fn passes(&self, turn: Turn) -> u32 {
        self.passes[turn as usize]
    }

    fn add(&mut self, turn: Turn) -> Result<f32, GpuFault> {
        let change = match turn {
            Turn::Light => self.add_light(),
            Turn::Eye => self.add_eye(),
        };
        self.passes[turn as usize] += 1;
        change
    }

    fn mean_contributions(&self) -> f32 {
        let pixels = f64::from(self.view.size.x) * f64::from(self.view.size.y);
        (self.contributions as f64 / pixels.max(1.0)) as f32
    }

    fn sum(&self) -> Result<Film, GpuFault> {
        let read =
            |film: &GpuFilm, passes| if passes == 0 { Ok(Film::new(self.view.size)) } else { film.read(self.gpu) };
        Ok(read(&self.eye, self.passes[Turn::Eye as usize])?
            .plus(&read(&self.light, self.passes[Turn::Light as usize])?))
    }
}

impl<'a> Picture<'a> {
    fn new(
        gpu: &'a Gpu,
        scene: &Scene,
        on_gpu: &'a GpuScene,
        view: &'a View,
        from_lights: FromLights,
        seed: u32,
    ) -> Result<Self, GpuFault> {
        Ok(Self {
            gpu,
            scene: on_gpu,
            view,
            from_lights,
            seed,
            light_paths: LightPaths::new(gpu, scene, on_gpu, view)?,
            eye_paths: PathKernel::new(gpu, Stack::default(), on_gpu.trees()),
            light: GpuFilm::new(gpu, view.size)?,
            eye: GpuFilm::new(gpu, view.size)?,
            passes: [0; 2],
            contributions: 0,
            paths_at_once: Pace::new(1024, 1 << 24),
            rows_at_once: Pace::new(8, 1 << 16),
        })
    }

    fn add_light(&mut self) -> Result<f32, GpuFault> {
        let number = self.passes[Turn::Light as usize];
        let contributions = loop {
            self.follow_paths(number)?;
            if let Some(contributions) = self.light_paths.contributions(self.gpu)? {
                break contributions;
            }
        };
        self.contributions += contributions;
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.light_paths.add(self.gpu, &mut encoder, &self.light, number);
        self.gpu.queue.submit([encoder.finish()]);
        Ok(self.light_paths.changed(self.gpu, &self.light)?.mean)
    }

    /// Follows all paths of a pass, some at a time.
    fn follow_paths(&mut self, number: u32) -> Result<(), GpuFault> {
        let Self { gpu, view, seed, .. } = *self;
        let FromLights { hybrid: in_hybrid, most_bounces } = self.from_lights;
        let all = if self.light_paths.is_lit() { view.size.x * view.size.y } else { 0 };
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.light_paths.clear(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
        let mut first = 0;
        while first < all {
            let paths = first..first.saturating_add(self.paths_at_once.size()).min(all);
            let pass = LightPass { number, seed, most_bounces, paths: paths.clone(), in_hybrid };
            let submitted = Instant::now();
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            self.light_paths.record(gpu, &mut encoder, self.scene, view, &pass);
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
            self.paths_at_once.learn(submitted.elapsed());
            first = paths.end;
        }
        Ok(())
    }

    fn add_eye(&mut self) -> Result<f32, GpuFault> {
        let FromLights { hybrid, most_bounces } = self.from_lights;
        let pass = Pass {
            sample: self.passes[Turn::Eye as usize],
            seed: self.seed,
            // What shines itself is all that light paths leave to be seen.
            most_bounces: if hybrid { most_bounces } else { Some(0) },
            rows: 0..self.view.size.y,
            ends_at_lightmaps: false,
            in_hybrid: hybrid,
        };
        self.eye_paths.add_pass(self.gpu, self.scene, &self.eye, self.view, &pass, &mut self.rows_at_once)?;
        let changed = self.light_paths.changed(self.gpu, &self.eye)?;
        self.contributions += changed.brighter;
        Ok(changed.mean)
    }
}

#[cfg(test)]
mod tests;
