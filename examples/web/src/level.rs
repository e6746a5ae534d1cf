//! The page's window, its camera and the scene file.

use bevy::app::PluginGroupBuilder;
use bevy::asset::AssetMetaCheck;
use bevy::camera::{Exposure, Hdr};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::gltf::GltfLoaderSettings;
use bevy::log::{DEFAULT_FILTER, LogPlugin};
use bevy::prelude::*;
use bevy::window::WindowResolution;
use bevy::world_serialization::WorldAssetRoot;

use crate::hall;

/// Scene file, as an asset path.
pub const FILE: &str = "level.glb";

/// Returns Bevy's plugins, drawing into the page.
pub fn default_plugins() -> PluginGroupBuilder {
    let window = Window {
        canvas: Some("#level".to_owned()),
        resolution: WindowResolution::new(1280, 720).with_scale_factor_override(1.0),
        ..default()
    };
    // A plain file server has no `.meta` files.
    let assets = AssetPlugin { meta_check: AssetMetaCheck::Never, ..default() };
    let window = WindowPlugin { primary_window: Some(window), ..default() };
    // The console says which work of the plugin has held up the page.
    let log = LogPlugin { filter: format!("{DEFAULT_FILTER},bevy_radiosity=debug"), ..default() };
    DefaultPlugins.set(window).set(assets).set(log)
}

/// Returns a camera in the hall.
pub fn camera() -> impl Bundle {
    (
        Camera3d::default(),
        Hdr,
        Tonemapping::AcesFitted,
        Exposure { ev100: hall::EV100 },
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        Projection::Perspective(PerspectiveProjection {
            fov: hall::VERTICAL_FOV.to_radians(),
            near: 0.05,
            ..default()
        }),
        Transform::from_translation(hall::EYE).looking_at(hall::TARGET, Vec3::Y),
    )
}

/// Loads the file. Each of its cameras would draw into the page too.
pub fn scene(assets: &AssetServer) -> WorldAssetRoot {
    let scene = assets
        .load_builder()
        .with_settings(|settings: &mut GltfLoaderSettings| settings.load_cameras = false)
        .load(GltfAssetLabel::Scene(0).from_asset(FILE));
    WorldAssetRoot(scene)
}
