//! Meshes and pictures that have been read, kept until they change.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::prelude::*;

use super::super::convert::{ImageProblem, MeshProblem, mesh_from_bevy, picture_of_cube, texture_from_image};
use crate::scene::{MeshData, Texture};

/// What has been read of the Bevy world's assets.
#[derive(Resource, Default)]
pub struct AssetCache {
    meshes: HashMap<AssetId<Mesh>, Result<Arc<MeshData>, MeshProblem>>,
    textures: HashMap<AssetId<Image>, Result<Arc<Texture>, ImageProblem>>,
    skies: HashMap<AssetId<Image>, Result<Arc<Texture>, ImageProblem>>,
}

impl AssetCache {
    /// A mesh that has been read, or why it could not be.
    pub fn mesh(&self, id: AssetId<Mesh>) -> Option<&Result<Arc<MeshData>, MeshProblem>> {
        self.meshes.get(&id)
    }

    /// A picture that has been read, or why it could not be.
    pub fn texture(&self, id: AssetId<Image>) -> Option<&Result<Arc<Texture>, ImageProblem>> {
        self.textures.get(&id)
    }

    /// What a cube map that has been read shows in all directions, or why it could not be read.
    pub fn sky(&self, id: AssetId<Image>) -> Option<&Result<Arc<Texture>, ImageProblem>> {
        self.skies.get(&id)
    }

    /// Reads a mesh, unless it has been read since it last changed. True when there was something to do.
    pub fn read_mesh(&mut self, id: AssetId<Mesh>, name: impl FnOnce() -> String, meshes: &Assets<Mesh>) -> bool {
        let Some(mesh) = meshes.get(id).filter(|_| !self.meshes.contains_key(&id)) else {
            return false;
        };
        self.meshes.insert(id, mesh_from_bevy(&name(), mesh).map(Arc::new));
        true
    }

    /// Reads a picture, unless it has been read since it last changed. True when there was something to do.
    pub fn read_texture(&mut self, id: AssetId<Image>, name: impl FnOnce() -> String, images: &Assets<Image>) -> bool {
        let Some(image) = images.get(id).filter(|_| !self.textures.contains_key(&id)) else {
            return false;
        };
        self.textures.insert(id, texture_from_image(&name(), image).map(Arc::new));
        true
    }

    /// Reads a cube map, unless it has been read since it last changed. True when there was something to do.
    pub fn read_sky(&mut self, id: AssetId<Image>, name: impl FnOnce() -> String, images: &Assets<Image>) -> bool {
        let Some(image) = images.get(id).filter(|_| !self.skies.contains_key(&id)) else {
            return false;
        };
        self.skies.insert(id, picture_of_cube(&name(), image).map(Arc::new));
        true
    }

    /// Forgets a mesh that has changed. True when it was known.
    pub fn forget_mesh(&mut self, id: AssetId<Mesh>) -> bool {
        self.meshes.remove(&id).is_some()
    }

    /// Forgets a picture that has changed. True when it was known.
    pub fn forget_texture(&mut self, id: AssetId<Image>) -> bool {
        let (picture, sky) = (self.textures.remove(&id), self.skies.remove(&id));
        picture.is_some() || sky.is_some()
    }
}
