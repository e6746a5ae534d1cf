//! Cost of the plugins per frame: main thread time of all schedules, against the same app without them.
//!
//! Prints a table for apps with 241 and 5,000 surfaces. The apps run in turns, some frames each, so that other load
//! affects all of them. Each turn has a median, and the median over all turns counts, as does that of the differences.
//!
//! `TURNS=100` sets the number of turns, and `SURFACES=241` a single number of surfaces. No app draws: the renderer has
//! its own thread in a game.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

#[path = "../tests/plugin/headless.rs"]
mod headless;

use std::path::Path;
use std::time::Instant;

use bevy::asset::UnapprovedPathMode;
use bevy::camera::RenderTarget;
use bevy::prelude::*;
use bevy::render::render_resource::TextureFormat;
use bevy::render::settings::WgpuSettings;
use bevy_radiosity::plugin::Baked;
use bevy_radiosity::prelude::*;
use headless::{add_default_plugins, finish};

type Failure = Box<dyn std::error::Error>;

/// Frames of an app before its turn is timed, and those that are timed.
const FRAMES: [usize; 2] = [10, 50];
/// Default number of turns of each app.
const TURNS: usize = 40;
/// Numbers of surfaces: those of `level.glb`, and those of a large level.
const SURFACES: [usize; 2] = [241, 5000];

/// App of one state of the plugins.
struct State {
    name: &'static str,
    /// Maximum time beyond that of the app without the plugins, in milliseconds.
    wanted: Option<f64>,
    app: App,
    /// Medians of all turns, in milliseconds.
    medians: Vec<f64>,
}

/// Result of the bake.
#[derive(Resource, Default)]
struct Ended(Option<Result<(), String>>);

fn main() -> Result<(), Failure> {
    let turns = number("TURNS")?.unwrap_or(TURNS);
    println!("| surfaces | app | a frame, ms | more, ms | wanted at most, ms |");
    println!("| --- | --- | --- | --- | --- |");
    for surfaces in number("SURFACES")?.map_or(SURFACES.to_vec(), |surfaces| vec![surfaces]) {
        let folder = tempfile::tempdir()?;
        let mut states = states(surfaces, folder.path())?;
        for _ in 0..turns {
            for State { app, medians, .. } in &mut states {
                medians.push(turn(app));
            }
        }
        let bare = states[0].medians.clone();
        for State { name, wanted, medians, .. } in states {
            let more = median(medians.iter().zip(&bare).map(|(with, without)| with - without).collect());
            let wanted = wanted.map_or("-".to_owned(), |wanted| wanted.to_string());
            println!("| {surfaces} | {name} | {:.3} | {more:.3} | {wanted} |", median(medians));
        }
    }
    Ok(())
}

/// Returns a number from the environment.
fn number(name: &str) -> Result<Option<usize>, Failure> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().map_err(|_| format!("{name}={value} is no number").into()))
        .transpose()
}

/// Creates an app for each state. The one that relights bakes the level that another one shows.
fn states(surfaces: usize, folder: &Path) -> Result<Vec<State>, Failure> {
    let mut without = create_app(false);
    spawn_level(&mut without, surfaces);
    let mut idle = create_app(true);
    spawn_level(&mut idle, surfaces);

    let mut relit = create_app(true);
    spawn_level(&mut relit, surfaces);
    relit.insert_resource(Relight::default());
    bake(&mut relit, folder)?;
    run_until(&mut relit, "relighting at rest", |app| {
        let mut levels = app.world_mut().query::<&RelightStatus>();
        let rests = |status: &RelightStatus| status.waiting == 0 && status.behind == 0.0 && !status.is_refining;
        levels.iter(app.world()).any(|status| status.updates > 0 && rests(status))
    })?;

    let mut shown = create_app(true);
    spawn_level(&mut shown, surfaces);
    let level = shown.world().resource::<AssetServer>().load(folder.join("level.ron"));
    shown.world_mut().spawn(BakedLevel::new(level));
    run_until(&mut shown, "the level", |app| app.world_mut().query::<&Baked>().iter(app.world()).count() == surfaces)?;

    let states = [
        ("without the plugins", None, without),
        ("idle", Some(0.05), idle),
        ("a level shown", Some(0.1), shown),
        ("`Relight` at rest", Some(0.2), relit),
    ];
    Ok(states.map(|(name, wanted, app)| State { name, wanted, app, medians: Vec::new() }).into())
}

/// Creates an app without a window or a renderer.
fn create_app(has_radiosity: bool) -> App {
    let mut app = App::new();
    add_default_plugins(&mut app, WgpuSettings { backends: None, ..default() }, |plugins| {
        plugins.set(AssetPlugin { unapproved_path_mode: UnapprovedPathMode::Allow, ..default() })
    });
    if has_radiosity {
        app.add_plugins(RadiosityPlugins);
    }
    app.insert_resource(GlobalAmbientLight::NONE)
        .init_resource::<Ended>()
        .add_observer(|_: On<BakeFinished>, mut ended: ResMut<Ended>| ended.0 = Some(Ok(())))
        .add_observer(|failed: On<BakeFailed>, mut ended: ResMut<Ended>| ended.0 = Some(Err(failed.error.to_string())));
    finish(&mut app);
    app
}

/// Spawns tiles of 0.5 m in a square, each below an entity of its own, with lamps above them and a camera.
fn spawn_level(app: &mut App, surfaces: usize) {
    let world = app.world_mut();
    let tile = world.resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(0.5, 0.5));
    let gray = world.resource_mut::<Assets<StandardMaterial>>().add(Color::linear_rgb(0.5, 0.5, 0.5));
    let side = surfaces.isqrt() + 1;
    for index in 0..surfaces {
        let place = Transform::from_xyz((index % side) as f32 * 0.6, 0.0, (index / side) as f32 * 0.6);
        let node = (Name::new(format!("tile {index}")), place, Visibility::default());
        world.spawn((node, children![(Mesh3d(tile.clone()), MeshMaterial3d(gray.clone()))]));
    }
    let middle = side as f32 * 0.3;
    for index in 0..8 {
        let at = Vec3::new((0.5 + index as f32) / 8.0 * 2.0 * middle, 2.0, middle);
        let lamp = PointLight { intensity: 1e4, ..default() };
        world.spawn((Name::new(format!("lamp {index}")), lamp, Transform::from_translation(at)));
    }
    let picture = Image::new_target_texture(1280, 720, TextureFormat::Rgba8UnormSrgb, None);
    let picture = world.resource_mut::<Assets<Image>>().add(picture);
    let place = Transform::from_xyz(middle, 5.0, -3.0).looking_at(Vec3::new(middle, 0.0, middle), Vec3::Y);
    world.spawn((Camera3d::default(), RenderTarget::Image(picture.into()), place));
}

/// Bakes the level with data for relighting.
fn bake(app: &mut App, folder: &Path) -> Result<(), Failure> {
    let mut bake = Bake { folder: Some(folder.to_owned()), ..default() };
    bake.settings.layout.texels_per_meter = 4.0;
    bake.settings.solver.error = 0.3;
    bake.settings.volume = None;
    bake.settings.relight = Some(RelightPatches(100));
    app.world_mut().trigger(bake);
    run_until(app, "the bake", |app| app.world().resource::<Ended>().0.is_some())?;
    Ok(app.world_mut().resource_mut::<Ended>().0.take().ok_or("the bake has no result")??)
}

/// Runs frames until a condition holds, for at most 10 minutes.
fn run_until(app: &mut App, what: &str, mut holds: impl FnMut(&mut App) -> bool) -> Result<(), Failure> {
    let started = Instant::now();
    while !holds(app) {
        if started.elapsed().as_secs() > 600 {
            return Err(format!("waited in vain for {what}").into());
        }
        app.update();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

/// Runs frames, and returns their median time, in milliseconds.
fn turn(app: &mut App) -> f64 {
    let [before, timed] = FRAMES;
    (0..before).for_each(|_| app.update());
    median((0..timed).map(|_| milliseconds(|| app.update())).collect())
}

fn milliseconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    1e3 * started.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
