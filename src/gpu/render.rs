//! Pictures: samples of every pixel, a few rows at a time.

use std::time::Instant;

use wgpu::CommandEncoderDescriptor;

use super::pace::Pace;
use super::{Gpu, GpuFault, GpuFilm, GpuScene, Pass, PathKernel, Stack};
use crate::pathtrace::{Film, RenderSettings, View};
use crate::progress::Monitor;

/// Draws what a camera sees, as [`pathtrace::render`](crate::pathtrace::render) does.
///
/// # Errors
/// When the device has no room for the picture, or is lost.
pub fn render(
    gpu: &Gpu,
    scene: &GpuScene,
    view: &View,
    most_bounces: Option<u32>,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<Film, GpuFault> {
    let film = GpuFilm::new(gpu, view.size)?;
    let kernel = PathKernel::new(gpu, Stack::default(), scene.trees());
    let mut rows_at_once = Pace::new(8, 1 << 16);
    let mut samples = 0;
    let started = Instant::now();
    while samples < settings.samples && !monitor.is_cancelled() {
        let fraction = settings.fraction_done(samples, started.elapsed());
        if settings.is_used_up(samples, fraction) {
            break;
        }
        if let Some(error) = settings.error_to_judge(samples)
            && film.read(gpu)?.relative_error() <= error
        {
            break;
        }
        monitor.progress(fraction);
        let mut first_row = 0;
        while first_row < view.size.y {
            let rows = first_row..first_row.saturating_add(rows_at_once.size()).min(view.size.y);
            let pass = Pass {
                sample: samples,
                seed: settings.seed,
                most_bounces,
                rows: rows.clone(),
                ends_at_lightmaps: false,
            };
            let submitted = Instant::now();
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            kernel.record(gpu, &mut encoder, scene, &film, view, &pass);
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
            rows_at_once.learn(submitted.elapsed());
            first_row = rows.end;
        }
        samples += 1;
    }
    if samples == 0 { Ok(Film::new(view.size)) } else { film.read(gpu) }
}
