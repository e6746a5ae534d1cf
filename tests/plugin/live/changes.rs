//! Tests of live views with moving and changing scenes.

use bevy::camera::Hdr;
use bevy::prelude::*;
use bevy_radiosity::plugin::LiveRebuild;
use bevy_radiosity::prelude::*;

use super::{
    SIZE, generous, glowing, spawn_glowing_box, spawn_live_camera, status, wait_for_new_picture, wait_for_samples,
};
use crate::app::*;

#[test]
fn a_change_of_material_starts_again_and_shows() {
    let Some(mut app) = create_drawing_app() else { return };
    let (_, material) = spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 8);
    assert!(app.world().get::<Hdr>(camera).is_some());
    let first = app.world().resource::<SceneStatus>().last_live_rebuild.clone().expect("it was built");
    assert!(first.tree_seconds.is_some() && first.read.rebuilt.surfaces == 1);

    wait_for_new_picture(&mut app, camera, |app| {
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        materials.get_mut(&material).unwrap().emissive = LinearRgba::rgb(100.0, 100.0, 100.0);
    });
    wait_for_samples(&mut app, camera, 2);
    assert_red(&mut app, &picture, 100.0 * exposure(), 2e-3);
    let second = app.world().resource::<SceneStatus>().last_live_rebuild.clone().expect("it was built");
    assert_eq!(second.tree_seconds, None, "colors need no new tree");
}

#[test]
fn moving_the_camera_or_a_surface_starts_again_and_rest_goes_on() {
    let Some(mut app) = create_drawing_app() else { return };
    let (shell, _) = spawn_glowing_box(&mut app, 400.0);
    let (camera, _) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 2);
    for entity in [camera, shell] {
        wait_for_new_picture(&mut app, camera, |app| {
            app.world_mut().get_mut::<Transform>(entity).unwrap().translation.x = 0.5;
        });
        wait_for_samples(&mut app, camera, 2);
    }
    let moved = app.world().resource::<SceneStatus>().last_live_rebuild.clone().expect("it was built");
    assert!(moved.tree_seconds.is_some());

    // A transform that is written but unchanged is no change.
    let before = status(&app, camera);
    app.world_mut().get_mut::<Transform>(shell).unwrap().set_changed();
    app.world_mut().get_mut::<Transform>(camera).unwrap().set_changed();
    tick_app_times(&mut app, 20);
    wait_for_samples(&mut app, camera, before.samples + 1);
    assert_eq!(status(&app, camera).pictures, before.pictures);
}

/// Spawns a glowing box around the camera, and a brick of another radiance in front. The brick is a mover after its
/// first move.
fn spawn_brick_in_glowing_box(app: &mut App) -> (Entity, Handle<StandardMaterial>) {
    let (_, walls) = spawn_glowing_box(app, 400.0);
    let material = glowing(app, 100.0);
    let brick = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::new(4.0, 4.0, 0.5));
    let place = Transform::from_xyz(0.0, 0.0, -2.0);
    (app.world_mut().spawn((Name::new("brick"), Mesh3d(brick), MeshMaterial3d(material), place)).id(), walls)
}

fn place(app: &mut App, entity: Entity, change: impl FnOnce(&mut Transform)) {
    change(&mut app.world_mut().get_mut::<Transform>(entity).unwrap());
}

fn rebuild_of(app: &App) -> LiveRebuild {
    app.world().resource::<SceneStatus>().last_live_rebuild.clone().expect("it was built")
}

#[test]
fn what_has_moved_once_is_followed_from_frame_to_frame_and_nothing_is_built() {
    let Some(mut app) = create_drawing_app() else { return };
    let (brick, _) = spawn_brick_in_glowing_box(&mut app);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    assert_red(&mut app, &picture, 100.0 * exposure(), 2e-3);
    tick_app_times(&mut app, 5);
    assert!(app.world().resource::<SceneStatus>().last_live_move.is_none());

    place(&mut app, brick, |brick| brick.translation.x = 20.0);
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
    tick_app_times(&mut app, 10);
    let built = rebuild_of(&app);
    assert!(built.tree_seconds.is_some(), "the first move makes it a mover");
    for (x, seen) in [(0.5, 100.0), (-20.0, 400.0), (0.0, 100.0)] {
        let before = status(&app, camera).pictures;
        place(&mut app, brick, |brick| {
            brick.translation.x = x;
            brick.rotate_z(0.3);
            brick.scale = Vec3::new(1.0 + 0.01 * x, 1.2, 0.7);
        });
        // Views report at the start of the next frame.
        tick_app_times(&mut app, 2);
        assert_eq!(status(&app, camera).pictures, before + 1, "a new picture in the same frame");
        let image = picture_of(&mut app, &picture);
        let found = color_at(&image, SIZE / 2).x / exposure();
        assert!((found / seen - 1.0).abs() < 2e-3, "{found} cd/m2, not {seen}");
        let status = app.world().resource::<SceneStatus>();
        assert_eq!(status.last_live_move.map(|moved| moved.surfaces), Some(1));
        let after = rebuild_of(&app);
        assert_eq!((after.tree_seconds, after.buffer_seconds), (built.tree_seconds, built.buffer_seconds));
    }
}

#[test]
fn a_mover_is_followed_while_other_things_change_and_their_change_builds_no_tree() {
    let Some(mut app) = create_drawing_app() else { return };
    let (brick, walls) = spawn_brick_in_glowing_box(&mut app);
    app.world_mut().entity_mut(brick).insert(BakeRole::Mover).remove::<Name>();
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    tick_app_times(&mut app, 5);
    for (step, radiance) in [200.0, 300.0].into_iter().enumerate() {
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        materials.get_mut(&walls).unwrap().emissive = LinearRgba::rgb(radiance, radiance, radiance);
        for frame in 0..10 {
            place(&mut app, brick, |brick| brick.translation.x = 20.0 + frame as f32 + step as f32);
            tick_app(&mut app);
        }
        assert_red(&mut app, &picture, radiance * exposure(), 2e-3);
        assert_eq!(rebuild_of(&app).tree_seconds, None, "what was marked as a mover is one from the start");
        place(&mut app, brick, |brick| brick.translation.x = 0.0);
        assert_red(&mut app, &picture, 100.0 * exposure(), 2e-3);
    }
}

#[test]
fn a_mover_may_shrink_to_nothing_become_flat_or_turn_inside_out() {
    let Some(mut app) = create_drawing_app() else { return };
    let (brick, _) = spawn_brick_in_glowing_box(&mut app);
    app.world_mut().entity_mut(brick).insert(BakeRole::Mover);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    assert_red(&mut app, &picture, 100.0 * exposure(), 2e-3);
    let built = rebuild_of(&app).tree_seconds;
    let (there, gone) = (100.0, 400.0);
    for (scale, seen) in [
        (Vec3::ZERO, gone),
        (Vec3::splat(0.5), there),
        (Vec3::new(1.0, 0.0, 0.0), gone),
        (Vec3::new(-1.0, 1.0, 1.0), there),
    ] {
        place(&mut app, brick, |brick| brick.scale = scale);
        assert_red(&mut app, &picture, seen * exposure(), 2e-3);
        assert!(rebuild_of(&app).tree_seconds.is_none_or(|seconds| Some(seconds) == built), "no new tree for {scale}");
    }
    // A flat transform has no inverse for rays, so the brick counts as static.
    place(&mut app, brick, |brick| brick.scale = Vec3::new(1.0, 1.0, 0.0));
    assert_red(&mut app, &picture, there * exposure(), 2e-3);
    place(&mut app, brick, |brick| brick.scale = Vec3::NAN);
    assert_red(&mut app, &picture, gone * exposure(), 2e-3);
    place(&mut app, brick, |brick| brick.scale = Vec3::ONE);
    assert_red(&mut app, &picture, there * exposure(), 2e-3);
}
