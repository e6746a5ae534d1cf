//! Shaders against their twins in Rust.

use std::sync::Arc;

use glam::{UVec2, Vec2, Vec3};

use super::context::test_device;
use super::*;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery};
use crate::kdtree::{Preset, World};
use crate::pathtrace::{Film, PathTracer, PixelFilter, RenderSettings, View};
use crate::progress::Unmonitored;
use crate::scene::{Camera, LightSampler, Scene};

/// Rays from within a scene's box, in all directions.
fn rays_in(scene: &Scene, count: u32) -> Vec<Ray> {
    let bounds = scene.bounds();
    let (places, directions) = (OwenSobol::new(1), OwenSobol::new(2));
    let ray = |index| {
        let [x, y, z, _] = places.point(index);
        let [u, v, ..] = directions.point(index);
        Ray::new(bounds.min + bounds.extent() * Vec3::new(x, y, z), uniform_sphere(Vec2::new(u, v)))
    };
    (0..count).map(ray).collect()
}

/// How many rays met something else than on the CPU, though not at the same distance.
fn disagreements(scene: &Scene, rays: &[Ray], stack: Stack) -> Option<usize> {
    let gpu = test_device()?;
    let on_gpu = GpuScene::new(&gpu, scene).unwrap();
    let answers = RayKernels::new(&gpu, stack).trace(&gpu, &on_gpu, rays, Question::Closest).unwrap();
    let world = World::build(Arc::new(scene.clone()), Preset::best());
    let differs = |(ray, answer): (&Ray, &RayAnswer)| match (world.closest(ray), on_gpu.source(answer.triangle)) {
        (None, None) => false,
        (Some(hit), Some(source)) => {
            source != (hit.surface, hit.triangle) && (hit.t - answer.t).abs() > 1e-5 * hit.t.max(1.0)
        }
        _ => true,
    };
    Some(rays.iter().zip(&answers).filter(|pair| differs(*pair)).count())
}

fn cornell() -> Scene {
    Scene::clone(&crate::scene::load("builtin:cornell_box").unwrap().scene)
}

#[test]
fn rays_meet_the_same_triangles_as_on_the_cpu_however_little_a_thread_remembers() {
    let scene = cornell();
    let rays = rays_in(&scene, 20_000);
    for stack in [Stack::Short, Stack::Restart, Stack::Full] {
        let Some(different) = disagreements(&scene, &rays, stack) else { return };
        assert_eq!(different, 0, "{stack:?}");
    }
}

/// Pictures of a scene with the same random numbers, from the CPU and from the device.
fn pictures(scene: &Scene, camera: Camera, samples: u32) -> Option<[Film; 2]> {
    let gpu = test_device()?;
    let view = View { camera, size: UVec2::splat(32), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples, seed: 3, ..Default::default() };
    let world = World::build(Arc::new(scene.clone()), Preset::best());
    let lights = LightSampler::new(scene);
    let tracer = PathTracer::new(scene, &world, &lights, None);
    let on_cpu = crate::pathtrace::render(&tracer, &view, &settings, &Unmonitored);
    let on_gpu = GpuScene::new(&gpu, scene).unwrap();
    let on_gpu = render(&gpu, &on_gpu, &view, None, &settings, &Unmonitored).unwrap();
    Some([on_cpu, on_gpu])
}

/// Median relative difference of pixels, the share of those that differ by more than a thousandth, and the relative
/// difference of the means.
fn compare([a, b]: &[Film; 2]) -> (f32, f32, f32) {
    let difference = |a: Vec3, b: Vec3| (a - b).length() / a.length().max(1e-6);
    let mut differences: Vec<f32> =
        a.pixels().iter().zip(b.pixels()).map(|(a, b)| difference(a.radiance, b.radiance)).collect();
    differences.sort_by(f32::total_cmp);
    let far = differences.iter().filter(|difference| **difference > 1e-3).count();
    let mean = |film: &Film| film.pixels().iter().map(|pixel| pixel.radiance).sum::<Vec3>();
    (differences[differences.len() / 2], far as f32 / differences.len() as f32, difference(mean(a), mean(b)))
}

#[test]
fn a_picture_is_the_same_as_on_the_cpu_sample_for_sample() {
    let scene = cornell();
    let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.8), Vec3::ZERO, 0.7).unwrap();
    let Some(films) = pictures(&scene, camera, 16) else { return };
    let (median, far, means) = compare(&films);
    assert!(median < 1e-5 && far < 0.01 && means < 2e-4, "median {median}, {far} of the pixels far, means {means}");
}
