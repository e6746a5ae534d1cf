//! Decoding textures.

use std::io::Cursor;

use glam::{Vec2, Vec3, Vec4};
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::basis;
use super::budget::Budget;
use crate::scene::{Pyramids, Texels, Texture, Wrap, key};

/// How a picture's numbers are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColorSpace {
    /// Colour in sRGB, alpha linear.
    Srgb,
    /// All channels linear.
    Linear,
}

/// Decodes a picture, whatever its name says. A TGA file has no mark of its own: there the name counts.
///
/// # Errors
/// A sentence on what is wrong with the bytes.
pub fn decode(
    name: &str,
    bytes: &[u8],
    space: ColorSpace,
    wrap: [Wrap; 2],
    budget: &Budget,
) -> Result<Texture, String> {
    if bytes.starts_with(&basis::MAGIC) {
        let (width, height, pixels) = basis::decode(bytes)?;
        budget.take(size_of_val(pixels.as_slice()) as u64, || format!("the picture '{}'", key::cap(name)))?;
        let texels = match space {
            ColorSpace::Srgb => Texels::Srgb8(pixels),
            ColorSpace::Linear => Texels::Linear8(pixels),
        };
        return Ok(Texture { name: name.to_owned(), width, height, texels, wrap, pyramids: Pyramids::default() });
    }
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    if reader.format().is_none() {
        let format = ImageFormat::from_path(name).ok().filter(|format| *format == ImageFormat::Tga);
        reader.set_format(format.ok_or("not a PNG, JPEG, WebP, KTX2, TGA, BMP, GIF, TIFF, HDR or EXR picture")?);
    }
    let mut decoder = reader.into_decoder().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err("it has no pixels".to_owned());
    }
    let is_float = matches!(decoder.color_type(), ColorType::Rgb32F | ColorType::Rgba32F);
    let bytes_of_texel: u64 = if is_float { 16 } else { 4 };
    let size = bytes_of_texel.saturating_mul(u64::from(width)).saturating_mul(u64::from(height));
    // The decoder's pixels, or texels in another order, are there at the same time for a while.
    let meanwhile = decoder.total_bytes().max(size);
    budget.take(size.saturating_add(meanwhile), || format!("the picture '{}'", key::cap(name)))?;
    budget.give(meanwhile);
    let mut limits = Limits::default();
    limits
        .reserve(decoder.total_bytes())
        .map_err(|_| format!("it has {width} x {height} pixels, which are too many"))?;
    decoder.set_limits(limits).map_err(|error| error.to_string())?;
    let picture = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?;
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

/// Where a material's alpha comes from, as a picture of its own.
pub struct Opacity<'a> {
    /// The picture.
    pub picture: &'a Texture,
    /// The channel that is read (`r`, `g`, `b`, `l` for luminance, `m` for alpha). Without one it is alpha where the
    /// picture has any, else luminance.
    pub channel: Option<char>,
    /// The picture says how transparent the surface is.
    pub is_inverted: bool,
}

/// A base color picture with the alpha of another one, and true when that is all or nothing nearly everywhere.
pub fn with_opacity(color: Option<&Texture>, opacity: &Opacity) -> (Texture, bool) {
    let picture = opacity.picture;
    let channel = opacity.channel.unwrap_or_else(|| if has_alpha(picture) { 'm' } else { 'l' });
    let alpha_of = |texel: Vec4| match channel {
        'm' => texel.w,
        'r' => texel.x,
        'g' => texel.y,
        'b' => texel.z,
        _ => texel.truncate().dot(Vec3::new(0.2126, 0.7152, 0.0722)),
    };
    let (mask, color) = (as_stored(picture), color.map(|color| (color, as_stored(color))));
    let larger = color.as_ref().map(|(color, _)| *color).filter(|color| texel_count(color) >= texel_count(picture));
    let larger = larger.unwrap_or(picture);
    let (width, height) = (larger.width, larger.height);
    let read = |texture: &Texture, index: usize| {
        if (texture.width, texture.height) == (width, height) {
            return texel(texture, index);
        }
        let place = Vec2::new((index % width as usize) as f32, (index / width as usize) as f32) + 0.5;
        texture.sample(place / Vec2::new(width as f32, height as f32))
    };
    let texels: Vec<Vec4> = (0..texel_count(larger))
        .map(|index| {
            let alpha = alpha_of(read(&mask, index)).clamp(0.0, 1.0);
            let alpha = if opacity.is_inverted { 1.0 - alpha } else { alpha };
            color.as_ref().map_or(Vec3::ONE, |(_, color)| read(color, index).truncate()).extend(alpha)
        })
        .collect();
    let between = texels.iter().filter(|texel| (0.1..0.9).contains(&texel.w)).count();
    let is_cut_out = between * 10 <= texels.len();
    let texels = match color.as_ref().map(|(color, _)| &color.texels) {
        Some(Texels::Float(_)) => Texels::Float(texels),
        _ => {
            let byte = |value: f32| (value * 255.0).round() as u8;
            Texels::Srgb8(texels.into_iter().map(|texel| texel.to_array().map(byte)).collect())
        }
    };
    let name = color.as_ref().map_or_else(|| picture.name.clone(), |(color, _)| color.name.clone());
    let wrap = color.map_or(picture, |(color, _)| color).wrap;
    (Texture { name, width, height, texels, wrap, pyramids: Pyramids::default() }, is_cut_out)
}

/// The numbers of a picture as they are stored, not as the colors that they stand for.
fn as_stored(picture: &Texture) -> Texture {
    match &picture.texels {
        Texels::Srgb8(texels) => Texture { texels: Texels::Linear8(texels.clone()), ..picture.clone() },
        _ => picture.clone(),
    }
}

/// A picture with its values multiplied by `gain` and then raised by `base`, alpha aside.
pub fn with_base_and_gain(mut picture: Texture, [base, gain]: [f32; 2]) -> Texture {
    match &mut picture.texels {
        Texels::Srgb8(texels) | Texels::Linear8(texels) => {
            for value in texels.iter_mut().flat_map(|texel| &mut texel[..3]) {
                *value = (f32::from(*value) * gain + 255.0 * base).round() as u8;
            }
        }
        Texels::Float(texels) => {
            for texel in texels {
                *texel = (texel.truncate() * gain + base).extend(texel.w);
            }
        }
    }
    picture
}

/// True when any texel is not opaque.
pub fn has_alpha(picture: &Texture) -> bool {
    (0..texel_count(picture)).any(|index| texel(picture, index).w < 1.0)
}

fn texel_count(picture: &Texture) -> usize {
    picture.width as usize * picture.height as usize
}

fn texel(picture: &Texture, index: usize) -> Vec4 {
    let width = picture.width as usize;
    picture.texel((index % width) as i64, (index / width) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    fn decoded(picture: impl Into<DynamicImage>, format: ImageFormat, name: &str) -> Texture {
        let mut bytes = Cursor::new(Vec::new());
        picture.into().write_to(&mut bytes, format).unwrap();
        decode(name, bytes.get_ref(), ColorSpace::Srgb, [Wrap::Repeat; 2], &Budget::default()).unwrap()
    }

    fn red_and_green() -> RgbImage {
        RgbImage::from_fn(2, 1, |x, _| if x == 0 { Rgb([255, 0, 0]) } else { Rgb([0, 255, 0]) })
    }

    #[test]
    fn all_kinds_of_pictures_are_decoded() {
        use ImageFormat::{Bmp, Gif, Png, Tga, Tiff, WebP};
        for (format, name) in
            [(Png, "a"), (Bmp, "a.png"), (Gif, "a"), (Tiff, "a.tif"), (WebP, "a"), (Tga, "a.TGA"), (Tga, "a.tga")]
        {
            // A GIF is written from four channels.
            let picture = decoded(DynamicImage::from(red_and_green()).into_rgba8(), format, name);
            assert_eq!((picture.width, picture.height), (2, 1), "{format:?}");
            assert_eq!(picture.texel(0, 0), Vec4::new(1.0, 0.0, 0.0, 1.0), "{format:?}");
            assert_eq!(picture.texel(1, 0), Vec4::new(0.0, 1.0, 0.0, 1.0), "{format:?}");
        }
        let bright = image::Rgb32FImage::from_pixel(2, 2, Rgb([3.0, 2.0, 100.0]));
        assert_eq!(decoded(bright, ImageFormat::OpenExr, "sky").texel(1, 1), Vec4::new(3.0, 2.0, 100.0, 1.0));
        assert!(decode("a.png", b"no picture", ColorSpace::Srgb, [Wrap::Repeat; 2], &Budget::default()).is_err());
    }

    #[test]
    fn opacity_is_alpha_where_there_is_any_else_luminance() {
        let color = decoded(red_and_green(), ImageFormat::Png, "color");
        let clear = RgbaImage::from_fn(2, 1, |x, _| Rgba([255, 255, 255, 255 * x as u8]));
        let gray = RgbImage::from_fn(2, 1, |x, _| Rgb([255 * x as u8; 3]));
        for mask in [decoded(clear, ImageFormat::Png, "mask"), decoded(gray, ImageFormat::Png, "mask")] {
            let opacity = Opacity { picture: &mask, channel: None, is_inverted: false };
            let (found, is_cut_out) = with_opacity(Some(&color), &opacity);
            assert_eq!(found.texel(0, 0), Vec4::new(1.0, 0.0, 0.0, 0.0));
            assert_eq!(found.texel(1, 0), Vec4::new(0.0, 1.0, 0.0, 1.0));
            assert!(is_cut_out);
            let inverted = Opacity { is_inverted: true, ..opacity };
            assert_eq!(with_opacity(None, &inverted).0.texel(0, 0), Vec4::ONE);
        }
        let half = decoded(RgbImage::from_pixel(1, 1, Rgb([128; 3])), ImageFormat::Png, "half");
        let opacity = Opacity { picture: &half, channel: Some('r'), is_inverted: false };
        let (found, is_cut_out) = with_opacity(Some(&color), &opacity);
        assert!((found.texel(1, 0).w - 128.0 / 255.0).abs() < 1e-3 && !is_cut_out);
    }

    #[test]
    fn base_and_gain_change_values_as_they_are_stored() {
        let picture = decoded(RgbImage::from_pixel(1, 1, Rgb([0, 255, 51])), ImageFormat::Png, "a");
        let Texels::Srgb8(texels) = with_base_and_gain(picture, [0.2, 0.5]).texels else { panic!() };
        assert_eq!(texels, [[51, 179, 77, 255]]);
    }
}
