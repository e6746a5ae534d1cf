//! Decoded textures.

use glam::{Vec2, Vec4};
use serde::{Deserialize, Serialize};

use super::mip_chain::MipChains;

/// Addressing mode outside the unit square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wrap {
    /// Repeats the texture.
    #[default]
    Repeat,
    /// Repeats the texture, mirrored every other time.
    Mirror,
    /// Clamps to the edge.
    Clamp,
}

impl Wrap {
    /// Returns the index of the texel in a row or column of `size`, for an index that may lie outside.
    #[inline]
    pub fn apply(self, texel: i64, size: u32) -> usize {
        let size = i64::from(size);
        // Most indices lie inside, and the division would dominate the cost.
        if (0..size).contains(&texel) {
            return texel as usize;
        }
        let wrapped = match self {
            Self::Repeat => texel.rem_euclid(size),
            Self::Mirror => {
                let folded = texel.rem_euclid(2 * size);
                if folded < size { folded } else { 2 * size - 1 - folded }
            }
            Self::Clamp => texel.clamp(0, size - 1),
        };
        wrapped as usize
    }

    /// Returns a coordinate near the unit square that maps to the same texel, without rounding.
    fn folded(self, coordinate: f32) -> f32 {
        match self {
            Self::Repeat | Self::Mirror => coordinate - 2.0 * (0.5 * coordinate).floor(),
            Self::Clamp => coordinate.clamp(-1.0, 2.0),
        }
    }
}

/// Texels of a texture, rows from the top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Texels {
    /// Eight bits per channel; color in sRGB, alpha linear.
    Srgb8(#[serde(with = "crate::raw_values")] Vec<[u8; 4]>),
    /// Eight bits per channel, all linear.
    Linear8(#[serde(with = "crate::raw_values")] Vec<[u8; 4]>),
    /// Linear floats.
    Float(#[serde(with = "crate::raw_values")] Vec<Vec4>),
}

impl Texels {
    /// Returns the size of the texels, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Srgb8(texels) | Self::Linear8(texels) => size_of_val(texels.as_slice()),
            Self::Float(texels) => size_of_val(texels.as_slice()),
        }
    }
}

/// Decoded texture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Texture {
    /// Name for messages.
    pub name: String,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// `width * height` texels.
    pub texels: Texels,
    /// Addressing modes along x and along y.
    pub wrap: [Wrap; 2],
    /// Mip chains, built on first use; initialize with the default.
    #[serde(skip)]
    pub mip_chains: MipChains,
}

impl Texture {
    /// Returns a texel in linear light; out-of-range indices are wrapped.
    #[inline]
    pub fn texel(&self, x: i64, y: i64) -> Vec4 {
        self.texel_at(self.wrap[0].apply(x, self.width), self.wrap[1].apply(y, self.height))
    }

    /// Returns a texel in linear light, without wrapping.
    #[inline]
    pub(super) fn texel_at(&self, x: usize, y: usize) -> Vec4 {
        let index = y * self.width as usize + x;
        match &self.texels {
            Texels::Srgb8(texels) => {
                let [r, g, b, a] = texels[index];
                Vec4::new(srgb_to_linear(r), srgb_to_linear(g), srgb_to_linear(b), f32::from(a) / 255.0)
            }
            Texels::Linear8(texels) => Vec4::from_array(texels[index].map(|value| f32::from(value) / 255.0)),
            Texels::Float(texels) => texels[index],
        }
    }

    /// Samples the texture at `uv` (origin at the top left) with bilinear filtering in linear light. Returns white for
    /// non-finite coordinates.
    pub fn sample(&self, uv: Vec2) -> Vec4 {
        /// Coordinate in texels beyond which floats no longer resolve texels.
        const FARTHEST: f32 = 1e9;
        let size = Vec2::new(self.width as f32, self.height as f32);
        let mut position = uv * size - 0.5;
        if !position.abs().cmplt(Vec2::splat(FARTHEST)).all() {
            if !uv.is_finite() {
                return Vec4::ONE;
            }
            position = Vec2::new(self.wrap[0].folded(uv.x), self.wrap[1].folded(uv.y)) * size - 0.5;
        }
        let corner = position.floor();
        let blend = position - corner;
        let (x, y) = (corner.x as i64, corner.y as i64);
        let top = self.texel(x, y).lerp(self.texel(x + 1, y), blend.x);
        let bottom = self.texel(x, y + 1).lerp(self.texel(x + 1, y + 1), blend.x);
        top.lerp(bottom, blend.y)
    }
}

fn srgb_to_linear(value: u8) -> f32 {
    linear_of_srgb()[usize::from(value)]
}

/// Returns the sRGB channel value nearest to a linear value.
pub(crate) fn nearest_srgb(linear: f32) -> u8 {
    let table = linear_of_srgb();
    let above = table.partition_point(|entry| *entry < linear).clamp(1, 255);
    let is_nearer_below = linear - table[above - 1] < table[above] - linear;
    (above - usize::from(is_nearer_below)) as u8
}

/// Returns the table of linear values for sRGB channel values.
pub(crate) fn linear_of_srgb() -> &'static [f32; 256] {
    static TABLE: std::sync::LazyLock<[f32; 256]> =
        std::sync::LazyLock::new(|| core::array::from_fn(|value| decode_srgb(value as f64 / 255.0) as f32));
    &TABLE
}

/// Converts a channel from linear to sRGB (IEC 61966-2-1). Both range from 0 to 1.
pub(crate) fn encode_srgb(linear: f32) -> f32 {
    let power = libm::pow(f64::from(linear), 1.0 / 2.4) as f32;
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * power - 0.055 }
}

/// Converts a channel from sRGB to linear (IEC 61966-2-1). Both range from 0 to 1.
pub(crate) fn decode_srgb(encoded: f64) -> f64 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { libm::pow((encoded + 0.055) / 1.055, 2.4) }
}
