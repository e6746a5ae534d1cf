//! Lightmap pages as Bevy images.

use bevy::asset::RenderAssetUsages;
use bevy::image::{Image, ImageSampler};
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use glam::Vec3;

use crate::lightmap::PageFormat;

impl PageFormat {
    /// As the renderer calls it.
    pub const fn texture_format(self) -> TextureFormat {
        match self {
            Self::HalfFloat => TextureFormat::Rgba16Float,
            Self::SharedExponent => TextureFormat::Rgb9e5Ufloat,
        }
    }
}

/// A page's texels, ready for the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePixels {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// How the texels are stored.
    pub format: PageFormat,
    /// Rows from the top.
    pub data: Vec<u8>,
}

impl PagePixels {
    /// Packs irradiance / pi, one a texel, as half floats. What is above the format's range is clamped to it.
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
            // Live views read pages where their paths end.
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

/// Four half floats a texel, the last of them one; values above their range are clamped to it.
pub fn half_floats(texels: &[Vec3]) -> Vec<u8> {
    texels
        .iter()
        .flat_map(|texel| [texel.x, texel.y, texel.z, 1.0])
        .flat_map(|value| half::f16::from_f32(value.clamp(0.0, half::f16::MAX.to_f32())).to_le_bytes())
        .collect()
}

/// The images that the last batch's pages are shown from, by page.
#[derive(Resource, Clone, Default)]
pub struct Pages(pub Vec<Handle<Image>>);

impl Pages {
    /// Where a page will be shown from: the image that shows it already, if it has the same size and format, with the
    /// pixels that it is to get; or a new one.
    pub fn place(
        &self,
        page: usize,
        pixels: PagePixels,
        images: &mut Assets<Image>,
    ) -> (Handle<Image>, Option<Vec<u8>>) {
        if let Some(handle) = self.0.get(page)
            && images.get(handle).is_some_and(|image| pixels.fits(image))
        {
            return (handle.clone(), Some(pixels.data));
        }
        (images.add(pixels.into_image()), None)
    }
}
