//! Tests of relit pages that the GPU draws.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, PollType};
use bevy::render::renderer::RenderDevice;
use bevy::render::settings::{WgpuLimits, WgpuSettings};
use bevy_radiosity::bake::BakeSettings;
use bevy_radiosity::prelude::*;

use bevy_radiosity::scene_files;

use crate::app::*;
use crate::relight::{at_once, change, dim_panels, move_to, page_of, relightable, settle, status};
use crate::spawn::spawn_scene;

/// Returns the drawn value of the floor right below a lamp of 4000 cd at 2 m, as in `drawn`.
fn below_lamp() -> f32 {
    0.5 * 1000.0 / core::f32::consts::PI * exposure()
}

fn on(device: DeviceChoice) -> Relight {
    Relight { device, ..at_once() }
}

fn set_device(app: &mut App, device: DeviceChoice) {
    change(app, |app| app.world_mut().resource_mut::<Relight>().device = device);
}

#[test]
fn textures_follow_where_they_are_and_either_device_shows_the_same() {
    let Some(mut app) = create_drawing_app() else { return };
    let picture = spawn_camera(&mut app, Vec3::Y, Vec3::ZERO);
    let (floor, lamp) = spawn_lit_floor(&mut app, 2.0, 4000.0);
    tick_app_times(&mut app, 2);
    app.insert_resource(on(DeviceChoice::Gpu));
    bake(&mut app, relightable(Content::Full)).unwrap();
    settle(&mut app, 0);
    assert!(status(&app).is_on_graphics && status(&app).processor_reason.is_none(), "{:?}", status(&app));
    assert_red(&mut app, &picture, below_lamp(), 0.03);
    let baked = page_of(&app, floor);
    let updates = status(&app).updates;
    tick_app_times(&mut app, 10);
    assert_eq!(status(&app).updates, updates, "nothing is drawn where nothing changes");

    let dim = |app: &mut App, factor: f32| {
        change(app, |app| app.world_mut().get_mut::<PointLight>(lamp).unwrap().intensity *= factor);
    };
    dim(&mut app, 0.25);
    assert_red(&mut app, &picture, 0.25 * below_lamp(), 0.03);
    assert_eq!(page_of(&app, floor), baked, "nothing was uploaded by way of the image");
    set_device(&mut app, DeviceChoice::Cpu);
    assert!(!status(&app).is_on_graphics && status(&app).processor_reason.is_none());
    assert_ne!(page_of(&app, floor), baked);
    assert_red(&mut app, &picture, 0.25 * below_lamp(), 0.03);
    dim(&mut app, 2.0);
    assert_red(&mut app, &picture, 0.5 * below_lamp(), 0.03);
    set_device(&mut app, DeviceChoice::Gpu);
    assert_red(&mut app, &picture, 0.5 * below_lamp(), 0.03);
    // Bevy draws the moved lamp, and pages no longer hold its direct light.
    change(&mut app, |app| move_to(app, lamp, Vec3::new(1.0, 2.0, 0.0)));
    assert_red(&mut app, &picture, 0.5 * below_lamp() * 4.0 / 5.0 * 2.0 / 5f32.sqrt(), 0.06);
    change(&mut app, |app| app.world_mut().resource_mut::<Relight>().enabled = false);
    assert_red(&mut app, &picture, below_lamp(), 0.03);
}

#[test]
fn where_a_door_has_moved_the_level_is_uploaded_anew() {
    let Some(mut app) = create_drawing_app() else { return };
    let picture = spawn_camera(&mut app, Vec3::new(0.0, 0.8, 0.0), Vec3::ZERO);
    spawn_lit_floor(&mut app, 4.0, 4000.0);
    let board = crate::doors::spawn_board(&mut app);
    tick_app_times(&mut app, 2);
    app.insert_resource(on(DeviceChoice::Gpu));
    bake(&mut app, relightable(Content::Full)).unwrap();
    settle(&mut app, 0);
    assert_shows(&mut app, &picture, "the board's shadow", |seen| seen.x < 0.2 * below_lamp());
    change(&mut app, |app| move_to(app, board, crate::doors::ASIDE));
    assert!(status(&app).is_on_graphics);
    assert_red(&mut app, &picture, below_lamp(), 0.05);
    change(&mut app, |app| move_to(app, board, crate::doors::BELOW));
    assert_shows(&mut app, &picture, "the board's shadow", |seen| seen.x < 0.2 * below_lamp());
}

#[test]
fn pages_of_files_follow_in_the_format_that_they_are_stored_in() {
    let Some(mut app) = create_drawing_app() else { return };
    let folder = tempfile::tempdir().unwrap();
    crate::relight::bake_room(folder.path(), Some(50));
    let picture = spawn_camera(&mut app, Vec3::Z, Vec3::ZERO);
    app.insert_resource(on(DeviceChoice::Gpu));
    spawn_scene(app.world_mut(), &scene_files::load("builtin:cornell_box").unwrap().scene);
    let level = baked_level(&app, folder.path()).with_source("builtin:cornell_box");
    app.world_mut().spawn(level);
    tick_app_until_lit(&mut app);
    settle(&mut app, 0);
    assert!(status(&app).is_on_graphics, "{:?}", status(&app));
    tick_app_times(&mut app, 10);
    let shown = |app: &mut App| color_at(&picture_of(app, &picture), UVec2::splat(32)).x;
    let before = shown(&mut app);
    assert!(before > 0.0);
    // All light of the room comes from its panel.
    change(&mut app, |app| dim_panels(app, 0.25));
    assert_red(&mut app, &picture, 0.25 * before, 0.06);
}

/// Returns the reason why the GPU does not draw. Also asserts that pages follow their lights nevertheless.
fn reason_in(mut app: App, device: DeviceChoice) -> String {
    let (floor, lamp) = spawn_lit_floor(&mut app, 4.0, 100.0);
    spawn_wall(&mut app);
    tick_app_times(&mut app, 2);
    app.insert_resource(on(device));
    bake(&mut app, relightable(Content::Indirect)).unwrap();
    settle(&mut app, 0);
    let baked = page_of(&app, floor);
    change(&mut app, |app| move_to(app, lamp, Vec3::new(1.0, 1.0, -1.5)));
    assert_ne!(page_of(&app, floor), baked);
    assert!(!status(&app).is_on_graphics);
    status(&app).processor_reason.clone().expect("a reason")
}

#[test]
fn the_processor_draws_and_the_status_says_why_where_there_is_no_graphics_card() {
    let without = reason_in(create_world_app(), DeviceChoice::Gpu);
    assert!(without.contains("no graphics adapter"), "{without}");
}

#[test]
fn the_processor_draws_where_the_level_is_larger_than_the_graphics_card_lets_shaders_see() {
    if create_drawing_app().is_none() {
        return;
    }
    let limits = WgpuLimits { max_storage_buffer_binding_size: 1 << 16, ..default() };
    let small = create_app(WgpuSettings { constrained_limits: Some(limits), ..default() });
    let reason = reason_in(small, DeviceChoice::Gpu);
    assert!(reason.contains("more than the 65536"), "{reason}");
}

#[test]
#[ignore = "prints a table, for docs/benchmarks/low_rank.md"]
fn what_an_update_and_a_frame_of_a_room_take_on_either_device() {
    let Some(mut app) = create_drawing_app() else { return };
    let _picture = spawn_camera(&mut app, Vec3::new(3.0, 3.0, 3.0), Vec3::ZERO);
    let half = 4.0;
    let mesh =
        app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(2.0 * half, 2.0 * half));
    let material = spawn_material(&mut app, Color::linear_rgb(0.6, 0.6, 0.6));
    for (index, inwards) in [Vec3::Y, Vec3::NEG_Y, Vec3::X, Vec3::NEG_X, Vec3::Z, Vec3::NEG_Z].into_iter().enumerate() {
        let place =
            Transform::from_translation(-half * inwards).with_rotation(Quat::from_rotation_arc(Vec3::Y, inwards));
        let wall = (Mesh3d(mesh.clone()), MeshMaterial3d(material.clone()), place);
        app.world_mut().spawn((Name::new(format!("wall {index}")), wall));
    }
    let lamp = PointLight { intensity: 10_000.0, range: 1000.0, ..default() };
    let lamp = app.world_mut().spawn((Name::new("lamp"), lamp, Transform::from_xyz(0.0, 2.0, 0.0))).id();
    tick_app_times(&mut app, 2);
    let mut room = relightable(Content::Indirect);
    (room.settings.relight, room.settings.layout.texels_per_meter) = (Some(RelightPatches(500)), 12.0);
    (room.settings.solver.error, room.settings.layout.page_size, room.threads) = (0.1, 1024, None);
    print_updates_and_frames(&mut app, room, |app, angle| {
        move_to(app, lamp, Vec3::new(2.0 * angle.sin(), 1.0, 2.0 * angle.cos()));
    });
}

#[test]
#[ignore = "prints a table, for docs/benchmarks/low_rank.md"]
fn what_an_update_and_a_frame_of_the_level_take_on_either_device() {
    let Some(mut app) = create_drawing_app() else { return };
    let picture = spawn_camera(&mut app, Vec3::new(6.2, 1.7, -6.6), Vec3::new(1.2, 1.3, -3.4));
    let size = Extent3d { width: 1280, height: 720, ..default() };
    app.world_mut().resource_mut::<Assets<Image>>().get_mut(&picture).unwrap().resize(size);
    crate::files::spawn_file(&mut app, "level.glb");
    let mut lamps = app.world_mut().query::<(Entity, &Transform, &mut PointLight)>();
    let lamps = lamps.iter_mut(app.world_mut()).map(|(entity, place, mut lamp)| {
        lamp.shadow_maps_enabled = true;
        (entity, place.translation)
    });
    let (lamp, home) = lamps.last().expect("the level has lamps");
    let mut level = Bake { settings: BakeSettings { relight: Some(RelightPatches(1000)), ..default() }, ..default() };
    level.settings.layout.texels_per_meter = 5.0;
    print_updates_and_frames(&mut app, level, |app, angle| {
        move_to(app, lamp, home + 0.3 * Vec3::new(angle.sin(), 0.0, angle.cos()));
    });
}

/// Number of elements of the most recent bake.
#[derive(Resource)]
struct Elements(u64);

/// Bakes, and prints timings while a lamp moves on by an angle in radians in every frame. It waits for the GPU after
/// each frame.
fn print_updates_and_frames(app: &mut App, bake: Bake, turn: impl Fn(&mut App, f32)) {
    app.add_observer(|done: On<BakeFinished>, mut commands: Commands| {
        commands.insert_resource(Elements(done.report.elements));
    });
    app.insert_resource(Relight::default());
    app.world_mut().trigger(bake);
    let started = Instant::now();
    while status(app).updates == 0 {
        assert!(started.elapsed() < Duration::from_secs(900), "it should have been baked by now");
        tick_app(app);
        std::thread::sleep(Duration::from_millis(100));
    }
    let device = app.world().resource::<RenderDevice>().clone();
    println!(
        "{} elements; pages by | ms an update | of its own thread | ms a frame | of its main thread",
        app.world().resource::<Elements>().0
    );
    for device_of_pages in [DeviceChoice::Cpu, DeviceChoice::Gpu].repeat(3) {
        app.world_mut().resource_mut::<Relight>().device = device_of_pages;
        let (mut sums, mut frames, mut before) = ([0.0; 2], 0, 0);
        let mut started = Instant::now();
        for frame in 0..140 {
            // The first frames warm up the device.
            if frame == 40 {
                (sums, frames, before, started) = ([0.0; 2], 0, status(app).updates, Instant::now());
            }
            turn(app, 0.05 * frame as f32);
            let updates = status(app).updates;
            tick_app(app);
            device.poll(PollType::wait_indefinitely()).unwrap();
            frames += 1;
            let RelightStatus { update_milliseconds, main_thread_milliseconds, .. } = *status(app);
            sums[0] += update_milliseconds * (status(app).updates - updates) as f32;
            sums[1] += main_thread_milliseconds;
        }
        let all = started.elapsed().as_secs_f32() * 1e3;
        let updates = (status(app).updates - before) as f32;
        assert_eq!(status(app).is_on_graphics, device_of_pages == DeviceChoice::Gpu, "{:?}", status(app));
        println!(
            "{device_of_pages:?} | {:.1} | {:.1} | {:.1} | {:.2}",
            all / updates,
            sums[0] / updates,
            all / frames as f32,
            sums[1] / frames as f32
        );
    }
}
