use core::sync::atomic::{AtomicU32, Ordering};

use glam::Vec3;

use super::*;
use crate::kdtree::{BruteForce, Preset, World};
use crate::pathtrace::PixelFilter;
use crate::progress::Unmonitored;
use crate::scene::{Camera, LightSampler, Scene, builtin};

/// The Cornell box seen through its open side.
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
    let scene = builtin::build("cornell_box").unwrap();
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| draw(&scene, &RenderSettings { samples: 4, ..RenderSettings::default() }, &Unmonitored))
    };
    let film = with_threads(1);
    assert_eq!(film, with_threads(4));
    assert_eq!(film.to_exr().unwrap(), with_threads(3).to_exr().unwrap());
}

/// Asks to stop when it has been told of progress so many times.
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
    let scene = builtin::build("cornell_empty").unwrap();
    let stopped = draw(&scene, &RenderSettings { samples: 100, ..Default::default() }, &Impatient(AtomicU32::new(5)));
    assert_eq!(stopped.samples(), 5);
    assert_eq!(stopped, draw(&scene, &RenderSettings { samples: 5, ..Default::default() }, &Unmonitored));
}

#[test]
fn a_picture_is_done_when_it_is_as_good_as_was_asked_for() {
    let scene = builtin::build("cornell_empty").unwrap();
    let wanted = 0.3;
    let settings = RenderSettings { samples: 4096, error: Some(wanted), ..Default::default() };
    let film = draw(&scene, &settings, &Unmonitored);
    assert!(film.relative_error() <= wanted && film.samples() < 4096, "{}", film.samples());
    let no_time = RenderSettings { time_seconds: Some(1e-9), ..Default::default() };
    assert_eq!(draw(&scene, &no_time, &Unmonitored).samples(), 1, "the first pass is always drawn");
}

/// Mean radiance of each square block of a picture that is `edge` pixels wide.
fn block_means(pixels: &[Vec3], edge: usize, block: usize) -> Vec<Vec3> {
    let blocks = edge / block;
    let mut means = vec![Vec3::ZERO; blocks * blocks];
    for (index, &pixel) in pixels.iter().enumerate() {
        means[index / edge / block * blocks + index % edge / block] += pixel / (block * block) as f32;
    }
    means
}

#[test]
fn the_cornell_box_looks_as_an_outside_renderer_draws_it() {
    let Ok(root) = std::env::var("RADIOSITY_TRUTHS") else {
        println!("skipped: RADIOSITY_TRUTHS does not say where the references are");
        return;
    };
    const EDGE: u32 = 256;
    let truth = exr::prelude::read_first_rgba_layer_from_file(
        format!("{root}/references/cornell_256.exr"),
        |size, _| vec![Vec3::ZERO; size.area()],
        |pixels, place, (r, g, b, _): (f32, f32, f32, f32)| pixels[place.y() * EDGE as usize + place.x()] = Vec3::new(r, g, b),
    );
    let truth = truth.unwrap().layer_data.channel_data.pixels;
    let scene = std::sync::Arc::new(crate::scene::load(&format!("{root}/scenes/canonical/cornell.gltf")).unwrap().scene);
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
    let tracer = PathTracer::new(&scene, &world, &lights, None);
    let film =
        render(&tracer, &cornell_view(EDGE), &RenderSettings { samples: 16, ..Default::default() }, &Unmonitored);
    let pixels: Vec<Vec3> = film.pixels().iter().map(|pixel| pixel.radiance).collect();
    let mean = |pixels: &[Vec3]| pixels.iter().sum::<Vec3>() / pixels.len() as f32;
    let difference = (mean(&pixels) / mean(&truth) - 1.0).abs().max_element();
    assert!(difference < 0.003, "means {} and {}", mean(&pixels), mean(&truth));
    let edge = EDGE as usize;
    let blocks = block_means(&pixels, edge, 16).into_iter().zip(block_means(&truth, edge, 16));
    let squared: f32 = blocks.map(|(found, expected)| (found - expected).length_squared()).sum::<f32>() / 256.0;
    let relative = squared.sqrt() / mean(&truth).length();
    assert!(relative < 0.02, "blocks of 16 x 16 pixels differ by {relative}");
}
