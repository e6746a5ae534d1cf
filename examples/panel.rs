//! A room with the panel: bake it, path trace it live, and turn the knobs.
//!
//! ```text
//! cargo run --release --features viewer,panel --example panel
//! cargo run --release --features viewer,panel --example panel -- --screenshot panel.png     (needs no window)
//! ```
//!
//! F1 hides the panel, L switches lightmaps, P the live view; W, A, S, D, Q, E and the right mouse button move.

use bevy::prelude::*;
use bevy_radiosity::plugin::{TakeScreenshot, ViewerPlugin};
use bevy_radiosity::prelude::*;

fn main() -> AppExit {
    let arguments: Vec<String> = std::env::args().collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot");
    let screenshot = screenshot.and_then(|index| arguments.get(index + 1)).map(Into::into);
    let wants_picture = screenshot.is_some();
    let eye = Vec3::new(0.0, 1.6, 5.2);
    let viewer = ViewerPlugin { eye, target: Vec3::new(-0.6, 1.4, 0.0), ev100: 4.0, screenshot, ..default() };

    let mut app = App::new();
    app.add_plugins((viewer.default_plugins(), RadiosityPlugins, RadiosityPanelPlugin))
        .add_plugins(viewer)
        .add_systems(Startup, spawn_room);
    if wants_picture {
        app.add_systems(PostStartup, |mut commands: Commands, panel: Res<Panel>| commands.trigger(panel.bake.clone()))
            .add_observer(|_: On<BakeFinished>, mut commands: Commands| commands.trigger(TakeScreenshot));
    }
    app.run()
}

/// A room with a blue wall, a ball, a block, and a lamp behind a pillar.
fn spawn_room(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let matt = |base_color| StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() };
    let white = materials.add(matt(Color::linear_rgb(0.73, 0.73, 0.73)));
    let blue = materials.add(matt(Color::linear_rgb(0.15, 0.2, 0.6)));
    let red = materials.add(matt(Color::linear_rgb(0.63, 0.12, 0.08)));
    let mut spawn = |name: &str, mesh: Mesh, material: &Handle<StandardMaterial>, place: Transform| {
        commands.spawn((Name::new(name.to_owned()), Mesh3d(meshes.add(mesh)), MeshMaterial3d(material.clone()), place));
    };
    let wall = |normal: Vec3| Plane3d::new(normal, Vec2::splat(2.0)).mesh().build();
    spawn("floor", wall(Vec3::Y), &white, Transform::default());
    spawn("ceiling", wall(Vec3::NEG_Y), &white, Transform::from_xyz(0.0, 3.0, 0.0));
    spawn("back", wall(Vec3::Z), &white, Transform::from_xyz(0.0, 1.5, -2.0));
    spawn("left", wall(Vec3::X), &blue, Transform::from_xyz(-2.0, 1.5, 0.0));
    spawn("right", wall(Vec3::NEG_X), &white, Transform::from_xyz(2.0, 1.5, 0.0));
    spawn("ball", Sphere::new(0.5).into(), &red, Transform::from_xyz(0.7, 0.5, 0.4));
    spawn("block", Cuboid::new(0.7, 0.7, 0.7).into(), &white, Transform::from_xyz(-0.7, 0.35, 0.5));
    spawn("pillar", Cylinder::new(0.2, 3.0).into(), &white, Transform::from_xyz(0.3, 1.5, -0.9));
    commands.spawn((
        Name::new("lamp"),
        PointLight { intensity: 4000.0, radius: 0.05, shadow_maps_enabled: true, ..default() },
        Transform::from_xyz(-0.6, 2.2, -1.2),
    ));
}
