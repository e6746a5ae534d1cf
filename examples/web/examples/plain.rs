//! The page's level without the plugin: `build.py --sizes` tells by it how much the plugin adds.

#[path = "../../hall/view.rs"]
mod hall;
#[path = "../src/level.rs"]
mod level;

use bevy::prelude::*;

fn main() {
    App::new().add_plugins(level::default_plugins()).add_systems(Startup, spawn_level).run();
}

fn spawn_level(mut commands: Commands, assets: Res<AssetServer>) {
    commands.spawn(level::camera());
    commands.spawn(level::scene(&assets));
}
