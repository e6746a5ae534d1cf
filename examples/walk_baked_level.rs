//! Example: walks through a level that was baked before. W, A, S, D, Q, E and the right mouse button move, and L
//! switches lightmaps.
//!
//! ```text
//! cargo bake assets/level.glb -o assets/level.baked
//! cargo run --release --features viewer --example walk_baked_level -- level.glb level.baked
//! cargo run --release --features gltf --example walk_baked_level -- level.glb level.baked --screenshot level.png
//! ```
//!
//! The file and the folder are asset paths. The camera starts in the hall of that level. With `--material-movers`,
//! materials light what is not baked, as in browsers.

#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::light::CascadeShadowConfigBuilder;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::prelude::*;

use viewer::{TakeScreenshot, ViewerPlugin};

#[derive(Resource)]
struct Level {
    file: String,
    folder: String,
}

fn main() -> AppExit {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot").map(|flag| {
        let path = arguments.get(flag + 1).cloned().unwrap_or_else(|| "level.png".to_owned());
        arguments.drain(flag..(flag + 2).min(arguments.len()));
        path.into()
    });
    let by_material = arguments.iter().position(|argument| argument == "--material-movers");
    let mover_lighting = match by_material.map(|flag| arguments.remove(flag)) {
        Some(_) => MoverLighting::Material,
        None => MoverLighting::default(),
    };
    let [file, folder] = arguments.as_slice() else {
        eprintln!("usage: walk_baked_level FILE.glb FOLDER [--material-movers] [--screenshot FILE.png]");
        return AppExit::from_code(2);
    };
    let viewer = ViewerPlugin {
        eye: Vec3::new(11.3, 1.75, 0.9),
        target: Vec3::new(4.4, 1.6, 5.6),
        vertical_fov: 62.0_f32.to_radians(),
        ev100: 9.0,
        screenshot,
        ..default()
    };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .insert_resource(Level { file: file.clone(), folder: folder.clone() })
        .insert_resource(mover_lighting)
        .add_systems(Startup, spawn_level)
        .add_systems(Update, cast_shadows)
        .add_observer(take_screenshot_when_lit)
        .add_observer(|loaded: On<BakedLevelLoaded>| {
            info!("read light for {} surfaces in {:.0} ms", loaded.surfaces, loaded.seconds * 1000.0);
        })
        .run()
}

/// Spawns the level and its lightmaps. Both load independently, and surfaces are lit as they appear.
fn spawn_level(mut commands: Commands, level: Res<Level>, assets: Res<AssetServer>) {
    let scene = assets.load(GltfAssetLabel::Scene(0).from_asset(level.file.clone()));
    let baked = assets.load(format!("{}/level.ron", level.folder));
    commands.spawn((WorldAssetRoot(scene), BakedLevel::new(baked)));
}

/// Enables the shadow map of the sun, whose highlights would pass through walls. Files do not say which lights cast
/// shadows. One cascade is what WebGL2 allows, so the pictures of `examples/web` are the same.
fn cast_shadows(mut commands: Commands, mut suns: Query<(Entity, &mut DirectionalLight), Added<DirectionalLight>>) {
    for (entity, mut sun) in &mut suns {
        sun.shadow_maps_enabled = true;
        let cascade = CascadeShadowConfigBuilder { num_cascades: 1, maximum_distance: 30.0, ..default() };
        commands.entity(entity).insert(cascade.build());
    }
}

/// Takes the screenshot. The lightmaps may be ready before surfaces are spawned; then no surface shows them yet.
fn take_screenshot_when_lit(shown: On<BakedLevelShown>, mut commands: Commands, mut is_taken: Local<bool>) {
    if shown.surfaces > 0 && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}
