use std::sync::Arc;

use glam::{Affine3A, UVec2, Vec3};

use super::super::GpuTree;
use super::super::context::test_device;
use super::super::tests::{compare, room_camera, room_of_everything};
use super::*;
use crate::accel::{Preset, World};
use crate::geometry::SurfaceId;
use crate::lights::LightSampler;
use crate::pathtrace::fixtures::add_part;
use crate::pathtrace::{self, LightTracer, PixelFilter};
use crate::progress::Unmonitored;
use crate::scene::{Camera, Light, LightKind, Material, Projection, Role, Scene, Sky, shapes};

const SETTINGS: RenderSettings = RenderSettings { samples: 4, time_limit: None, error: None, tolerance: None, seed: 3 };

fn view_of_the_room(filter: PixelFilter) -> View {
    View { camera: room_camera(), size: UVec2::new(40, 32), lens: None, filter }
}

fn on_device(scene: &Scene, view: &View, from_lights: FromLights) -> Option<Film> {
    let gpu = test_device()?;
    let on_gpu = GpuScene::new(&gpu, scene).unwrap();
    Some(render_from_lights(&gpu, &on_gpu, view, from_lights, &SETTINGS, &Unmonitored).unwrap().film)
}

/// Returns pictures of a scene with equal light paths, from the CPU and from the device.
fn pictures(scene: &Scene, view: &View, from_lights: FromLights) -> Option<[Film; 2]> {
    let found = on_device(scene, view, from_lights)?;
    let world = World::build(Arc::new(scene.clone()), Preset::best()).with_movers();
    let lights = LightSampler::with_movers(scene);
    let new = if from_lights.hybrid { LightTracer::hybrid } else { LightTracer::new };
    let tracer = new(scene, &world, &lights, from_lights.max_bounces);
    Some([pathtrace::render_from_lights(&tracer, view, &SETTINGS, &Unmonitored).film, found])
}

/// Asserts that most pixels differ by rounding only. A path that diverges at an edge changes only its own few pixels.
#[track_caller]
fn assert_alike(films: &[Film; 2]) {
    let (median, far, mean) = compare(films);
    assert!(films[0].pixels().iter().any(|pixel| pixel.radiance != Vec3::ZERO));
    assert!(median < 1e-5 && far < 0.06 && mean < 2e-3, "median {median}, {far} of the pixels far, means {mean}");
}

#[test]
fn light_of_every_kind_reaches_the_same_pixels_as_on_the_cpu() {
    let scene = room_of_everything();
    let view = view_of_the_room(PixelFilter::Tent);
    for hybrid in [false, true] {
        let Some(films) = pictures(&scene, &view, FromLights { hybrid, ..Default::default() }) else { return };
        assert_alike(&films);
    }
}

#[test]
fn an_even_sky_shines_into_a_view_without_perspective_as_on_the_cpu() {
    let mut scene = room_of_everything();
    scene.sky = Sky::Uniform(Vec3::new(1.0, 2.0, 3.0));
    let camera = Camera { projection: Projection::Orthographic { height: 2.2 }, ..room_camera() };
    let view = View { camera, ..view_of_the_room(PixelFilter::Box) };
    let Some(films) = pictures(&scene, &view, FromLights { max_bounces: Some(3), ..Default::default() }) else {
        return;
    };
    assert_alike(&films);
}

#[test]
fn a_lens_blurs_light_paths_on_the_device_as_on_the_cpu() {
    let scene = crate::builtin_scenes::build("cornell_box").unwrap();
    let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 0.7).unwrap();
    let lens = Some(pathtrace::Lens { radius: 0.15, focus: 3.0 });
    let view = View { camera, lens, ..view_of_the_room(PixelFilter::Tent) };
    let Some(films) = pictures(&scene, &view, FromLights { hybrid: true, ..Default::default() }) else { return };
    assert_alike(&films);
}

#[test]
fn the_order_of_threads_changes_no_bit_and_sums_that_do_not_fit_are_made_again_in_coarser_units() {
    let Some(gpu) = test_device() else { return };
    let scene = room_of_everything();
    let on_gpu = GpuScene::new(&gpu, &scene).unwrap();
    let view = view_of_the_room(PixelFilter::Box);
    let from_lights = FromLights::default();
    let drawn_in = |finer: f32| {
        let mut picture = Picture::new(&gpu, &on_gpu, &view, from_lights, 3).unwrap();
        picture.deposits.units *= finer;
        picture.add(PassKind::Light).unwrap();
        (picture.deposits.units, picture.contributions, picture.sum().unwrap())
    };
    let (units, contributions, expected) = drawn_in(1.0);
    let radiances = |film: &Film| film.pixels().iter().map(|pixel| pixel.radiance).collect::<Vec<_>>();
    assert_eq!(radiances(&expected), radiances(&drawn_in(1.0).2));
    let (coarser, again, found) = drawn_in(f32::exp2(40.0));
    assert!(coarser < units * f32::exp2(40.0) && contributions == again, "{coarser} {contributions} {again}");
    let (_, far, mean) = compare(&[expected, found]);
    assert!(far < 0.01 && mean < 1e-6, "{far} {mean}");
}

#[test]
fn nothing_is_followed_where_nothing_shines() {
    let mut scene = room_of_everything();
    scene.lights.clear();
    scene.sky = Sky::Dark;
    scene.materials.iter_mut().for_each(|material| material.emission = Vec3::ZERO);
    let view = view_of_the_room(PixelFilter::Box);
    let Some(film) = on_device(&scene, &view, FromLights { hybrid: true, ..Default::default() }) else { return };
    assert!(film.samples() == 4 && film.pixels().iter().all(|pixel| pixel.radiance == Vec3::ZERO));
}

#[test]
fn a_mover_that_leaves_the_bounds_of_a_scene_is_in_the_sun_there() {
    let Some(gpu) = test_device() else { return };
    let mut scene = Scene::default();
    add_part(&mut scene, shapes::floor("floor", 2.0), Material::default());
    add_part(&mut scene, shapes::floor("plate", 2.0), Material::diffuse("gray", Vec3::splat(0.5))).role = Role::Mover;
    let kind =
        LightKind::Directional { direction: Vec3::NEG_Y, illuminance: Vec3::splat(1000.0), angular_diameter: 0.0 };
    scene.lights = vec![Light { name: "sun".into(), kind }];
    let trees = GpuTree::build(&scene, &Preset::narrow());
    let on_gpu = GpuScene::with_tree(&gpu, &scene, &trees).unwrap();
    let place = Vec3::new(6.0, 1.0, 0.0);
    scene.surfaces[1].to_world = Affine3A::from_translation(place);
    on_gpu.movers().place(&scene, &trees, [SurfaceId(1)]).write(&gpu);

    let above = Camera::looking_at(place + Vec3::Y, place, 1.0).unwrap();
    let camera = Camera { projection: Projection::Orthographic { height: 1.0 }, ..above };
    let view = View { camera, size: UVec2::splat(32), lens: None, filter: PixelFilter::Box };
    let settings = RenderSettings { samples: 16, ..SETTINGS };
    let film = render_from_lights(&gpu, &on_gpu, &view, FromLights::default(), &settings, &Unmonitored).unwrap().film;
    let mean = film.pixels().iter().map(|pixel| pixel.radiance.x).sum::<f32>() / film.pixels().len() as f32;
    // Of 16,384 paths over a disc of 65 m2, some 250 hit the square meter that the camera sees.
    let expected = 0.5 * 1000.0 / core::f32::consts::PI;
    assert!((mean / expected - 1.0).abs() < 0.2, "{mean}, not {expected} cd/m2");
}
