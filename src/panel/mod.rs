//! The panel: an egui window that shows what the plugin does, and sets it.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use bevy_radiosity::prelude::*;
//!
//! App::new().add_plugins((DefaultPlugins, RadiosityPlugins, RadiosityPanelPlugin)).run();
//! ```
//!
//! | key | what it does |
//! | --- | --- |
//! | F1 | shows and hides the panel |
//! | L | lightmaps, and off again |
//! | P | path traced live, and back to what was shown before |
//!
//! [`Panel`] has the keys, which no other system of the app sees, and the bake that the panel's button starts.
//!
//! It sets the cameras that have a [`LiveView`](crate::plugin::LiveView); where none has, the one that shows the panel,
//! which gets a `LiveView` once it is asked for. What it shows is read from the world in every frame, and only what
//! someone changes is written, for a view that is written to begins its picture anew. Without a camera that shows egui,
//! as in an app without a window, nothing is drawn.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `view` | what cameras show: read from the world, written back |
//! | `window` | the window and its widgets |
//! | `bake` | the part of the window that bakes |
//! | `relight` | the part of the window that has lightmaps follow their lights |
//! | `debug` | the part of the window that shows why light looks as it does |
//! | `cells` | the cells of the KD-tree and of a partition, drawn over the picture |
//! | `history` | numbers over time, and their curve |

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

use crate::plugin::{Bake, BakePlugin};
use view::{Cameras, Mode};

/// What the panel is, for the app to set.
#[derive(Resource, Clone, Debug)]
pub struct Panel {
    /// Whether it is shown.
    pub visible: bool,
    /// What the panel's button triggers. The panel sets its density, its error and whether there are previews, which it
    /// shows unless told not to; the rest is as the app has it.
    pub bake: Bake,
    /// Draws the cells of the tree that was built last over the picture, those that lie so many splits below its root;
    /// at most [`TreeCells::DEEPEST`](crate::plugin::TreeCells::DEEPEST). It shows while the panel is hidden, too.
    pub tree_depth: Option<u32>,
    /// The panel's keys.
    pub keys: PanelKeys,
}

impl Default for Panel {
    fn default() -> Self {
        let bake = Bake { preview: true, ..Bake::default() };
        Self { visible: true, bake, tree_depth: None, keys: PanelKeys::default() }
    }
}

/// Keys of the panel; `None` leaves a key to the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelKeys {
    /// Shows and hides the panel.
    pub panel: Option<KeyCode>,
    /// Shows lightmaps, and takes them off again.
    pub lightmaps: Option<KeyCode>,
    /// Shows the live view, and what was shown before.
    pub live: Option<KeyCode>,
}

impl Default for PanelKeys {
    fn default() -> Self {
        Self { panel: Some(KeyCode::F1), lightmaps: Some(KeyCode::KeyL), live: Some(KeyCode::KeyP) }
    }
}

/// The panel. It shows what `RadiosityPlugins` do, which the app has to add as well.
///
/// It adds `EguiPlugin` where the app does not, and then keeps keys and clicks that are meant for egui from the app.
pub struct RadiosityPanelPlugin;

impl Plugin for RadiosityPanelPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<EguiPlugin>() {
            app.add_plugins(EguiPlugin::default());
            app.world_mut().resource_mut::<EguiGlobalSettings>().enable_absorb_bevy_input_system = true;
        }
    }

    fn finish(&self, app: &mut App) {
        if !app.is_plugin_added::<BakePlugin>() {
            error!("RadiosityPanelPlugin shows what RadiosityPlugins do: add those to the app too");
            return;
        }
        add_systems(app);
        let keys = press_keys
            .after(EguiPreUpdateSet::ProcessInput)
            .run_if(resource_exists::<ButtonInput<KeyCode>>)
            .run_if(not(egui_wants_any_keyboard_input));
        app.add_systems(PreUpdate, keys).add_systems(EguiPrimaryContextPass, (cells::draw, window::show).chain());
    }
}

fn add_systems(app: &mut App) {
    app.init_resource::<Panel>()
        .init_resource::<bake::LastBake>()
        .init_resource::<history::Histories>()
        .add_systems(Update, history::record)
        .add_observer(bake::note_finished)
        .add_observer(bake::note_failed);
}

fn press_keys(mut keys: ResMut<ButtonInput<KeyCode>>, mut panel: ResMut<Panel>, mut cameras: Cameras) {
    let bound = panel.keys;
    // Whoever else in the app listens to the key would undo what it does here: the viewer has an L of its own.
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
