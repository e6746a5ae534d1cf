//! Lightmap pages as Bevy images.

use bevy::asset::RenderAssetUsages;
use bevy::image::{Image, ImageSampler};
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use glam::Vec3;

use crate::lightmap::{PageFormat, PageSize, Rectangle};
use crate::plugin::state::Pages;

impl PageFormat {
    /// Returns the texture format of the renderer.
    pub const fn texture_format(self) -> TextureFormat {
        match self {
            Self::HalfFloat => TextureFormat::Rgba16Float,
            Self::SharedExponent => TextureFormat::Rgb9e5Ufloat,
        }
    }
}

/// Packed texels of a page, ready for upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePixels {
    /// Width, in texels.
    pub width: u32,
    /// Height, in texels.
    pub height: u32,
    /// Storage format of the texels.
    pub format: PageFormat,
    /// Packed texels, rows from the top.
    pub data: Vec<u8>,
}

impl PagePixels {
    /// Packs irradiance / pi as half floats. Values above the range are clamped.
    pub fn half_float(width: u32, height: u32, texels: &[Vec3]) -> Self {
        Self { width, height, format: PageFormat::HalfFloat, data: half_floats(texels) }
    }

    fn into_image(self) -> Image {
        let size = Extent3d { width: self.width, height: self.height, depth_or_array_layers: 1 };
        let mut image = Image::new(
            size,
            TextureDimension::D2,
            self.data,
            self.format.texture_format(),
            // Live views read pages on the CPU if their paths end there.
            RenderAssetUsages::default(),
        );
        image.sampler = ImageSampler::linear();
        image
    }

    fn fits(&self, image: &Image) -> bool {
        image.size() == UVec2::new(self.width, self.height)
            && image.texture_descriptor.format == self.format.texture_format()
    }
}

/// Packs texels as four half floats each, with alpha one. Values above the range are clamped.
pub fn half_floats(texels: &[Vec3]) -> Vec<u8> {
    texels
        .iter()
        .flat_map(|texel| [texel.x, texel.y, texel.z, 1.0])
        .flat_map(|value| half::f16::from_f32(value.clamp(0.0, half::f16::MAX.to_f32())).to_le_bytes())
        .collect()
}

/// Returns the image for a page: the current one with the pixels to write, if size and format agree, else a new
/// one.
pub fn place(
    pages: &Pages,
    page: usize,
    pixels: PagePixels,
    images: &mut Assets<Image>,
) -> (Handle<Image>, Option<Vec<u8>>) {
    if let Some(handle) = pages.images.get(page)
        && images.get(handle).is_some_and(|image| pixels.fits(image))
    {
        return (handle.clone(), Some(pixels.data));
    }
    (images.add(pixels.into_image()), None)
}

/// Returns a rectangle of texels as UV coordinates of its page, in 0..1.
pub fn uv_rect(rectangle: Rectangle, page: PageSize) -> Rect {
    let Rectangle { x, y, width, height } = rectangle;
    let size = Vec2::new(page.width as f32, page.height as f32);
    Rect { min: Vec2::new(x as f32, y as f32) / size, max: Vec2::new((x + width) as f32, (y + height) as f32) / size }
}
