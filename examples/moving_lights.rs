//! Example: lamps that circle through a room, path traced while they move. Nothing is baked, and all light bounces.
//!
//! ```text
//! cargo run --release --features viewer --example moving_lights
//! cargo run --release --example moving_lights -- --screenshot lamps.png    (needs no window)
//! ```
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod room;
#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use room::{Furnisher, diffuse};
use viewer::{TakeScreenshot, ViewerPlugin};

/// Revolutions of a lamp per second.
const TURNS_PER_SECOND: f32 = 0.1;

/// Circling lamp, with its initial phase in revolutions.
#[derive(Component)]
struct Circling(f32);

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    // A screenshot needs no frame rate.
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

/// Moves the lamps. Only light changes, so the tree of the room is built once.
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

fn spawn_room(mut furnisher: Furnisher) {
    furnisher.spawn_room();
    let brass = StandardMaterial { metallic: 1.0, perceptual_roughness: 0.25, ..diffuse(0.9, 0.7, 0.3) };
    let brass = furnisher.materials.add(brass);
    furnisher.spawn("ball", Sphere::new(0.5), &brass, Vec3::new(0.7, 0.5, 0.4));
}
