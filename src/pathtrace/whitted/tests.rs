use std::sync::Mutex;

use glam::UVec3;

use super::*;
use crate::accel::BruteForce;
use crate::builtin_scenes;
use crate::geometry::{Aabb, Escaped, Hit, Transmittance};
use crate::lightmap::{Layout, LayoutSettings, Page, Voxels};
use crate::pathtrace::fixtures::{assert_close, clear_glass, lamp, scene_of, toward, white_metal};
use crate::progress::Unmonitored;
use crate::scene::{Glass, Material, Role, shapes};

/// Ray query that logs its calls: where rays went, and which lamps were occluded.
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
        let traced = self.world.trace(ray);
        let what = traced.as_ref().map_or("leaves".to_owned(), |hit| format!("meets {}", hit.surface.index()));
        self.log.lock().unwrap().push(what);
        traced
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
    // A half-transparent plane without refraction, a metal ball behind, and a diffuse ball that hides the second lamp
    // from both.
    let plane =
        shapes::quad("plane", [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]].map(Vec3::from));
    let veil = Material { perceptual_roughness: 0.0, ..Material::diffuse("veil", Vec3::splat(0.5)) };
    let veil = veil.with_glass(Glass { transmission: 0.5, ior: 1.0, absorption: Vec3::ZERO });
    let ball = |name: &str, center: Vec3| {
        let mut ball = shapes::icosphere(name, 0.5, 2);
        ball.positions.iter_mut().for_each(|position| *position += center);
        ball
    };
    let mut scene = scene_of([
        (plane, veil),
        (ball("metal", Vec3::new(0.3, 0.0, -2.0)), white_metal(0.0)),
        (ball("diffuse", Vec3::new(-1.5, 0.0, 1.5)), Material::diffuse("diffuse", Vec3::splat(0.5))),
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
    assert_eq!(world.log().len(), MAX_BOUNCES as usize + 1, "perfect mirrors end too");
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
    // Facets at the minimum roughness lose next to nothing, and doubly scattered light comes from the sky too.
    assert_close(found, Vec3::new(1.0, 2.0, 3.0), 0.01, "mirror");
    let mut scene = scene_of([(
        shapes::cuboid("slab", Vec3::new(-4.0, -0.1, -4.0), Vec3::new(4.0, 0.1, 4.0)),
        clear_glass(1.5, Vec3::ZERO),
    )])
    .with_solid_glass();
    scene.sky = Sky::Uniform(Vec3::ONE);
    // Rays reflected too often are dropped, which loses a little light.
    assert_close(radiance(&scene, &toward(Vec3::Y * 2.0, Vec3::ZERO), 4), Vec3::ONE, 0.01, "glass");
}

#[test]
fn diffuse_walls_get_direct_light_alone() {
    let scene = builtin_scenes::build("cornell_empty").unwrap();
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let ray = toward(Vec3::new(0.0, 0.0, 0.9), Vec3::new(0.7, -1.0, -0.5));
    let direct = crate::pathtrace::PathTracer::new(&scene, &world, &lights, Some(1));
    let expected = crate::pathtrace::fixtures::mean_radiance(&direct, &ray, 4096);
    assert_close(radiance(&scene, &ray, 4096), expected, 0.01, "floor");
}

#[test]
fn light_that_lightmaps_and_volume_hold_is_read_and_only_what_they_lack_is_sampled() {
    let quad = |name: &str, x: f32| {
        shapes::quad(
            name,
            [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]
                .map(|[u, v, z]| Vec3::new(u + x, v, z)),
        )
    };
    let gray = || Material::diffuse("gray", Vec3::splat(0.5));
    let mut scene =
        scene_of([(quad("mapped", 0.0), gray()), (quad("small", 10.0), gray()), (quad("far", 20.0), gray())]);
    scene.lights.push(lamp(Vec3::new(10.0, 0.1, 2.0), 4.0 * PI));
    scene.sky = Sky::Uniform(Vec3::ONE);
    scene.surfaces[1].role = Role::Occluder;
    scene.surfaces[2].role = Role::Occluder;
    let (layout, _) = Layout::build(&scene, &LayoutSettings::default(), &Unmonitored).unwrap();
    let pages: Vec<Page> = layout
        .pages
        .iter()
        .map(|&size| Page {
            texels: vec![Vec3::splat(8.0); size.width as usize * size.height as usize],
            ..Page::new(size)
        })
        .collect();
    let bounds = Aabb { min: Vec3::new(8.0, -2.0, -1.0), max: Vec3::new(12.0, 2.0, 1.0) };
    let volume = Voxels { bounds, count: UVec3::ONE, values: vec![[Vec3::splat(4.0); 6]] };
    let world = BruteForce::new(&scene);
    let lights = LightSampler::new(&scene);
    let baked = BakedIrradiance { layout: &layout, pages: &pages, volume: Some(&volume), has_direct: true };
    // Pages and volumes hold irradiance over pi, half of which is reflected, as half of the sky's. The lamp is two meters
    // above the small quad, and ten to the side of the others.
    let (below, aside) = (0.5, 0.5 * 4.0 * 2.0 / 104.0_f32.powf(1.5));
    for (has_direct, expected) in
        [(true, [4.0, 2.0 + below, 0.5 + aside]), (false, [4.0 + 0.5 + aside, 2.0 + below, 0.5 + aside])]
    {
        let baked = BakedIrradiance { has_direct, ..baked };
        let tracer = WhittedTracer::new(&scene, &world, &lights).with_baked_irradiance(baked);
        for (x, expected) in [0.0, 10.0, 20.0].into_iter().zip(expected) {
            let found = tracer.trace(&Ray::new(Vec3::new(x, 0.1, 5.0), Vec3::NEG_Z), 0, 0).radiance.x;
            assert!((found - expected).abs() < 1e-4, "{x}, {has_direct}: {found}, not {expected}");
        }
    }
}
