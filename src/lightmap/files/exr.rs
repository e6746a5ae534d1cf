//! Pages as OpenEXR images: linear `f32` RGB in full precision.

use std::io::Cursor;
use std::path::Path;

use exr::image::pixel_vec::PixelVec;
use exr::meta::MetaData;
use exr::prelude::{Encoding, Image, ReadChannels, ReadLayers, SpecificChannels, WritableImage, read};
use glam::Vec3;

use super::LevelError;
use crate::input::max_exr_block_bytes;
use crate::lightmap::{Page, PageSize};

/// Bytes that a block of pixels may have, however small the page.
const MAX_BLOCK_BYTES: u64 = 1 << 20;

/// Returns the bytes of an EXR file with a page's texels. Negative values become zero.
///
/// # Errors
/// When the page has no texels.
pub fn write_exr(page: &Page, path: &Path) -> Result<Vec<u8>, LevelError> {
    let size = (page.width as usize, page.height as usize);
    let texels = |position: exr::math::Vec2<usize>| {
        let texel = page.texels[position.y() * page.width as usize + position.x()];
        let texel = Vec3::select(texel.cmplt(Vec3::ZERO), Vec3::ZERO, texel);
        (texel.x, texel.y, texel.z)
    };
    let image = Image::from_encoded_channels(size, Encoding::FAST_LOSSLESS, SpecificChannels::rgb(texels));
    let mut bytes = Cursor::new(Vec::new());
    image.write().to_buffered(&mut bytes).map_err(|fault| LevelError::damaged(path, fault))?;
    Ok(bytes.into_inner())
}

/// Reads a page from an EXR file of [`write_exr`]. All its texels count as valid, since the file has no validity.
///
/// # Errors
/// When the bytes are anything else, or the image does not have the `expected` size. `path` names the file in errors.
pub fn read_exr(bytes: &[u8], expected: PageSize, path: &Path) -> Result<Page, LevelError> {
    let damaged = |fault: exr::error::Error| LevelError::damaged(path, fault);
    // Checked first, because the reader allocates whatever size a file claims.
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), true).map_err(damaged)?;
    let size = (expected.width as usize, expected.height as usize);
    if meta.headers.len() != 1 || (meta.headers[0].layer_size.x(), meta.headers[0].layer_size.y()) != size {
        return Err(LevelError::damaged(path, format!("it does not hold {} x {} texels", size.0, size.1)));
    }
    let pixel_bytes = meta.headers[0].channels.bytes_per_pixel as u64;
    let page_bytes = u64::from(expected.width) * u64::from(expected.height) * pixel_bytes;
    if max_exr_block_bytes(&meta) > page_bytes.max(MAX_BLOCK_BYTES) {
        return Err(LevelError::damaged(path, "its tiles are larger than the page"));
    }
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(PixelVec::<(f32, f32, f32)>::constructor, PixelVec::set_pixel)
        .first_valid_layer()
        .all_attributes()
        .from_buffered(Cursor::new(bytes))
        .map_err(damaged)?;
    let texels: Vec<Vec3> = image.layer_data.channel_data.pixels.pixels.into_iter().map(Vec3::from).collect();
    if texels.len() != size.0 * size.1 {
        return Err(LevelError::damaged(path, "its texels do not fill its size"));
    }
    if !texels.iter().all(|texel| texel.is_finite() && texel.min_element() >= 0.0) {
        return Err(LevelError::damaged(path, "it holds light that is negative, infinite or no number"));
    }
    let validity = vec![1.0; texels.len()];
    Ok(Page { width: expected.width, height: expected.height, texels, validity })
}
