//! Rendering of pictures, pass by pass, with one sample per pixel and pass.

use std::time::Duration;

use glam::UVec2;
use rayon::prelude::*;

use super::{Film, Integrator, Tile, View};
use crate::clock;
use crate::geometry::sobol::{hash2, points};
use crate::progress::Monitor;

/// Stopping criteria and random seed of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderSettings {
    /// Maximum number of samples per pixel. Four times as many halve the noise. Default 256.
    pub samples: u32,
    /// Maximum time. The current pass is finished. Default unlimited.
    pub time_limit: Option<Duration>,
    /// [Relative error](Film::relative_error) at which rendering stops. Default none.
    pub error: Option<f32>,
    /// Reciprocal of the mean number of contributions per pixel at which rendering stops. Default none.
    pub tolerance: Option<f32>,
    /// Random seed. Equal seeds give equal pictures. Default 0.
    pub seed: u32,
}

impl Default for RenderSettings {
    fn default() -> Self {
        Self { samples: 256, time_limit: None, error: None, tolerance: None, seed: 0 }
    }
}

impl RenderSettings {
    /// Returns the completed fraction of the samples or of the time, whichever is larger.
    pub(crate) fn fraction_done(&self, samples: u32, elapsed: Duration) -> f32 {
        let of_time =
            self.time_limit.map_or(0.0, |limit| elapsed.as_secs_f32() / limit.as_secs_f32().max(f32::MIN_POSITIVE));
        of_time.max(samples as f32 / self.samples.max(1) as f32)
    }

    /// Returns true if pixels have enough contributions on average.
    pub(crate) fn is_tolerated(&self, contributions: f32) -> bool {
        self.tolerance.is_some_and(|tolerance| 1.0 <= tolerance * contributions)
    }

    /// Returns true if there is a picture, and samples, time or contributions are used up.
    pub(crate) fn is_used_up(&self, samples: u32, fraction_done: f32) -> bool {
        samples > 0 && (fraction_done >= 1.0 || self.is_tolerated(samples as f32))
    }

    /// Returns the accepted error if it should be tested now: every few samples, but not too early.
    pub(crate) fn error_to_judge(&self, samples: u32) -> Option<f32> {
        self.error.filter(|_| samples >= MIN_SAMPLES_FOR_ERROR && samples.is_multiple_of(MIN_SAMPLES_FOR_ERROR))
    }
}

/// Minimum number of samples for a reliable error estimate, and interval between tests.
pub(super) const MIN_SAMPLES_FOR_ERROR: u32 = 16;
/// Sequence number for film and lens positions. Bounces use numbers from zero up.
const CAMERA: u32 = u32::MAX;

/// Renders a view, one sample per pixel and pass, until the settings or the monitor end rendering.
///
/// The film is a function of the scene, the view, the seed and the number of passes. The number of threads has no
/// effect.
pub fn render(tracer: &dyn Integrator, view: &View, settings: &RenderSettings, monitor: &dyn Monitor) -> Film {
    render_tile(tracer, view, Tile::whole(view.size), settings, monitor)
}

/// Renders a tile of a view as [`render`] does, and returns a film of the tile's size.
///
/// Its pixels are those of the whole picture, bit for bit, as long as neither the time nor the error limits the number
/// of passes.
pub fn render_tile(
    tracer: &dyn Integrator,
    view: &View,
    tile: Tile,
    settings: &RenderSettings,
    monitor: &dyn Monitor,
) -> Film {
    let mut film = Film::new(tile.size);
    render_tile_from(tracer, view, tile, settings, &mut film, &Unobserved(monitor));
    film
}

/// Monitor of a render that also sees its film, such as to keep it.
pub trait RenderObserver: Monitor {
    /// Is told that the film has more samples, after each pass or each part that a rank has rendered.
    fn film_improved(&self, film: &Film);
}

/// Observer that ignores the film.
pub(super) struct Unobserved<'a>(pub &'a dyn Monitor);

impl Monitor for Unobserved<'_> {
    fn progress(&self, fraction: f32) {
        self.0.progress(fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl RenderObserver for Unobserved<'_> {
    fn film_improved(&self, _film: &Film) {}
}

/// Renders the samples that a tile's film lacks, and ends with the film of [`render_tile`], bit for bit.
///
/// The film may be of a render that was stopped, on this machine or on ranks. Returns the seconds of each row on the thread
/// that renders it, all samples together. A [`Simulation`](crate::cluster::Simulation) predicts from them.
pub fn render_tile_from(
    tracer: &dyn Integrator,
    view: &View,
    tile: Tile,
    settings: &RenderSettings,
    film: &mut Film,
    observer: &dyn RenderObserver,
) -> Vec<f64> {
    let started = clock::now();
    let mut row_seconds = vec![0.0; tile.size.y as usize];
    for sample in film.min_samples()..settings.samples {
        let fraction = settings.fraction_done(sample, started.elapsed());
        let is_good = || settings.error_to_judge(sample).is_some_and(|error| film.relative_error() <= error);
        if observer.is_cancelled() || settings.is_used_up(sample, fraction) || is_good() {
            break;
        }
        observer.progress(fraction);
        let of_pass = add_pass(tracer, view, tile.origin, film, sample, settings.seed);
        row_seconds.iter_mut().zip(of_pass).for_each(|(sum, seconds)| *sum += seconds);
        observer.film_improved(film);
    }
    row_seconds
}

/// Adds a sample to each pixel that lacks it, of a film that begins at a pixel of the view. Returns the seconds of each
/// row.
pub(super) fn add_pass(
    tracer: &dyn Integrator,
    view: &View,
    origin: UVec2,
    film: &mut Film,
    sample: u32,
    seed: u32,
) -> Vec<f64> {
    let sights = view.camera.sights();
    let rows: Vec<_> = film.rows_mut().collect();
    let rows = rows.into_par_iter().enumerate().with_max_len(1).map(|(y, row)| {
        let started = clock::now();
        for (x, pixel) in row.iter_mut().enumerate().filter(|(_, pixel)| pixel.samples == sample) {
            let place = origin + UVec2::new(x as u32, y as u32);
            let seed = hash2(hash2(seed, place.y), place.x);
            let [on_film] = points([hash2(seed, CAMERA)], sample);
            let ray = view.ray_of(&sights, place, on_film);
            pixel.add(&tracer.trace(&ray, sample, seed));
        }
        started.elapsed().as_secs_f64()
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
