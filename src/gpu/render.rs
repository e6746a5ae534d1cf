//! Rendering of pictures, several rows per submission.

use glam::Vec3;

#[cfg(doc)]
use super::MAX_DEVICE_STEPS;
use super::batch_sizer::BatchSizer;
use super::{Gpu, GpuFault, GpuFilm, GpuScene, PathKernel, PathPass};
use crate::clock;
use crate::pathtrace::{Film, RenderSettings, View};
use crate::progress::Monitor;

/// Picture by an integrator from the camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Pixels.
    pub film: Film,
    /// Number of walks through the tree that ended at [`MAX_DEVICE_STEPS`], so that the picture may be wrong.
    pub unfinished: u64,
}

/// Renders a view, as [`pathtrace::render`](crate::pathtrace::render) does.
///
/// # Errors
/// Returns an error if the device lacks memory for the picture, or is lost.
pub fn render(
    gpu: &Gpu,
    kernel: &PathKernel,
    scene: &GpuScene,
    view: &View,
    max_bounces: Option<u32>,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Result<Rendered, GpuFault> {
    let film = GpuFilm::new(gpu, view.size)?;
    let mut rows_at_once = BatchSizer::new(8, 1 << 16);
    let mut samples = 0;
    let started = clock::now();
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
        let pass = PathPass {
            sample: samples,
            seed: settings.seed,
            max_bounces,
            rows: 0..view.size.y,
            ends_at_lightmaps: false,
            in_hybrid: false,
            background: Vec3::ZERO,
        };
        kernel.add_pass(gpu, scene, &film, view, &pass, &mut rows_at_once)?;
        samples += 1;
    }
    if samples == 0 {
        return Ok(Rendered { film: Film::new(view.size), unfinished: 0 });
    }
    Ok(Rendered { film: film.read(gpu)?, unfinished: film.unfinished(gpu)? })
}

#[cfg(test)]
mod tests;
