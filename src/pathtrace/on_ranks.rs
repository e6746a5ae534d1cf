//! Pictures that many ranks render, some rows each.

use std::ops::Range;
use std::time::Duration;

use bytemuck::{cast_slice, pod_collect_to_vec};
use glam::UVec2;

use super::{Film, Integrator, Pixel, RenderObserver, RenderSettings, Tile, View, render, render_tile};
use crate::clock;
use crate::cluster::{
    ClusterError, ClusterReport, Communicator, Decoder, Encoder, Rank, Strategy, Tag, Work, distribute,
};
use crate::progress::{Cancelled, Monitor, Unmonitored};

/// Rows that a picture lacks, from the master to all others.
const ROWS: Tag = Tag(11);

/// Rows of a picture as work.
struct Rows<'a> {
    /// Rows that lack samples, from the top.
    rows: Vec<u32>,
    tracer: &'a dyn Integrator,
    view: &'a View,
    settings: &'a RenderSettings,
}

impl Work for Rows<'_> {
    fn units(&self) -> u32 {
        self.rows.len() as u32
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let mut pixels = Vec::new();
        for tile in tiles(&self.rows, units, self.view.size) {
            let film = render_tile(self.tracer, self.view, tile, self.settings, monitor);
            if film.min_samples() < self.settings.samples {
                return Err(Cancelled);
            }
            pixels.extend_from_slice(cast_slice(film.pixels()));
        }
        Ok(pixels)
    }
}

/// Returns the tiles that some of these rows make up, each as many rows as adjoin.
fn tiles(rows: &[u32], units: Range<u32>, size: UVec2) -> impl Iterator<Item = Tile> {
    let rows = &rows[units.start as usize..units.end as usize];
    rows.chunk_by(|row, next| row + 1 == *next).map(move |rows| Tile::rows(size, rows[0]..rows[0] + rows.len() as u32))
}

/// Renders the rows of a view that the master's film lacks, on all ranks. Returns a report on the master, `None` on other
/// ranks. Every rank must call it with the same view, settings and strategy.
///
/// The master's film ends as that of [`render`], bit for bit, as long as neither the time nor the error limits the number
/// of passes. After an error it has the rows that came before. Rows with a part of their samples begin anew. Other ranks
/// leave their film as it is. `speed` is the speed of this rank, which only [`Strategy::SpeedProportional`] uses.
///
/// # Errors
/// Returns an error if the master's monitor cancels, or a rank is lost.
pub fn render_on_ranks(
    communicator: &dyn Communicator,
    tracer: &dyn Integrator,
    view: &View,
    settings: &RenderSettings,
    (strategy, speed): (Strategy, f32),
    film: &mut Film,
    observer: &dyn RenderObserver,
) -> Result<Option<ClusterReport>, ClusterError> {
    let rows = unfinished_rows(communicator, film, settings.samples)?;
    let work = Rows { rows, tracer, view, settings };
    let mut receive = |units: Range<u32>, bytes: Vec<u8>| {
        let pixels: Vec<Pixel> = pod_collect_to_vec(&bytes);
        let mut rest = pixels.as_slice();
        for tile in tiles(&work.rows, units, view.size) {
            let (own, others) = rest.split_at(tile.size.element_product() as usize);
            film.set_tile(tile, &Film::from_pixels(tile.size, own.to_vec()));
            rest = others;
        }
        observer.film_improved(film);
    };
    distribute(communicator, &work, strategy, speed, &mut receive, observer)
}

/// Returns the rows in which the master's film lacks samples, on all ranks.
fn unfinished_rows(communicator: &dyn Communicator, film: &Film, samples: u32) -> Result<Vec<u32>, ClusterError> {
    if communicator.rank() != Rank::MASTER {
        let message = communicator.recv(Some(Rank::MASTER), Some(ROWS))?;
        return Ok(Decoder::new(&message.bytes).slice()?);
    }
    let lacks = |row: &[Pixel]| row.iter().any(|pixel| pixel.samples < samples);
    let rows = film.pixels().chunks_exact(film.size().x as usize).zip(0..);
    let rows: Vec<u32> = rows.filter_map(|(pixels, row)| lacks(pixels).then_some(row)).collect();
    communicator.send_to_others(ROWS, &Encoder::new().slice(&rows).finish());
    Ok(rows)
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
    use crate::cluster::{STRATEGIES, Schedule, run_local};
    use crate::lights::LightSampler;
    use crate::pathtrace::render::Unobserved;
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
        // Three rows of a stopped run are whole, and three have one sample of two.
        let mut stopped = Film::new(view.size);
        stopped.set_tile(
            Tile::rows(view.size, 0..4),
            &render_tile(
                &tracer,
                &view,
                Tile::rows(view.size, 0..4),
                &RenderSettings { samples: 1, ..settings },
                &Unmonitored,
            ),
        );
        for rows in [1..2, 5..7] {
            let tile = Tile::rows(view.size, rows);
            stopped.set_tile(tile, &render_tile(&tracer, &view, tile, &settings, &Unmonitored));
        }
        for strategy in STRATEGIES {
            for (ranks, begun, units) in [(1, None, 11), (2, None, 11), (3, Some(&stopped), 8), (4, Some(&whole), 0)] {
                let mut done = run_local(ranks, Schedule::Parallel, |communicator| {
                    let mut film =
                        begun.filter(|_| communicator.rank() == Rank::MASTER).cloned().unwrap_or(Film::new(view.size));
                    let speed = (strategy, 1.0);
                    let report = render_on_ranks(
                        communicator,
                        &tracer,
                        &view,
                        &settings,
                        speed,
                        &mut film,
                        &Unobserved(&Unmonitored),
                    )
                    .unwrap();
                    (film, report)
                });
                let (film, report) = done.swap_remove(0);
                assert_eq!(film, whole, "{strategy:?}, {ranks} ranks");
                assert_eq!(report.unwrap().units, units);
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
