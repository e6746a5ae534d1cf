//! What a live view shows, on a graphics adapter or a software one.
//!
//! Inside of a box that glows and reflects nothing, every ray brings the radiance of its walls.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::{Exposure, Hdr, RenderTarget, ScalingMode, SubCameraView, Viewport};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::image::ToExtents;
use bevy::light::Skybox;
use bevy::prelude::*;
use bevy::render::error_handler::{RenderErrorHandler, RenderErrorPolicy};
use bevy::render::render_resource::{
    Extent3d, PollType, TextureDimension, TextureFormat, TextureUsages, TextureViewDescriptor, TextureViewDimension,
};
use bevy::render::renderer::RenderDevice;
use bevy::render::settings::RenderCreation;
use bevy::window::{PrimaryWindow, WindowResolution};
use bevy_radiosity::kdtree;
use bevy_radiosity::pathtrace::{PathTracer, PixelFilter, RenderSettings, View, render};
use bevy_radiosity::plugin::{LiveRebuild, TreeCells};
use bevy_radiosity::prelude::*;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene::{self, LightSampler, load_for_pictures};

use crate::app::*;
use crate::files::spawn_file;

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
    wait_for_samples_of(app, camera, SIZE, samples);
}

/// The same for a picture of another size.
fn wait_for_samples_of(app: &mut App, camera: Entity, size: UVec2, samples: u32) {
    tick_app_until(app, "samples", |app| {
        let status = status(app, camera);
        status.size == size && status.samples >= samples
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

/// A glowing box around the camera and a brick of another radiance before it, which is a mover after its first move.
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
    app.world_mut().entity_mut(brick).insert(BakeMover).remove::<Name>();
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
    app.world_mut().entity_mut(brick).insert(BakeMover);
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
    // No ray can be taken to the space of what is flat: it counts as standing still.
    place(&mut app, brick, |brick| brick.scale = Vec3::new(1.0, 1.0, 0.0));
    assert_red(&mut app, &picture, there * exposure(), 2e-3);
    place(&mut app, brick, |brick| brick.scale = Vec3::NAN);
    assert_red(&mut app, &picture, gone * exposure(), 2e-3);
    place(&mut app, brick, |brick| brick.scale = Vec3::ONE);
    assert_red(&mut app, &picture, there * exposure(), 2e-3);
}

#[test]
fn a_skybox_looks_as_bevy_draws_it_and_lights_what_stands_in_it() {
    let Some(mut app) = create_drawing_app() else { return };
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    // Faces of different colours, turned, with a bright patch that is to be seen right side up.
    let cube = spawn_cube_map(&mut app, [[200, 0, 0], [0, 200, 0], [0, 0, 200], [200, 200, 0], [0, 200, 200], [99; 3]]);
    let rotation = Quat::from_euler(EulerRot::YXZ, 0.4, -0.3, 0.2);
    app.world_mut().entity_mut(camera).insert(Skybox { image: Some(cube), brightness: 900.0, rotation });
    for direction in [Vec3::NEG_Z, Vec3::X, Vec3::new(0.1, 1.0, 0.0)] {
        *app.world_mut().get_mut::<Transform>(camera).unwrap() = Transform::default().looking_to(direction, Vec3::Y);
        app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = false;
        tick_app_times(&mut app, 3);
        let bevys = picture_of(&mut app, &picture);
        app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = true;
        wait_for_new_picture(&mut app, camera, |_| {});
        wait_for_samples(&mut app, camera, 8);
        let ours = picture_of(&mut app, &picture);
        let mut different = 0;
        for pixel in (0..SIZE.x * SIZE.y).map(|index| UVec2::new(index % SIZE.x, index / SIZE.x)) {
            let (expected, seen) = (color_at(&bevys, pixel), color_at(&ours, pixel));
            // Edges of faces are blurred differently.
            different += u32::from((seen - expected).abs().max_element() > 0.01 * 900.0 * exposure());
        }
        assert!(different < SIZE.x * SIZE.y / 10, "{different} pixels differ toward {direction}");
    }

    // A white floor under a white sky is as bright as the sky.
    let white = spawn_cube_map(&mut app, [[255; 3]; 6]);
    let skybox = Skybox { image: Some(white), brightness: 400.0, ..default() };
    let floor = app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(2.0, 2.0));
    let material = spawn_material(&mut app, Color::WHITE);
    app.world_mut().spawn((Mesh3d(floor), MeshMaterial3d(material)));
    let above = Transform::from_xyz(0.0, 0.5, 0.0).looking_at(Vec3::ZERO, Vec3::X);
    app.world_mut().entity_mut(camera).insert((skybox, above));
    assert_red(&mut app, &picture, 400.0 * exposure(), 5e-3);
    app.world_mut().entity_mut(camera).remove::<Skybox>();
    assert_shows(&mut app, &picture, "no skybox, no light", |seen| seen == Vec3::ZERO);
}

/// A cube map whose faces have a colour each, and in their upper left quarter half of it.
fn spawn_cube_map(app: &mut App, colours: [[u8; 3]; 6]) -> Handle<Image> {
    const EDGE: u32 = 128;
    let is_uniform = colours.iter().all(|colour| *colour == colours[0]);
    let texel = |[red, green, blue]: [u8; 3], x: u32, y: u32| {
        let is_patch = !is_uniform && x < EDGE / 2 && y < EDGE / 2;
        let scaled = |channel: u8| if is_patch { channel / 2 } else { channel };
        [scaled(red), scaled(green), scaled(blue), 255]
    };
    let texels = colours
        .iter()
        .flat_map(|colour| (0..EDGE * EDGE).flat_map(move |index| texel(*colour, index % EDGE, index / EDGE)));
    let mut cube = Image::new(
        Extent3d { width: EDGE, height: EDGE, depth_or_array_layers: 6 },
        TextureDimension::D2,
        texels.collect(),
        TextureFormat::Rgba8Unorm,
        RenderAssetUsages::default(),
    );
    let dimension = Some(TextureViewDimension::Cube);
    cube.texture_view_descriptor = Some(TextureViewDescriptor { dimension, ..default() });
    app.world_mut().resource_mut::<Assets<Image>>().add(cube)
}

#[test]
fn an_orthographic_camera_shows_a_square_as_large_as_it_is() {
    let Some(mut app) = create_drawing_app() else { return };
    let (camera, picture) = spawn_live_camera(&mut app, LiveView { filter: false, ..generous() }, Msaa::Off);
    // Ten pixels a metre.
    let scaling_mode = ScalingMode::FixedVertical { viewport_height: 0.1 * SIZE.y as f32 };
    let projection = OrthographicProjection { scaling_mode, ..OrthographicProjection::default_3d() };
    app.world_mut().entity_mut(camera).insert(Projection::Orthographic(projection));
    let material = glowing(&mut app, 400.0);
    let square = app.world_mut().resource_mut::<Assets<Mesh>>().add(Rectangle::new(2.0, 2.0));
    let behind = Transform::from_xyz(2.0, 0.0, 0.5);
    app.world_mut().spawn((Mesh3d(square.clone()), MeshMaterial3d(material.clone()), behind));
    for place in [Transform::from_xyz(1.0, 0.5, -3.0), Transform::from_xyz(1.0, 0.5, -300.0)] {
        let square = app.world_mut().spawn((Mesh3d(square.clone()), MeshMaterial3d(material.clone()), place)).id();
        wait_for_new_picture(&mut app, camera, |_| {});
        wait_for_samples(&mut app, camera, 16);
        let image = picture_of(&mut app, &picture);
        let covered = |pixel: UVec2| color_at(&image, pixel).x / (400.0 * exposure());
        // Its corners are ten pixels around one that lies ten right of the picture's middle and five above it.
        let (least, most) = (SIZE / 2 + UVec2::new(0, 5) - UVec2::new(0, 20), SIZE / 2 + UVec2::new(20, 5));
        for pixel in [least + 1, most - 2, UVec2::new(least.x + 1, most.y - 2)] {
            assert!((covered(pixel) - 1.0).abs() < 2e-3, "{} at {pixel}", covered(pixel));
        }
        for pixel in [least - 2, most + 1, UVec2::new(least.x - 2, most.y - 2), UVec2::new(least.x, most.y + 1)] {
            assert_eq!(covered(pixel), 0.0, "{pixel}");
        }
        let all = (0..SIZE.x * SIZE.y).map(|index| covered(UVec2::new(index % SIZE.x, index / SIZE.x)));
        let area = all.sum::<f32>();
        assert!((area - 400.0).abs() < 4.0, "{area} pixels of 20 by 20");
        wait_for_new_picture(&mut app, camera, |app| assert!(app.world_mut().despawn(square)));
    }
}

/// Mean of all pixels of a picture that is clean, in cd/m2.
fn mean_radiance(app: &mut App, (camera, picture): &(Entity, Handle<Image>)) -> f32 {
    tick_app_until(app, "samples", |app| status(app, *camera).samples >= 64);
    let image = picture_of(app, picture);
    let pixels = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| UVec2::new(x, y)));
    let sum: f32 = pixels.map(|pixel| color_at(&image, pixel).x).sum();
    sum / (image.width() * image.height()) as f32 / exposure()
}

#[test]
fn paths_that_end_at_lightmaps_bring_the_light_that_was_baked() {
    let Some(mut app) = create_drawing_app() else { return };
    // A closed room of two metres with a lamp in it.
    let material = spawn_material(&mut app, Color::linear_rgb(0.6, 0.6, 0.6));
    for (index, normal) in [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z].into_iter().enumerate() {
        let wall = Plane3d::new(normal, Vec2::ONE).mesh().build();
        let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(wall);
        let parts = (Mesh3d(mesh), MeshMaterial3d(material.clone()), Transform::from_translation(-normal));
        app.world_mut().spawn((Name::new(format!("wall {index}")), parts));
    }
    let lamp = PointLight { intensity: 5000.0, range: 100.0, ..default() };
    let lamp = app.world_mut().spawn((lamp, Transform::from_xyz(0.3, 0.4, 0.0))).id();
    let mut quick = quick_bake();
    quick.settings.layout.texels_per_metre = 8.0;
    quick.settings.solver.error = 0.02;
    bake(&mut app, quick).unwrap();

    let picture = spawn_picture(&mut app, UVec2::new(40, 24));
    let live = LiveView { filter: false, bounces: 64, ..generous() };
    let camera = spawn_live_camera_for(&mut app, &picture, live, Msaa::Off);
    app.world_mut().get_mut::<Transform>(camera).unwrap().translation = Vec3::new(-0.5, 0.0, 0.9);
    let view = (camera, picture);
    // Another setting begins one picture, another scene another one.
    let mut mean = |pictures: u32, change: &dyn Fn(&mut World)| {
        let before = status(&app, camera).pictures;
        change(app.world_mut());
        tick_app_until(&mut app, "new pictures", |app| status(app, camera).pictures == before + pictures);
        mean_radiance(&mut app, &view)
    };
    let all_paths = mean(1, &|_| {});
    let ended = mean(2, &|world| world.get_mut::<LiveView>(camera).unwrap().ends_at_lightmaps = true);
    assert!((ended / all_paths - 1.0).abs() < 0.02, "{ended} cd/m2, not {all_paths}");
    let direct = mean(1, &|world| world.get_mut::<LiveView>(camera).unwrap().bounces = 1);
    assert!(direct < 0.7 * all_paths);
    // What the lamp has left in the lightmaps is seen where it is reflected.
    let indirect = mean(2, &|world| {
        world.get_mut::<LiveView>(camera).unwrap().bounces = 64;
        world.despawn(lamp);
    });
    assert!((indirect / (all_paths - direct) - 1.0).abs() < 0.03, "{indirect} cd/m2, not {}", all_paths - direct);
    // Without lightmaps there is nothing to end at, and no light.
    assert_eq!(mean(1, &|world| world.resource_mut::<Lightmaps>().enabled = false), 0.0);
}

#[test]
fn a_picture_of_half_the_scale_has_a_quarter_of_the_pixels_and_is_done_at_its_last_sample() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let live = LiveView { render_scale: 0.5, most_samples: 3, ..generous() };
    let (camera, picture) = spawn_live_camera(&mut app, live, Msaa::Off);
    tick_app_until(&mut app, "samples", |app| status(app, camera).samples >= 3);
    tick_app_times(&mut app, 20);
    let LiveViewStatus { size, samples, .. } = status(&app, camera);
    assert_eq!((size, samples), (SIZE / 2, 3));
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

/// Mean colours of the blocks of 4 x 4 pixels of a picture.
fn blocks(size: UVec2, pixel: impl Fn(UVec2) -> Vec3) -> Vec<Vec3> {
    let all = |size: UVec2| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)));
    all(size / 4).map(|block| all(UVec2::splat(4)).map(|place| pixel(4 * block + place)).sum::<Vec3>() / 16.0).collect()
}

#[test]
fn a_still_view_becomes_the_picture_that_the_path_tracer_draws_on_the_processor() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_file(&mut app, "cornell_box.glb");
    let scene =
        Arc::new(load_for_pictures(&format!("{}/assets/cornell_box.glb", env!("CARGO_MANIFEST_DIR"))).unwrap().scene);
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

    let world = kdtree::World::build(Arc::clone(&scene), kdtree::Preset::best());
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

    // So many samples that nothing is filtered any more.
    wait_for_samples_of(&mut app, camera, size, 64);
    let image = picture_of(&mut app, &picture);
    let seen = blocks(size, |place| color_at(&image, place) / exposure());
    let mean = |blocks: &[Vec3]| blocks.iter().sum::<Vec3>() / blocks.len() as f32;
    let (found, expected) = (mean(&seen), mean(&truth));
    println!("mean {found}, {expected}");
    assert!((found / expected - 1.0).abs().max_element() < 0.02, "{found}, not {expected} cd/m2");
    // A block of 1,024 paths is as noisy as its light is uneven, seldom by more than its mean.
    let errors: Vec<f32> = seen.iter().zip(&truth).map(|(a, b)| (a.x + a.y + a.z) / (b.x + b.y + b.z) - 1.0).collect();
    let squares = errors.iter().map(|error| error * error).sum::<f32>() / errors.len() as f32;
    println!("blocks {}", squares.sqrt());
    assert!(squares.sqrt() < 0.05, "{errors:?}");
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
    // 400 candela from two metres bring 100 lux, of which a floor reflects half.
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
        (Vec3::ZERO, 0.0),                     // within the brick, whose backs are black
        (Vec3::new(0.0, 0.0, 0.5), f32::NAN),  // on its face, looking in
        (Vec3::new(0.0, 0.0, -0.5), f32::NAN), // on the other, looking out
        (Vec3::new(3.0, 3.0, 3.0), f32::NAN),  // on a corner of the box
        (Vec3::new(0.0, 0.0, -3.0), f32::NAN), // on its wall
        (Vec3::new(0.0, 0.0, 1e30), f32::NAN), // beyond where floats tell walls apart
        (Vec3::new(f32::MAX, 0.0, 0.0), f32::NAN),
    ] {
        app.world_mut().get_mut::<Transform>(camera).unwrap().translation = place;
        tick_app_times(&mut app, 5);
        assert_shows(&mut app, &picture, &format!("at {place}"), |seen| {
            seen.is_finite() && (expected.is_nan() || (seen.x - expected).abs() <= 2e-3 * full)
        });
    }
    app.world_mut().get_mut::<Transform>(camera).unwrap().translation = Vec3::new(0.0, 0.0, 1.0);

    // What has no place or no size is left out.
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

/// A mesh that comes and goes.
#[derive(Resource)]
struct Guest {
    material: Handle<StandardMaterial>,
    is_here: Option<(Entity, Handle<Mesh>)>,
    calls: u32,
}

fn come_or_go(mut commands: Commands, mut guest: ResMut<Guest>, mut meshes: ResMut<Assets<Mesh>>) {
    guest.calls += 1;
    // Without a rhythm that the view's own could follow.
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
    // At three places of a frame, so that it is there for a part of it, or for several.
    app.add_systems(First, come_or_go).add_systems(PostUpdate, come_or_go).add_systems(Last, come_or_go);
    let before = status(&app, camera).pictures;
    tick_app_until(&mut app, "new pictures", |app| status(app, camera).pictures > before + 2);
    for _ in 0..3 {
        // Its own picture goes as well.
        let (guest, _) = spawn_live_camera(&mut app, generous(), Msaa::Off);
        tick_app_times(&mut app, 3);
        app.world_mut().despawn(guest);
        tick_app(&mut app);
    }
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
}

#[test]
fn a_window_without_pixels_is_no_trouble() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let minimised = Window { resolution: WindowResolution::new(0, 0), ..default() };
    let window = app.world_mut().spawn((minimised, PrimaryWindow)).id();
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
    // Bevy itself panics on a device whose loss it has not heard of yet, or while it reads from it.
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
