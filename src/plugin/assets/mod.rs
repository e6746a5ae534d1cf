//! Assets of baked levels. All their files come from an asset source, by asynchronous reading: from folders, embedded
//! files, or a server.
//!
//! | file | contents |
//! | --- | --- |
//! | `level` | levels: the files to show one, and those to relight one |
//! | `scene` | scene files that levels were baked from |
//! | `read` | reading of files |
//! | `folder` | asset folder, which bakes write into |

mod folder;
mod level;
mod read;
mod scene;

use bevy::asset::AssetLoadError;
use bevy::prelude::*;

pub use folder::AssetFolder;
use level::LevelLoader;
pub use level::{BakedLevelAsset, ReadLevel, RelightFiles};
use scene::SceneLoader;
pub use scene::{SceneFile, load_scene};

/// Adds the assets and their loaders to an app, once.
pub fn add(app: &mut App) {
    if app.world().contains_resource::<Assets<BakedLevelAsset>>() {
        return;
    }
    app.init_asset::<BakedLevelAsset>()
        .init_asset::<RelightFiles>()
        .init_asset::<SceneFile>()
        .init_asset_loader::<LevelLoader<BakedLevelAsset>>()
        .init_asset_loader::<LevelLoader<RelightFiles>>()
        .init_asset_loader::<SceneLoader>();
}

/// Returns the reason of a failed load, without Bevy's name of the loader.
pub fn reason(error: &AssetLoadError) -> String {
    match error {
        // The lines after the first are a backtrace.
        AssetLoadError::AssetLoaderError(of_loader) => {
            of_loader.error().to_string().lines().next().unwrap_or_default().to_owned()
        }
        _ => error.to_string(),
    }
}
