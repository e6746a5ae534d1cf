//! Example: a baked level in a browser, with switches on the page. `build.py` builds and serves it.
//!
//! The level is `assets/level.glb`, baked into `assets/level.baked`. Both are loaded from the server.

mod page;

use std::path::Path;

use bevy::asset::{AssetMetaCheck, UntypedAssetLoadFailedEvent};
use bevy::camera::{Exposure, Hdr};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::gltf::GltfLoaderSettings;
use bevy::light::CascadeShadowConfigBuilder;
use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::prelude::*;

use page::Switch;

/// Scene file, as an asset path.
const SCENE: &str = "level.glb";
/// Folder of its bake, as an asset path.
const BAKE: &str = "level.baked";
/// Position of the file's camera `camera_hall`, and a point that it looks at, in world space.
const EYE: Vec3 = Vec3::new(11.3, 1.75, 0.9);
const TARGET: Vec3 = Vec3::new(4.4, 1.6, 5.6);
/// Its vertical field of view, in degrees.
const FOV: f32 = 62.0;
/// Exposure of a room by day.
const EV100: f32 = 9.0;

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
        .add_systems(Update, (cast_shadows, show_lightmaps, relight, switch_lamp, trace, report_failures))
        .add_observer(say_lit)
        .add_observer(|failed: On<BakedLevelFailed>| page::say(format!("no baked light: {}", failed.error)))
        .run();
}

fn spawn_level(mut commands: Commands, assets: Res<AssetServer>) {
    page::say("loading the level".to_owned());
    commands.spawn((
        Camera3d::default(),
        Hdr,
        Tonemapping::AcesFitted,
        Exposure { ev100: EV100 },
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        Projection::Perspective(PerspectiveProjection { fov: FOV.to_radians(), near: 0.05, ..default() }),
        Transform::from_translation(EYE).looking_at(TARGET, Vec3::Y),
    ));
    let baked = BakedLevel::new(assets.load(format!("{BAKE}/level.ron"))).with_source(SCENE);
    // Each camera of the file would draw into the page too.
    let scene = assets
        .load_builder()
        .with_settings(|settings: &mut GltfLoaderSettings| settings.load_cameras = false)
        .load(GltfAssetLabel::Scene(0).from_asset(SCENE));
    commands.spawn((WorldAssetRoot(scene), baked));
}

/// Enables the shadow map of the sun, whose highlights would pass through walls. Files do not say which lights cast
/// shadows. WebGL2 allows one cascade, which is coarse unless it is short.
fn cast_shadows(mut commands: Commands, mut suns: Query<(Entity, &mut DirectionalLight), Added<DirectionalLight>>) {
    for (entity, mut sun) in &mut suns {
        sun.shadow_maps_enabled = true;
        let cascade = CascadeShadowConfigBuilder { num_cascades: 1, maximum_distance: 30.0, ..default() };
        commands.entity(entity).insert(cascade.build());
    }
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
fn switch_lamp(mut lamps: Query<(Entity, &mut PointLight)>, mut off: Local<Option<(Entity, f32)>>) {
    match (Switch::Lamp.is_on(), *off) {
        (true, Some((lamp, intensity))) => {
            if let Ok((_, mut lamp)) = lamps.get_mut(lamp) {
                lamp.intensity = intensity;
            }
            *off = None;
        }
        (false, None) => {
            let brightest = lamps.iter_mut().max_by(|(_, one), (_, other)| one.intensity.total_cmp(&other.intensity));
            *off = brightest.map(|(lamp, mut light)| (lamp, core::mem::take(&mut light.intensity)));
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

/// Says how many surfaces are lit. There are none before the scene has been spawned.
fn say_lit(shown: On<BakedLevelShown>) {
    if shown.surfaces > 0 {
        page::say(format!("{} surfaces are lit", shown.surfaces));
    }
}

/// Says why there is no level: its file is missing or damaged.
fn report_failures(mut failed: MessageReader<UntypedAssetLoadFailedEvent>) {
    for failure in failed.read().filter(|failure| failure.path.path() == Path::new(SCENE)) {
        page::say(format!("no level: {}", failure.error.to_string().trim_end()));
    }
}
