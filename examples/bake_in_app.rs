//! Example: a Bevy app that bakes its own world in the background and shows it lit.
//!
//! ```text
//! cargo run --release --features viewer --example bake_in_app
//! cargo run --release --example bake_in_app -- --screenshot lit.png    (needs no window)
//! ```
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use viewer::{TakeScreenshot, ViewerPlugin};

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    let viewer = ViewerPlugin { eye: Vec3::new(0.0, 1.5, 4.5), ev100: 4.0, screenshot, ..default() };

    // An app needs one plugin group and one trigger.
    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .add_systems(Startup, (spawn_room, bake).chain())
        .add_systems(Update, say_progress.run_if(resource_changed::<BakeProgress>))
        .add_observer(show)
        .run()
}

fn bake(mut commands: Commands) {
    commands.trigger(Bake::default());
}

fn say_progress(progress: Res<BakeProgress>) {
    if progress.is_baking() {
        debug!("{:?}: {:.0} %", progress.phase, progress.fraction * 100.0);
    }
}

fn show(done: On<BakeFinished>, mut commands: Commands) {
    info!("lit {} surfaces, error about {:.1} %", done.report.surfaces, done.report.error_of_mean * 100.0);
    commands.trigger(TakeScreenshot);
}

/// Spawns a room with a red and a green wall, two blocks and an emissive panel.
fn spawn_room(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let diffuse =
        |base_color| StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() };
    let white = materials.add(diffuse(Color::linear_rgb(0.73, 0.73, 0.73)));
    let red = materials.add(diffuse(Color::linear_rgb(0.63, 0.06, 0.05)));
    let green = materials.add(diffuse(Color::linear_rgb(0.14, 0.45, 0.09)));
    let glow = materials.add(StandardMaterial {
        base_color: Color::BLACK,
        emissive: LinearRgba::rgb(700.0, 520.0, 300.0),
        emissive_exposure_weight: 1.0,
        ..default()
    });
    let mut spawn = |name: &str, mesh: Mesh, material: &Handle<StandardMaterial>, place: Transform| {
        commands.spawn((Name::new(name.to_owned()), Mesh3d(meshes.add(mesh)), MeshMaterial3d(material.clone()), place));
    };
    let wall = |normal: Vec3| Plane3d::new(normal, Vec2::splat(1.5)).mesh().build();
    spawn("floor", wall(Vec3::Y), &white, Transform::from_xyz(0.0, 0.0, 0.0));
    spawn("ceiling", wall(Vec3::NEG_Y), &white, Transform::from_xyz(0.0, 3.0, 0.0));
    spawn("back", wall(Vec3::Z), &white, Transform::from_xyz(0.0, 1.5, -1.5));
    spawn("left", wall(Vec3::X), &red, Transform::from_xyz(-1.5, 1.5, 0.0));
    spawn("right", wall(Vec3::NEG_X), &green, Transform::from_xyz(1.5, 1.5, 0.0));
    let panel = Plane3d::new(Vec3::NEG_Y, Vec2::new(0.4, 0.3)).mesh().build();
    spawn("panel", panel, &glow, Transform::from_xyz(0.0, 2.99, 0.0));
    let turned = |x: f32, height: f32, z: f32, turn: f32| {
        Transform::from_xyz(x, height / 2.0, z).with_rotation(Quat::from_rotation_y(turn))
    };
    spawn("tall block", Cuboid::new(0.9, 1.8, 0.9).into(), &white, turned(-0.5, 1.8, -0.5, 0.3));
    spawn("small block", Cuboid::new(0.9, 0.9, 0.9).into(), &white, turned(0.55, 0.9, 0.5, -0.3));
}
