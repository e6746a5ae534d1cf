//! Example: one room in three modes, as Bevy renders it, with lightmaps, and path traced live.
//!
//! ```text
//! cargo run --release --features viewer --example compare_modes
//! cargo run --release --example compare_modes -- --screenshot modes.png    (needs no window)
//! ```
//!
//! All light comes from one lamp above a dish. W, A, S, D, Q, E and the right mouse button move all three cameras.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::camera::visibility::RenderLayers;
use bevy::camera::{Exposure, Hdr, RenderTarget, Viewport};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use viewer::{TakeScreenshot, ViewerPlugin};

/// Render layer of the room without lightmaps, for the first camera.
const UNBAKED: RenderLayers = RenderLayers::layer(1);
/// Frame budget for tracing a screenshot, in milliseconds.
const UNHURRIED: f32 = 4000.0;
/// Samples per pixel of a screenshot.
const SAMPLES: u32 = 16;

/// Index of a camera's third of the image, from the left.
#[derive(Component)]
struct Third(u32);

#[derive(Resource, Default)]
struct IsBaked(bool);

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    let viewer = ViewerPlugin {
        eye: Vec3::new(0.0, 1.5, 5.4),
        target: Vec3::new(0.0, 1.45, 0.0),
        vertical_fov: 0.8,
        ev100: 5.8,
        screenshot,
        ..default()
    };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .init_resource::<IsBaked>()
        .add_systems(Startup, (spawn_rooms, |mut commands: Commands| commands.trigger(Bake::default())).chain())
        .add_systems(PostStartup, spawn_cameras)
        .add_systems(Update, (share_picture, take_screenshot_when_done))
        .add_observer(show)
        .run()
}

type Look = (&'static RenderTarget, &'static Exposure, &'static Projection, &'static Transform);

/// Spawns two more cameras. The viewer's camera is the first.
fn spawn_cameras(mut commands: Commands, viewer: Single<(Entity, &Camera, Look), With<Camera3d>>) {
    let (first, camera, (target, exposure, projection, place)) = *viewer;
    commands.entity(first).insert((Third(0), UNBAKED));
    let mut spawn = |third: u32| {
        let camera = Camera { order: third as isize, ..camera.clone() };
        let look = (target.clone(), *exposure, projection.clone(), *place, Hdr, Tonemapping::AcesFitted);
        commands.spawn((Camera3d::default(), camera, look, Third(third))).id()
    };
    spawn(1);
    let live = spawn(2);
    let mut view = LiveView::default();
    if matches!(target, RenderTarget::Image(_)) {
        view.frame_budget = UNHURRIED;
    }
    commands.entity(live).insert(view);
}

fn show(done: On<BakeFinished>, mut is_baked: ResMut<IsBaked>) {
    info!("lit {} surfaces, error about {:.1} %", done.report.surfaces, done.report.error_of_mean * 100.0);
    is_baked.0 = true;
}

/// Sets the viewports of the cameras for the current window size.
fn share_picture(mut cameras: Query<(&mut Camera, &Third)>) {
    for (mut camera, Third(third)) in &mut cameras {
        let Some(size) = camera.physical_target_size().filter(|size| size.x >= 3) else {
            continue;
        };
        let (left, right) = (size.x * third / 3, size.x * (third + 1) / 3);
        let viewport = Viewport {
            physical_position: UVec2::new(left, 0),
            physical_size: UVec2::new(right - left, size.y),
            ..default()
        };
        let is_same = |shown: &Viewport| {
            (shown.physical_position, shown.physical_size) == (viewport.physical_position, viewport.physical_size)
        };
        if !camera.viewport.as_ref().is_some_and(is_same) {
            camera.viewport = Some(viewport);
        }
    }
}

fn take_screenshot_when_done(
    mut commands: Commands,
    is_baked: Res<IsBaked>,
    views: Query<&LiveViewStatus>,
    mut is_taken: Local<bool>,
) {
    let is_clean = views.iter().any(|view| view.samples >= SAMPLES);
    if is_baked.0 && is_clean && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

fn spawn_rooms(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    spawn_room(&mut commands, &mut meshes, &mut materials, (UNBAKED, BakeRole::Excluded));
    spawn_room(&mut commands, &mut meshes, &mut materials, ());
}

/// Spawns a room with a lamp above a dish. Direct light reaches only the ceiling and the upper walls.
fn spawn_room(
    commands: &mut Commands,
    meshes: &mut Assets<Mesh>,
    materials: &mut Assets<StandardMaterial>,
    kind: impl Bundle + Clone,
) {
    let diffuse = |red, green, blue| StandardMaterial {
        base_color: Color::linear_rgb(red, green, blue),
        perceptual_roughness: 1.0,
        reflectance: 0.0,
        ..default()
    };
    let white = materials.add(diffuse(0.73, 0.73, 0.73));
    let red = materials.add(diffuse(0.63, 0.06, 0.05));
    let blue = materials.add(diffuse(0.08, 0.16, 0.6));
    let steel = materials.add(StandardMaterial {
        metallic: 1.0,
        perceptual_roughness: 0.15,
        reflectance: 0.5,
        ..diffuse(0.8, 0.8, 0.8)
    });
    let mut spawn = |name: &str, mesh: Mesh, material: &Handle<StandardMaterial>, place: Transform| {
        let drawn = (Mesh3d(meshes.add(mesh)), MeshMaterial3d(material.clone()));
        commands.spawn((Name::new(name.to_owned()), drawn, place, kind.clone()));
    };
    let plane =
        |normal: Vec3, width: f32, height: f32| Plane3d::new(normal, Vec2::new(width, height) / 2.0).mesh().build();
    spawn("floor", plane(Vec3::Y, 3.0, 4.0), &white, Transform::default());
    spawn("ceiling", plane(Vec3::NEG_Y, 3.0, 4.0), &white, Transform::from_xyz(0.0, 3.0, 0.0));
    spawn("back", plane(Vec3::Z, 3.0, 3.0), &white, Transform::from_xyz(0.0, 1.5, -2.0));
    spawn("left", plane(Vec3::X, 3.0, 4.0), &red, Transform::from_xyz(-1.5, 1.5, 0.0));
    spawn("right", plane(Vec3::NEG_X, 3.0, 4.0), &blue, Transform::from_xyz(1.5, 1.5, 0.0));
    spawn("dish", Cylinder::new(0.4, 0.04).into(), &white, Transform::from_xyz(0.2, 2.1, -0.4));
    let turned = Transform::from_xyz(-0.55, 0.6, -0.7).with_rotation(Quat::from_rotation_y(0.35));
    spawn("block", Cuboid::new(0.8, 1.2, 0.8).into(), &white, turned);
    spawn("steel ball", Sphere::new(0.45).into(), &steel, Transform::from_xyz(0.6, 0.45, -0.3));
    spawn("diffuse ball", Sphere::new(0.3).into(), &white, Transform::from_xyz(-0.1, 0.3, 0.7));
    commands.spawn((
        Name::new("lamp"),
        PointLight { intensity: 9000.0, radius: 0.05, shadow_maps_enabled: true, ..default() },
        Transform::from_xyz(0.2, 2.3, -0.4),
        kind,
    ));
}
