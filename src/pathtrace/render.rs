//! Pictures: samples of every pixel, pass by pass.

use std::time::{Duration, Instant};

use glam::UVec2;
use rayon::prelude::*;

use super::{Film, Integrator, View};
use crate::geometry::sobol::{hash2, points};
use crate::progress::Monitor;

/// When a picture is good enough, and which random numbers it is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderSettings {
    /// Most samples of each pixel. Four times as many halve the noise.
    pub samples: u32,
    /// Most seconds to spend; the pass that is being drawn is finished.
    pub time_seconds: Option<f32>,
    /// The [relative error](Film::relative_error) that is good enough.
    pub error: Option<f32>,
    /// One over the mean number of contributions to a pixel that is enough.
    pub tolerance: Option<f32>,
    /// Which random numbers; the same seed gives the same picture.
    pub seed: u32,
}

impl Default for RenderSettings {
    fn default() -> Self {
        Self { samples: 256, time_seconds: None, error: None, tolerance: None, seed: 0 }
    }
}

impl RenderSettings {
    /// How much of the samples, or of the time, is behind a picture.
    pub(crate) fn fraction_done(&self, samples: u32, elapsed: Duration) -> f32 {
        let of_time = self.time_seconds.map_or(0.0, |seconds| elapsed.as_secs_f32() / seconds.max(f32::MIN_POSITIVE));
        of_time.max(samples as f32 / self.samples.max(1) as f32)
    }

    /// True when pixels have got enough contributions on average.
    pub(crate) fn is_tolerated(&self, contributions: f32) -> bool {
        self.tolerance.is_some_and(|tolerance| 1.0 <= tolerance * contributions)
    }

    /// True when there is something to see, and no samples, time or contributions are wanted beyond it.
    pub(crate) fn is_used_up(&self, samples: u32, fraction_done: f32) -> bool {
        samples > 0 && (fraction_done >= 1.0 || self.is_tolerated(samples as f32))
    }

    /// The error that is good enough, when it is time to look at it: every few samples, but not too soon.
    pub(crate) fn error_to_judge(&self, samples: u32) -> Option<f32> {
        self.error.filter(|_| samples >= LEAST_SAMPLES_FOR_ERROR && samples.is_multiple_of(LEAST_SAMPLES_FOR_ERROR))
    }
}

/// Samples before which the estimate of the error is not to be trusted.
pub(super) const LEAST_SAMPLES_FOR_ERROR: u32 = 16;
/// The sequence that places samples on the film and on the lens; bounces take those from zero up.
const CAMERA: u32 = u32::MAX;

/// Draws what a camera sees, one sample of every pixel a pass, until the settings or the monitor say that it is enough.
///
/// A film is a function of the scene, the view, the seed and the number of passes, whatever the number of threads.
pub fn render(tracer: &dyn Integrator, view: &View, settings: &RenderSettings, monitor: &dyn Monitor) -> Film {
    let started = Instant::now();
    let mut film = Film::new(view.size);
    for sample in 0..settings.samples {
        let fraction = settings.fraction_done(sample, started.elapsed());
        let is_good = || settings.error_to_judge(sample).is_some_and(|error| film.relative_error() <= error);
        if monitor.is_cancelled() || settings.is_used_up(sample, fraction) || is_good() {
            break;
        }
        monitor.progress(fraction);
        add_pass(tracer, view, &mut film, sample, settings.seed);
    }
    film
}

pub(super) fn add_pass(tracer: &dyn Integrator, view: &View, film: &mut Film, sample: u32, seed: u32) {
    let sights = view.camera.sights();
    let rows: Vec<_> = film.rows_mut().collect();
    rows.into_par_iter().enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            let place = UVec2::new(x as u32, y as u32);
            let seed = hash2(hash2(seed, place.y), place.x);
            let [on_film] = points([hash2(seed, CAMERA)], sample);
            let ray = view.ray_of(&sights, place, on_film);
            pixel.add(&tracer.trace(&ray, sample, seed));
        }
    });
}

#[cfg(test)]
mod tests;
