//! Tests of Whitted's method against the processor.

use std::sync::Arc;

use glam::UVec2;

use super::super::context::test_device;
use super::super::tests::{compare, room_camera, room_of_everything};
use super::super::{Block, Trees};
use super::*;
use crate::accel::{Preset, World};
use crate::lights::LightSampler;
use crate::pathtrace::{self, PixelFilter, WhittedTracer, default_camera};
use crate::progress::Unmonitored;
use crate::scene::{Camera, Scene, Sky};

/// Returns pictures by Whitted's method with equal random numbers, from the processor and from the device, by a camera or
/// by the default one.
fn pictures(scene: &Scene, camera: Option<Camera>) -> Option<[Film; 2]> {
    let gpu = test_device()?;
    let world = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    let camera = camera.or_else(|| default_camera(scene, &world)).unwrap();
    let view = View { camera, size: UVec2::splat(32), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples: 4, seed: 3, ..Default::default() };
    let lights = LightSampler::with_movers(scene);
    let tracer = WhittedTracer::new(scene, &world, &lights);
    let expected = pathtrace::render(&tracer, &view, &settings, &Unmonitored);
    let on_gpu = GpuScene::new(&gpu, scene).unwrap();
    let kernel = PathKernel::whitted(&gpu, on_gpu.trees(), Block::default());
    let found = render(&gpu, &kernel, &on_gpu, &view, None, &settings, &Unmonitored).unwrap();
    assert_eq!(found.unfinished, 0);
    Some([expected, found.film])
}

/// Asserts that most pixels differ by rounding only. Between mirrors, thirty reflections multiply it.
#[track_caller]
fn assert_alike(what: &str, films: &[Film; 2]) {
    let (median, far, mean) = compare(films);
    println!("{what}: median {median}, {far} of the pixels far, means {mean}");
    assert!(films[0].pixels().iter().any(|pixel| pixel.radiance != Vec3::ZERO), "{what}");
    assert!(median < 1e-5 && far < 0.06 && mean < 1e-4, "{what}: median {median}, {far} far, means {mean}");
}

#[test]
fn whitteds_trees_of_rays_find_lights_and_materials_of_every_kind_as_on_the_cpu() {
    let scene = room_of_everything();
    let Some(films) = pictures(&scene, Some(room_camera())) else { return };
    assert_alike("room of everything", &films);
    let sky = Sky::Uniform(Vec3::new(1.0, 2.0, 3.0));
    for (what, scene) in [
        ("even sky", Scene { sky: sky.clone(), ..scene.clone() }),
        ("even sky alone", Scene { sky, lights: Vec::new(), ..scene }),
    ] {
        let Some(films) = pictures(&scene, Some(room_camera())) else { return };
        assert_alike(what, &films);
    }
}

#[test]
fn whitteds_trees_of_rays_branch_in_glass_and_between_mirrors_as_on_the_cpu() {
    for name in ["glass_and_mirrors", "mirror_walls", "shining_things"] {
        let scene = crate::builtin_scenes::build(name).unwrap().with_solid_glass();
        let Some(films) = pictures(&scene, None) else { return };
        assert_alike(name, &films);
    }
}

#[test]
fn a_stack_of_whitteds_rays_has_room_for_all_bounces() {
    let source = crate::gpu::Shader::Whitted(Trees::Static).source();
    let constant = |name: &str| -> u32 {
        let after = source.split(&format!("const {name}: u32 = ")).nth(1).unwrap();
        after.split('u').next().unwrap().parse().unwrap()
    };
    // Each bounce leaves at most one ray behind.
    assert!(constant("MAX_PENDING") > constant("MAX_BOUNCES"));
    // At each depth, 3 x 256 rays have a weight of 1/256 in one of the channels.
    assert_eq!(constant("MAX_RAYS"), (constant("MAX_BOUNCES") + 1) * 3 * 256);
}
