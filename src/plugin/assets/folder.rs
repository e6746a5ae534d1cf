//! Asset folder of the app, which bakes write into.

use std::path::{Path, PathBuf};

use bevy::asset::AssetPlugin;
use bevy::prelude::*;

/// Folder of the file system that the app loads its assets from.
#[derive(Resource, Clone, Debug)]
pub struct AssetFolder(PathBuf);

impl AssetFolder {
    /// Returns the folder that Bevy's file reader takes for an app.
    pub fn of(app: &App) -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        let base = bevy::asset::io::file::FileAssetReader::get_base_path();
        // No file is written there.
        #[cfg(target_arch = "wasm32")]
        let base = PathBuf::new();
        let plugin = app.get_added_plugins::<AssetPlugin>();
        let folder = plugin.first().map_or_else(|| AssetPlugin::default().file_path, |plugin| plugin.file_path.clone());
        Self(base.join(folder))
    }

    /// Returns the path of a folder within the asset folder. Absolute paths stay.
    pub fn join(&self, folder: &Path) -> PathBuf {
        self.0.join(folder)
    }
}
