//! Example: a day in twenty seconds. The sun moves around a level, and its indirect light follows.
//!
//! ```text
//! cargo run --release --features viewer --example moving_sun
//! cargo run --release --features viewer --example moving_sun -- builtin:salon
//! cargo run --release --features gltf --example moving_sun -- --hour 9 --screenshot morning.png   (needs no window)
//! cargo run --release --features gltf --example moving_sun -- --hour 9 --baked --screenshot truth.png
//! ```
//!
//! The level is baked once, under the sky and without the sun. Relighting adds the sun's light while it moves.
//! `--baked` bakes with the sun at the given hour instead.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod level;
#[path = "../src/cli/viewer/mod.rs"]
mod viewer;

use bevy::light::DirectionalLight;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;
use level::{cast_shadows, is_complete, remove_suns, value_of};
use viewer::{TakeScreenshot, ViewerPlugin};

/// Luminance of the sky, in cd/m2.
const SKY: f32 = 1000.0;

/// Hours of the day per second.
const PACE: f32 = 0.6;

#[derive(Resource, Clone)]
struct Options {
    level: String,
    hour: Option<f32>,
    is_baked: bool,
}

#[derive(Component)]
struct Sun;

fn main() -> AppExit {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let screenshot = value_of(&mut arguments, "--screenshot").map(Into::into);
    let hour = value_of(&mut arguments, "--hour").and_then(|hour| hour.parse().ok());
    let is_baked = arguments.iter().any(|argument| argument == "--baked");
    let level = arguments.into_iter().find(|argument| !argument.starts_with('-'));
    let options = Options { level: level.unwrap_or_else(|| "level.glb".to_owned()), hour, is_baked };
    let (eye, target) = view_of(&options.level);
    let sky = Sky::Uniform(Vec3::splat(SKY));
    let viewer = ViewerPlugin { eye, target, ev100: 9.0, sky, screenshot, ..default() };

    App::new()
        .add_plugins((viewer.default_plugins(), RadiosityPlugins))
        .add_plugins(viewer)
        .insert_resource(options)
        .insert_resource(SceneSettings { emissive_units: EmissiveUnits::Nits, ambient_is_sky: true, ..default() })
        .insert_resource(GlobalAmbientLight { brightness: SKY, ..default() })
        .insert_resource(Relight::default())
        .add_systems(Startup, spawn_level)
        .add_systems(
            Update,
            (cast_shadows, remove_suns::<Without<Sun>>, bake.run_if(is_complete), wander, take_screenshot_when_lit),
        )
        .add_observer(|_: On<BakeFinished>, mut sun: Single<&mut Visibility, With<Sun>>| **sun = Visibility::Visible)
        .run()
}

/// Returns the position and target of a level's first camera.
fn view_of(level: &str) -> (Vec3, Vec3) {
    let place = if level.starts_with("builtin:") { level.to_owned() } else { format!("assets/{level}") };
    let cameras = bevy_radiosity::scene_files::load(&place).map(|loaded| loaded.cameras).unwrap_or_default();
    match cameras.first() {
        Some(camera) => (camera.position, camera.position + camera.forward),
        None => (Vec3::new(0.0, 1.7, 0.0), Vec3::new(0.0, 1.5, -1.0)),
    }
}

fn spawn_level(world: &mut World) {
    let options = world.resource::<Options>().clone();
    level::spawn_level(world, &options.level);
    let sun = DirectionalLight { illuminance: 70_000.0, shadow_maps_enabled: true, ..default() };
    let visibility = if options.is_baked { Visibility::Visible } else { Visibility::Hidden };
    world.spawn((Sun, Name::new("the sun"), sun, sun_at(options.hour.unwrap_or(8.0)), visibility));
}

/// Returns the transform of the sun: east at 6, highest at 12, west at 18.
fn sun_at(hour: f32) -> Transform {
    let angle = (hour - 12.0) * (core::f32::consts::TAU / 24.0);
    let toward = Vec3::new(-angle.sin(), 0.9 * angle.cos(), 0.8);
    Transform::default().looking_to(-toward, Vec3::Y)
}

fn bake(mut commands: Commands, options: Res<Options>) {
    let mut settings = BakeSettings { relight: (!options.is_baked).then_some(RelightPatches(1000)), ..default() };
    (settings.layout.texels_per_meter, settings.solver.error) = (5.0, 0.05);
    commands.trigger(Bake { settings, ..default() });
}

fn wander(
    mut sun: Single<(&mut Transform, &Visibility), With<Sun>>,
    options: Res<Options>,
    time: Res<Time>,
    mut hour: Local<f32>,
) {
    let is_up = *sun.1 == Visibility::Visible;
    if is_up && options.hour.is_none() {
        *hour = (*hour + PACE * time.delta_secs()) % 12.0;
        *sun.0 = sun_at(6.0 + *hour);
    }
}

fn take_screenshot_when_lit(
    mut commands: Commands,
    options: Res<Options>,
    status: Option<Single<&RelightStatus>>,
    lit: Query<(), With<Baked>>,
    mut is_taken: Local<bool>,
) {
    let status = status.map(|status| (*status).clone()).unwrap_or_default();
    let follows = status.updates > 1 && status.waiting == 0 && status.behind == 0.0 && !status.is_refining;
    let is_lit = if options.is_baked { !lit.is_empty() } else { follows };
    if is_lit && !core::mem::replace(&mut *is_taken, true) {
        info!("{:.1} ms an update, {:.1} ms of the frame", status.update_milliseconds, status.main_thread_milliseconds);
        commands.trigger(TakeScreenshot);
    }
}
