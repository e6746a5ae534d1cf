//! Hybrid rendering on a device: passes of light paths alternate with passes of camera paths.

use glam::Vec3;
use wgpu::CommandEncoderDescriptor;

use super::batch_sizer::BatchSizer;
use super::{
    Block, Gpu, GpuFault, GpuFilm, GpuScene, LightDeposits, LightKernel, LightPass, PathKernel, PathPass, Stack,
};
use crate::clock;
use crate::pathtrace::{Film, LightPicture, PassKind, RenderSettings, TwoKinds, View, render_passes};
use crate::progress::Monitor;

/// Settings of rendering with light paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromLights {
    /// True if camera paths render mirrors and glass, which light paths then leave out.
    pub hybrid: bool,
    /// Maximum number of bounces of a path; unlimited if `None`.
    pub max_bounces: Option<u32>,
    /// Number of threads of a workgroup.
    pub block: Block,
}

/// Renders a view with light paths. Equals [`pathtrace::render_from_lights`](crate::pathtrace::render_from_lights) up
/// to rounding.
///
/// Light is accumulated in fixed point, so pictures do not depend on the device's scheduling of threads.
///
/// # Errors
/// Returns an error if the device lacks memory for the picture, or is lost.
pub fn render_from_lights(
    gpu: &Gpu,
    scene: &GpuScene,
    view: &View,
    from_lights: FromLights,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<LightPicture, GpuFault> {
    let mut picture = Picture::new(gpu, scene, view, from_lights, settings.seed)?;
    render_passes(&mut picture, settings, monitor)
}

struct Picture<'a> {
    gpu: &'a Gpu,
    scene: &'a GpuScene,
    view: &'a View,
    from_lights: FromLights,
    seed: u32,
    light_paths: LightKernel,
    deposits: LightDeposits,
    eye_paths: PathKernel,
    light: GpuFilm,
    eye: GpuFilm,
    /// Number of passes of light paths, and of camera paths.
    passes: [u32; 2],
    contributions: u64,
    /// Number of walks of light paths that ended at the step limit.
    unfinished: u64,
    paths_at_once: BatchSizer,
    rows_at_once: BatchSizer,
}

impl TwoKinds for Picture<'_> {
    type Fault = GpuFault;

    fn passes(&self, kind: PassKind) -> u32 {
        self.passes[kind as usize]
    }

    fn add(&mut self, kind: PassKind) -> Result<f32, GpuFault> {
        let change = match kind {
            PassKind::Light => self.add_light(),
            PassKind::Eye => self.add_eye(),
        };
        self.passes[kind as usize] += 1;
        change
    }

    fn contributions(&self) -> u64 {
        self.contributions
    }

    fn pixels(&self) -> u64 {
        u64::from(self.view.size.x) * u64::from(self.view.size.y)
    }

    fn unfinished(&self) -> Result<u64, GpuFault> {
        let of_eye = if self.passes[PassKind::Eye as usize] == 0 { 0 } else { self.eye.unfinished(self.gpu)? };
        Ok(of_eye + self.unfinished)
    }

    fn sum(&self) -> Result<Film, GpuFault> {
        let read =
            |film: &GpuFilm, passes| if passes == 0 { Ok(Film::new(self.view.size)) } else { film.read(self.gpu) };
        Ok(read(&self.eye, self.passes[PassKind::Eye as usize])?
            .plus(&read(&self.light, self.passes[PassKind::Light as usize])?))
    }
}

impl<'a> Picture<'a> {
    fn new(
        gpu: &'a Gpu,
        scene: &'a GpuScene,
        view: &'a View,
        from_lights: FromLights,
        seed: u32,
    ) -> Result<Self, GpuFault> {
        let mut deposits = LightDeposits::new(gpu, view.size.x * view.size.y)?;
        deposits.set_units(scene, view);
        Ok(Self {
            gpu,
            scene,
            view,
            from_lights,
            seed,
            light_paths: LightKernel::with_block(gpu, scene.trees(), from_lights.block),
            deposits,
            eye_paths: PathKernel::with_block(gpu, Stack::default(), scene.trees(), from_lights.block),
            light: GpuFilm::new(gpu, view.size)?,
            eye: GpuFilm::new(gpu, view.size)?,
            passes: [0; 2],
            contributions: 0,
            unfinished: 0,
            paths_at_once: BatchSizer::new(1024, 1 << 24),
            rows_at_once: BatchSizer::new(8, 1 << 16),
        })
    }

    fn add_light(&mut self) -> Result<f32, GpuFault> {
        let number = self.passes[PassKind::Light as usize];
        let counts = loop {
            self.follow_paths(number)?;
            if let Some(counts) = self.deposits.counts(self.gpu)? {
                break counts;
            }
        };
        self.contributions += counts.contributions;
        self.unfinished += counts.unfinished;
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.light_paths.add(self.gpu, &mut encoder, &self.deposits, &self.light, number);
        self.gpu.queue.submit([encoder.finish()]);
        Ok(self.light_paths.changed(self.gpu, &self.deposits, &self.light)?.mean)
    }

    /// Follows all paths of a pass, in several submissions.
    fn follow_paths(&mut self, number: u32) -> Result<(), GpuFault> {
        let Self { gpu, view, seed, .. } = *self;
        let FromLights { hybrid: in_hybrid, max_bounces, .. } = self.from_lights;
        let all = if self.scene.emissions().are_lit() { view.size.x * view.size.y } else { 0 };
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.deposits.clear(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
        let mut first = 0;
        while first < all {
            let paths = first..first.saturating_add(self.paths_at_once.size()).min(all);
            let pass = LightPass { number, seed, max_bounces, paths: paths.clone(), in_hybrid };
            let submitted = clock::now();
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            self.light_paths.record(gpu, &mut encoder, self.scene, &self.deposits, view, &pass);
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
            self.paths_at_once.learn(submitted.elapsed());
            first = paths.end;
        }
        Ok(())
    }

    fn add_eye(&mut self) -> Result<f32, GpuFault> {
        let FromLights { hybrid, max_bounces, .. } = self.from_lights;
        let pass = PathPass {
            sample: self.passes[PassKind::Eye as usize],
            seed: self.seed,
            // Without a hybrid, camera paths add only the emission that light paths leave out.
            max_bounces: if hybrid { max_bounces } else { Some(0) },
            rows: 0..self.view.size.y,
            ends_at_lightmaps: false,
            in_hybrid: hybrid,
            background: Vec3::ZERO,
        };
        self.eye_paths.add_pass(self.gpu, self.scene, &self.eye, self.view, &pass, &mut self.rows_at_once)?;
        let changed = self.light_paths.changed(self.gpu, &self.deposits, &self.eye)?;
        self.contributions += changed.brighter;
        Ok(changed.mean)
    }
}

#[cfg(test)]
mod tests;
