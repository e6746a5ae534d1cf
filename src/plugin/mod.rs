//! The Bevy plugin: bakes a game's own world in the background and shows it lit, or path traces it live.
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
//! Mesh entities with a `StandardMaterial` are baked as they stand; [`BakeExclude`], [`BakeOccluder`], [`BakeMover`],
//! [`BakeStatic`], [`BakeResolution`], [`BakeTint`] and [`BakeId`] refine that, on an entity or on an ancestor of it.
//!
//! | plugin | what it does |
//! | --- | --- |
//! | [`SceneSyncPlugin`] | reads the Bevy world into a scene, watches what changes: [`SceneStatus`], [`SceneSettings`] |
//! | [`BakePlugin`] | [`Bake`], [`CancelBake`], [`BakeProgress`], [`BakeFinished`], [`BakeFailed`] |
//! | [`WriteBackPlugin`] | puts lightmaps on entities and keeps them right: [`Lightmaps`], [`RemoveLightmaps`] |
//! | [`LightmapOverlayPlugin`] | draws texels, charts or buried texels over baked surfaces: [`LightmapOverlay`] |
//! | [`BakedLevelPlugin`] | shows levels that were baked before: [`BakedLevel`] |
//! | [`RelightPlugin`] | has lightmaps follow their lights: [`Relight`], [`RelightDoor`], [`RelightExclude`], [`RelightStatus`] |
//! | [`PartitionCellsPlugin`] | cuts the world into the cells of a partition, for debug views: [`PartitionCells`] |
//! | [`LiveViewPlugin`] | path traces what a camera sees: [`LiveView`], [`LiveViewStatus`] |
//!
//! Baked lights have `affects_lightmapped_mesh_diffuse` off while lightmaps are shown. Bevy's deferred renderer ignores
//! that, and its `RectLight` has no such switch: bake [`Content::Indirect`](crate::radiosity::Content) there.

mod components;
mod convert;
#[cfg(feature = "window")]
mod fly;
mod job;
mod level;
mod live;
mod overlay;
mod partition_cells;
mod relight;
mod skybox;
mod spawn;
mod sync;
mod tree_cells;
mod viewer;
mod write_back;

use bevy::app::{PluginGroup, PluginGroupBuilder};

pub use components::*;
pub use job::{
    Bake, BakeConvergence, BakeFailed, BakeFailure, BakeFinished, BakePhase, BakePlugin, BakeProgress, CancelBake,
};
pub use level::{BakedLevel, BakedLevelFailed, BakedLevelLoaded, BakedLevelPlugin, BakedLevelShown};
pub use live::{LiveChannel, LiveView, LiveViewPlugin, LiveViewStatus};
pub use overlay::{LightmapOverlay, LightmapOverlayPlugin};
pub use partition_cells::{CutScene, PartitionCells, PartitionCellsPlugin};
pub use relight::{
    RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD, RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, Relight,
    RelightDevice, RelightDoor, RelightExclude, RelightPlugin, RelightStatus,
};
pub use spawn::spawn_scene;
pub use sync::{
    AssetCache, LiveMove, LiveRebuild, Moved, Needed, Purpose, SceneCounts, SceneRead, SceneReader, SceneStatus,
    SceneSyncPlugin, WorldScene,
};
pub use tree_cells::TreeCells;
pub use viewer::{TakeScreenshot, ViewerPlugin};
pub use write_back::{
    Baked, BakedLight, BakedVolume, BatchTimes, Lightmaps, RemoveLightmaps, StandInMaterial, WriteBackPlugin,
};

/// Everything that baking in an app takes, and looking at it path traced.
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
