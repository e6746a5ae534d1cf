//! Lamps that circle through a room, path traced while they move: nothing is baked, and all light bounces.
//!
//! ```text
//! cargo run --release --features viewer --example moving_lights
//! cargo run --release --example moving_lights -- --screenshot lamps.png     (needs no window)
//! ```

use bevy::prelude::*;
use bevy_radiosity::plugin::{TakeScreenshot, ViewerPlugin};
use bevy_radiosity::prelude::*;

/// Turns of a lamp in a second.
const TURNS_PER_SECOND: f32 = 0.1;

/// A lamp, and how far round it starts, in turns.
#[derive(Component)]
struct Circling(f32);

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    // Nobody watches how long a frame of a picture takes.
    let frame_budget = if screenshot.is_some() { 1000.0 } else { 8.0 };
    let live = LiveView { bounces: 4, frame_budget, ..default() };
    let viewer = ViewerPlugin { eye: Vec3::new(0.0, 1.6, 4.8), ev100: 4.0, screenshot, ..default() };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .add_systems(Startup, (spawn_room, spawn_lamps))
        .add_systems(PostStartup, look_live(live))
        .add_systems(Update, (circle, take_screenshot_when_seen))
        .run()
}

fn look_live(live: LiveView) -> impl Fn(Commands, Query<Entity, With<Camera3d>>) {
    move |mut commands, cameras| {
        for camera in &cameras {
            commands.entity(camera).insert(live);
        }
    }
}

/// Only light changes, so the tree of the room is built once.
fn circle(mut lamps: Query<(&Circling, &mut Transform)>, time: Res<Time>) {
    for (Circling(start), mut place) in &mut lamps {
        let (sine, cosine) = ((start + TURNS_PER_SECOND * time.elapsed_secs()) * core::f32::consts::TAU).sin_cos();
        place.translation = Vec3::new(1.1 * cosine, 1.9 + 0.4 * sine, 1.1 * sine);
    }
}

fn take_screenshot_when_seen(mut commands: Commands, views: Query<&LiveViewStatus>, mut is_taken: Local<bool>) {
    if views.iter().any(|view| view.pictures >= 10) && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

fn spawn_lamps(mut commands: Commands) {
    let colors =
        [Color::linear_rgb(1.0, 0.45, 0.2), Color::linear_rgb(0.3, 1.0, 0.4), Color::linear_rgb(0.3, 0.5, 1.0)];
    for (index, color) in colors.into_iter().enumerate() {
        commands.spawn((
            Name::new(format!("lamp {index}")),
            PointLight { color, intensity: 1500.0, radius: 0.05, shadow_maps_enabled: true, ..default() },
            Transform::default(),
            Circling(index as f32 / 3.0),
        ));
    }
}

/// A white room with a metal ball, a block and a pillar.
fn spawn_room(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let matt = |base_color| StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() };
    let white = materials.add(matt(Color::linear_rgb(0.73, 0.73, 0.73)));
    let blue = materials.add(matt(Color::linear_rgb(0.15, 0.2, 0.6)));
    let brass = materials.add(StandardMaterial {
        base_color: Color::linear_rgb(0.9, 0.7, 0.3),
        metallic: 1.0,
        perceptual_roughness: 0.25,
        ..default()
    });
    let mut spawn = |name: &str, mesh: Mesh, material: &Handle<StandardMaterial>, place: Transform| {
        commands.spawn((Name::new(name.to_owned()), Mesh3d(meshes.add(mesh)), MeshMaterial3d(material.clone()), place));
    };
    let wall = |normal: Vec3| Plane3d::new(normal, Vec2::splat(2.0)).mesh().build();
    spawn("floor", wall(Vec3::Y), &white, Transform::default());
    spawn("ceiling", wall(Vec3::NEG_Y), &white, Transform::from_xyz(0.0, 3.0, 0.0));
    spawn("back", wall(Vec3::Z), &white, Transform::from_xyz(0.0, 1.5, -2.0));
    spawn("left", wall(Vec3::X), &blue, Transform::from_xyz(-2.0, 1.5, 0.0));
    spawn("right", wall(Vec3::NEG_X), &white, Transform::from_xyz(2.0, 1.5, 0.0));
    spawn("ball", Sphere::new(0.5).into(), &brass, Transform::from_xyz(0.6, 0.5, 0.4));
    spawn("block", Cuboid::new(0.7, 0.7, 0.7).into(), &white, Transform::from_xyz(-0.7, 0.35, 0.5));
    spawn("pillar", Cylinder::new(0.2, 3.0).into(), &white, Transform::from_xyz(-0.4, 1.5, -0.8));
}
