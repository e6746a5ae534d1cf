//! Tests of edge cases that must not disturb a live view or the app.

use bevy::camera::{RenderTarget, SubCameraView};
use bevy::image::ToExtents;
use bevy::prelude::*;
use bevy::render::error_handler::{RenderErrorHandler, RenderErrorPolicy};
use bevy::render::render_resource::PollType;
use bevy::render::renderer::RenderDevice;
use bevy::render::settings::RenderCreation;
use bevy::window::{PrimaryWindow, WindowResolution};
use bevy_radiosity::prelude::*;

use super::{
    SIZE, generous, spawn_glowing_box, spawn_live_camera, spawn_live_camera_for, spawn_picture, status,
    wait_for_samples, wait_for_samples_of,
};
use crate::app::*;
use crate::said::{listen, said};

#[test]
fn pictures_without_pixels_or_of_another_size_are_no_trouble() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    for size in [UVec2::new(64, 200), UVec2::ONE, UVec2::new(301, 7)] {
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        images.get_mut(&picture).unwrap().resize(size.to_extents());
        wait_for_samples_of(&mut app, camera, size, 2);
        assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
    }
    for size in [UVec2::ZERO, UVec2::new(0, 7), UVec2::ONE] {
        app.world_mut().entity_mut(camera).insert(RenderTarget::None { size });
        tick_app_times(&mut app, 5);
    }
    app.world_mut().entity_mut(camera).insert(RenderTarget::Image(picture.clone().into()));
    app.world_mut().get_mut::<Camera>(camera).unwrap().is_active = false;
    tick_app_times(&mut app, 5);
    app.world_mut().get_mut::<Camera>(camera).unwrap().is_active = true;
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

#[test]
fn what_cannot_be_traced_leaves_bevys_picture_and_the_app_alive() {
    let Some(mut app) = create_drawing_app() else { return };
    let (shell, _) = spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    let place = |app: &mut App, entity, x| {
        app.world_mut().get_mut::<Transform>(entity).unwrap().translation.x = x;
        tick_app_times(app, 10);
    };
    place(&mut app, camera, f32::NAN);
    assert_eq!(status(&app, camera).samples, 0);
    place(&mut app, camera, 0.0);
    place(&mut app, shell, f32::INFINITY);
    place(&mut app, shell, 0.0);
    let part = SubCameraView { full_size: SIZE, offset: Vec2::ZERO, size: SIZE / 2 };
    app.world_mut().get_mut::<Camera>(camera).unwrap().sub_camera_view = Some(part);
    tick_app_times(&mut app, 5);
    assert_eq!(status(&app, camera).samples, 0);
    app.world_mut().get_mut::<Camera>(camera).unwrap().sub_camera_view = None;
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);

    for settings in [
        LiveView { frame_budget: f32::NAN, render_scale: f32::NAN, bounces: u32::MAX, ..generous() },
        LiveView { frame_budget: -1.0, render_scale: -1.0, bounces: 0, ..generous() },
        LiveView { frame_budget: 0.0, render_scale: 0.5, ..generous() },
    ] {
        *app.world_mut().get_mut::<LiveView>(camera).unwrap() = settings;
        tick_app_times(&mut app, 10);
        assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
    }
    app.world_mut().despawn(shell);
    assert_shows(&mut app, &picture, "nothing is left", |seen| seen == Vec3::ZERO);
}

#[test]
fn two_thousand_lamps_light_as_much_as_one_that_is_as_bright_as_all() {
    let Some(mut app) = create_drawing_app() else { return };
    const LAMPS: u32 = 2000;
    let (_, lamp) = spawn_lit_floor(&mut app, 100.0, 400.0);
    let mut light = *app.world().get::<PointLight>(lamp).unwrap();
    let place = *app.world().get::<Transform>(lamp).unwrap();
    app.world_mut().despawn(lamp);
    light.intensity /= LAMPS as f32;
    light.shadow_maps_enabled = false;
    let picture = spawn_picture(&mut app, UVec2::splat(8));
    let camera = spawn_live_camera_for(&mut app, &picture, LiveView { bounces: 1, ..generous() }, Msaa::Off);
    let below = Transform::from_xyz(0.0, 1.0, 0.0).looking_at(Vec3::ZERO, Vec3::X);
    let narrow = Projection::Perspective(PerspectiveProjection { fov: 0.01, ..default() });
    app.world_mut().entity_mut(camera).insert((below, narrow));
    for _ in 0..LAMPS {
        app.world_mut().spawn((light, place));
    }
    // Bevy draws the same as soon as it has compiled its own shaders.
    tick_app_until(&mut app, "samples", |app| status(app, camera).samples > 0);
    // 400 cd at 2 m give 100 lx, of which the floor reflects half.
    assert_red(&mut app, &picture, 100.0 * 0.5 / core::f32::consts::PI * exposure(), 2e-3);
    let read = app.world().resource::<SceneStatus>().last_live_rebuild.clone().expect("it was built").read;
    assert_eq!(read.rebuilt.lights, LAMPS as usize);
}

#[test]
fn a_camera_within_walls_or_far_away_shows_something_finite() {
    let Some(mut app) = create_drawing_app() else { return };
    let (shell, _) = spawn_glowing_box(&mut app, 400.0);
    let wall = spawn_material(&mut app, Color::WHITE);
    let brick = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::from_length(1.0));
    app.world_mut().spawn((Mesh3d(brick), MeshMaterial3d(wall)));
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    let full = 400.0 * exposure();
    for (place, expected) in [
        (Vec3::ZERO, 0.0),                     // inside the brick, whose back faces are black
        (Vec3::new(0.0, 0.0, 0.5), f32::NAN),  // on its face, looking in
        (Vec3::new(0.0, 0.0, -0.5), f32::NAN), // on its other face, looking out
        (Vec3::new(3.0, 3.0, 3.0), f32::NAN),  // on a corner of the box
        (Vec3::new(0.0, 0.0, -3.0), f32::NAN), // on its wall
        (Vec3::new(0.0, 0.0, 1e30), f32::NAN), // beyond the precision of floats
        (Vec3::new(f32::MAX, 0.0, 0.0), f32::NAN),
    ] {
        app.world_mut().get_mut::<Transform>(camera).unwrap().translation = place;
        tick_app_times(&mut app, 5);
        assert_shows(&mut app, &picture, &format!("at {place}"), |seen| {
            seen.is_finite() && (expected.is_nan() || (seen.x - expected).abs() <= 2e-3 * full)
        });
    }
    app.world_mut().get_mut::<Transform>(camera).unwrap().translation = Vec3::new(0.0, 0.0, 1.0);

    // Objects without a valid place or size are left out.
    let lamp = app.world_mut().spawn((PointLight::default(), Transform::default())).id();
    for (translation, scale) in [
        (Vec3::NAN, Vec3::ONE),
        (Vec3::INFINITY, Vec3::ONE),
        (Vec3::ZERO, Vec3::NAN),
        (Vec3::ZERO, Vec3::ZERO),
        (Vec3::ZERO, Vec3::splat(1e38)),
    ] {
        for entity in [lamp, shell] {
            *app.world_mut().get_mut::<Transform>(entity).unwrap() = Transform { translation, scale, ..default() };
        }
        tick_app_times(&mut app, 10);
        assert_shows(&mut app, &picture, &format!("{translation} {scale}"), |seen| seen.is_finite());
    }
    for entity in [lamp, shell] {
        *app.world_mut().get_mut::<Transform>(entity).unwrap() = Transform::default();
    }
    app.world_mut().despawn(lamp);
    app.world_mut().get_mut::<Transform>(camera).unwrap().rotate_y(core::f32::consts::PI);
    assert_red(&mut app, &picture, full, 2e-3);
}

#[test]
fn a_normal_map_that_left_the_cpu_is_named_in_a_live_view() {
    listen();
    let Some(mut app) = create_drawing_app() else { return };
    let (shell, material) = spawn_glowing_box(&mut app, 400.0);
    app.world_mut().entity_mut(shell).insert(Name::new("box with bumps"));
    // Bevy gives the data of such an image to the renderer.
    let bumps = Image { asset_usage: bevy::asset::RenderAssetUsages::RENDER_WORLD, ..default() };
    let bumps = app.world_mut().resource_mut::<Assets<Image>>().add(bumps);
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().get_mut(&material).unwrap().normal_map_texture =
        Some(bumps);
    tick_app_times(&mut app, 5);
    let (camera, _) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    let warning = said(&["live view", "normal_map_texture of 'box with bumps'", "MAIN_WORLD"]);
    assert_eq!(warning.len(), 1, "{warning:?}");
    assert!(!warning[0].contains("AssetId"), "{warning:?}");
}

/// Mesh that is spawned and despawned repeatedly.
#[derive(Resource)]
struct Guest {
    material: Handle<StandardMaterial>,
    is_here: Option<(Entity, Handle<Mesh>)>,
    calls: u32,
}

fn come_or_go(mut commands: Commands, mut guest: ResMut<Guest>, mut meshes: ResMut<Assets<Mesh>>) {
    guest.calls += 1;
    // Irregular, so that the view cannot fall into step.
    if guest.calls.wrapping_mul(0x9e37_79b9) >> 31 == 0 {
        return;
    }
    if let Some((entity, mesh)) = guest.is_here.take() {
        commands.entity(entity).despawn();
        meshes.remove(&mesh);
    } else {
        let mesh = meshes.add(Cuboid::from_length(0.1));
        let material = MeshMaterial3d(guest.material.clone());
        let entity = commands.spawn((Mesh3d(mesh.clone()), material, Transform::from_xyz(1.0, 0.0, 0.0))).id();
        guest.is_here = Some((entity, mesh));
    }
}

#[test]
fn what_comes_and_goes_in_the_midst_of_frames_is_no_trouble() {
    let Some(mut app) = create_drawing_app() else { return };
    let (_, material) = spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    app.insert_resource(Guest { material, is_here: None, calls: 0 });
    // Systems at three points of a frame, so that the mesh exists for a part of a frame or for several.
    app.add_systems(First, come_or_go).add_systems(PostUpdate, come_or_go).add_systems(Last, come_or_go);
    let before = status(&app, camera).pictures;
    tick_app_until(&mut app, "new pictures", |app| status(app, camera).pictures > before + 2);
    for _ in 0..3 {
        // Its own image is removed as well.
        let (guest, _) = spawn_live_camera(&mut app, generous(), Msaa::Off);
        tick_app_times(&mut app, 3);
        app.world_mut().despawn(guest);
        tick_app(&mut app);
    }
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

/// Waits until the app holds as many buffers, textures and pipelines of compute shaders as in `wanted`. Threads that build
/// a scene may take a while to end.
pub fn wait_for_graphics(app: &mut App, what: &str, wanted: Graphics) {
    let objects = |of: Graphics| [of.buffers, of.textures, of.compute_pipelines, of.query_sets];
    tick_app_until(app, what, |app| graphics(app).is_some_and(|now| objects(now) == objects(wanted)));
}

#[test]
fn a_live_camera_that_is_removed_at_any_moment_leaves_no_buffers_textures_and_pipelines() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let picture = spawn_picture(&mut app, SIZE);
    let spawn = |app: &mut App| spawn_live_camera_for(app, &picture, generous(), Msaa::Off);
    // Bevy keeps what its first camera needs.
    let first = spawn(&mut app);
    wait_for_samples(&mut app, first, 2);
    let shown = graphics(&app).expect("a renderer");
    app.world_mut().despawn(first);
    tick_app_times(&mut app, 20);
    let rest = graphics(&app).expect("a renderer");
    assert!(rest.buffers < shown.buffers && rest.compute_pipelines < shown.compute_pipelines, "{rest:?} {shown:?}");
    for frames in [0, 1, 2, 4, 8] {
        let camera = spawn(&mut app);
        tick_app_times(&mut app, frames);
        app.world_mut().despawn(camera);
        wait_for_graphics(&mut app, &format!("a rest without a camera of {frames} frames"), rest);
    }
    for _ in 0..2 {
        let camera = spawn(&mut app);
        wait_for_samples(&mut app, camera, 2);
        app.world_mut().entity_mut(camera).remove::<Camera>();
        tick_app_times(&mut app, 5);
        app.world_mut().despawn(camera);
        wait_for_graphics(&mut app, "a rest without a camera that was shown", rest);
    }
    let last = spawn(&mut app);
    wait_for_samples(&mut app, last, 2);
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

#[test]
fn a_window_without_pixels_is_no_trouble() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let minimized = Window { resolution: WindowResolution::new(0, 0), ..default() };
    let window = app.world_mut().spawn((minimized, PrimaryWindow)).id();
    let camera = app.world_mut().spawn((Camera3d::default(), generous())).id();
    tick_app_times(&mut app, 10);
    assert_eq!(status(&app, camera).samples, 0);
    for (columns, rows) in [(64, 36), (0, 36), (1, 1), (0, 0)] {
        app.world_mut().get_mut::<Window>(window).unwrap().resolution.set_physical_resolution(columns, rows);
        tick_app_times(&mut app, 10);
    }
    app.world_mut().despawn(window);
    tick_app_times(&mut app, 5);
}

#[test]
fn an_app_may_end_in_the_midst_of_building_and_tracing() {
    for frames in [1, 3, 6] {
        let Some(mut app) = create_drawing_app() else { return };
        spawn_glowing_box(&mut app, 400.0);
        spawn_live_camera(&mut app, generous(), Msaa::Off);
        tick_app_times(&mut app, frames);
    }
}

#[test]
fn a_device_that_is_lost_is_replaced_and_the_view_goes_on() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 2);
    app.insert_resource(RenderErrorHandler(|_, _, _| RenderErrorPolicy::Recover(RenderCreation::default())));
    let device = app.world().resource::<RenderDevice>().wgpu_device().clone();
    // Bevy itself panics on a device whose loss it has not noticed yet, or while it reads from it.
    device.poll(PollType::wait_indefinitely()).expect("nothing takes so long");
    device.destroy();
    device.poll(PollType::Poll).expect("a device that is polled tells of its loss");
    tick_app_times(&mut app, 5);
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

#[test]
fn without_an_adapter_a_live_view_is_only_warned_about() {
    let mut app = create_world_app();
    spawn_lit_floor(&mut app, 2.0, 100.0);
    let camera = app.world_mut().spawn((Camera3d::default(), LiveView::default())).id();
    tick_app_times(&mut app, 5);
    assert_eq!(status(&app, camera), LiveViewStatus::default());
    app.world_mut().entity_mut(camera).remove::<LiveView>();
    tick_app_times(&mut app, 2);
    app.world_mut().despawn(camera);
    tick_app_times(&mut app, 2);
}
