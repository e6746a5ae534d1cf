//! What a live view shows, on a graphics adapter or a software one.
//!
//! Inside of a box that glows and reflects nothing, every ray brings the radiance of its walls.

use bevy::camera::{Exposure, Hdr, RenderTarget, Viewport};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::image::ToExtents;
use bevy::prelude::*;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy_radiosity::plugin::TreeCells;
use bevy_radiosity::prelude::*;

use crate::app::*;

/// What most tests look at; a software driver traces some ten thousand pixels a second beside other tests.
const SIZE: UVec2 = UVec2::new(96, 54);

/// A box around the origin whose walls have a radiance in cd/m2, which Bevy draws black.
fn spawn_glowing_box(app: &mut App, radiance: f32) -> (Entity, Handle<StandardMaterial>) {
    let material = glowing(app, radiance);
    let shell = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::from_length(6.0));
    (app.world_mut().spawn((Name::new("box"), Mesh3d(shell), MeshMaterial3d(material.clone()))).id(), material)
}

fn glowing(app: &mut App, radiance: f32) -> Handle<StandardMaterial> {
    let material = StandardMaterial {
        base_color: Color::BLACK,
        reflectance: 0.0,
        emissive: LinearRgba::rgb(radiance, radiance, radiance),
        emissive_exposure_weight: 1.0,
        double_sided: true,
        cull_mode: None,
        ..default()
    };
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(material)
}

fn spawn_picture(app: &mut App, size: UVec2) -> Handle<Image> {
    let mut picture = Image::new_target_texture(size.x, size.y, TextureFormat::Rgba16Float, None);
    picture.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    app.world_mut().resource_mut::<Assets<Image>>().add(picture)
}

/// A camera at the origin, and the linear picture that it draws into.
fn spawn_live_camera(app: &mut App, live: LiveView, msaa: Msaa) -> (Entity, Handle<Image>) {
    let picture = spawn_picture(app, SIZE);
    (spawn_live_camera_for(app, &picture, live, msaa), picture)
}

fn spawn_live_camera_for(app: &mut App, picture: &Handle<Image>, live: LiveView, msaa: Msaa) -> Entity {
    let camera = (
        Camera3d::default(),
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        RenderTarget::Image(picture.clone().into()),
        msaa,
        Tonemapping::None,
        Transform::default(),
        live,
    );
    app.world_mut().spawn(camera).id()
}

/// Tests have no game that wants the GPU as well.
fn generous() -> LiveView {
    LiveView { frame_budget: 100.0, ..default() }
}

fn status(app: &App, camera: Entity) -> LiveViewStatus {
    *app.world().get::<LiveViewStatus>(camera).expect("a live view has one")
}

/// Something changes, and is seen to.
fn wait_for_new_picture(app: &mut App, camera: Entity, change: impl FnOnce(&mut App)) {
    let before = status(app, camera).pictures;
    change(app);
    tick_app_until(app, "a new picture", |app| status(app, camera).pictures > before);
}

fn wait_for_samples(app: &mut App, camera: Entity, samples: u32) {
    tick_app_until(app, "samples", |app| {
        let status = status(app, camera);
        status.size == SIZE && status.samples >= samples
    });
}

#[test]
fn a_live_view_shows_radiance_times_exposure_in_every_pixel() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let large = UVec2::new(320, 180);
    for (size, msaa, filter) in [(large, Msaa::Off, false), (SIZE, Msaa::Sample4, true)] {
        let picture = spawn_picture(&mut app, size);
        let camera = spawn_live_camera_for(&mut app, &picture, LiveView { filter, ..generous() }, msaa);
        tick_app_until(&mut app, "samples", |app| status(app, camera).size == size);
        let image = picture_of(&mut app, &picture);
        for pixel in [UVec2::ZERO, size / 2, size - 1, UVec2::new(size.x - 1, 0)] {
            let seen = color_at(&image, pixel).x;
            assert!((seen / (400.0 * exposure()) - 1.0).abs() < 2e-3, "{seen} at {pixel} with {msaa:?}");
        }
        app.world_mut().despawn(camera);
    }
}

#[test]
fn channels_show_what_is_seen_as_it_is_and_the_picture_goes_on() {
    let Some(mut app) = create_drawing_app() else { return };
    let (_, material) = spawn_glowing_box(&mut app, 400.0);
    let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    materials.get_mut(&material).unwrap().base_color = Color::linear_rgb(0.2, 0.5, 0.8);
    // Without reflections every sample brings the same, and there is no noise.
    let (camera, picture) = spawn_live_camera(&mut app, LiveView { bounces: 0, ..generous() }, Msaa::Off);
    wait_for_samples(&mut app, camera, 4);
    let pictures = status(&app, camera).pictures;
    let blue = |seen: Vec3| seen.distance(Vec3::Z) < 0.01;
    let few_nodes = |seen: Vec3| seen.x == 0.0 && seen.z > 0.9;
    let near = |expected: Vec3| move |seen: Vec3| seen.distance(expected) < 0.01;
    let expectations: [(LiveChannel, &dyn Fn(Vec3) -> bool); 5] = [
        (LiveChannel::Albedo, &near(Vec3::new(0.2, 0.5, 0.8))),
        // The wall ahead looks back at the camera, along +z.
        (LiveChannel::Normal, &near(Vec3::new(0.5, 0.5, 1.0))),
        (LiveChannel::Noise, &blue),
        // Twelve triangles make a small tree.
        (LiveChannel::TreeCost, &few_nodes),
        (LiveChannel::Light, &near(Vec3::splat(400.0 * exposure()))),
    ];
    for (channel, expected) in expectations {
        app.world_mut().get_mut::<LiveView>(camera).unwrap().channel = channel;
        assert_shows(&mut app, &picture, &format!("{channel:?}"), expected);
    }
    assert_eq!(status(&app, camera).pictures, pictures);
    let levels = &app.world().resource::<TreeCells>().levels;
    assert_eq!(levels[0].len(), 1, "the root is the whole box");
    assert!((levels[0][0].extent() - 6.0).abs().max_element() < 1e-5, "{:?}", levels[0]);
}

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
    assert_eq!(second.tree_seconds, None, "colours need no new tree");
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

    // What is written but not changed is no change.
    let before = status(&app, camera);
    app.world_mut().get_mut::<Transform>(shell).unwrap().set_changed();
    app.world_mut().get_mut::<Transform>(camera).unwrap().set_changed();
    tick_app_times(&mut app, 20);
    wait_for_samples(&mut app, camera, before.samples + 1);
    assert_eq!(status(&app, camera).pictures, before.pictures);
}

#[test]
fn switched_off_it_shows_what_bevy_draws() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, LiveView { enabled: false, ..generous() }, Msaa::Off);
    app.world_mut()
        .entity_mut(camera)
        .insert(Camera { clear_color: ClearColorConfig::Custom(Color::linear_rgb(0.25, 0.0, 0.0)), ..default() });
    let bevys = |seen: Vec3| (seen.x - 400.0 * exposure()).abs() < 0.02;
    assert_shows(&mut app, &picture, "Bevy draws the glowing wall as well", bevys);
    assert_eq!(status(&app, camera), LiveViewStatus::default());

    let far = Transform::from_xyz(0.0, 0.0, 100.0).looking_to(Vec3::Z, Vec3::Y);
    *app.world_mut().get_mut::<Transform>(camera).unwrap() = far;
    assert_red(&mut app, &picture, 0.25, 1e-3);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = true;
    wait_for_samples(&mut app, camera, 1);
    assert_shows(&mut app, &picture, "the sky is dark", |seen| seen == Vec3::ZERO);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = false;
    assert_red(&mut app, &picture, 0.25, 1e-3);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = true;
    wait_for_samples(&mut app, camera, 1);
    app.world_mut().entity_mut(camera).remove::<LiveView>();
    assert_red(&mut app, &picture, 0.25, 1e-3);
}

#[test]
fn two_cameras_share_a_picture_each_in_its_own_part() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let picture = spawn_picture(&mut app, SIZE);
    for msaa in [Msaa::Off, Msaa::Sample4] {
        let cameras: Vec<Entity> = [(0, true), (1, false)]
            .map(|(index, is_live)| {
                let half = UVec2::new(SIZE.x / 2, SIZE.y);
                let camera = (
                    Camera3d::default(),
                    Camera {
                        order: index,
                        viewport: Some(Viewport {
                            physical_position: UVec2::new(index as u32 * half.x, 0),
                            physical_size: half,
                            ..default()
                        }),
                        clear_color: ClearColorConfig::Custom(Color::linear_rgb(0.0, 0.0, 0.125)),
                        ..default()
                    },
                    RenderTarget::Image(picture.clone().into()),
                    msaa,
                    Hdr,
                    Tonemapping::None,
                    Exposure { ev100: if is_live { 9.7 } else { 8.7 } },
                    Transform::default(),
                );
                let camera = app.world_mut().spawn(camera).id();
                if is_live {
                    app.world_mut().entity_mut(camera).insert(generous());
                }
                camera
            })
            .to_vec();
        tick_app_until(&mut app, "samples", |app| status(app, cameras[0]).samples >= 2);
        // Another camera, whose picture is of half the size.
        let (other, other_picture) = spawn_live_camera(&mut app, generous(), msaa);
        wait_for_samples(&mut app, other, 2);
        assert_red(&mut app, &other_picture, 400.0 * exposure(), 2e-3);
        let image = picture_of(&mut app, &picture);
        let left = color_at(&image, UVec2::new(10, SIZE.y / 2));
        let edge = color_at(&image, UVec2::new(SIZE.x / 2 - 1, SIZE.y / 2));
        let right = color_at(&image, SIZE / 2);
        let live = 400.0 * exposure();
        assert!((left.x / live - 1.0).abs() < 2e-3 && (edge.x / live - 1.0).abs() < 2e-3, "{left} {edge}");
        assert!((right.x / (2.0 * live) - 1.0).abs() < 0.02, "Bevy draws {right}");
        for camera in cameras.into_iter().chain([other]) {
            app.world_mut().despawn(camera);
        }
    }
}

#[test]
fn pictures_without_pixels_or_of_another_size_are_no_trouble() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 1);
    for size in [UVec2::new(64, 200), UVec2::ONE, UVec2::new(301, 7)] {
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        images.get_mut(&picture).unwrap().resize(size.to_extents());
        tick_app_until(&mut app, "the new size", |app| {
            let status = status(app, camera);
            status.size == size && status.samples > 1
        });
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
    app.world_mut().entity_mut(camera).insert(Projection::Orthographic(OrthographicProjection::default_3d()));
    tick_app_times(&mut app, 5);
    assert_eq!(status(&app, camera).samples, 0);
    app.world_mut().entity_mut(camera).insert(Projection::default());
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
