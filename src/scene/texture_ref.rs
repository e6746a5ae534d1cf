//! Textures with the coordinates at which materials sample them.

use glam::{Affine2, Vec2, Vec4};
use serde::{Deserialize, Serialize};

use super::{MeshData, Scene, TextureId, Weight};

/// Set of texture coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UvChannel {
    /// First set: [`MeshData::uv0`].
    #[default]
    Uv0,
    /// Second set: [`MeshData::uv1`].
    Uv1,
    /// Set of [`MeshData::other_uv`], counted from zero. Bevy has no such sets.
    Other(u8),
}

impl UvChannel {
    /// Maximum number of sets. Shaders have one bit for each.
    pub const MAX_SETS: u32 = 24;

    /// Returns the set that glTF calls `TEXCOORD_index`; `None` at or beyond [`UvChannel::MAX_SETS`].
    pub fn from_index(index: u32) -> Option<Self> {
        match index {
            0 => Some(Self::Uv0),
            1 => Some(Self::Uv1),
            other if other < Self::MAX_SETS => Some(Self::Other((other - 2) as u8)),
            _ => None,
        }
    }

    /// Returns the index in glTF's `TEXCOORD_index`.
    pub fn index(self) -> u32 {
        match self {
            Self::Uv0 => 0,
            Self::Uv1 => 1,
            Self::Other(set) => 2 + u32::from(set),
        }
    }
}

/// Set of texture coordinate sets, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UvSets(u32);

impl UvSets {
    /// Adds a set of coordinates.
    pub fn insert(&mut self, channel: UvChannel) {
        self.0 |= 1 << channel.index();
    }

    /// Returns true if the set was added.
    pub fn contains(self, channel: UvChannel) -> bool {
        self.0 & (1 << channel.index()) != 0
    }

    /// Returns the bits: bit `n` is set if `TEXCOORD_n` was added.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// Texture with its coordinates and their transform.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextureRef {
    /// Sampled texture.
    pub texture: TextureId,
    /// Coordinates at which the texture is sampled.
    pub channel: UvChannel,
    /// Transform applied to the coordinates.
    pub transform: Affine2,
}

impl TextureRef {
    /// Returns a reference that reads UV_0 without a transform.
    pub const fn new(texture: TextureId) -> Self {
        Self { texture, channel: UvChannel::Uv0, transform: Affine2::IDENTITY }
    }

    /// Returns the reference with other coordinates.
    pub const fn with_channel(self, channel: UvChannel) -> Self {
        Self { channel, ..self }
    }

    /// Returns the reference with another transform.
    pub const fn with_transform(self, transform: Affine2) -> Self {
        Self { transform, ..self }
    }

    /// Samples the texture at a point of a triangle; `None` if the mesh lacks the coordinates.
    #[inline]
    pub(super) fn sample(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Option<Vec4> {
        let coordinates = self.coordinates(mesh, triangle)?;
        Some(scene.texture(self.texture).sample(coordinates.at(barycentric)))
    }

    /// Returns the mean over a convex part of a triangle; `None` if the mesh lacks the coordinates. `part` holds the
    /// barycentric weights of the triangle's second and third corner at the part's corners.
    pub(super) fn mean(
        &self,
        scene: &Scene,
        mesh: &MeshData,
        triangle: u32,
        part: &[Vec2],
        weight: Weight,
    ) -> Option<Vec4> {
        /// Maximum corners of a part. A triangle clipped to a texel has seven; larger parts are rare, and sampled at
        /// their center.
        const MAX_CORNERS: usize = 16;
        let coordinates = self.coordinates(mesh, triangle)?;
        let texture = scene.texture(self.texture);
        let mut polygon = [Vec2::ZERO; MAX_CORNERS];
        let Some(polygon) = polygon.get_mut(..part.len()).filter(|polygon| polygon.len() >= 3) else {
            let center = part.iter().sum::<Vec2>() / part.len().max(1) as f32;
            return Some(texture.sample(coordinates.at(center)));
        };
        for (corner, &barycentric) in polygon.iter_mut().zip(part) {
            *corner = coordinates.at(barycentric);
        }
        Some(texture.average(polygon, weight))
    }

    /// Returns a triangle's texture coordinates, transformed; `None` if the mesh lacks the coordinates.
    #[inline]
    pub(super) fn coordinates(&self, mesh: &MeshData, triangle: u32) -> Option<Coordinates> {
        let uv = mesh.uv(self.channel);
        let corner = |vertex: u32| uv.get(vertex as usize).map(|&uv| self.transform.transform_point2(uv));
        let [a, b, c] = mesh.triangles[triangle as usize].map(corner);
        let (a, b, c) = (a?, b?, c?);
        Some(Coordinates { corner: a, edges: [b - a, c - a] })
    }
}

/// Transformed texture coordinates of a triangle.
#[derive(Clone, Copy)]
pub(super) struct Coordinates {
    corner: Vec2,
    /// Change of the coordinates along the triangle's two edges from its first corner.
    pub edges: [Vec2; 2],
}

impl Coordinates {
    #[inline]
    pub fn at(&self, barycentric: Vec2) -> Vec2 {
        self.corner + self.edges[0] * barycentric.x + self.edges[1] * barycentric.y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_counted_as_gltf_counts_them_up_to_a_limit() {
        for index in 0..UvChannel::MAX_SETS {
            assert_eq!(UvChannel::from_index(index).map(UvChannel::index), Some(index));
        }
        assert_eq!(UvChannel::from_index(UvChannel::MAX_SETS), None);
    }
}
