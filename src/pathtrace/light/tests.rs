use std::sync::Arc;

use glam::{Quat, UVec2};

use super::*;
use crate::accel::{BruteForce, Preset, World};
use crate::builtin_scenes;
use crate::pathtrace::fixtures::*;
use crate::pathtrace::{Film, PixelFilter, RenderSettings, render, render_from_lights};
use crate::progress::Unmonitored;
use crate::scene::{Camera, Light, LightKind, Material, MeshData, Sky, luminance, shapes};

#[derive(Clone, Copy, PartialEq)]
enum By {
    Path,
    Light,
    Hybrid,
}

fn draw(scene: &Scene, view: &View, by: By, samples: u32) -> Film {
    let scene = Arc::new(scene.clone());
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
    let settings = RenderSettings { samples, seed: 3, ..Default::default() };
    match by {
        By::Path => render(&PathTracer::new(&scene, &world, &lights, None), view, &settings, &Unmonitored),
        By::Light => {
            render_from_lights(&LightTracer::new(&scene, &world, &lights, None), view, &settings, &Unmonitored).film
        }
        By::Hybrid => {
            render_from_lights(&LightTracer::hybrid(&scene, &world, &lights, None), view, &settings, &Unmonitored).film
        }
    }
}

fn view(eye: [f32; 3], target: [f32; 3], fov: f32, size: [u32; 2]) -> View {
    let camera = Camera::looking_at(Vec3::from(eye), Vec3::from(target), fov).unwrap();
    View { camera, size: UVec2::from(size), lens: None, filter: PixelFilter::Tent }
}

fn mean(film: &Film) -> Vec3 {
    film.pixels().iter().map(|pixel| pixel.radiance).sum::<Vec3>() / film.pixels().len() as f32
}

/// Returns the mean luminance of each block of 4 x 4 pixels.
fn blocks(film: &Film) -> Vec<f32> {
    let [width, height] = film.size().to_array().map(|edge| edge as usize);
    let mut means = vec![0.0; width / 4 * (height / 4)];
    for (index, pixel) in film.pixels().iter().enumerate() {
        means[index / width / 4 * (width / 4) + index % width / 4] += luminance(pixel.radiance) / 16.0;
    }
    means
}

/// Asserts that two films agree: in total, and block by block relative to the total.
fn assert_same(found: &Film, expected: &Film, whole: f32, part: f32, what: &str) {
    assert_close(mean(found), mean(expected), whole, what);
    let scale = luminance(mean(expected));
    for (index, (found, expected)) in blocks(found).into_iter().zip(blocks(expected)).enumerate() {
        let difference = (found - expected).abs() / scale.max(expected);
        assert!(difference < part, "{what}, block {index}: {found}, not {expected}");
    }
}

fn cornell_view() -> View {
    view([0.0, 0.0, 3.9], [0.0; 3], 39.3077f32.to_radians(), [24, 24])
}

#[test]
fn the_cornell_box_looks_the_same_from_both_ends_of_its_paths() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let expected = draw(&scene, &cornell_view(), By::Path, 512);
    for by in [By::Light, By::Hybrid] {
        assert_same(&draw(&scene, &cornell_view(), by, 512), &expected, 0.01, 0.06, "Cornell");
    }
}

#[test]
fn threads_do_not_change_a_bit_of_what_light_paths_draw() {
    let scene = builtin_scenes::build("glass_and_mirrors").unwrap().with_solid_glass();
    let view = view([0.0, 1.4, 5.0], [0.0, 1.2, 0.0], 0.8, [48, 40]);
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| draw(&scene, &view, By::Hybrid, 2))
    };
    assert_eq!(with_threads(1), with_threads(3));
}

/// Returns a floor with a block on it.
fn yard() -> Scene {
    scene_of([
        (shapes::floor("floor", 6.0), Material::diffuse("floor", Vec3::new(0.8, 0.6, 0.4))),
        (
            shapes::cuboid("block", Vec3::new(-0.4, 0.0, -0.4), Vec3::new(0.4, 0.9, 0.4)),
            Material::diffuse("block", Vec3::splat(0.7)),
        ),
    ])
}

#[test]
fn lights_of_every_kind_send_out_what_paths_from_the_eye_find() {
    let down = Vec3::new(0.3, -0.8, -0.2).normalize();
    let position = Vec3::new(-1.0, 2.0, 0.8);
    let kinds = [
        LightKind::Point { position, intensity: Vec3::splat(10.0), radius: 0.05, range: 4.0 },
        LightKind::Spot {
            position,
            direction: down,
            intensity: Vec3::new(20.0, 10.0, 5.0),
            radius: 0.0,
            range: f32::INFINITY,
            inner_angle: 0.3,
            outer_angle: 0.7,
        },
        LightKind::Directional { direction: down, illuminance: Vec3::splat(5.0), angular_diameter: 0.02 },
        LightKind::Rectangle {
            center: position,
            half_width: Vec3::X * 0.4,
            half_height: Vec3::Z * 0.3,
            normal: Vec3::NEG_Y,
            radiance: Vec3::splat(20.0),
        },
    ];
    let mut scenes: Vec<Scene> =
        kinds.into_iter().map(|kind| Scene { lights: vec![Light { name: "light".into(), kind }], ..yard() }).collect();
    scenes.push(Scene { sky: Sky::Uniform(Vec3::new(1.0, 2.0, 3.0)), ..yard() });
    scenes.push(Scene { sky: patchy_sky(5, 1.0, Quat::from_rotation_y(1.0)), ..yard() });
    let cloth = Material { emission: Vec3::splat(3.0), ..Material::diffuse("cloth", Vec3::splat(0.3)) };
    let sheet = shapes::quad(
        "sheet",
        [[-1.5, 0.3, -0.5], [-1.5, 0.3, 0.5], [-1.3, 1.3, 0.5], [-1.3, 1.3, -0.5]].map(Vec3::from),
    );
    let mut lit_by_sheet = yard();
    add_part(&mut lit_by_sheet, sheet, cloth).sides = crate::scene::Sides::Both;
    scenes.push(lit_by_sheet);
    let view = view([0.5, 3.0, 3.0], [0.0, 0.2, 0.0], 0.8, [16, 12]);
    for (index, scene) in scenes.iter().enumerate() {
        let expected = draw(scene, &view, By::Path, 128);
        let found = draw(scene, &view, By::Light, 1024);
        assert_same(&found, &expected, 0.025, 0.12, &format!("light {index}"));
    }
}

#[test]
fn an_integrating_sphere_has_the_radiance_that_is_right() {
    for (reflectance, edge) in [(0.5, 0.4), (0.8, 0.25)] {
        let scene = builtin_scenes::sphere(4, reflectance, 0.0);
        // A part of the wall within a cone about the top emits light, and reflects as the rest does.
        let ball = scene.meshes[0].clone();
        let (mut lamp, mut wall) = (MeshData::clone(&ball), MeshData::clone(&ball));
        let is_top =
            |triangle: &[u32; 3]| triangle.iter().all(|&corner| ball.positions[corner as usize].y > 1.0 - edge);
        lamp.triangles.retain(is_top);
        wall.triangles.retain(|triangle| !is_top(triangle));
        let diffuse = Material::diffuse("wall", Vec3::splat(reflectance));
        let shining = Material { emission: Vec3::ONE, ..diffuse.clone() };
        let scene = scene_of([(wall, diffuse), (lamp, shining)]);
        let area =
            |id| (0..scene.mesh_of(id).triangles.len() as u32).map(|it| scene.triangle(id, it).area()).sum::<f32>();
        let [wall, lamp] = [0, 1].map(|id| area(crate::geometry::SurfaceId(id)));
        let expected = reflectance * lamp / (wall + lamp) / (1.0 - reflectance);
        let view = view([0.1, 0.0, 0.0], [0.3, -0.4, -1.0], 1.0, [12, 12]);
        let found = mean(&draw(&scene, &view, By::Light, 400)).x;
        assert!((found / expected - 1.0).abs() < 0.02, "{found}, not {expected}");
    }
}

#[test]
fn smooth_normals_on_coarse_facets_are_as_bright_from_both_ends() {
    let ball = shapes::icosphere("ball", 1.0, 1);
    let mut scene = scene_of([(ball, Material::diffuse("ball", Vec3::splat(0.8)))]);
    scene.lights.push(lamp(Vec3::new(2.0, 2.0, 2.0), 50.0));
    let view = view([0.0, 0.5, 4.0], [0.0; 3], 0.5, [16, 16]);
    let expected = draw(&scene, &view, By::Path, 128);
    assert_same(&draw(&scene, &view, By::Light, 2048), &expected, 0.02, 0.1, "ball");
}

/// Returns a floor, optionally a glass ball above, and a lamp straight overhead.
fn burning_glass(with_ball: bool) -> Scene {
    let mut ball = shapes::icosphere("ball", 0.5, 5);
    ball.positions.iter_mut().for_each(|position| *position += Vec3::Y * 0.9);
    let panel =
        shapes::quad("panel", [[-0.2, 3.0, -0.2], [0.2, 3.0, -0.2], [0.2, 3.0, 0.2], [-0.2, 3.0, 0.2]].map(Vec3::from));
    let glow = Material { emission: Vec3::splat(100.0), ..Material::diffuse("glow", Vec3::ZERO) };
    let floor = (shapes::floor("floor", 4.0), Material::diffuse("floor", Vec3::splat(0.5)));
    let glass = (ball, clear_glass(1.5, Vec3::ZERO));
    let parts = if with_ball { vec![floor, (panel, glow), glass] } else { vec![floor, (panel, glow)] };
    scene_of(parts).with_solid_glass()
}

#[test]
fn light_paths_find_the_caustic_of_a_ball_of_glass_with_its_energy() {
    // The view looks along the floor below the ball.
    let view = view([0.0, 0.35, 1.6], [0.0, 0.0, 0.0], 0.22, [16, 16]);
    let [with, without] = [true, false].map(|with_ball| draw(&burning_glass(with_ball), &view, By::Light, 600));
    let brightest = |film: &Film| blocks(film).into_iter().fold(0.0, f32::max);
    assert!(brightest(&with) > 2.0 * brightest(&without), "{} {}", brightest(&with), brightest(&without));
    // Camera paths find a lamp of finite size too, and must give an equal result.
    let expected = draw(&burning_glass(true), &view, By::Path, 2048);
    for by in [By::Light, By::Hybrid] {
        assert_same(&draw(&burning_glass(true), &view, by, 600), &expected, 0.03, 0.12, "caustic");
    }
}

#[test]
fn a_room_that_glows_all_over_has_the_radiance_that_is_right() {
    for reflectance in [0.3, 0.6] {
        let scene = builtin_scenes::sphere(2, reflectance, 2.0);
        let expected = Vec3::splat(2.0 / (1.0 - reflectance));
        let view = view([0.1, 0.0, 0.0], [0.3, -0.4, -1.0], 1.0, [8, 8]);
        for by in [By::Path, By::Light, By::Hybrid] {
            assert_close(mean(&draw(&scene, &view, by, 400)), expected, 0.02, "furnace");
        }
    }
}

#[test]
fn only_light_paths_find_the_caustic_of_a_lamp_without_extent_and_all_of_its_energy() {
    let mut with_point = burning_glass(true);
    let mut with_speck = with_point.clone();
    let edge = 0.02;
    for position in &mut Arc::make_mut(&mut with_speck.meshes[1]).positions {
        position.x *= edge / 0.4;
        position.z *= edge / 0.4;
    }
    let candela = 100.0 * edge * edge;
    with_point.surfaces.remove(1);
    with_point.lights.push(lamp(Vec3::Y * 3.0, candela));
    let view = view([0.0, 0.35, 1.6], [0.0, 0.0, 0.0], 0.22, [16, 16]);
    let [point, speck] = [&with_point, &with_speck].map(|scene| mean(&draw(scene, &view, By::Light, 600)).x);
    // The spot is slightly dimmer away from its center, by the cosine.
    assert!((point / speck - 1.0).abs() < 0.03, "{point} and {speck}");
    let by_path = mean(&draw(&with_point, &view, By::Path, 64)).x;
    assert!(by_path < 0.3 * point, "{by_path} of {point}");
}

#[test]
fn mirrors_are_black_to_light_paths_alone_and_right_in_a_hybrid() {
    let mut scene = burning_glass(true);
    scene.materials[0] = white_metal(0.0);
    scene.sky = Sky::Uniform(Vec3::ONE);
    let view = view([0.0, 2.0, 3.0], [0.0, 0.0, -0.5], 0.3, [8, 8]);
    assert!(mean(&draw(&scene, &view, By::Light, 8)).x < 0.05);
    assert_same(&draw(&scene, &view, By::Hybrid, 64), &draw(&scene, &view, By::Path, 64), 0.02, 0.1, "mirror");
}

#[test]
fn frosted_glass_is_right_in_a_hybrid() {
    let mut scene = burning_glass(true);
    scene.materials[0].perceptual_roughness = 0.7;
    scene.lights.clear();
    scene.sky = Sky::Uniform(Vec3::ONE);
    let view = view([0.0, 2.0, 3.0], [0.0, 0.0, -0.5], 0.3, [8, 8]);
    assert_same(
        &draw(&scene, &view, By::Hybrid, 1024),
        &draw(&scene, &view, By::Path, 4096),
        0.02,
        0.1,
        "frosted glass",
    );
}

#[test]
fn turns_end_in_the_dark_and_at_the_tolerance() {
    let mut scene = yard();
    let film = draw(&scene, &cornell_view(), By::Hybrid, 5);
    assert_eq!((film.samples(), mean(&film)), (5, Vec3::ZERO));
    scene.lights.push(lamp(Vec3::new(0.0, 2.0, 1.0), 10.0));
    let scene = Arc::new(scene);
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
    let tracer = LightTracer::hybrid(&scene, &world, &lights, None);
    let view = view([0.0, 2.0, 3.0], [0.0; 3], 0.5, [8, 8]);
    let passes = |tolerance| {
        let settings = RenderSettings { samples: 100_000, tolerance: Some(tolerance), ..Default::default() };
        render_from_lights(&tracer, &view, &settings, &Unmonitored).film.samples()
    };
    let [coarse, fine] = [0.1, 0.001].map(passes);
    assert!(coarse < fine && fine < 100_000, "{coarse} {fine}");
}

#[test]
fn a_lens_blurs_light_paths_as_it_blurs_rays() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let lens = Some(crate::pathtrace::Lens { radius: 0.15, focus: 3.0 });
    let view = View { lens, ..cornell_view() };
    assert_same(&draw(&scene, &view, By::Light, 400), &draw(&scene, &view, By::Path, 400), 0.015, 0.07, "lens");
}

#[test]
fn one_bounce_of_light_paths_is_direct_light() {
    let mut scene = yard();
    scene.lights.push(lamp(Vec3::Y * 2.0, 10.0));
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let view = view([1.0, 2.0, 2.0], [0.2, 0.3, 0.2], 0.8, [12, 12]);
    let settings = RenderSettings { samples: 400, ..Default::default() };
    let found =
        render_from_lights(&LightTracer::new(&scene, &world, &lights, Some(1)), &view, &settings, &Unmonitored).film;
    let direct = PathTracer::new(&scene, &world, &lights, Some(1));
    let expected = render(&direct, &view, &RenderSettings { samples: 32, ..settings }, &Unmonitored);
    assert_same(&found, &expected, 0.02, 0.12, "direct");
}

#[test]
fn a_vertex_that_four_pixels_share_counts_once() {
    let scene = Arc::new(builtin_scenes::build("cornell_box").unwrap());
    let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
    let tracer = LightTracer::new(&scene, &world, &lights, None);
    let [by_box, by_tent] = [PixelFilter::Box, PixelFilter::Tent].map(|filter| {
        let view = View { filter, ..cornell_view() };
        tracer.light_pass(&view, 0, 1).contributions as f32
    });
    // The tent also takes points that lie half a pixel outside of the picture.
    assert!((by_tent / by_box - 1.0).abs() < 0.15, "{by_box} {by_tent}");
}
