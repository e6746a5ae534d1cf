//! Decoding textures.

use std::io::Cursor;

use glam::Vec4;
use image::{DynamicImage, ImageReader};

use crate::scene::{Pyramids, Texels, Texture, Wrap};

/// How a picture's numbers are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColorSpace {
    /// Colour in sRGB, alpha linear.
    Srgb,
    /// All channels linear.
    Linear,
}

/// Decodes a PNG, JPEG, WebP or Radiance HDR picture, whatever its name says.
///
/// # Errors
/// A sentence on what is wrong with the bytes.
pub fn decode(name: &str, bytes: &[u8], space: ColorSpace, wrap: [Wrap; 2]) -> Result<Texture, String> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    if reader.format().is_none() {
        return Err("not a PNG, JPEG, WebP or HDR picture".to_owned());
    }
    let picture = reader.decode().map_err(|error| error.to_string())?;
    let (width, height) = (picture.width(), picture.height());
    if width == 0 || height == 0 {
        return Err("it has no pixels".to_owned());
    }
    let texels = match picture {
        DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_) => {
            Texels::Float(picture.into_rgba32f().pixels().map(|pixel| Vec4::from_array(pixel.0)).collect())
        }
        _ => {
            let pixels = picture.into_rgba8().pixels().map(|pixel| pixel.0).collect();
            match space {
                ColorSpace::Srgb => Texels::Srgb8(pixels),
                ColorSpace::Linear => Texels::Linear8(pixels),
            }
        }
    };
    Ok(Texture { name: name.to_owned(), width, height, texels, wrap, pyramids: Pyramids::default() })
}
