//! The panel: an egui window that shows the state of the plugin and edits its settings.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use bevy_radiosity::prelude::*;
//!
//! App::new().add_plugins((DefaultPlugins, RadiosityPlugins, RadiosityPanelPlugin)).run();
//! ```
//!
//! | key | action |
//! | --- | --- |
//! | F1 | shows or hides the panel |
//! | L | switches lightmaps on or off |
//! | P | switches the live view on or off |
//!
//! [`Panel`] holds the keys, and the bake that the button starts. No other system of the app sees these keys.
//!
//! The panel controls all cameras with a [`LiveView`](crate::plugin::LiveView). If there is none, it controls the
//! camera that shows the panel, which gets a `LiveView` on demand. The panel reads the world in every frame, but writes
//! only what the user changes: each write to a view restarts its image. In an app without a window it draws nothing.
//!
//! | file | contents |
//! | --- | --- |
//! | `view` | view settings of cameras: read from the world, written back |
//! | `window` | the window and its widgets |
//! | `bake` | bake section |
//! | `relight` | relighting section |
//! | `debug` | debug section |
//! | `cells` | cells of the KD-tree and of a partition, drawn over the image |
//! | `history` | values over time, and their curve |

mod bake;
mod cells;
mod debug;
mod history;
mod relight;
mod view;
mod window;

use bevy::prelude::*;
use bevy_egui::input::egui_wants_any_keyboard_input;
use bevy_egui::{EguiGlobalSettings, EguiPlugin, EguiPreUpdateSet, EguiPrimaryContextPass};

use crate::plugin::{
    Bake, BakePlugin, LightmapOverlayPlugin, PartitionCellsPlugin, RadiositySystems, RelightPlugin, SceneSyncPlugin,
    WriteBackPlugin, has_plugin,
};
use view::{Cameras, Mode};

/// Settings of the panel.
#[derive(Resource, Clone, Debug, Reflect)]
#[reflect(Resource, Default, Debug, Clone)]
pub struct Panel {
    /// True while the panel is shown. Default true.
    pub visible: bool,
    /// Bake that the button triggers. The panel edits density, error, method, device, subscenes, relighting and preview;
    /// the app sets the rest. Previews are on by default.
    pub bake: Bake,
    /// Depth of the KD-tree cells to draw over the image, at most
    /// [`TreeCells::DEEPEST`](crate::plugin::TreeCells::DEEPEST). Default `None`. The cells are drawn while the panel
    /// is hidden, too.
    pub tree_depth: Option<u32>,
    /// Keys of the panel.
    pub keys: PanelKeys,
}

impl Default for Panel {
    fn default() -> Self {
        let bake = Bake { preview: true, ..Bake::default() };
        Self { visible: true, bake, tree_depth: None, keys: PanelKeys::default() }
    }
}

/// Keys of the panel. `None` leaves a key to the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq)]
pub struct PanelKeys {
    /// Shows or hides the panel. Default F1.
    pub panel: Option<KeyCode>,
    /// Switches lightmaps on or off. Default L.
    pub lightmaps: Option<KeyCode>,
    /// Switches the live view on or off. Default P.
    pub live: Option<KeyCode>,
}

impl Default for PanelKeys {
    fn default() -> Self {
        Self { panel: Some(KeyCode::F1), lightmaps: Some(KeyCode::KeyL), live: Some(KeyCode::KeyP) }
    }
}

/// Plugin of the panel. It needs all of [`RadiosityPlugins`](crate::plugin::RadiosityPlugins), but for live views and
/// baked levels.
///
/// It adds `EguiPlugin` if the app has not. In that case egui also absorbs its own keyboard and mouse input.
pub struct RadiosityPanelPlugin;

impl Plugin for RadiosityPanelPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<EguiPlugin>() {
            app.add_plugins(EguiPlugin::default());
            app.world_mut().resource_mut::<EguiGlobalSettings>().enable_absorb_bevy_input_system = true;
        }
    }

    fn finish(&self, app: &mut App) {
        // A plugin that needs these two adds nothing without them.
        let has_all = has_plugin::<SceneSyncPlugin, _>(app, self)
            && has_plugin::<WriteBackPlugin, _>(app, self)
            && has_plugin::<BakePlugin, _>(app, self)
            && has_plugin::<RelightPlugin, _>(app, self)
            && has_plugin::<LightmapOverlayPlugin, _>(app, self)
            && has_plugin::<PartitionCellsPlugin, _>(app, self);
        if !has_all {
            return;
        }
        add_systems(app);
        let keys = press_keys
            .after(EguiPreUpdateSet::ProcessInput)
            .run_if(resource_exists::<ButtonInput<KeyCode>>)
            .run_if(not(egui_wants_any_keyboard_input))
            .in_set(RadiositySystems::Panel);
        let window = (cells::draw, window::show).chain().in_set(RadiositySystems::Panel);
        app.add_systems(PreUpdate, keys).add_systems(EguiPrimaryContextPass, window);
    }
}

fn add_systems(app: &mut App) {
    app.register_type::<Panel>()
        .init_resource::<Panel>()
        .init_resource::<bake::LastBake>()
        .init_resource::<history::Histories>()
        .add_systems(Update, history::record.in_set(RadiositySystems::Panel))
        .add_observer(bake::note_finished)
        .add_observer(bake::note_failed);
}

fn press_keys(mut keys: ResMut<ButtonInput<KeyCode>>, mut panel: ResMut<Panel>, mut cameras: Cameras) {
    let bound = panel.keys;
    // Consumes the key: another system may use it too, as the viewer uses L.
    let mut is_pressed =
        |key: Option<KeyCode>| key.is_some_and(|key| keys.just_pressed(key) && keys.clear_just_pressed(key));
    if is_pressed(bound.panel) {
        panel.visible = !panel.visible;
    }
    let (lightmaps, live) = (is_pressed(bound.lightmaps), is_pressed(bound.live));
    let Some(before) = cameras.view().filter(|_| lightmaps || live) else {
        return;
    };
    let mut after = before;
    if lightmaps {
        after.set_mode(if before.mode() == Mode::Lightmaps { Mode::Off } else { Mode::Lightmaps });
    }
    if live {
        after.live.enabled = !before.live.enabled;
    }
    cameras.change(&before, &after);
}

#[cfg(test)]
mod tests;
