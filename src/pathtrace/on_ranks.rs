//! Pictures that many ranks render, some rows each.

use std::ops::Range;
use std::time::Duration;

use bytemuck::{cast_slice, pod_collect_to_vec};
use glam::UVec2;

use super::{Film, Integrator, RenderSettings, Tile, View, render, render_tile};
use crate::clock;
use crate::cluster::{ClusterError, ClusterReport, Communicator, Strategy, Work, distribute};
use crate::progress::{Cancelled, Monitor, Unmonitored};

/// Rows of a picture as work.
struct Rows<'a> {
    tracer: &'a dyn Integrator,
    view: &'a View,
    settings: &'a RenderSettings,
}

impl Work for Rows<'_> {
    fn units(&self) -> u32 {
        self.view.size.y
    }

    fn compute(&self, rows: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let film = render_tile(self.tracer, self.view, Tile::rows(self.view.size, rows), self.settings, monitor);
        let is_whole = film.pixels().iter().all(|pixel| pixel.samples == self.settings.samples);
        if is_whole { Ok(cast_slice(film.pixels()).to_vec()) } else { Err(Cancelled) }
    }
}

/// Renders a view on all ranks and returns the film and a report on the master, `None` on other ranks. Every rank must
/// call it with the same view, settings and strategy.
///
/// The film is that of [`render`], bit for bit, as long as neither the time nor the error limits the number of passes.
/// `speed` is the speed of this rank, which only [`Strategy::SpeedProportional`] uses.
///
/// # Errors
/// Returns an error if the master's monitor cancels, or a rank is lost.
pub fn render_on_ranks(
    communicator: &dyn Communicator,
    tracer: &dyn Integrator,
    view: &View,
    settings: &RenderSettings,
    strategy: Strategy,
    speed: f32,
    monitor: &dyn Monitor,
) -> Result<Option<(Film, ClusterReport)>, ClusterError> {
    let mut film = Film::new(view.size);
    let mut receive = |rows: Range<u32>, pixels: Vec<u8>| {
        let tile = Tile::rows(view.size, rows);
        film.set_tile(tile, &Film::from_pixels(tile.size, pod_collect_to_vec(&pixels)));
    };
    let report = distribute(communicator, &Rows { tracer, view, settings }, strategy, speed, &mut receive, monitor)?;
    Ok(report.map(|report| (film, report)))
}

/// Minimum duration of the benchmark.
const BENCHMARK: Duration = Duration::from_millis(300);
/// Factor by which the picture of the benchmark is smaller, in columns and rows.
const SMALLER: u32 = 8;

/// Measures the speed of this machine with small versions of a view. Returns camera paths per second.
pub fn measured_speed(tracer: &dyn Integrator, view: &View, seed: u32) -> f32 {
    let view = View { size: (view.size / SMALLER).max(UVec2::ONE), ..view.clone() };
    let settings = RenderSettings { samples: 1, seed, ..RenderSettings::default() };
    let started = clock::now();
    let mut paths = 0;
    while started.elapsed() < BENCHMARK {
        render(tracer, &view, &settings, &Unmonitored);
        paths += view.size.element_product();
    }
    paths as f32 / started.elapsed().as_secs_f32()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::builtin_scenes;
    use crate::cluster::{Fragments, Schedule, run_local};
    use crate::lights::LightSampler;
    use crate::pathtrace::{PathTracer, PixelFilter};
    use crate::scene::Camera;

    #[test]
    fn ranks_render_the_picture_of_a_single_process() {
        let scene = builtin_scenes::build("cornell_box").unwrap();
        let (world, lights) = (World::build(scene.clone().into(), Preset::best()), LightSampler::new(&scene));
        let tracer = PathTracer::new(&scene, &world, &lights, None);
        let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 0.7).unwrap();
        let view = View { camera, size: UVec2::new(9, 11), lens: None, filter: PixelFilter::Tent };
        let settings = RenderSettings { samples: 2, ..RenderSettings::default() };
        let whole = render(&tracer, &view, &settings, &Unmonitored);
        let strategies = [
            Strategy::Equally,
            Strategy::SpeedProportional,
            Strategy::WorkQueue { fragments: Fragments::Count(5), reissue: false },
            Strategy::default(),
        ];
        for strategy in strategies {
            for ranks in 1..=4 {
                let mut films = run_local(ranks, Schedule::Parallel, |communicator| {
                    render_on_ranks(communicator, &tracer, &view, &settings, strategy, 1.0, &Unmonitored).unwrap()
                });
                let (film, _) = films.swap_remove(0).unwrap();
                assert_eq!(film, whole, "{strategy:?}, {ranks} ranks");
            }
        }
    }

    #[test]
    fn a_benchmark_finds_some_speed() {
        let scene = builtin_scenes::build("cornell_empty").unwrap();
        let (world, lights) = (World::build(scene.clone().into(), Preset::best()), LightSampler::new(&scene));
        let tracer = PathTracer::new(&scene, &world, &lights, None);
        let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 0.7).unwrap();
        let view = View { camera, size: UVec2::new(3, 40), lens: None, filter: PixelFilter::Box };
        assert!(measured_speed(&tracer, &view, 0) > 1.0);
    }
}
