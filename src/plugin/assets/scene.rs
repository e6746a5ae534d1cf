//! Scene files as assets.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::asset::io::Reader;
use bevy::asset::{AssetLoader, AssetPath, LoadContext};
use bevy::prelude::*;

use super::read::{SourceReader, read_start};
use crate::input::{LARGEST_BUFFER, LARGEST_SCENE};
use crate::scene_files::SceneBytes;

/// glTF file that a level was baked from, as it is. Bevy's own asset of the file lacks much of it.
#[derive(Asset, TypePath)]
pub struct SceneFile(pub Arc<SceneBytes>);

/// Starts to load the scene file of a level, or names a built-in scene.
pub fn load_scene(assets: &AssetServer, source: &AssetPath<'static>) -> Handle<SceneFile> {
    let name = source.path().to_string_lossy();
    if name.starts_with("builtin:") {
        return assets.add(SceneFile(Arc::new(SceneBytes::new(name, Vec::new()))));
    }
    assets.load(source.without_label().clone_owned())
}

/// Loader of scene files. Its asset tells it from Bevy's loader, so it claims no file name extension.
#[derive(TypePath)]
pub struct SceneLoader(SourceReader);

impl FromWorld for SceneLoader {
    fn from_world(world: &mut World) -> Self {
        Self(SourceReader(world.resource::<AssetServer>().clone()))
    }
}

impl AssetLoader for SceneLoader {
    type Asset = SceneFile;
    type Settings = ();
    type Error = std::io::Error;

    async fn load(
        &self,
        file: &mut dyn Reader,
        (): &(),
        context: &mut LoadContext<'_>,
    ) -> Result<SceneFile, std::io::Error> {
        let path = context.path();
        let scene = SceneBytes::new(path.to_string(), read_start(file, LARGEST_SCENE).await?);
        let mut files = HashMap::new();
        for (address, name) in scene.references() {
            let place = path.resolve_embed(&AssetPath::from(name));
            // A file that is missing here is reported when the scene is parsed.
            if let Ok(bytes) = self.0.read(&place, LARGEST_BUFFER).await {
                files.insert(address, bytes);
            }
        }
        Ok(SceneFile(Arc::new(scene.with_files(files))))
    }
}
