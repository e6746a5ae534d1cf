//! What examples share that take place in a level: they load it, and bake it once it is all there.

use bevy::ecs::query::QueryFilter;
use bevy::light::DirectionalLight;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::plugin::spawn_scene;

/// Frames within which everything comes that a level is made of, once its first mesh is there.
const FRAMES: u32 = 10;

/// What follows a name among the arguments, both of which are taken out.
pub fn value_of(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let flag = arguments.iter().position(|argument| argument == name)?;
    arguments.drain(flag..(flag + 2).min(arguments.len())).nth(1)
}

/// Spawns a level of the assets' folder, or one that is built in.
pub fn spawn_level(world: &mut World, level: &str) {
    if level.starts_with("builtin:") {
        match bevy_radiosity::scene::load(level) {
            Ok(loaded) => _ = spawn_scene(world, &loaded.scene),
            Err(error) => error!("{error}"),
        }
    } else {
        let label = GltfAssetLabel::Scene(0).from_asset(level.to_owned());
        let scene = world.resource::<AssetServer>().load(label);
        world.spawn(WorldAssetRoot(scene));
    }
}

/// Files do not say which lights cast shadows.
pub fn cast_shadows(
    mut points: Query<&mut PointLight, Added<PointLight>>,
    mut spots: Query<&mut SpotLight, Added<SpotLight>>,
) {
    points.iter_mut().for_each(|mut light| light.shadow_maps_enabled = true);
    spots.iter_mut().for_each(|mut light| light.shadow_maps_enabled = true);
}

/// The sun of a file would shine beside an example's own, or at night.
pub fn remove_suns<F: QueryFilter>(mut commands: Commands, suns: Query<Entity, (Added<DirectionalLight>, F)>) {
    suns.iter().for_each(|sun| commands.entity(sun).despawn());
}

/// True in the one frame in which everything is there.
pub fn is_complete(meshes: Query<(), With<Mesh3d>>, mut frames: Local<u32>) -> bool {
    *frames += u32::from(!meshes.is_empty());
    *frames == FRAMES
}
