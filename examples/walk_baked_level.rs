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
//! materials light what is not baked, as in browsers. With `--lamp-off`, the brightest lamp goes off, and the lightmaps
//! follow if the level was baked with `--relight`. With `--bake`, the app bakes the level coarsely once it is lit, logs a
//! hash of the pages, and takes the screenshot then.

#[path = "hall/mod.rs"]
mod hall;
#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::prelude::*;

use hall::{Lamp, Quiet};
use viewer::{TakeScreenshot, ViewerPlugin};

#[derive(Resource)]
struct Level {
    file: String,
    folder: String,
    is_lamp_on: bool,
}

fn main() -> AppExit {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let screenshot = arguments.iter().position(|argument| argument == "--screenshot").map(|flag| {
        let path = arguments.get(flag + 1).cloned().unwrap_or_else(|| "level.png".to_owned());
        arguments.drain(flag..(flag + 2).min(arguments.len()));
        path.into()
    });
    let mut has_flag = |name: &str| {
        let flag = arguments.iter().position(|argument| argument == name);
        flag.map(|flag| arguments.remove(flag)).is_some()
    };
    let mover_lighting = if has_flag("--material-movers") { MoverLighting::Material } else { default() };
    let is_lamp_on = !has_flag("--lamp-off");
    let bakes = has_flag("--bake");
    let [file, folder] = arguments.as_slice() else {
        eprintln!(
            "usage: walk_baked_level FILE.glb FOLDER [--material-movers] [--lamp-off] [--bake] [--screenshot FILE.png]"
        );
        return AppExit::from_code(2);
    };
    let viewer = ViewerPlugin {
        eye: hall::EYE,
        target: hall::TARGET,
        vertical_fov: hall::VERTICAL_FOV.to_radians(),
        ev100: hall::EV100,
        screenshot,
        ..default()
    };

    let mut app = App::new();
    if !is_lamp_on {
        app.insert_resource(Relight::default());
    }
    if bakes {
        app.add_observer(bake_once_lit).add_observer(finish_bake);
    } else {
        app.add_observer(take_screenshot_when_lit);
    }
    app.add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .insert_resource(Level { file: file.clone(), folder: folder.clone(), is_lamp_on })
        .insert_resource(mover_lighting)
        .insert_resource(hall::scene_settings())
        .init_resource::<Lamp>()
        .init_resource::<Quiet>()
        .add_systems(Startup, spawn_level)
        .add_systems(Update, (hall::cast_shadows, hall::switch_lamp, hall::count_quiet_frames))
        .add_systems(Update, switch_lamp_off.run_if(resource_exists::<Relight>))
        .add_observer(|loaded: On<BakedLevelLoaded>| {
            info!("read light for {} surfaces in {:.0} ms", loaded.surfaces, loaded.seconds * 1000.0);
        })
        .run()
}

/// Spawns the level and its lightmaps. Both load independently, and surfaces are lit as they appear.
fn spawn_level(mut commands: Commands, level: Res<Level>, assets: Res<AssetServer>) {
    let scene = assets.load(GltfAssetLabel::Scene(0).from_asset(level.file.clone()));
    let baked = assets.load(format!("{}/level.ron", level.folder));
    commands.spawn((WorldAssetRoot(scene), BakedLevel::new(baked).with_source(level.file.clone())));
}

/// Takes the screenshot. The lightmaps may be ready before surfaces are spawned; then no surface shows them yet.
fn take_screenshot_when_lit(
    shown: On<BakedLevelShown>,
    mut commands: Commands,
    level: Res<Level>,
    mut is_taken: Local<bool>,
) {
    if level.is_lamp_on && shown.surfaces > 0 && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

/// Bakes the level once it is lit by the earlier bake.
fn bake_once_lit(shown: On<BakedLevelShown>, mut commands: Commands, mut is_baked: Local<bool>) {
    if shown.surfaces > 0 && !core::mem::replace(&mut *is_baked, true) {
        commands.trigger(hall::quick_bake());
    }
}

fn finish_bake(
    done: On<BakeFinished>,
    mut commands: Commands,
    lightmaps: Query<&Lightmap>,
    images: Res<Assets<Image>>,
) {
    let hash = hall::hash_of_pages(&lightmaps, &images);
    let seconds = done.report.seconds.get("total").copied().unwrap_or_default();
    info!("baked {} surfaces in {seconds:.1} s, pages {hash:016x}", done.report.surfaces);
    commands.trigger(TakeScreenshot);
}

/// Switches the lamp off once lightmaps follow their lights, and takes the screenshot when they have.
fn switch_lamp_off(
    mut commands: Commands,
    mut lamp: ResMut<Lamp>,
    quiet: Res<Quiet>,
    levels: Query<&RelightStatus>,
    mut updates: Local<u64>,
    mut is_taken: Local<bool>,
) {
    let Some(status) = levels.iter().next() else {
        return;
    };
    let is_at_rest = quiet.is_at_rest(status);
    if lamp.is_on && is_at_rest {
        // The lights of the file are at rest before one of them changes.
        info!("relighting is at rest: {status:?}");
        (lamp.is_on, *updates) = (false, status.updates);
    } else if !lamp.is_on && is_at_rest && status.updates > *updates && !core::mem::replace(&mut *is_taken, true) {
        info!("the lamp is off: {status:?}");
        commands.trigger(TakeScreenshot);
    }
}
