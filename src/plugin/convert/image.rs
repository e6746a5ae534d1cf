//! Conversion of Bevy images to decoded textures.

use bevy::image::{ImageAddressMode, ImageSampler};
use bevy::prelude::{ColorToComponents, Image};
use bevy::render::render_resource::{TextureDimension, TextureFormat};
use glam::Vec4;

use crate::lightmap::files::rgb9e5;
use crate::scene::{MipChains, Texels, Texture, Wrap};

/// Reason why a Bevy image cannot be read. Its material then uses the factor alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageProblem {
    /// Its data is on the GPU only.
    #[error("its data left the CPU; load it with `RenderAssetUsages::MAIN_WORLD`")]
    LeftTheCpu,
    /// Its format is block-compressed or otherwise not supported.
    #[error("its format {0:?} is not decoded on the CPU; use PNG, JPEG or another uncompressed format")]
    Format(TextureFormat),
    /// It is no two-dimensional image.
    #[error("it is not a two-dimensional picture")]
    NotAPicture,
    /// It does not have the six square faces of a cube.
    #[error("it is not a cube map: six square layers")]
    NotACube,
}

/// Decodes the largest mip level of a two-dimensional image in an uncompressed format.
///
/// # Errors
///
/// Returns an error when the data is missing or cannot be read.
pub fn texture_from_image(name: &str, image: &Image) -> Result<Texture, ImageProblem> {
    let size = image.texture_descriptor.size;
    if image.texture_descriptor.dimension != TextureDimension::D2 || size.width == 0 || size.height == 0 {
        return Err(ImageProblem::NotAPicture);
    }
    let data = image.data.as_deref().ok_or(ImageProblem::LeftTheCpu)?;
    let wrap = match &image.sampler {
        ImageSampler::Default => [Wrap::Clamp; 2],
        ImageSampler::Descriptor(sampler) => [sampler.address_mode_u, sampler.address_mode_v].map(|mode| match mode {
            ImageAddressMode::Repeat => Wrap::Repeat,
            ImageAddressMode::MirrorRepeat => Wrap::Mirror,
            ImageAddressMode::ClampToEdge | ImageAddressMode::ClampToBorder => Wrap::Clamp,
        }),
    };
    Ok(Texture {
        name: name.to_owned(),
        width: size.width,
        height: size.height,
        texels: texels(image, data)?,
        wrap,
        mip_chains: MipChains::default(),
    })
}

fn texels(image: &Image, data: &[u8]) -> Result<Texels, ImageProblem> {
    let format = image.texture_descriptor.format;
    let (width, height) = (image.width(), image.height());
    let count = width as usize * height as usize;
    let quads = || data.as_chunks::<4>().0.get(..count).map(<[_]>::to_vec).ok_or(ImageProblem::LeftTheCpu);
    let blue_first = || quads().map(|quads| quads.into_iter().map(|[b, g, r, a]| [r, g, b, a]).collect());
    Ok(match format {
        TextureFormat::Rgba8UnormSrgb => Texels::Srgb8(quads()?),
        TextureFormat::Rgba8Unorm => Texels::Linear8(quads()?),
        TextureFormat::Bgra8UnormSrgb => Texels::Srgb8(blue_first()?),
        TextureFormat::Bgra8Unorm => Texels::Linear8(blue_first()?),
        // The GPU reads missing channels as zero, whereas Bevy's accessor returns gray.
        TextureFormat::R8Unorm => {
            let reds = data.get(..count).ok_or(ImageProblem::LeftTheCpu)?;
            Texels::Linear8(reds.iter().map(|&red| [red, 0, 0, 255]).collect())
        }
        TextureFormat::Rgb9e5Ufloat => {
            let words = quads()?.into_iter().map(u32::from_le_bytes);
            Texels::Float(words.map(|word| rgb9e5::decode(word).extend(1.0)).collect())
        }
        TextureFormat::Rgba16Float => {
            let texels = data.as_chunks::<8>().0.get(..count).ok_or(ImageProblem::LeftTheCpu)?;
            let value = |[low, high]: [u8; 2]| half::f16::from_le_bytes([low, high]).to_f32();
            let texel = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| {
                Vec4::new(value([a, b]), value([c, d]), value([e, f]), value([g, h]))
            };
            Texels::Float(texels.iter().map(texel).collect())
        }
        _ => Texels::Float(
            (0..height)
                .flat_map(|y| (0..width).map(move |x| (x, y)))
                .map(|(x, y)| image.get_color_at(x, y).map(|color| Vec4::from(color.to_linear().to_f32_array())))
                .collect::<Result<_, _>>()
                .map_err(|_| ImageProblem::Format(format))?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use bevy::asset::RenderAssetUsages;
    use bevy::render::render_resource::Extent3d;

    use super::*;

    fn image(format: TextureFormat, data: Vec<u8>) -> Image {
        let size = Extent3d { width: 1, height: 1, depth_or_array_layers: 1 };
        let mut image = Image::new_uninit(size, TextureDimension::D2, format, RenderAssetUsages::default());
        image.data = Some(data);
        image
    }

    #[test]
    fn the_same_red_is_read_from_every_channel_order() {
        let expected = Vec4::new(1.0, 0.0, 0.0, 1.0);
        for (format, data) in [
            (TextureFormat::Rgba8UnormSrgb, vec![255, 0, 0, 255]),
            (TextureFormat::Bgra8UnormSrgb, vec![0, 0, 255, 255]),
            (TextureFormat::Rgba8Unorm, vec![255, 0, 0, 255]),
            (TextureFormat::R8Unorm, vec![255]),
            (TextureFormat::Rgba16Unorm, vec![255, 255, 0, 0, 0, 0, 255, 255]),
        ] {
            let texture = texture_from_image("red", &image(format, data)).unwrap();
            assert_eq!(texture.texel(0, 0), expected, "{format:?}");
        }
    }

    #[test]
    fn half_floats_are_read_channel_by_channel() {
        let data = [1000.0, 0.5, 0.0, 1.0].into_iter().flat_map(|value| half::f16::from_f32(value).to_le_bytes());
        let image = image(TextureFormat::Rgba16Float, data.collect());
        assert_eq!(texture_from_image("bright", &image).unwrap().texel(0, 0), Vec4::new(1000.0, 0.5, 0.0, 1.0));
    }

    #[test]
    fn floats_that_share_an_exponent_are_read() {
        let word = rgb9e5::encode(glam::Vec3::new(1000.0, 500.0, 0.0));
        let image = image(TextureFormat::Rgb9e5Ufloat, word.to_le_bytes().to_vec());
        assert_eq!(texture_from_image("bright", &image).unwrap().texel(0, 0), Vec4::new(1000.0, 500.0, 0.0, 1.0));
    }

    #[test]
    fn compressed_and_departed_images_are_refused() {
        let compressed = image(TextureFormat::Bc7RgbaUnorm, vec![0; 16]);
        assert_eq!(texture_from_image("bc7", &compressed), Err(ImageProblem::Format(TextureFormat::Bc7RgbaUnorm)));
        let mut gone = image(TextureFormat::Rgba8Unorm, vec![]);
        gone.data = None;
        assert_eq!(texture_from_image("gone", &gone), Err(ImageProblem::LeftTheCpu));
    }
}
