//! Example: a baked level in a browser, with switches on the page. `build.py` builds and serves it.
//!
//! The level is `assets/level.glb`, baked into `assets/level.baked`. Both are loaded from the server.

#[path = "../../hall/mod.rs"]
mod hall;
mod level;
mod page;

use std::path::Path;

use bevy::asset::UntypedAssetLoadFailedEvent;
use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy::render::renderer::RenderDevice;
use bevy_radiosity::prelude::*;

use hall::{Lamp, Quiet};
use page::Switch;

/// Folder of its bake, as an asset path.
const BAKE: &str = "level.baked";
/// Said where the browser cannot trace.
const NO_LIVE_VIEW: &str = "no live view: it needs WebGPU, use that page";

fn main() {
    App::new()
        .add_plugins((level::default_plugins(), RadiosityPlugins))
        .insert_resource(GlobalAmbientLight::NONE)
        .insert_resource(hall::scene_settings())
        .init_resource::<Lamp>()
        .init_resource::<Quiet>()
        .init_resource::<Baking>()
        .add_systems(Startup, spawn_level)
        .add_systems(
            Update,
            (
                hall::cast_shadows,
                hall::count_quiet_frames,
                show_lightmaps,
                relight,
                hall::switch_lamp,
                trace,
                bake,
                report_failures,
            )
                .chain(),
        )
        .add_observer(say_lit)
        .add_observer(|failed: On<BakedLevelFailed>| page::say(format!("no baked light: {}", failed.error)))
        .add_observer(say_baked)
        .add_observer(|failed: On<BakeFailed>| page::say(format!("no bake: {}", failed.error)))
        .run();
}

fn spawn_level(mut commands: Commands, assets: Res<AssetServer>) {
    page::say("loading the level".to_owned());
    commands.spawn(level::camera());
    let baked = BakedLevel::new(assets.load(format!("{BAKE}/level.ron"))).with_source(level::FILE);
    commands.spawn((level::scene(&assets), baked));
}

fn show_lightmaps(mut lightmaps: ResMut<Lightmaps>) {
    let enabled = Switch::Lightmaps.is_on();
    if lightmaps.enabled != enabled {
        lightmaps.enabled = enabled;
    }
}

/// Says what relighting does.
fn relight(
    mut commands: Commands,
    relight: Option<ResMut<Relight>>,
    mut lamp: ResMut<Lamp>,
    quiet: Res<Quiet>,
    levels: Query<&RelightStatus>,
) {
    let enabled = Switch::Relight.is_on();
    lamp.is_on = Switch::Lamp.is_on();
    match relight {
        None if enabled => commands.insert_resource(Relight::default()),
        Some(mut relight) if relight.enabled != enabled => relight.enabled = enabled,
        _ => {}
    }
    if let Some(status) = levels.iter().next().filter(|_| enabled) {
        page::say(match &status.problem {
            Some(problem) => format!("no relighting: {problem}"),
            None if !status.is_active => "relighting is being prepared".to_owned(),
            None => {
                let state = if quiet.is_at_rest(status) { "at rest" } else { "at work" };
                format!("relighting, {} updates, {state}", status.updates)
            }
        });
    }
}

/// Storage buffers that path tracing needs in a shader. WebGL2 has none.
const STORAGE_BUFFERS: u32 = 8;

fn trace(
    mut commands: Commands,
    cameras: Query<(Entity, Has<LiveView>, Option<&LiveViewStatus>), With<Camera3d>>,
    device: Res<RenderDevice>,
) {
    let is_possible = device.limits().max_storage_buffers_per_shader_stage >= STORAGE_BUFFERS;
    for (camera, is_traced, status) in &cameras {
        match Switch::Live.is_on() {
            true if !is_traced => {
                if !is_possible {
                    error!("{NO_LIVE_VIEW}");
                }
                commands.entity(camera).insert(LiveView { render_scale: 0.5, ..default() });
            }
            false if is_traced => _ = commands.entity(camera).remove::<LiveView>(),
            _ => {}
        }
        match status.filter(|_| is_traced) {
            Some(_) if !is_possible => page::say(NO_LIVE_VIEW.to_owned()),
            Some(status) => page::say(format!("path traced, {} samples", status.samples)),
            None => {}
        }
    }
}

/// Starts and cancels a bake, and says how far it is.
fn bake(
    mut commands: Commands,
    progress: Res<BakeProgress>,
    time: Res<Time<Real>>,
    mut was_on: Local<bool>,
    mut baking: ResMut<Baking>,
) {
    let is_on = Switch::Bake.is_on();
    match (is_on, *was_on) {
        (true, false) => {
            *baking = Baking::default();
            commands.trigger(hall::quick_bake());
        }
        (false, true) if progress.is_baking() => commands.trigger(CancelBake),
        _ => {}
    }
    *was_on = is_on;
    if progress.is_baking() {
        baking.frames += 1;
        baking.seconds += time.delta_secs();
        page::say(format!("baking: {:?}, {:.0} %", progress.phase, 100.0 * progress.fraction));
    }
}

/// Frames and seconds since a bake began.
#[derive(Resource, Default)]
struct Baking {
    frames: u32,
    seconds: f32,
}

/// Says how long a bake took, and the hash of its pages.
fn say_baked(done: On<BakeFinished>, baking: Res<Baking>, lightmaps: Query<&Lightmap>, images: Res<Assets<Image>>) {
    let hash = hall::hash_of_pages(&lightmaps, &images);
    let (surfaces, seconds) = (done.report.surfaces, done.report.seconds.get("total").copied().unwrap_or_default());
    page::say(format!(
        "{surfaces} surfaces are baked, pages {hash:016x}, {seconds:.1} s in the worker, {} frames in {:.1} s",
        baking.frames, baking.seconds
    ));
}

/// Says how many surfaces are lit. There are none before the scene has been spawned.
fn say_lit(shown: On<BakedLevelShown>) {
    if shown.surfaces > 0 {
        page::say(format!("{} surfaces are lit", shown.surfaces));
    }
}

/// Says why there is no level: its file is missing or damaged.
fn report_failures(mut failed: MessageReader<UntypedAssetLoadFailedEvent>) {
    for failure in failed.read().filter(|failure| failure.path.path() == Path::new(level::FILE)) {
        page::say(format!("no level: {}", failure.error.to_string().trim_end()));
    }
}
