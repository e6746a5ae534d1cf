use std::sync::Mutex;

use super::*;
use crate::geometry::{Escaped, Hit, Transmittance};
use crate::kdtree::BruteForce;
use crate::pathtrace::fixtures::{assert_close, clear_glass, lamp, scene_of, toward, white_metal};
use crate::scene::{Glass, Material, builtin, shapes};

/// Writes down what was asked: where rays went, and which lamps were hidden.
struct Recorder<'a> {
    world: BruteForce<'a>,
    log: Mutex<Vec<String>>,
}

impl<'a> Recorder<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self { world: BruteForce::new(scene), log: Mutex::default() }
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl RayQuery for Recorder<'_> {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        let met = self.world.trace(ray);
        let what = met.as_ref().map_or("leaves".to_owned(), |hit| format!("meets {}", hit.surface.index()));
        self.log.lock().unwrap().push(what);
        met
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        let through = self.world.blocked(ray);
        self.log.lock().unwrap().push(if through.is_blocked() { "shadow" } else { "light" }.to_owned());
        through
    }

    fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        self.world.all_hits(ray)
    }
}

#[test]
fn the_tree_of_rays_is_the_one_that_textbooks_draw() {
    // A half clear plane that bends nothing, a metal ball behind it, and a matt ball that hides the second lamp from both.
    let plane =
        shapes::quad("plane", [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]].map(Vec3::from));
    let veil = Material { perceptual_roughness: 0.0, ..Material::diffuse("veil", Vec3::splat(0.5)) };
    let veil = veil.with_glass(Glass { transmission: 0.5, ior: 1.0, absorption: Vec3::ZERO });
    let ball = |name: &str, centre: Vec3| {
        let mut ball = shapes::icosphere(name, 0.5, 2);
        ball.positions.iter_mut().for_each(|position| *position += centre);
        ball
    };
    let mut scene = scene_of([
        (plane, veil),
        (ball("metal", Vec3::new(0.3, 0.0, -2.0)), white_metal(0.0)),
        (ball("matt", Vec3::new(-1.5, 0.0, 1.5)), Material::diffuse("matt", Vec3::splat(0.5))),
    ])
    .with_solid_glass();
    scene.lights = vec![lamp(Vec3::new(1.0, 4.0, 1.0), 100.0), lamp(Vec3::new(-3.0, 0.0, 3.0), 100.0)];
    let (world, lights) = (Recorder::new(&scene), LightSampler::new(&scene));
    let tracer = WhittedTracer::new(&scene, &world, &lights);
    tracer.trace(&Ray::new(Vec3::new(0.0, 0.0, 5.0), Vec3::NEG_Z), 0, 0);
    // R0, S1, S2 (hidden), T0, S3, S4 (hidden), T1.
    assert_eq!(world.log(), ["meets 0", "light", "shadow", "meets 1", "light", "shadow", "leaves"]);
}

#[test]
fn rays_between_mirrors_end_when_they_count_too_little() {
    let half = Material { base_color: glam::Vec4::new(0.5, 0.5, 0.5, 1.0), ..white_metal(0.0) };
    let mut scene = scene_of([(shapes::inside_out(shapes::cuboid("room", Vec3::NEG_ONE, Vec3::ONE)), half)]);
    scene.lights.clear();
    let (world, lights) = (Recorder::new(&scene), LightSampler::new(&scene));
    WhittedTracer::new(&scene, &world, &lights).trace(&Ray::new(Vec3::ZERO, Vec3::X), 0, 0);
    // Weights 1, 1/2, ... 1/256 are followed, 1/512 is not.
    assert_eq!(world.log().len(), 9);
    let white = Scene { materials: vec![white_metal(0.0)], ..scene.clone() };
    let (world, lights) = (Recorder::new(&white), LightSampler::new(&white));
    WhittedTracer::new(&white, &world, &lights).trace(&Ray::new(Vec3::ZERO, Vec3::X), 0, 0);
    assert_eq!(world.log().len(), MOST_BOUNCES as usize + 1, "perfect mirrors end too");
}

fn radiance(scene: &Scene, ray: &Ray, samples: u32) -> Vec3 {
    let (world, lights) = (BruteForce::new(scene), LightSampler::new(scene));
    crate::pathtrace::fixtures::mean_radiance(&WhittedTracer::new(scene, &world, &lights), ray, samples)
}

#[test]
fn shadows_are_as_dark_as_the_lamps_that_are_hidden() {
    let floor = (shapes::floor("floor", 8.0), Material::diffuse("floor", Vec3::splat(0.5)));
    let screen = (
        shapes::cuboid("screen", Vec3::new(0.9, 0.4, -0.5), Vec3::new(1.1, 0.6, 0.5)),
        Material::diffuse("s", Vec3::ZERO),
    );
    let mut scene = scene_of([floor, screen]);
    scene.lights = vec![lamp(Vec3::new(2.0, 1.0, 0.0), 10.0), lamp(Vec3::new(-2.0, 1.0, 0.0), 20.0)];
    let found = radiance(&scene, &toward(Vec3::new(0.0, 2.0, 2.0), Vec3::ZERO), 1);
    assert_close(found, Vec3::splat(0.5 / PI * 20.0 / 5.0f32.powf(1.5)), 1e-4, "one lamp of two");
}

#[test]
fn a_mirror_shows_the_lit_wall_and_glass_the_sky() {
    let mut scene = scene_of([(shapes::floor("floor", 4.0), white_metal(0.0))]);
    scene.sky = Sky::Uniform(Vec3::new(1.0, 2.0, 3.0));
    let found = radiance(&scene, &toward(Vec3::new(-1.0, 1.0, 0.0), Vec3::ZERO), 4);
    // Facets as rough as the smoothest material lose next to nothing, and what they scatter twice comes from the sky too.
    assert_close(found, Vec3::new(1.0, 2.0, 3.0), 0.01, "mirror");
    let mut scene = scene_of([(
        shapes::cuboid("slab", Vec3::new(-4.0, -0.1, -4.0), Vec3::new(4.0, 0.1, 4.0)),
        clear_glass(1.5, Vec3::ZERO),
    )])
    .with_solid_glass();
    scene.sky = Sky::Uniform(Vec3::ONE);
    // A little is mirrored too often to be followed.
    assert_close(radiance(&scene, &toward(Vec3::Y * 2.0, Vec3::ZERO), 4), Vec3::ONE, 0.01, "glass");
}

#[test]
fn matt_walls_get_direct_light_alone() {
    let scene = builtin::build("cornell_empty").unwrap();
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let ray = toward(Vec3::new(0.0, 0.0, 0.9), Vec3::new(0.7, -1.0, -0.5));
    let direct = crate::pathtrace::PathTracer::new(&scene, &world, &lights, Some(1));
    let expected = crate::pathtrace::fixtures::mean_radiance(&direct, &ray, 4096);
    assert_close(radiance(&scene, &ray, 4096), expected, 0.01, "floor");
}
