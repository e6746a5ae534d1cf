//! Cache of converted meshes and textures.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::prelude::*;

use super::super::convert::{ImageProblem, MeshProblem, mesh_from_bevy, picture_of_cube, texture_from_image};
use crate::scene::{MeshData, Texture};

/// Converted assets of the Bevy world. An entry stays until its asset changes.
#[derive(Resource, Default)]
pub struct AssetCache {
    meshes: HashMap<AssetId<Mesh>, Result<Arc<MeshData>, MeshProblem>>,
    textures: HashMap<AssetId<Image>, Result<Arc<Texture>, ImageProblem>>,
    skies: HashMap<AssetId<Image>, Result<Arc<Texture>, ImageProblem>>,
}

impl AssetCache {
    /// Returns a converted mesh, or the reason why it cannot be read. `None` if it is not in the cache.
    pub fn mesh(&self, id: AssetId<Mesh>) -> Option<&Result<Arc<MeshData>, MeshProblem>> {
        self.meshes.get(&id)
    }

    /// Returns a converted texture, or the reason why it cannot be read. `None` if it is not in the cache.
    pub fn texture(&self, id: AssetId<Image>) -> Option<&Result<Arc<Texture>, ImageProblem>> {
        self.textures.get(&id)
    }

    /// Returns a converted cube map as an equirectangular texture, or the reason why it cannot be read. `None` if it is
    /// not in the cache.
    pub fn sky(&self, id: AssetId<Image>) -> Option<&Result<Arc<Texture>, ImageProblem>> {
        self.skies.get(&id)
    }

    /// Converts a mesh unless it is cached. Returns true if it was converted.
    pub fn read_mesh(&mut self, id: AssetId<Mesh>, name: impl FnOnce() -> String, meshes: &Assets<Mesh>) -> bool {
        let Some(mesh) = meshes.get(id).filter(|_| !self.meshes.contains_key(&id)) else {
            return false;
        };
        self.meshes.insert(id, mesh_from_bevy(&name(), mesh).map(Arc::new));
        true
    }

    /// Converts a texture unless it is cached. Returns true if it was converted.
    pub fn read_texture(&mut self, id: AssetId<Image>, name: impl FnOnce() -> String, images: &Assets<Image>) -> bool {
        let Some(image) = images.get(id).filter(|_| !self.textures.contains_key(&id)) else {
            return false;
        };
        self.textures.insert(id, texture_from_image(&name(), image).map(Arc::new));
        true
    }

    /// Converts a cube map unless it is cached. Returns true if it was converted.
    pub fn read_sky(&mut self, id: AssetId<Image>, name: impl FnOnce() -> String, images: &Assets<Image>) -> bool {
        let Some(image) = images.get(id).filter(|_| !self.skies.contains_key(&id)) else {
            return false;
        };
        self.skies.insert(id, picture_of_cube(&name(), image).map(Arc::new));
        true
    }

    /// Drops a changed mesh. Returns true if it was cached.
    pub fn forget_mesh(&mut self, id: AssetId<Mesh>) -> bool {
        self.meshes.remove(&id).is_some()
    }

    /// Drops a changed texture or cube map. Returns true if it was cached.
    pub fn forget_texture(&mut self, id: AssetId<Image>) -> bool {
        let (picture, sky) = (self.textures.remove(&id), self.skies.remove(&id));
        picture.is_some() || sky.is_some()
    }
}
