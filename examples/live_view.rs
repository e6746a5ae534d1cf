//! Example: a level in a live view.
//!
//! W, A, S, D, Q, E and the right mouse button move. V switches between the live view and Bevy's rendering. F switches
//! the filter. 1 to 3 trace a quarter, half and all of the pixels.
//!
//! ```text
//! cargo run --release --features viewer --example live_view -- level.glb
//! cargo run --release --features gltf --example live_view -- level.glb --screenshot level.png    (needs no window)
//! cargo run --release --features gltf --example live_view -- level.glb --screenshot noisy.png --samples 1 \
//!     --scale 0.5 --unfiltered
//! ```
//!
//! The file is an asset path. The sky is uniform; all other lights are in the file.

#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::prelude::*;

use viewer::{TakeScreenshot, ViewerPlugin};

/// Radiance of the sky, in cd/m2.
const SKY: f32 = 4000.0;
/// Default samples per pixel of a screenshot.
const SAMPLES: u32 = 16;
/// Frame budget for tracing a screenshot, in milliseconds.
const UNWATCHED_BUDGET: f32 = 500.0;

#[derive(Resource)]
struct Level(String);

fn main() -> AppExit {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let screenshot = take_value(&mut arguments, "--screenshot", "level.png");
    let samples = take_value(&mut arguments, "--samples", "16").and_then(|samples| samples.parse().ok());
    let scale = take_value(&mut arguments, "--scale", "1").and_then(|scale| scale.parse().ok());
    let filter = !arguments.iter().any(|argument| argument == "--unfiltered");
    arguments.retain(|argument| argument != "--unfiltered");
    let [file] = arguments.as_slice() else {
        eprintln!("usage: live_view FILE.glb [--screenshot FILE.png] [--samples N] [--scale S] [--unfiltered]");
        return AppExit::from_code(2);
    };
    let mut live = LiveView { filter, render_scale: scale.unwrap_or(1.0), ..default() };
    if screenshot.is_some() {
        live.frame_budget = UNWATCHED_BUDGET;
        live.max_samples = samples.unwrap_or(SAMPLES);
    }
    let viewer = ViewerPlugin {
        // The view is in the hall of `level.glb`.
        eye: Vec3::new(11.3, 1.75, 0.9),
        target: Vec3::new(7.2, 1.75, 3.7),
        ev100: 9.0,
        screenshot: screenshot.map(Into::into),
        ..default()
    };

    let mut app = App::new();
    app.add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .insert_resource(Level(file.clone()))
        // Emission in files is in cd/m2. The viewer has no ambient light of its own, so this one serves as sky.
        .insert_resource(SceneSettings { ambient_is_sky: true, emissive_units: EmissiveUnits::Nits, ..default() })
        .insert_resource(GlobalAmbientLight { color: Color::WHITE, brightness: SKY, ..default() })
        .add_systems(PostStartup, (spawn_level, look_live(live)))
        .add_systems(Update, (say_progress, take_screenshot_when_clean));
    #[cfg(feature = "viewer")]
    app.add_systems(Update, switch);
    app.run()
}

/// Removes a flag and its value from the arguments, and returns the value, or `otherwise` without one. `None` without
/// the flag.
fn take_value(arguments: &mut Vec<String>, flag: &str, otherwise: &str) -> Option<String> {
    let place = arguments.iter().position(|argument| argument == flag)?;
    let mut taken = arguments.drain(place..(place + 2).min(arguments.len()));
    Some(taken.nth(1).unwrap_or_else(|| otherwise.to_owned()))
}

fn spawn_level(mut commands: Commands, level: Res<Level>, assets: Res<AssetServer>) {
    let scene = assets.load(GltfAssetLabel::Scene(0).from_asset(level.0.clone()));
    commands.spawn(WorldAssetRoot(scene));
}

/// Adds the live view to all cameras.
fn look_live(live: LiveView) -> impl Fn(Commands, Query<Entity, With<Camera3d>>) {
    move |mut commands, cameras| {
        for camera in &cameras {
            commands.entity(camera).insert(live);
        }
    }
}

fn say_progress(status: Res<SceneStatus>, mut said: Local<bool>) {
    if let Some(rebuild) = &status.last_live_rebuild
        && !core::mem::replace(&mut *said, true)
    {
        let seconds = rebuild.tree_seconds.unwrap_or(0.0);
        info!("{} surfaces; their tree was built in {seconds:.2} s", rebuild.read.rebuilt.surfaces);
    }
}

fn take_screenshot_when_clean(
    mut commands: Commands,
    views: Query<(&Camera, &LiveView, &LiveViewStatus)>,
    status: Res<SceneStatus>,
    mut is_taken: Local<bool>,
) {
    let has_level = status.last_live_rebuild.as_ref().is_some_and(|rebuild| rebuild.read.rebuilt.surfaces > 0);
    let is_clean = has_level
        && views.iter().any(|(camera, view, status)| {
            let all = camera.physical_target_size().map(|size| (size.as_vec2() * view.render_scale).as_uvec2());
            all == Some(status.size) && status.samples >= view.max_samples
        });
    if is_clean && !core::mem::replace(&mut *is_taken, true) {
        commands.trigger(TakeScreenshot);
    }
}

#[cfg(feature = "viewer")]
fn switch(keys: Res<ButtonInput<KeyCode>>, mut views: Query<&mut LiveView>) {
    let scales = [(KeyCode::Digit1, 0.5), (KeyCode::Digit2, 0.71), (KeyCode::Digit3, 1.0)];
    for mut view in &mut views {
        if keys.just_pressed(KeyCode::KeyV) {
            view.enabled = !view.enabled;
        }
        if keys.just_pressed(KeyCode::KeyF) {
            view.filter = !view.filter;
        }
        for (_, scale) in scales.iter().filter(|(key, _)| keys.just_pressed(*key)) {
            view.render_scale = *scale;
        }
    }
}
