//! Example: a baked level in a browser, with switches on the page. `build.py` builds and serves it.
//!
//! The level is `assets/level.glb`, baked into `assets/level.baked`. Both are loaded from the server.

mod page;

use bevy::asset::{AssetLoadFailedEvent, AssetMetaCheck};
use bevy::camera::{Exposure, Hdr};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::gltf::Gltf;
use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::prelude::*;

use page::Switch;

/// Scene file, as an asset path.
const SCENE: &str = "level.glb";
/// Folder of its bake, as an asset path.
const BAKE: &str = "level.baked";

fn main() {
    let window = Window {
        canvas: Some("#level".to_owned()),
        resolution: WindowResolution::new(1280, 720).with_scale_factor_override(1.0),
        ..default()
    };
    // A plain file server has no `.meta` files.
    let assets = AssetPlugin { meta_check: AssetMetaCheck::Never, ..default() };
    let window = WindowPlugin { primary_window: Some(window), ..default() };
    App::new()
        .add_plugins((DefaultPlugins.set(window).set(assets), RadiosityPlugins))
        .insert_resource(GlobalAmbientLight::NONE)
        .add_systems(Startup, spawn_level)
        .add_systems(Update, (show_lightmaps, relight, switch_lamp, trace, report_failures))
        .add_observer(|shown: On<BakedLevelShown>| page::say(format!("{} surfaces are lit", shown.surfaces)))
        .add_observer(|failed: On<BakedLevelFailed>| page::say(format!("no baked light: {}", failed.error)))
        .run();
}

fn spawn_level(mut commands: Commands, assets: Res<AssetServer>) {
    page::say("loading the level".to_owned());
    commands.spawn((
        Camera3d::default(),
        Hdr,
        Tonemapping::AcesFitted,
        Exposure { ev100: 6.0 },
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        Projection::Perspective(PerspectiveProjection { fov: 1.0, near: 0.05, ..default() }),
        Transform::from_xyz(0.0, 1.7, 0.0).looking_at(Vec3::new(0.0, 1.5, -1.0), Vec3::Y),
    ));
    let baked = BakedLevel::new(assets.load(format!("{BAKE}/level.ron"))).with_source(SCENE);
    commands.spawn((WorldAssetRoot(assets.load(GltfAssetLabel::Scene(0).from_asset(SCENE))), baked));
}

fn show_lightmaps(mut lightmaps: ResMut<Lightmaps>) {
    let enabled = Switch::Lightmaps.is_on();
    if lightmaps.enabled != enabled {
        lightmaps.enabled = enabled;
    }
}

fn relight(mut commands: Commands, relight: Option<ResMut<Relight>>) {
    let enabled = Switch::Relight.is_on();
    match relight {
        None if enabled => commands.insert_resource(Relight::default()),
        Some(mut relight) if relight.enabled != enabled => relight.enabled = enabled,
        _ => {}
    }
}

/// Switches the brightest lamp.
fn switch_lamp(
    mut lamps: Query<&mut PointLight>,
    mut off: Local<Option<(Entity, f32)>>,
    entities: Query<(Entity, &PointLight)>,
) {
    match (Switch::Lamp.is_on(), *off) {
        (true, Some((lamp, intensity))) => {
            if let Ok(mut lamp) = lamps.get_mut(lamp) {
                lamp.intensity = intensity;
            }
            *off = None;
        }
        (false, None) => {
            let brightest = entities.iter().max_by(|(_, one), (_, other)| one.intensity.total_cmp(&other.intensity));
            *off = brightest.map(|(entity, lamp)| (entity, lamp.intensity));
            if let Some((lamp, _)) = *off
                && let Ok(mut lamp) = lamps.get_mut(lamp)
            {
                lamp.intensity = 0.0;
            }
        }
        _ => {}
    }
}

fn trace(mut commands: Commands, cameras: Query<(Entity, Has<LiveView>, Option<&LiveViewStatus>), With<Camera3d>>) {
    for (camera, is_traced, status) in &cameras {
        match Switch::Live.is_on() {
            true if !is_traced => _ = commands.entity(camera).insert(LiveView { render_scale: 0.5, ..default() }),
            false if is_traced => _ = commands.entity(camera).remove::<LiveView>(),
            _ => {}
        }
        if let Some(status) = status.filter(|_| is_traced) {
            page::say(format!("path traced, {} samples", status.samples));
        }
    }
}

/// Says which file is missing or damaged.
fn report_failures(mut failed: MessageReader<AssetLoadFailedEvent<Gltf>>) {
    for failure in failed.read() {
        page::say(format!("no level: {}", failure.error));
    }
}
