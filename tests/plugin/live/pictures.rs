//! Tests of the content of live images.

use bevy::asset::RenderAssetUsages;
use bevy::camera::{Exposure, Hdr, RenderTarget, ScalingMode, Viewport};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::light::Skybox;
use bevy::prelude::*;
use bevy::render::render_resource::{
    Extent3d, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension,
};
use bevy_radiosity::plugin::TreeCells;
use bevy_radiosity::prelude::*;

use super::{
    SIZE, generous, glowing, mean_radiance, spawn_glowing_box, spawn_live_camera, spawn_live_camera_for, spawn_picture,
    status, wait_for_new_picture, wait_for_samples,
};
use crate::app::*;
use crate::relight::diagnosed;

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
    // Without reflections all samples agree, so there is no noise.
    let (camera, picture) = spawn_live_camera(&mut app, LiveView { bounces: 0, ..generous() }, Msaa::Off);
    wait_for_samples(&mut app, camera, 4);
    let pictures = status(&app, camera).pictures;
    let blue = |seen: Vec3| seen.distance(Vec3::Z) < 0.01;
    let few_nodes = |seen: Vec3| seen.x == 0.0 && seen.z > 0.9;
    let near = |expected: Vec3| move |seen: Vec3| seen.distance(expected) < 0.01;
    let expectations: [(LiveChannel, &dyn Fn(Vec3) -> bool); 5] = [
        (LiveChannel::Albedo, &near(Vec3::new(0.2, 0.5, 0.8))),
        // The normal of the wall ahead points to the camera, along +z.
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
fn a_skybox_looks_as_bevy_draws_it_and_lights_what_stands_in_it() {
    let Some(mut app) = create_drawing_app() else { return };
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    // Faces of different colors, rotated, with a darker patch that shows the orientation.
    let cube = spawn_cube_map(&mut app, [[200, 0, 0], [0, 200, 0], [0, 0, 200], [200, 200, 0], [0, 200, 200], [99; 3]]);
    let rotation = Quat::from_euler(EulerRot::YXZ, 0.4, -0.3, 0.2);
    app.world_mut().entity_mut(camera).insert(Skybox { image: Some(cube), brightness: 900.0, rotation });
    for direction in [Vec3::NEG_Z, Vec3::X, Vec3::new(0.1, 1.0, 0.0)] {
        *app.world_mut().get_mut::<Transform>(camera).unwrap() = Transform::default().looking_to(direction, Vec3::Y);
        app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = false;
        assert_shows(&mut app, &picture, "Bevy's skybox", |seen| seen != Vec3::ZERO);
        let bevys = picture_of(&mut app, &picture);
        app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = true;
        wait_for_new_picture(&mut app, camera, |_| {});
        wait_for_samples(&mut app, camera, 8);
        let ours = picture_of(&mut app, &picture);
        let mut different = 0;
        for pixel in (0..SIZE.x * SIZE.y).map(|index| UVec2::new(index % SIZE.x, index / SIZE.x)) {
            let (expected, seen) = (color_at(&bevys, pixel), color_at(&ours, pixel));
            // Edges between faces are filtered differently.
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

/// Adds a cube map with one color per face. Unless all faces are equal, the upper left quarter of each has half the
/// color.
fn spawn_cube_map(app: &mut App, colors: [[u8; 3]; 6]) -> Handle<Image> {
    const EDGE: u32 = 128;
    let is_uniform = colors.iter().all(|color| *color == colors[0]);
    let texel = |[red, green, blue]: [u8; 3], x: u32, y: u32| {
        let is_patch = !is_uniform && x < EDGE / 2 && y < EDGE / 2;
        let scaled = |channel: u8| if is_patch { channel / 2 } else { channel };
        [scaled(red), scaled(green), scaled(blue), 255]
    };
    let texels = colors
        .iter()
        .flat_map(|color| (0..EDGE * EDGE).flat_map(move |index| texel(*color, index % EDGE, index / EDGE)));
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
    // Ten pixels per meter.
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
        // The square spans 20 pixels. Its center lies ten pixels right of the image center and five above.
        let (min, max) = (SIZE / 2 + UVec2::new(0, 5) - UVec2::new(0, 20), SIZE / 2 + UVec2::new(20, 5));
        for pixel in [min + 1, max - 2, UVec2::new(min.x + 1, max.y - 2)] {
            assert!((covered(pixel) - 1.0).abs() < 2e-3, "{} at {pixel}", covered(pixel));
        }
        for pixel in [min - 2, max + 1, UVec2::new(min.x - 2, max.y - 2), UVec2::new(min.x, max.y + 1)] {
            assert_eq!(covered(pixel), 0.0, "{pixel}");
        }
        let all = (0..SIZE.x * SIZE.y).map(|index| covered(UVec2::new(index % SIZE.x, index / SIZE.x)));
        let area = all.sum::<f32>();
        assert!((area - 400.0).abs() < 4.0, "{area} pixels of 20 by 20");
        wait_for_new_picture(&mut app, camera, |app| assert!(app.world_mut().despawn(square)));
    }
}

#[test]
fn paths_that_end_at_lightmaps_bring_the_light_that_was_baked() {
    let Some(mut app) = create_drawing_app() else { return };
    // A closed room of 2 m with a lamp.
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
    quick.settings.layout.texels_per_meter = 8.0;
    quick.settings.solver.error = 0.02;
    bake(&mut app, quick).unwrap();

    let picture = spawn_picture(&mut app, UVec2::new(40, 24));
    let live = LiveView { filter: false, bounces: 64, ..generous() };
    let camera = spawn_live_camera_for(&mut app, &picture, live, Msaa::Off);
    app.world_mut().get_mut::<Transform>(camera).unwrap().translation = Vec3::new(-0.5, 0.0, 0.9);
    let view = (camera, picture);
    // A change of settings starts one new image, and a change of the scene another.
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
    // The lamp's light in the lightmaps stays visible by reflection.
    let indirect = mean(2, &|world| {
        world.get_mut::<LiveView>(camera).unwrap().bounces = 64;
        world.despawn(lamp);
    });
    assert!((indirect / (all_paths - direct) - 1.0).abs() < 0.03, "{indirect} cd/m2, not {}", all_paths - direct);
    // Without lightmaps, paths have nowhere to end and find no light.
    assert_eq!(mean(1, &|world| world.resource_mut::<Lightmaps>().enabled = false), 0.0);
}

#[test]
fn a_picture_of_half_the_scale_has_a_quarter_of_the_pixels_and_is_done_at_its_last_sample() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let live = LiveView { render_scale: 0.5, max_samples: 3, ..generous() };
    let (camera, picture) = spawn_live_camera(&mut app, live, Msaa::Off);
    tick_app_until(&mut app, "samples", |app| status(app, camera).samples >= 3);
    tick_app_times(&mut app, 20);
    let LiveViewStatus { size, samples, .. } = status(&app, camera);
    assert_eq!((size, samples), (SIZE / 2, 3));
    assert_red(&mut app, &picture, 400.0 * exposure(), 2e-3);
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
    assert_shows(&mut app, &picture, "the clear color", |seen| seen.distance(Vec3::X * 0.25) < 1e-3);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = false;
    assert_red(&mut app, &picture, 0.25, 1e-3);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().enabled = true;
    wait_for_samples(&mut app, camera, 1);
    app.world_mut().entity_mut(camera).remove::<LiveView>();
    assert_red(&mut app, &picture, 0.25, 1e-3);
}

#[test]
fn the_clear_color_is_seen_where_nothing_is_and_lights_nothing() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_lit_floor(&mut app, 1.0, 0.0);
    let (camera, picture) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    app.insert_resource(ClearColor(Color::linear_rgb(0.0, 0.5, 1.0)));
    let above = Transform::from_xyz(0.0, 2.0, 0.0).looking_at(Vec3::ZERO, Vec3::X);
    app.world_mut().entity_mut(camera).insert((Camera::default(), above));
    assert_shows(&mut app, &picture, "a floor without light", |seen| seen == Vec3::ZERO);
    let corner = color_at(&picture_of(&mut app, &picture), UVec2::ZERO);
    assert!(corner.distance(Vec3::new(0.0, 0.5, 1.0)) < 1e-3, "{corner}");
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
        // Another camera with a larger image.
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
fn live_views_are_measured() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_glowing_box(&mut app, 400.0);
    let (camera, _) = spawn_live_camera(&mut app, generous(), Msaa::Off);
    wait_for_samples(&mut app, camera, 2);
    assert!(diagnosed(&app, &LIVE_VIEW_SAMPLES) >= 1.0);
    // Some software adapters have no timestamps.
    if status(&app, camera).frame_milliseconds > 0.0 {
        assert!(diagnosed(&app, &LIVE_VIEW_GPU) > 0.0 && diagnosed(&app, &LIVE_VIEW_PATHS) > 0.0);
    }
}
