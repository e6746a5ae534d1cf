//! Example: a glass ball, a mirror and a steel ball, path traced live. Lightmaps cannot show these.
//!
//! ```text
//! cargo run --release --features viewer --example glass_and_mirrors
//! cargo run --release --example glass_and_mirrors -- --screenshot glass.png    (needs no window)
//! ```
//!
//! W, A, S, D, Q, E and the right mouse button move; V switches between the live view and Bevy's rendering.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::camera::RenderTarget;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use viewer::{TakeScreenshot, ViewerPlugin};

/// Frame budget for tracing a screenshot, in milliseconds.
const UNHURRIED: f32 = 4000.0;
/// Samples per pixel of a screenshot.
const SAMPLES: u32 = 32;

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    let viewer = ViewerPlugin {
        eye: Vec3::new(0.0, 1.5, 4.9),
        target: Vec3::new(0.0, 1.15, 0.0),
        vertical_fov: 0.75,
        ev100: 4.8,
        screenshot,
        ..default()
    };

    let mut app = App::new();
    app.add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .add_systems(Startup, (spawn_room, spawn_things))
        .add_systems(PostStartup, look_live)
        .add_systems(Update, take_screenshot_when_clean);
    #[cfg(feature = "viewer")]
    app.add_systems(Update, switch);
    app.run()
}

fn look_live(mut commands: Commands, cameras: Query<(Entity, &RenderTarget), With<Camera3d>>) {
    for (camera, target) in &cameras {
        let mut view = LiveView::default();
        if matches!(target, RenderTarget::Image(_)) {
            view.frame_budget = UNHURRIED;
        }
        commands.entity(camera).insert(view);
    }
}

fn take_screenshot_when_clean(mut commands: Commands, views: Query<&LiveViewStatus>, mut is_taken: Local<bool>) {
    let is_clean = views.iter().any(|view| view.samples >= SAMPLES);
    if is_clean && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

#[cfg(feature = "viewer")]
fn switch(keys: Res<ButtonInput<KeyCode>>, mut views: Query<&mut LiveView>) {
    if keys.just_pressed(KeyCode::KeyV) {
        for mut view in &mut views {
            view.enabled = !view.enabled;
        }
    }
}

fn diffuse(red: f32, green: f32, blue: f32) -> StandardMaterial {
    let base_color = Color::linear_rgb(red, green, blue);
    StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() }
}

fn metal(red: f32, green: f32, blue: f32, perceptual_roughness: f32) -> StandardMaterial {
    StandardMaterial { metallic: 1.0, perceptual_roughness, reflectance: 0.5, ..diffuse(red, green, blue) }
}

/// Returns a glass material. A non-zero thickness enables refraction; the path tracer finds the actual thickness by
/// itself.
fn glass() -> StandardMaterial {
    StandardMaterial {
        perceptual_roughness: 0.0,
        specular_transmission: 1.0,
        thickness: 1.0,
        ior: 1.5,
        attenuation_color: Color::linear_rgb(0.8, 0.95, 0.9),
        attenuation_distance: 1.0,
        ..default()
    }
}

/// Returns an emissive material, with radiance in cd/m2.
fn lamp(red: f32, green: f32, blue: f32) -> StandardMaterial {
    let emissive = LinearRgba::rgb(red, green, blue);
    StandardMaterial { emissive, emissive_exposure_weight: 1.0, ..diffuse(0.0, 0.0, 0.0) }
}

fn spawn_things(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut spawn = |name: &str, mesh: Mesh, material: StandardMaterial, place: Transform| {
        let (mesh, material) = (Mesh3d(meshes.add(mesh)), MeshMaterial3d(materials.add(material)));
        commands.spawn((Name::new(name.to_owned()), mesh, material, place));
    };
    let ball = |radius: f32| Sphere::new(radius).mesh().ico(24).expect("24 is fewer than 80");
    let on_floor = |x: f32, radius: f32, z: f32| Transform::from_xyz(x, radius, z);
    spawn("glass", ball(0.5), glass(), on_floor(0.65, 0.5, 0.7));
    spawn("steel", ball(0.6), metal(0.86, 0.85, 0.83, 0.0), on_floor(-1.0, 0.6, -0.5));
    spawn("gold", ball(0.3), metal(1.0, 0.78, 0.34, 0.3), on_floor(-0.35, 0.3, 0.9));
    spawn("yellow", ball(0.4), diffuse(0.75, 0.6, 0.1), on_floor(1.2, 0.4, -0.8));
    let mirror = Cuboid::new(1.5, 1.7, 0.06).into();
    // The mirror leans forward and to the left, and shows the objects in front of it.
    let leaning = Quat::from_rotation_y(-0.25) * Quat::from_rotation_x(0.3);
    let at_wall = Transform::from_xyz(0.55, 1.3, -1.5).with_rotation(leaning);
    spawn("mirror", mirror, metal(0.9, 0.9, 0.9, 0.0), at_wall);
}

/// Spawns a room of 4 by 3 by 4 m, open to the front, with two emissive panels.
fn spawn_room(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut spawn = |name: &str, normal: Vec3, half_size: Vec2, material: StandardMaterial, at: Vec3| {
        let mesh = meshes.add(Plane3d::new(normal, half_size));
        let material = MeshMaterial3d(materials.add(material));
        commands.spawn((Name::new(name.to_owned()), Mesh3d(mesh), material, Transform::from_translation(at)));
    };
    let white = || diffuse(0.65, 0.65, 0.65);
    let (wall, side) = (Vec2::new(2.0, 1.5), Vec2::new(1.5, 2.0));
    spawn("floor", Vec3::Y, Vec2::splat(2.0), white(), Vec3::ZERO);
    spawn("ceiling", Vec3::NEG_Y, Vec2::splat(2.0), white(), Vec3::new(0.0, 3.0, 0.0));
    spawn("back", Vec3::Z, wall, white(), Vec3::new(0.0, 1.5, -2.0));
    spawn("left", Vec3::X, side, diffuse(0.57, 0.05, 0.05), Vec3::new(-2.0, 1.5, 0.0));
    spawn("right", Vec3::NEG_X, side, diffuse(0.13, 0.4, 0.08), Vec3::new(2.0, 1.5, 0.0));
    spawn("lamp left", Vec3::NEG_Y, Vec2::splat(0.3), lamp(1500.0, 1200.0, 800.0), Vec3::new(-0.9, 2.99, -0.3));
    spawn("lamp right", Vec3::NEG_Y, Vec2::splat(0.15), lamp(3000.0, 3300.0, 4200.0), Vec3::new(1.1, 2.99, 0.6));
}
