//! Memory that the decoders of pictures take besides pixels.
//!
//! Small files can ask for much of it: a compressed color profile, coefficients of a progressive JPEG, a frame or a tile
//! that is larger than its picture.

use std::io::Cursor;

use exr::meta::MetaData;
use image::ImageFormat;

use crate::input::max_exr_block_bytes;

/// Bytes that the decoder of TIFF files may allocate for a tag, before its limit can be set.
const MAX_TIFF_TAG_BYTES: u64 = 256 << 20;
/// Bytes that the decoder of PNG files may allocate for texts and a color profile, besides the length of the file.
const MAX_PNG_CHUNK_BYTES: u64 = 4 << 20;

/// Returns the bytes that opening a picture may take.
pub fn opening_bytes(bytes: &[u8]) -> u64 {
    match image::guess_format(bytes) {
        Ok(ImageFormat::Tiff) => MAX_TIFF_TAG_BYTES,
        Ok(ImageFormat::Png) => MAX_PNG_CHUNK_BYTES + bytes.len() as u64,
        _ => 0,
    }
}

/// Returns the bytes that decoding a picture of `pixels` pixels takes besides the result, if its decoder has no limit.
pub fn decoding_bytes(bytes: &[u8], pixels: u64) -> u64 {
    match image::guess_format(bytes) {
        Ok(ImageFormat::Png) => opening_bytes(bytes),
        Ok(ImageFormat::Jpeg) => jpeg_coefficient_bytes(bytes),
        Ok(ImageFormat::WebP) => webp_bytes(bytes, pixels),
        Ok(ImageFormat::OpenExr) => exr_bytes(bytes),
        _ => 0,
    }
}

/// Returns the bytes of a block of an EXR file as it is stored, and decoded.
fn exr_bytes(bytes: &[u8]) -> u64 {
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), false);
    meta.map_or(0, |meta| max_exr_block_bytes(&meta).saturating_mul(2))
}

/// Returns the bytes of all coefficients of a JPEG file, which stay until the last scan.
fn jpeg_coefficient_bytes(bytes: &[u8]) -> u64 {
    let mut largest = 0;
    let mut rest = bytes;
    while let Some(begin) = rest.iter().position(|&byte| byte == 0xff) {
        rest = &rest[begin..];
        // Decoders skip bytes that fill up the space before a marker.
        let fill = rest.iter().take_while(|&&byte| byte == 0xff || byte == 0).count();
        let Some((&marker, segment)) = rest[fill..].split_first() else { break };
        rest = segment;
        let is_frame = (0xc0..=0xc2).contains(&marker);
        let is_scan = marker == 0xda;
        let is_alone = (0xd0..=0xd9).contains(&marker) || marker == 1;
        if is_scan {
            break;
        }
        if is_frame {
            largest = largest.max(coefficient_bytes_of_frame(segment).unwrap_or(0));
        }
        if let (false, Some(&length)) = (is_alone, segment.first_chunk()) {
            rest = segment.get(usize::from(u16::from_be_bytes(length))..).unwrap_or_default();
        }
    }
    largest
}

/// Returns the bytes of the coefficients of a frame, whose segment has its size and the sampling of its components.
fn coefficient_bytes_of_frame(segment: &[u8]) -> Option<u64> {
    const BYTES_PER_BLOCK: u64 = 64 * size_of::<i16>() as u64;
    const BLOCK_SIZE: u64 = 8;
    let &[_, _, _, h0, h1, w0, w1, count] = segment.first_chunk()?;
    let components = segment[8..].chunks_exact(3).take(count.into());
    let samplings = components.map(|component| [component[1] >> 4, component[1] & 15].map(u64::from));
    let [max_x, max_y] = samplings.clone().fold([1; 2], |[x, y], [w, h]| [x.max(w), y.max(h)]);
    let columns = u64::from(u16::from_be_bytes([w0, w1])).div_ceil(BLOCK_SIZE * max_x);
    let rows = u64::from(u16::from_be_bytes([h0, h1])).div_ceil(BLOCK_SIZE * max_y);
    Some(samplings.map(|[w, h]| columns * w * rows * h * BYTES_PER_BLOCK).sum())
}

/// Returns the bytes of a WebP file's frame, alpha and canvas.
fn webp_bytes(bytes: &[u8], pixels: u64) -> u64 {
    const HEADER: usize = 12;
    const FRAME_HEADER: usize = 16;
    /// Bytes of a block of 16 x 16 pixels: one of luma for each, two of chroma for four, and the block's prediction.
    const BLOCK: u64 = 384 + 40;
    /// Bytes of a pixel while alpha is decoded: four channels without loss, and the channel that is kept.
    const ALPHA: u64 = 5;
    /// Bytes of a pixel of the canvas of an animation, and of its frame.
    const ANIMATION: u64 = 8;
    let (mut of_frame, mut of_alpha, mut of_animation) = (0, 0, 0);
    let mut at = HEADER;
    while let Some(&[a, b, c, d, l0, l1, l2, l3]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        at += 8;
        match &[a, b, c, d] {
            b"ANMF" => {
                of_animation = ANIMATION * pixels;
                // The chunks of the frame follow.
                at += FRAME_HEADER;
                continue;
            }
            b"ALPH" => of_alpha = ALPHA * pixels,
            // The frame has a size of its own, which may be another than that of the picture.
            b"VP8 " => {
                if let Some(&[w0, w1, h0, h1]) = bytes.get(at + 6..).and_then(|rest| rest.first_chunk()) {
                    let blocks = |size| u64::from(u16::from_le_bytes(size) & 0x3fff).div_ceil(16);
                    of_frame = of_frame.max(blocks([w0, w1]) * blocks([h0, h1]) * BLOCK);
                }
            }
            _ => {}
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        at = at.saturating_add(length.next_multiple_of(2));
    }
    of_frame + of_alpha + of_animation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(components: &[u8]) -> Vec<u8> {
        let length = 8 + components.len() as u8;
        let comment = [0xff, 0xfe, 0, 4, 0xff, 0xda];
        let frame = [0xff, 0xff, 0xc2, 0, length, 8, 0, 100, 0, 50, components.len() as u8 / 3];
        [&[0xff, 0xd8], &comment[..], &frame, components, &[0xff, 0xda]].concat()
    }

    #[test]
    fn a_jpeg_has_coefficients_of_all_its_components() {
        // 13 x 7 blocks of 64 coefficients of two bytes, three times.
        assert_eq!(decoding_bytes(&jpeg(&[1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]), 5_000), 3 * 13 * 7 * 128);
        // 7 x 4 groups of four blocks of luma and one of either chroma.
        assert_eq!(decoding_bytes(&jpeg(&[1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]), 5_000), 7 * 4 * 6 * 128);
        assert_eq!(decoding_bytes(&jpeg(&[])[..12], 5_000), 0);
    }

    #[test]
    fn a_frame_of_a_webp_file_counts_by_its_own_size() {
        let mut file = b"RIFF\x2a\0\0\0WEBPVP8X\x0a\0\0\0".to_vec();
        file.extend([0; 10]);
        file.extend(b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a");
        file.extend([1_600u16, 320].map(u16::to_le_bytes).concat());
        assert_eq!(decoding_bytes(&file, 1), 100 * 20 * 424);
        file.extend(b"ALPH\0\0\0\0");
        assert_eq!(decoding_bytes(&file, 10), 100 * 20 * 424 + 50);
    }
}
