//! Bevy's plugins without a window, shared by tests and benches.

use bevy::app::{PluginGroupBuilder, PluginsState};
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::settings::{InstanceFlags, WgpuSettings};
use bevy::window::{ExitCondition, WindowPlugin};

/// Adds Bevy's default plugins, as `change` leaves them, without a window and logs. There is no renderer if the settings
/// name no backends.
pub fn add_default_plugins(
    app: &mut App,
    mut settings: WgpuSettings,
    change: impl FnOnce(PluginGroupBuilder) -> PluginGroupBuilder,
) {
    if settings.backends.is_none() {
        // Bevy's lights cannot be despawned without this plugin, which the renderer would add.
        app.add_plugins(bevy::render::sync_world::SyncWorldPlugin);
    }
    // Tests create and destroy devices in parallel. Vulkan's loader (1.3.239 among others) names an object by a search
    // among all devices, and crashes where another thread destroys one. So objects have names only with WGPU_DEBUG=1.
    settings.instance_flags = settings.instance_flags.difference(InstanceFlags::DEBUG).with_env();
    let plugins = DefaultPlugins.build();
    // Winit waits for window events, which no test has.
    #[cfg(feature = "window")]
    let plugins = plugins.disable::<bevy::winit::WinitPlugin>();
    let plugins = plugins
        .set(WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() })
        .set(RenderPlugin { render_creation: settings.into(), synchronous_pipeline_compilation: true, ..default() })
        .disable::<bevy::log::LogPlugin>();
    app.add_plugins(change(plugins));
}

/// Finishes all plugins, as Bevy's runners do.
pub fn finish(app: &mut App) {
    while app.plugins_state() == PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
}
