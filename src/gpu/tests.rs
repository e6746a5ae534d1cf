//! Shaders against their twins in Rust.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::context::test_device;
use super::*;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery};
use crate::kdtree::{Preset, World};
use crate::scene::Scene;

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
