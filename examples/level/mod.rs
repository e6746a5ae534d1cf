//! Shared code of examples with a level: loads it, and detects when it is complete.

#[path = "../../src/cli/spawn.rs"]
mod spawn;

use bevy::ecs::query::QueryFilter;
use bevy::light::DirectionalLight;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;

use spawn::spawn_scene;

/// Frames from the first mesh until a level is complete.
const FRAMES: u32 = 10;

/// Removes a flag and its value from the arguments, and returns the value.
pub fn value_of(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let flag = arguments.iter().position(|argument| argument == name)?;
    arguments.drain(flag..(flag + 2).min(arguments.len())).nth(1)
}

/// Spawns a level from the asset folder, or a built-in one.
pub fn spawn_level(world: &mut World, level: &str) {
    if level.starts_with("builtin:") {
        match bevy_radiosity::scene_files::load(level) {
            Ok(loaded) => _ = spawn_scene(world, &loaded.scene),
            Err(error) => error!("{error}"),
        }
    } else {
        let label = GltfAssetLabel::Scene(0).from_asset(level.to_owned());
        let scene = world.resource::<AssetServer>().load(label);
        world.spawn(WorldAssetRoot(scene));
    }
}

/// Enables shadow maps, since files do not say which lights cast shadows.
pub fn cast_shadows(
    mut points: Query<&mut PointLight, Added<PointLight>>,
    mut spots: Query<&mut SpotLight, Added<SpotLight>>,
) {
    points.iter_mut().for_each(|mut light| light.shadow_maps_enabled = true);
    spots.iter_mut().for_each(|mut light| light.shadow_maps_enabled = true);
}

/// Removes the sun of a file: the examples have their own, or show the night.
pub fn remove_suns<F: QueryFilter>(mut commands: Commands, suns: Query<Entity, (Added<DirectionalLight>, F)>) {
    suns.iter().for_each(|sun| commands.entity(sun).despawn());
}

/// Returns true in the one frame in which the level is complete.
pub fn is_complete(meshes: Query<(), With<Mesh3d>>, mut frames: Local<u32>) -> bool {
    *frames += u32::from(!meshes.is_empty());
    *frames == FRAMES
}
