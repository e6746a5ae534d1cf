//! KTX2 textures that Basis Universal compresses (`KHR_texture_basisu`). Feature `basis` decodes them.

/// Magic bytes of a KTX2 file.
pub const MAGIC: [u8; 12] = *b"\xabKTX 20\xbb\r\n\x1a\n";

/// Width, height and RGBA pixels.
pub type Pixels = (u32, u32, Vec<[u8; 4]>);

/// Largest width or height, texels. Larger textures take over a gigabyte and count as damaged.
const MAX_SIZE: u32 = 1 << 14;

/// Returns width and height from the header.
///
/// # Errors
/// When the header is cut off, or its size is zero or too large.
pub fn size(bytes: &[u8]) -> Result<[u32; 2], String> {
    let word = |offset: usize| Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?));
    let (Some(width), Some(height)) = (word(20), word(24)) else {
        return Err("its header is cut off".to_owned());
    };
    if width == 0 || height == 0 || width.max(height) > MAX_SIZE {
        return Err(format!("it is {width} x {height} pixels large"));
    }
    Ok([width, height])
}

/// Decodes the largest mip level of a texture.
///
/// # Errors
/// The reason why the texture cannot be read, as a sentence.
#[cfg(feature = "basis")]
pub fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    use basisu::{DecodeFlags, TargetFormat, Transcoder};

    let decode = || {
        let [width, height] = size(bytes)?;
        let image = Transcoder::new(bytes).map_err(|error| error.to_string())?;
        if image.base_dimensions() != (width, height) {
            return Err("its header contradicts its data".to_owned());
        }
        let pixels = image.transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE).map_err(|error| error.to_string())?;
        Ok((width, height, pixels.as_chunks().0.to_vec()))
    };
    // The crate is young. A panic on a damaged texture must not end a bake.
    std::panic::catch_unwind(decode).unwrap_or_else(|_| Err("its data is damaged".to_owned()))
}

/// Returns the error that tells how to enable such textures.
///
/// # Errors
/// Always.
#[cfg(not(feature = "basis"))]
pub fn decode(_: &[u8]) -> Result<Pixels, String> {
    Err("it is a KTX2 picture: build with --features basis, or store it as PNG, JPEG or WebP".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a texture of 4 x 4 pixels of one color, as one block of UASTC's mode 8.
    fn solid(color: [u8; 4]) -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let (header, description) = (104, 44);
        let mut bytes = MAGIC.to_vec();
        // Format, type size, width, height, depth, layers, faces, levels, no supercompression.
        bytes.extend(words(&[0, 1, 4, 4, 0, 0, 1, 1, 0]));
        bytes.extend(words(&[header, description, 0, 0, 0, 0, 0, 0]));
        bytes.extend([160, 16, 16].into_iter().flat_map(u64::to_le_bytes));
        // The data format: UASTC (166), Rec. 709, sRGB, blocks of 4 x 4 in 16 bytes, one sample of 128 bits, RGBA.
        bytes.extend(words(&[
            44,
            0,
            2 | 40 << 16,
            166 | 1 << 8 | 2 << 16,
            3 | 3 << 8,
            16,
            0,
            127 << 16 | 3 << 24,
            0,
            0,
            u32::MAX,
        ]));
        bytes.resize(160, 0);
        let color = u128::from(u32::from_le_bytes(color));
        bytes.extend((0x17 | color << 5).to_le_bytes());
        bytes
    }

    #[test]
    fn pictures_by_basis_universal_are_read_where_the_feature_is_on_and_else_named() {
        assert_eq!(size(&solid([0; 4])), Ok([4, 4]));
        assert!(size(&MAGIC).is_err());
        let decoded = decode(&solid([255, 128, 0, 64]));
        if cfg!(feature = "basis") {
            assert_eq!(decoded, Ok((4, 4, vec![[255, 128, 0, 64]; 16])));
            assert!(decode(&solid([0; 4])[..100]).is_err());
        } else {
            assert!(decoded.unwrap_err().contains("--features basis"));
        }
    }
}
