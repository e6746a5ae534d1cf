//! Comparison of a converged live view with the CPU path tracer.

use bevy::prelude::*;
use bevy_radiosity::accel;
use bevy_radiosity::lights::LightSampler;
use bevy_radiosity::pathtrace::{PathTracer, PixelFilter, RenderSettings, View, render};
use bevy_radiosity::prelude::*;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene;
use bevy_radiosity::scene_files::load_for_pictures;

use super::{generous, spawn_live_camera_for, spawn_picture, wait_for_samples_of};
use crate::app::*;
use crate::files::spawn_file;

/// Returns the mean colors of blocks of 4 x 4 pixels.
fn blocks(size: UVec2, pixel: impl Fn(UVec2) -> Vec3) -> Vec<Vec3> {
    let all = |size: UVec2| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)));
    all(size / 4).map(|block| all(UVec2::splat(4)).map(|place| pixel(4 * block + place)).sum::<Vec3>() / 16.0).collect()
}

#[test]
fn a_still_view_becomes_the_picture_that_the_path_tracer_draws_on_the_processor() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_file(&mut app, "cornell_box.glb");
    let scene = load_for_pictures(&format!("{}/assets/cornell_box.glb", env!("CARGO_MANIFEST_DIR"))).unwrap().scene;
    let bounds = scene.bounds();
    let middle = (bounds.min + bounds.max) * 0.5;
    let eye = middle + Vec3::Z * 1.7 * (bounds.max.z - bounds.min.z);
    let size = UVec2::splat(32);

    let picture = spawn_picture(&mut app, size);
    let live = LiveView { bounces: 8, ..generous() };
    let camera = spawn_live_camera_for(&mut app, &picture, live, Msaa::Off);
    let vertical_fov = 0.7;
    app.world_mut().entity_mut(camera).insert((
        Transform::from_translation(eye).looking_at(middle, Vec3::Y),
        Projection::Perspective(PerspectiveProjection { fov: vertical_fov, ..default() }),
    ));

    let world = accel::World::build(scene.shared().clone(), accel::Preset::best());
    let lights = LightSampler::new(&scene);
    let view = View {
        camera: scene::Camera::looking_at(eye, middle, vertical_fov).unwrap(),
        size,
        lens: None,
        filter: PixelFilter::default(),
    };
    let settings = RenderSettings { samples: 1024, seed: 77, ..default() };
    let film = render(&PathTracer::new(&scene, &world, &lights, Some(8)), &view, &settings, &Unmonitored);
    let truth = blocks(size, |place| film.pixels()[(place.y * size.x + place.x) as usize].radiance);

    // With 64 samples the filter is off.
    wait_for_samples_of(&mut app, camera, size, 64);
    let image = picture_of(&mut app, &picture);
    let seen = blocks(size, |place| color_at(&image, place) / exposure());
    let mean = |blocks: &[Vec3]| blocks.iter().sum::<Vec3>() / blocks.len() as f32;
    let (found, expected) = (mean(&seen), mean(&truth));
    println!("mean {found}, {expected}");
    assert!((found / expected - 1.0).abs().max_element() < 0.02, "{found}, not {expected} cd/m2");
    // The noise of a block of 1,024 paths depends on the variance of its light, seldom above its mean.
    let errors: Vec<f32> = seen.iter().zip(&truth).map(|(a, b)| (a.x + a.y + a.z) / (b.x + b.y + b.z) - 1.0).collect();
    let squares = errors.iter().map(|error| error * error).sum::<f32>() / errors.len() as f32;
    println!("blocks {}", squares.sqrt());
    assert!(squares.sqrt() < 0.05, "{errors:?}");
}
