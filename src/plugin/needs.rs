//! Check that the plugins that another plugin needs are there.

use bevy::prelude::*;
use bevy::utils::prelude::ShortName;

/// Returns true if the app has the plugin that `plugin` needs. Otherwise an error names it.
///
/// A plugin whose need is missing adds nothing, so that an app may leave out any of them.
pub fn has_plugin<Needed: Plugin, P: Plugin>(app: &App, _: &P) -> bool {
    let is_added = app.is_plugin_added::<Needed>();
    if !is_added {
        let [plugin, needed] = [ShortName::of::<P>(), ShortName::of::<Needed>()];
        error!("{plugin} does nothing, since it needs {needed}: add {needed} to the app, before it");
    }
    is_added
}
