//! Validity of pages as gray PNG images, for finding light leaks: the part of each texel that light can reach.

use std::io::Cursor;
use std::path::Path;

use image::codecs::png::{PngDecoder, PngEncoder};
use image::{ColorType, ExtendedColorType, ImageDecoder, ImageEncoder, Limits};

use super::LevelError;
use crate::lightmap::{Page, PageSize};

/// Bytes that the decoder may allocate besides the texels: for a row, and for texts and color profiles, of which there
/// are none.
const MAX_DECODER_BYTES: u64 = 1 << 20;

/// Returns the bytes of a PNG file with a page's validity: white texels are open, black ones buried or without a
/// surface.
///
/// # Errors
/// When the page has no texels.
pub fn write_validity(page: &Page, path: &Path) -> Result<Vec<u8>, LevelError> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&page.validity_bytes(), page.width, page.height, ExtendedColorType::L8)
        .map_err(|fault| LevelError::damaged(path, fault))?;
    Ok(bytes)
}

/// Reads the texels of a PNG file of [`write_validity`], from 0 for none to 255 for all, rows from the top.
///
/// # Errors
/// When the bytes are anything else, or the image does not have the `expected` size. `path` names the file in errors.
pub fn read_validity(bytes: &[u8], expected: PageSize, path: &Path) -> Result<Vec<u8>, LevelError> {
    let damaged = |fault: image::ImageError| LevelError::damaged(path, fault);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    let decoder = PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(damaged)?;
    let PageSize { width, height } = expected;
    // Checked first: memory is allocated for the page, not for the size that a file claims.
    if decoder.dimensions() != (width, height) || decoder.color_type() != ColorType::L8 {
        return Err(LevelError::damaged(path, format!("it does not hold {width} x {height} gray texels")));
    }
    let mut texels = vec![0; width as usize * height as usize];
    decoder.read_image(&mut texels).map_err(damaged)?;
    Ok(texels)
}
