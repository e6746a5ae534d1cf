//! Live relighting: lightmaps of a baked level that follow changes of lights.
//!
//! ```no_run
//! # use bevy::prelude::*;
//! # use bevy_radiosity::prelude::*;
//! # fn setup(mut commands: Commands, assets: Res<AssetServer>) {
//! commands.insert_resource(Relight::default());
//! // Baked with --relight.
//! commands.spawn(BakedLevel::new(assets.load("level.baked/level.ron")).with_source("level.glb"));
//! # }
//! ```
//!
//! An app that bakes itself sets `Bake { settings: BakeSettings { relight: Some(RelightPatches(1000)), .. }, .. }` instead. Then lights
//! may move, change their color, appear and disappear, and the emission of surfaces may change: indirect light follows,
//! on any machine. If the base color of a lightmapped surface changes, its reflected light follows once a thread has
//! computed it. Pages are rewritten in place, and only where something changes.
//!
//! | pages hold | direct light |
//! | --- | --- |
//! | [`Content::Indirect`](crate::radiosity::Content): for moving lights | drawn by Bevy; give lights shadow maps |
//! | [`Content::Full`](crate::radiosity::Content) | in the pages; drawn by Bevy for moved and added lamps |
//!
//! Full pages hold the direct light of emissive surfaces, and of baked lamps at their baked places, at any strength.
//! The sky and the irradiance volume stay as baked. [`RelightExclude`] excludes a light. A moving [`RelightDoor`]
//! changes the light.
//!
//! | file | contents |
//! | --- | --- |
//! | `settings` | settings, status and diagnostics |
//! | `origin` | source of a level: a bake of this app, or files |
//! | `watch` | current lights, panels and colors |
//! | `doors` | current doors, and the effect of doors and colors |
//! | `update` | input and output of one update |
//! | `graphics` | pages drawn on the GPU |
//! | `prepare` | files of a level, and the start of its threads |
//! | `relighting` | work on one level: requests to its thread, and its results |
//! | `show` | per-frame logic of all levels |

mod doors;
mod graphics;
mod origin;
mod prepare;
mod relighting;
mod settings;
mod show;
mod update;
mod watch;

use bevy::diagnostic::{Diagnostic, RegisterDiagnostic};
use bevy::prelude::*;
use bevy::render::RenderApp;

use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::state::TakesRelightOrigins;
use super::sync::SceneSyncPlugin;
use super::write_back::WriteBackPlugin;
use super::{assets, background};
pub use doors::RelightDoor;
#[cfg(not(target_arch = "wasm32"))]
pub use origin::level_of_bake;
#[cfg(any(test, target_arch = "wasm32"))]
pub use origin::level_of_parts;
pub use settings::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight,
    RelightExclude, RelightStatus, relighting,
};

/// Plugin of live relighting. It is active while [`Relight`] exists. It needs [`SceneSyncPlugin`] and
/// [`WriteBackPlugin`].
pub struct RelightPlugin;

impl Plugin for RelightPlugin {
    fn build(&self, app: &mut App) {
        if !(has_plugin::<SceneSyncPlugin, _>(app, self) && has_plugin::<WriteBackPlugin, _>(app, self)) {
            return;
        }
        order_sets(app);
        let milliseconds = |path| Diagnostic::new(path).with_suffix(" ms");
        background::add(app);
        assets::add(app);
        app.register_type::<Relight>()
            .register_type::<RelightDoor>()
            .register_type::<RelightExclude>()
            .register_type::<RelightStatus>()
            .insert_resource(TakesRelightOrigins)
            .init_resource::<watch::HasChanges>()
            .register_diagnostic(milliseconds(RELIGHT_MAIN_THREAD))
            .register_diagnostic(milliseconds(RELIGHT_UPDATE))
            .register_diagnostic(milliseconds(RELIGHT_DOORS))
            .register_diagnostic(Diagnostic::new(RELIGHT_BEHIND))
            .register_diagnostic(Diagnostic::new(RELIGHT_TRANSPORT_ERROR))
            .add_systems(
                PostUpdate,
                (
                    watch::note.run_if(show::is_relighting.and_then(watch::any)),
                    prepare::take_origins.run_if(prepare::has_origins),
                    prepare::prepare.run_if(prepare::is_preparing),
                    show::read.run_if(show::is_relighting.and_then(show::has_changes)),
                    show::find_doors.run_if(show::has_doors),
                    show::advance.run_if(show::is_relighting),
                )
                    .chain()
                    .in_set(RadiositySystems::Relight),
            );
        if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
            graphics::add(render_app);
        }
    }
}
