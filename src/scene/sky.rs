//! Radiance of rays that leave the scene.

use std::sync::Arc;

use glam::{Quat, Vec2, Vec3, Vec3Swizzles};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Texture;
use crate::geometry::{arc_tangent, sin_cos_turns};

/// Light from all around the scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Sky {
    /// No light.
    #[default]
    Dark,
    /// Uniform radiance from every direction, cd/m2.
    Uniform(Vec3),
    /// Environment map.
    Map(EnvironmentMap),
}

/// Equirectangular environment map. Its top is up (+Y), and its middle column looks along +X. Columns to the right turn
/// toward +Z, as in Blender, three.js and Khronos' viewers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentMap {
    /// Texture of relative radiance.
    #[serde(serialize_with = "serialize_texture", deserialize_with = "deserialize_texture")]
    pub texture: Arc<Texture>,
    /// Radiance in cd/m2 of a texture value of one.
    pub scale: f32,
    /// Rotation from the map's space to world space.
    pub rotation: Quat,
}

fn serialize_texture<S: Serializer>(texture: &Texture, serializer: S) -> Result<S::Ok, S::Error> {
    texture.serialize(serializer)
}

fn deserialize_texture<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Texture>, D::Error> {
    Texture::deserialize(deserializer).map(Arc::new)
}

impl EnvironmentMap {
    /// Returns the texture coordinates of a direction, with `(0, 0)` at the top left.
    pub fn uv(&self, direction: Vec3) -> Vec2 {
        let d = self.rotation.inverse() * direction;
        let (azimuth, polar) = (arc_tangent(d.z, d.x), arc_tangent(d.xz().length(), d.y));
        Vec2::new(0.5 + azimuth / core::f32::consts::TAU, polar / core::f32::consts::PI)
    }

    /// Returns the direction of texture coordinates; the inverse of [`EnvironmentMap::uv`].
    pub fn direction(&self, uv: Vec2) -> Vec3 {
        self.rotation * Self::direction_of_uv(uv)
    }

    /// Returns the direction of texture coordinates in an unrotated map.
    pub(crate) fn direction_of_uv(uv: Vec2) -> Vec3 {
        let (sin_polar, cos_polar) = sin_cos_turns(uv.y * 0.5);
        let (sine, cosine) = sin_cos_turns(uv.x - 0.5);
        Vec3::new(sin_polar * cosine, cos_polar, sin_polar * sine)
    }
}

impl Sky {
    /// Returns the radiance arriving from a direction (a unit vector away from the scene), cd/m2.
    pub fn radiance(&self, direction: Vec3) -> Vec3 {
        match self {
            Self::Dark => Vec3::ZERO,
            Self::Uniform(radiance) => *radiance,
            Self::Map(map) => map.texture.sample(map.uv(direction)).truncate() * map.scale,
        }
    }

    /// Returns true if the sky emits no light.
    pub fn is_dark(&self) -> bool {
        match self {
            Self::Dark => true,
            Self::Uniform(radiance) => radiance.max_element() <= 0.0,
            Self::Map(map) => map.scale <= 0.0,
        }
    }
}

#[cfg(test)]
impl EnvironmentMap {
    /// Returns a white map of one texel.
    pub(crate) fn white(scale: f32, rotation: Quat) -> Self {
        use super::{MipChains, Texels, Wrap};
        let texture = Texture {
            name: "sky".to_owned(),
            width: 1,
            height: 1,
            texels: Texels::Linear8(vec![[255; 4]]),
            wrap: [Wrap::Repeat, Wrap::Clamp],
            mip_chains: MipChains::default(),
        };
        Self { texture: Arc::new(texture), scale, rotation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_picture_looks_along_x_and_its_right_toward_z() {
        for (rotation, uv, direction) in [
            (Quat::IDENTITY, Vec2::new(0.5, 0.5), Vec3::X),
            (Quat::IDENTITY, Vec2::new(0.75, 0.5), Vec3::Z),
            (Quat::IDENTITY, Vec2::new(0.25, 0.5), Vec3::NEG_Z),
            (Quat::IDENTITY, Vec2::new(0.5, 0.0), Vec3::Y),
            (Quat::from_rotation_y(-core::f32::consts::FRAC_PI_2), Vec2::new(0.5, 0.5), Vec3::Z),
        ] {
            let map = EnvironmentMap::white(1.0, rotation);
            assert!((map.direction(uv) - direction).length() < 1e-5, "{uv}: {}", map.direction(uv));
            assert!(uv.y == 0.0 || (map.uv(direction) - uv).length() < 1e-5, "{direction}: {}", map.uv(direction));
        }
    }
}
