//! The Bevy plugin: bakes the game's world in the background and shows it lit, or path traces it live.
//!
//! ```no_run
//! use bevy::prelude::*;
//! use bevy_radiosity::prelude::*;
//!
//! App::new()
//!     .add_plugins((DefaultPlugins, RadiosityPlugins))
//!     .add_systems(Startup, |mut commands: Commands| commands.trigger(Bake::default()))
//!     .add_observer(|done: On<BakeFinished>| info!("lit {} surfaces", done.report.surfaces))
//!     .run();
//! ```
//!
//! A bake takes all mesh entities with a `StandardMaterial` at their current places. [`BakeRole`], [`BakeResolution`],
//! [`BakeTint`] and [`BakeId`] change that, on an entity or on an ancestor.
//!
//! Each plugin may be left out: `RadiosityPlugins.build().disable::<LiveViewPlugin>()`. One that misses a plugin that it
//! needs does nothing, and an error names both.
//!
//! | plugin | task |
//! | --- | --- |
//! | [`SceneSyncPlugin`] | reads the Bevy world and watches for changes: [`SceneStatus`], [`SceneSettings`] |
//! | [`BakePlugin`] | background bakes: [`Bake`], [`CancelBake`], [`BakeProgress`], [`BakeFinished`], [`BakeFailed`] |
//! | [`WriteBackPlugin`] | attaches lightmaps to entities and keeps them valid: [`Lightmaps`], [`RemoveLightmaps`] |
//! | [`LightmapOverlayPlugin`] | draws texels, charts or validity over baked surfaces: [`LightmapOverlay`] |
//! | [`BakedLevelPlugin`] | shows levels that were baked before: [`BakedLevel`] |
//! | [`RelightPlugin`] | live relighting: [`Relight`], [`RelightDoor`], [`RelightExclude`], [`RelightStatus`] |
//! | [`PartitionCellsPlugin`] | computes the cells of a partition, for debug views: [`PartitionCells`] |
//! | [`LiveViewPlugin`] | path traces the view of a camera: [`LiveView`], [`LiveViewStatus`] |
//!
//! An app orders its systems by [`RadiositySystems`], with run conditions such as [`bake_running`].
//!
//! Baked lights have `affects_lightmapped_mesh_diffuse` off while lightmaps are shown. Bevy's deferred renderer ignores
//! that flag, and `RectLight` does not have it. In these cases bake [`Content::Indirect`](crate::radiosity::Content).
//!
//! | folder or file | contents |
//! | --- | --- |
//! | `assets` | baked levels as assets |
//! | `components` | components and settings of the app |
//! | `background`, `renderer` | threads for background work; the renderer's device |
//! | `convert` | Bevy's assets and components to plain data |
//! | `sync` | the Bevy world to a scene, and change detection |
//! | `job` | background bakes |
//! | `write_back` | lightmaps on entities |
//! | `level` | levels that were baked before |
//! | `relight` | live relighting |
//! | `live` | live views |
//! | `overlay`, `partition_cells`, `tree_cells` | debug views |
//! | `schedule`, `needs`, `ticks` | system sets; what a plugin needs; cheap detection of changes |
//! | `state` | data that the plugins share |
//! | `skybox` | environment maps as skyboxes |

mod assets;
mod background;
mod components;
mod convert;
mod job;
mod level;
mod live;
mod needs;
mod overlay;
mod partition_cells;
mod relight;
mod renderer;
mod schedule;
mod skybox;
mod state;
mod sync;
mod ticks;
mod tree_cells;
mod write_back;

use bevy::app::{PluginGroup, PluginGroupBuilder};

pub use assets::BakedLevelAsset;
pub use background::RadiosityThreads;
pub use components::*;
pub use job::{
    BAKE_ERROR, BAKE_MAIN_THREAD, BAKE_PROGRESS, Bake, BakeConvergence, BakeFailed, BakeFailure, BakeFinished,
    BakePhase, BakePlugin, BakeProgress, CancelBake, bake_running,
};
pub use level::{BakedLevelError, BakedLevelFailed, BakedLevelLoaded, BakedLevelPlugin, BakedLevelShown};
pub use live::{LIVE_VIEW_GPU, LIVE_VIEW_PATHS, LIVE_VIEW_SAMPLES, LiveViewPlugin, live_view_enabled};
#[cfg(feature = "panel")]
pub(crate) use needs::has_plugin;
pub use overlay::{LightmapOverlay, LightmapOverlayPlugin};
pub use partition_cells::{CutScene, PartitionCells, PartitionCellsPlugin};
pub use relight::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight, RelightDoor,
    RelightExclude, RelightPlugin, RelightStatus, relighting,
};
pub use schedule::RadiositySystems;
pub use skybox::skybox;
pub use state::{Baked, BakedLight, BakedVolume};
pub use sync::{LiveMove, LiveRebuild, SceneCounts, SceneRead, SceneStatus, SceneSyncPlugin, WorldScene, read_scene};
pub use tree_cells::TreeCells;
pub use write_back::{BatchTimes, LIGHTMAPS_MAIN_THREAD, Lightmaps, MoverLighting, RemoveLightmaps, WriteBackPlugin};

/// Plugins for baking in an app, relighting and live views.
pub struct RadiosityPlugins;

impl PluginGroup for RadiosityPlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(SceneSyncPlugin)
            .add(WriteBackPlugin)
            .add(BakePlugin)
            .add(BakedLevelPlugin)
            .add(RelightPlugin)
            .add(LightmapOverlayPlugin)
            .add(PartitionCellsPlugin)
            .add(LiveViewPlugin)
    }
}
