//! Decoding of textures.

use std::io::Cursor;

use glam::{Vec2, Vec3, Vec4};
use image::{ColorType, DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::basis;
use super::budget::Budget;
use super::decoder_memory::{decoding_bytes, opening_bytes};
use crate::scene::{MipChains, Texels, Texture, Wrap, key};

/// Color space of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColorSpace {
    /// Color in sRGB, alpha linear.
    Srgb,
    /// All channels linear.
    Linear,
}

/// Most bytes of a decoded picture.
const MAX_DECODED_BYTES: u64 = 512 << 20;

/// Memory of a decoded texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of its texels.
    pub kept: u64,
    /// Further bytes while it is decoded: the decoder's pixels, or texels in another order.
    pub meanwhile: u64,
}

/// Returns the memory that a texture will take, from its header.
///
/// # Errors
/// The fault of the bytes, as a sentence.
pub fn size(name: &str, bytes: &[u8]) -> Result<Size, String> {
    if bytes.starts_with(&basis::MAGIC) {
        let [width, height] = basis::size(bytes)?;
        let kept = 4 * u64::from(width) * u64::from(height);
        // The crate's pixels, its intermediate data, and the window of its decompression.
        return Ok(Size { kept, meanwhile: 2 * kept + basis::window_bytes(bytes) });
    }
    decoded_size(&decoder(name, bytes)?, bytes)
}

fn decoded_size(decoder: &impl ImageDecoder, bytes: &[u8]) -> Result<Size, String> {
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err("it has no pixels".to_owned());
    }
    let is_float = matches!(decoder.color_type(), ColorType::Rgb32F | ColorType::Rgba32F);
    let kept = pixels.saturating_mul(if is_float { 16 } else { 4 });
    let decoded = decoder.total_bytes();
    // Texels are made when the decoder's own memory is free again.
    let decoding = decoded.saturating_add(decoding_bytes(bytes, pixels)).saturating_sub(kept);
    Ok(Size { kept, meanwhile: decoded.max(kept).max(decoding).max(opening_bytes(bytes)) })
}

/// Returns a decoder by the content of a file. A TGA file has no magic bytes, so there the name decides.
fn decoder<'a>(name: &str, bytes: &'a [u8]) -> Result<impl ImageDecoder + use<'a>, String> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    if reader.format().is_none() {
        let format = ImageFormat::from_path(name).ok().filter(|format| *format == ImageFormat::Tga);
        reader.set_format(format.ok_or("not a PNG, JPEG, WebP, KTX2, TGA, BMP, GIF, TIFF, HDR or EXR picture")?);
    }
    reader.limits(limits(opening_bytes(bytes)));
    reader.into_decoder().map_err(|error| error.to_string())
}

/// Returns limits for a decoder that may allocate `bytes`.
fn limits(bytes: u64) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(bytes);
    limits
}

/// Decodes a texture within a memory budget.
///
/// # Errors
/// The fault of the bytes, or that they take too much memory, as a sentence.
pub fn decode_within(
    budget: &Budget,
    name: &str,
    bytes: &[u8],
    space: ColorSpace,
    wrap: [Wrap; 2],
) -> Result<Texture, String> {
    let what = || format!("the picture '{}'", key::cap(name));
    let opening = budget.lend(opening_bytes(bytes), what)?;
    let size = size(name, bytes)?;
    drop(opening);
    budget.take(size.kept, what)?;
    let _meanwhile = budget.lend(size.meanwhile, what)?;
    decode(name, bytes, space, wrap)
}

/// Decodes a texture.
///
/// # Errors
/// The fault of the bytes, as a sentence.
pub fn decode(name: &str, bytes: &[u8], space: ColorSpace, wrap: [Wrap; 2]) -> Result<Texture, String> {
    if bytes.starts_with(&basis::MAGIC) {
        let (width, height, pixels) = basis::decode(bytes)?;
        let texels = match space {
            ColorSpace::Srgb => Texels::Srgb8(pixels),
            ColorSpace::Linear => Texels::Linear8(pixels),
        };
        return Ok(Texture { name: name.to_owned(), width, height, texels, wrap, mip_chains: MipChains::default() });
    }
    let mut decoder = decoder(name, bytes)?;
    let (width, height) = decoder.dimensions();
    let decoded = decoder.total_bytes();
    if decoded > MAX_DECODED_BYTES {
        return Err(format!("it has {width} x {height} pixels, which are too many"));
    }
    let Size { kept, meanwhile } = decoded_size(&decoder, bytes)?;
    // The decoder of TIFF files subtracts the picture's own bytes itself.
    let subtracted = if image::guess_format(bytes).is_ok_and(|it| it == ImageFormat::Tiff) { 0 } else { decoded };
    decoder.set_limits(limits(kept.saturating_add(meanwhile) - subtracted)).map_err(|error| error.to_string())?;
    let image = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?;
    let texels = match image {
        DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_) => {
            Texels::Float(image.into_rgba32f().pixels().map(|pixel| Vec4::from_array(pixel.0)).collect())
        }
        _ => {
            let pixels = image.into_rgba8().pixels().map(|pixel| pixel.0).collect();
            match space {
                ColorSpace::Srgb => Texels::Srgb8(pixels),
                ColorSpace::Linear => Texels::Linear8(pixels),
            }
        }
    };
    Ok(Texture { name: name.to_owned(), width, height, texels, wrap, mip_chains: MipChains::default() })
}

/// Source of a material's alpha in a separate texture.
pub struct Opacity<'a> {
    /// Texture with the alpha.
    pub image: &'a Texture,
    /// Channel that is read (`r`, `g`, `b`, `l` for luminance, `m` for alpha). `None` is alpha where the texture has
    /// any, else luminance.
    pub channel: Option<char>,
    /// True if the texture holds transparency instead of opacity.
    pub is_inverted: bool,
}

/// Returns a base color texture with the alpha of another one. The flag is true if the alpha is all or nothing nearly
/// everywhere.
pub fn with_opacity(color: Option<&Texture>, opacity: &Opacity) -> (Texture, bool) {
    let image = opacity.image;
    let channel = opacity.channel.unwrap_or_else(|| if has_alpha(image) { 'm' } else { 'l' });
    let alpha_of = |texel: Vec4| match channel {
        'm' => texel.w,
        'r' => texel.x,
        'g' => texel.y,
        'b' => texel.z,
        _ => texel.truncate().dot(Vec3::new(0.2126, 0.7152, 0.0722)),
    };
    let (mask, color) = (as_stored(image), color.map(|color| (color, as_stored(color))));
    let larger = color.as_ref().map(|(color, _)| *color).filter(|color| texel_count(color) >= texel_count(image));
    let larger = larger.unwrap_or(image);
    let (width, height) = (larger.width, larger.height);
    let read = |texture: &Texture, index| texel_at_size(texture, [width, height], index);
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
    let name = color.as_ref().map_or_else(|| image.name.clone(), |(color, _)| color.name.clone());
    let wrap = color.map_or(image, |(color, _)| color).wrap;
    (Texture { name, width, height, texels, wrap, mip_chains: MipChains::default() }, is_cut_out)
}

/// Returns the bytes that [`with_opacity`] takes temporarily: copies of both textures, and texels as floats.
pub fn bytes_of_opacity(color: Option<&Texture>, mask: &Texture) -> u64 {
    let texels = color.map_or(0, texel_count).max(texel_count(mask));
    let images = color.map_or(0, |color| color.texels.bytes()) + mask.texels.bytes();
    (images + texels * size_of::<Vec4>()) as u64
}

/// Returns a texture whose stored values are taken as linear, without conversion from sRGB.
fn as_stored(image: &Texture) -> Texture {
    match &image.texels {
        Texels::Srgb8(texels) => Texture { texels: Texels::Linear8(texels.clone()), ..image.clone() },
        _ => image.clone(),
    }
}

/// Returns a texture with its stored values multiplied by `gain` and then raised by `base`, except for alpha.
pub fn with_base_and_gain(mut image: Texture, [base, gain]: [f32; 2]) -> Texture {
    match &mut image.texels {
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
    image
}

/// Returns true if any texel is not opaque.
pub fn has_alpha(image: &Texture) -> bool {
    (0..texel_count(image)).any(|index| texel(image, index).w < 1.0)
}

/// Returns a texel of a texture as if the texture had another size. `index` counts along rows.
pub fn texel_at_size(image: &Texture, [width, height]: [u32; 2], index: usize) -> Vec4 {
    if (image.width, image.height) == (width, height) {
        return texel(image, index);
    }
    let place = Vec2::new((index % width as usize) as f32, (index / width as usize) as f32) + 0.5;
    image.sample(place / Vec2::new(width as f32, height as f32))
}

fn texel_count(image: &Texture) -> usize {
    image.width as usize * image.height as usize
}

fn texel(image: &Texture, index: usize) -> Vec4 {
    let width = image.width as usize;
    image.texel((index % width) as i64, (index / width) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    fn decoded(image: impl Into<DynamicImage>, format: ImageFormat, name: &str) -> Texture {
        let mut bytes = Cursor::new(Vec::new());
        image.into().write_to(&mut bytes, format).unwrap();
        decode_within(&Budget::default(), name, bytes.get_ref(), ColorSpace::Srgb, [Wrap::Repeat; 2]).unwrap()
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
            // The GIF encoder takes four channels.
            let image = decoded(DynamicImage::from(red_and_green()).into_rgba8(), format, name);
            assert_eq!((image.width, image.height), (2, 1), "{format:?}");
            assert_eq!(image.texel(0, 0), Vec4::new(1.0, 0.0, 0.0, 1.0), "{format:?}");
            assert_eq!(image.texel(1, 0), Vec4::new(0.0, 1.0, 0.0, 1.0), "{format:?}");
        }
        let bright = image::Rgb32FImage::from_pixel(2, 2, Rgb([3.0, 2.0, 100.0]));
        assert_eq!(decoded(bright, ImageFormat::OpenExr, "sky").texel(1, 1), Vec4::new(3.0, 2.0, 100.0, 1.0));
        assert!(size("a.png", b"no picture").is_err());
        assert!(decode("a.png", b"no picture", ColorSpace::Srgb, [Wrap::Repeat; 2]).is_err());
    }

    #[test]
    fn the_size_of_a_picture_is_known_from_its_header() {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(RgbImage::new(30, 20)).write_to(&mut bytes, ImageFormat::Bmp).unwrap();
        assert_eq!(size("a", bytes.get_ref()), Ok(Size { kept: 2_400, meanwhile: 2_400 }));
        let budget = Budget::new(Some(1));
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(RgbImage::new(400, 400)).write_to(&mut bytes, ImageFormat::Bmp).unwrap();
        // 640,000 bytes fit once, but not twice.
        let decoded = decode_within(&budget, "large", bytes.get_ref(), ColorSpace::Srgb, [Wrap::Repeat; 2]);
        assert!(decoded.is_err() && budget.exceeded().is_some_and(|(what, _)| what.contains("large")));
    }

    #[test]
    fn a_frame_larger_than_its_gif_is_refused() {
        let size_and_palette = [9, 0, 5, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255];
        let frame = [0x2c, 0, 0, 0, 0, 0xff, 0x7f, 0xff, 0x7f, 0, 2, 2, 0x4c, 1, 0, 0x3b];
        let file = [&b"GIF89a"[..], &size_and_palette, &frame].concat();
        let error = decode("a", &file, ColorSpace::Srgb, [Wrap::Repeat; 2]).unwrap_err();
        assert!(error.to_lowercase().contains("limit"), "{error}");
    }

    #[test]
    fn opacity_is_alpha_where_there_is_any_else_luminance() {
        let color = decoded(red_and_green(), ImageFormat::Png, "color");
        let clear = RgbaImage::from_fn(2, 1, |x, _| Rgba([255, 255, 255, 255 * x as u8]));
        let gray = RgbImage::from_fn(2, 1, |x, _| Rgb([255 * x as u8; 3]));
        for mask in [decoded(clear, ImageFormat::Png, "mask"), decoded(gray, ImageFormat::Png, "mask")] {
            let opacity = Opacity { image: &mask, channel: None, is_inverted: false };
            let (found, is_cut_out) = with_opacity(Some(&color), &opacity);
            assert_eq!(found.texel(0, 0), Vec4::new(1.0, 0.0, 0.0, 0.0));
            assert_eq!(found.texel(1, 0), Vec4::new(0.0, 1.0, 0.0, 1.0));
            assert!(is_cut_out);
            let inverted = Opacity { is_inverted: true, ..opacity };
            assert_eq!(with_opacity(None, &inverted).0.texel(0, 0), Vec4::ONE);
        }
        let half = decoded(RgbImage::from_pixel(1, 1, Rgb([128; 3])), ImageFormat::Png, "half");
        let opacity = Opacity { image: &half, channel: Some('r'), is_inverted: false };
        let (found, is_cut_out) = with_opacity(Some(&color), &opacity);
        assert!((found.texel(1, 0).w - 128.0 / 255.0).abs() < 1e-3 && !is_cut_out);
    }

    #[test]
    fn base_and_gain_change_values_as_they_are_stored() {
        let image = decoded(RgbImage::from_pixel(1, 1, Rgb([0, 255, 51])), ImageFormat::Png, "a");
        let Texels::Srgb8(texels) = with_base_and_gain(image, [0.2, 0.5]).texels else { panic!() };
        assert_eq!(texels, [[51, 179, 77, 255]]);
    }
}
