//! Decoded pictures.

use glam::{Vec2, Vec4};

use super::pyramid::Pyramids;

/// What a texture does outside the unit square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Starts again.
    #[default]
    Repeat,
    /// Starts again, mirrored every other time.
    Mirror,
    /// Keeps its edge.
    Clamp,
}

impl Wrap {
    /// The texel of a row or column of `size` that is seen at an index which may lie beyond it.
    #[inline]
    pub fn apply(self, texel: i64, size: u32) -> usize {
        let size = i64::from(size);
        // Most lie within; a division would cost more than all the rest.
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

    /// A coordinate near the unit square that shows the same texel, without rounding.
    fn folded(self, coordinate: f32) -> f32 {
        match self {
            Self::Repeat | Self::Mirror => coordinate - 2.0 * (0.5 * coordinate).floor(),
            Self::Clamp => coordinate.clamp(-1.0, 2.0),
        }
    }
}

/// The texels of a picture, rows from the top.
#[derive(Clone, Debug, PartialEq)]
pub enum Texels {
    /// Eight bits a channel; colour in sRGB, alpha linear.
    Srgb8(Vec<[u8; 4]>),
    /// Eight bits a channel, all linear.
    Linear8(Vec<[u8; 4]>),
    /// Linear floats.
    Float(Vec<Vec4>),
}

/// A decoded picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// What messages call the texture.
    pub name: String,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `width * height` texels.
    pub texels: Texels,
    /// What happens beyond the left and right, and beyond the top and bottom.
    pub wrap: [Wrap; 2],
    /// Coarser versions, made when first asked for; start with the default.
    pub pyramids: Pyramids,
}

impl Texture {
    /// A texel in linear light; indices beyond the picture are wrapped.
    #[inline]
    pub fn texel(&self, x: i64, y: i64) -> Vec4 {
        self.texel_at(self.wrap[0].apply(x, self.width), self.wrap[1].apply(y, self.height))
    }

    /// A texel of the picture in linear light.
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

    /// The picture at `uv` (origin at the top left), bilinearly filtered in linear light.
    pub fn sample(&self, uv: Vec2) -> Vec4 {
        /// Beyond it floats no longer tell texels apart.
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

/// Linear light of each value of an sRGB channel.
pub(crate) fn linear_of_srgb() -> &'static [f32; 256] {
    static TABLE: std::sync::LazyLock<[f32; 256]> = std::sync::LazyLock::new(|| {
        core::array::from_fn(|value| {
            let encoded = value as f64 / 255.0;
            (if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }) as f32
        })
    });
    &TABLE
}
