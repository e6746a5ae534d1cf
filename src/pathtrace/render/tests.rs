use core::sync::atomic::{AtomicU32, Ordering};

use glam::Vec3;

use super::*;
use crate::accel::{BruteForce, Preset, World};
use crate::builtin_scenes;
use crate::lights::LightSampler;
use crate::pathtrace::{PathTracer, PixelFilter};
use crate::progress::Unmonitored;
use crate::scene::{Camera, Scene, luminance};

/// Returns a view of the Cornell box through its open side.
fn cornell_view(edge: u32) -> View {
    let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 39.3077f32.to_radians()).unwrap();
    View { camera, size: UVec2::splat(edge), lens: None, filter: PixelFilter::Box }
}

fn draw(scene: &Scene, settings: &RenderSettings, monitor: &dyn Monitor) -> Film {
    let (world, lights) = (BruteForce::new(scene), LightSampler::new(scene));
    render(&PathTracer::new(scene, &world, &lights, None), &cornell_view(16), settings, monitor)
}

#[test]
fn threads_do_not_change_a_bit() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| draw(&scene, &RenderSettings { samples: 4, ..RenderSettings::default() }, &Unmonitored))
    };
    let film = with_threads(1);
    assert_eq!(film, with_threads(4));
    assert_eq!(film.to_exr([]).unwrap(), with_threads(3).to_exr([]).unwrap());
}

/// Monitor that cancels after a given number of progress reports.
struct Impatient(AtomicU32);

impl Monitor for Impatient {
    fn progress(&self, _: f32) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_picture_that_is_stopped_is_the_one_with_fewer_samples() {
    let scene = builtin_scenes::build("cornell_empty").unwrap();
    let stopped = draw(&scene, &RenderSettings { samples: 100, ..Default::default() }, &Impatient(AtomicU32::new(5)));
    assert_eq!(stopped.samples(), 5);
    assert_eq!(stopped, draw(&scene, &RenderSettings { samples: 5, ..Default::default() }, &Unmonitored));
}

#[test]
fn a_picture_that_was_stopped_goes_on_to_the_same_bytes() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let (view, settings) = (cornell_view(16), RenderSettings { samples: 7, ..Default::default() });
    let tracer = PathTracer::new(&scene, &world, &lights, None);
    let whole = draw(&scene, &settings, &Unmonitored);
    let mut film = draw(&scene, &settings, &Impatient(AtomicU32::new(3)));
    assert_eq!(film.samples(), 3);
    // Ranks leave whole rows.
    let tile = Tile::rows(view.size, 4..9);
    film.set_tile(tile, &render_tile(&tracer, &view, tile, &settings, &Unmonitored));
    render_tile_from(&tracer, &view, Tile::whole(view.size), &settings, &mut film, &Unobserved(&Unmonitored));
    assert_eq!(film, whole);
}

#[test]
fn a_picture_is_done_when_it_is_as_good_as_was_asked_for() {
    let scene = builtin_scenes::build("cornell_empty").unwrap();
    let wanted = 0.3;
    let settings = RenderSettings { samples: 4096, error: Some(wanted), ..Default::default() };
    let film = draw(&scene, &settings, &Unmonitored);
    assert!(film.relative_error() <= wanted && film.samples() < 4096, "{}", film.samples());
    let no_time = RenderSettings { time_limit: Some(Duration::from_nanos(1)), ..Default::default() };
    assert_eq!(draw(&scene, &no_time, &Unmonitored).samples(), 1, "the first pass is always drawn");
}

const EDGE: usize = 256;
const BLOCK: usize = 16;
const BLOCKS: usize = EDGE / BLOCK;

/// Returns the mean luminance of each square block of a picture.
fn block_means(pixels: impl Iterator<Item = Vec3>) -> Vec<f32> {
    let mut means = vec![0.0; BLOCKS * BLOCKS];
    for (index, pixel) in pixels.enumerate() {
        means[index / EDGE / BLOCK * BLOCKS + index % EDGE / BLOCK] += luminance(pixel) / (BLOCK * BLOCK) as f32;
    }
    means
}

fn mean_and_variance(values: &[f32]) -> (f32, f32) {
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>();
    (mean, squares / (values.len() - 1) as f32)
}

#[test]
fn the_cornell_box_looks_as_an_outside_renderer_draws_it() {
    let Some(truths) = crate::skip::truths() else { return };
    const BATCHES: u32 = 64;
    let truth = exr::prelude::read_first_rgba_layer_from_file(
        format!("{truths}/references/cornell_256.exr"),
        |size, _| vec![Vec3::ZERO; size.area()],
        |pixels, place, (r, g, b, _): (f32, f32, f32, f32)| pixels[place.y() * EDGE + place.x()] = Vec3::new(r, g, b),
    );
    let truth = truth.unwrap().layer_data.channel_data.pixels;
    let loaded = crate::scene_files::load(&format!("{truths}/scenes/canonical/cornell.gltf")).unwrap();
    let scene = loaded.scene.shared();
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(scene));
    let tracer = PathTracer::new(scene, &world, &lights, None);
    let draw = |seed| {
        let settings = RenderSettings { samples: 1, seed, ..Default::default() };
        render(&tracer, &cornell_view(EDGE as u32), &settings, &Unmonitored)
    };
    let films: Vec<Film> = (0..BATCHES).map(draw).collect();

    let mean = |pixels: &mut dyn Iterator<Item = Vec3>| pixels.sum::<Vec3>() / (EDGE * EDGE) as f32;
    let radiance = |film: &Film| mean(&mut film.pixels().iter().map(|pixel| pixel.radiance));
    let found = films.iter().map(radiance).sum::<Vec3>() / BATCHES as f32;
    let expected = mean(&mut truth.iter().copied());
    let difference = (found / expected - 1.0).abs().max_element();
    println!("mean {found}, wanted {expected}, {:.3} % apart", difference * 100.0);
    assert!(difference < 0.004);

    let of_batches: Vec<Vec<f32>> =
        films.iter().map(|film| block_means(film.pixels().iter().map(|pixel| pixel.radiance))).collect();
    let expected = block_means(truth.into_iter());
    let deviations: Vec<f32> = (0..BLOCKS * BLOCKS)
        .map(|block| {
            let values: Vec<f32> = of_batches.iter().map(|batch| batch[block]).collect();
            let (mean, variance) = mean_and_variance(&values);
            (mean - expected[block]) / (variance / BATCHES as f32).sqrt()
        })
        .collect();
    let (mean, variance) = mean_and_variance(&deviations);
    let largest = deviations.iter().fold(0.0f32, |largest, deviation| largest.max(deviation.abs()));
    println!("blocks: mean {mean:.3}, variance {variance:.3}, largest {largest:.2} standard errors");
    // For 256 blocks: four standard deviations of the mean and of the variance, and the Sidak bound at 0.001.
    assert!(mean.abs() < 0.25 && (0.65..1.4).contains(&variance) && largest < 5.0);
}
