//! Scene and settings of a bake as bytes, in parts.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::bake::BakeSettings;
use crate::parts::pause;
use crate::scene::{Light, Material, MeshData, Scene, Sky, Surface, Texture};

/// Error of bytes that are not those of a message. Both ends are the same program, so only a fault of it leads there.
#[derive(Debug, thiserror::Error)]
#[error("a message between the page and its worker is damaged: {0}")]
pub struct Damaged(String);

impl From<postcard::Error> for Damaged {
    fn from(error: postcard::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Damaged {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// All of a scene but its meshes and textures, with their numbers.
type Rest = (usize, usize, Vec<Surface>, Vec<Material>, Vec<Light>, Sky);

/// Returns the parts of a request. They are the settings as JSON, the [`Rest`] of the scene, each mesh, and each texture.
pub async fn encode(scene: &Scene, settings: &BakeSettings) -> Result<Vec<Vec<u8>>, Damaged> {
    let Scene { meshes, surfaces, materials, textures, lights, sky } = scene;
    let mut parts = Vec::with_capacity(2 + meshes.len() + textures.len());
    parts.push(serde_json::to_vec(settings)?);
    parts.push(postcard::to_allocvec(&(meshes.len(), textures.len(), surfaces, materials, lights, sky))?);
    for mesh in meshes {
        pause().await;
        parts.push(postcard::to_allocvec::<MeshData>(mesh)?);
    }
    for texture in textures {
        pause().await;
        parts.push(postcard::to_allocvec::<Texture>(texture)?);
    }
    Ok(parts)
}

/// Returns the scene and the settings of a request.
pub fn decode(parts: Vec<Vec<u8>>) -> Result<(Scene, BakeSettings), Damaged> {
    let mut parts = parts.into_iter();
    let settings = serde_json::from_slice(&next(&mut parts)?)?;
    let (meshes, textures, surfaces, materials, lights, sky): Rest = postcard::from_bytes(&next(&mut parts)?)?;
    let scene = Scene {
        meshes: shared(&mut parts, meshes)?,
        surfaces,
        materials,
        textures: shared(&mut parts, textures)?,
        lights,
        sky,
    };
    Ok((scene, settings))
}

/// Returns the next part.
pub fn next(parts: &mut impl Iterator<Item = Vec<u8>>) -> Result<Vec<u8>, Damaged> {
    parts.next().ok_or_else(|| Damaged("a part is missing".to_owned()))
}

fn shared<T: DeserializeOwned>(
    parts: &mut impl Iterator<Item = Vec<u8>>,
    count: usize,
) -> Result<Vec<Arc<T>>, Damaged> {
    (0..count).map(|_| Ok(Arc::new(postcard::from_bytes(&next(parts)?)?))).collect()
}
