//! Example: a room with the panel, to bake it, path trace it live, and edit settings.
//!
//! ```text
//! cargo run --release --features viewer,panel --example panel
//! cargo run --release --features viewer,panel --example panel -- --screenshot panel.png    (needs no window)
//! ```
//!
//! F1 hides the panel, L switches lightmaps, P the live view; W, A, S, D, Q, E and the right mouse button move.

mod room;
#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::prelude::*;
use bevy_radiosity::prelude::*;

use room::{Furnisher, diffuse};
use viewer::{TakeScreenshot, ViewerPlugin};

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

/// Spawns a room with a ball, and a lamp behind its pillar.
fn spawn_room(mut furnisher: Furnisher) {
    furnisher.spawn_room();
    let red = furnisher.materials.add(diffuse(0.63, 0.12, 0.08));
    furnisher.spawn("ball", Sphere::new(0.5), &red, Vec3::new(0.7, 0.5, 0.4));
    furnisher.commands.spawn((
        Name::new("lamp"),
        PointLight { intensity: 4000.0, radius: 0.05, shadow_maps_enabled: true, ..default() },
        Transform::from_xyz(-0.6, 2.2, -1.2),
    ));
}
