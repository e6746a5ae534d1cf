//! KTX2 textures that Basis Universal compresses (`KHR_texture_basisu`). Feature `basis` decodes them.

/// Magic bytes of a KTX2 file.
pub const MAGIC: [u8; 12] = *b"\xabKTX 20\xbb\r\n\x1a\n";

/// Width, height and RGBA pixels.
pub type Pixels = (u32, u32, Vec<[u8; 4]>);

/// Largest width or height, texels. Larger textures take over a gigabyte and count as damaged.
const MAX_SIZE: u32 = 1 << 14;

/// Number of texels along a block, and most bytes of a block.
const BLOCK: u32 = 4;
const BLOCK_BYTES: u64 = 16;

/// Fields of a file's header.
struct Header {
    /// Width, height and depth of the largest mip level, texels.
    size: [u32; 3],
    layers: u32,
    faces: u32,
    supercompression: u32,
    /// Offset of the end of the keys and their values, bytes.
    end_of_keys: u64,
    /// Offset, length and decompressed length of the largest mip level, bytes.
    level: [u64; 3],
}

impl Header {
    /// Reads the header of a file. Returns `None` if it is cut off.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks();
        let words: &[[u8; 4]; 26] = words.first_chunk()?;
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let long = |index: usize| u64::from(word(index + 1)) << 32 | u64::from(word(index));
        Some(Self {
            size: [5, 6, 7].map(word),
            layers: word(8),
            faces: word(9),
            supercompression: word(11),
            end_of_keys: u64::from(word(14)) + u64::from(word(15)),
            level: [20, 22, 24].map(long),
        })
    }
}

/// Returns width and height from the header.
///
/// # Errors
/// When the file is cut off, the size is zero or too large, there are several pictures, or the header has values for
/// which the decoder would panic or allocate too much.
pub fn size(bytes: &[u8]) -> Result<[u32; 2], String> {
    let Header { size: [width, height, depth], layers, faces, end_of_keys, level: [begin, length, claimed], .. } =
        Header::read(bytes).ok_or("its header is cut off")?;
    if width == 0 || height == 0 || width.max(height) > MAX_SIZE {
        return Err(format!("it is {width} x {height} pixels large"));
    }
    if depth > 1 || layers > 1 || faces != 1 {
        return Err("it is a volume, an array or a cube map".to_owned());
    }
    if begin.checked_add(length).is_none_or(|end| end > bytes.len() as u64) {
        return Err("its data is cut off".to_owned());
    }
    let blocks = [width, height].map(|size| u64::from(size.div_ceil(BLOCK)));
    if claimed > BLOCK_BYTES * blocks[0] * blocks[1] {
        return Err(format!("it claims {claimed} bytes for {width} x {height} pixels"));
    }
    if !end_of_keys.is_multiple_of(4) {
        return Err("its keys and values do not end at a multiple of four bytes".to_owned());
    }
    Ok([width, height])
}

/// Returns the window of the largest mip level, in bytes, if Zstandard compresses it: memory that its decoder allocates.
/// The window is that of RFC 8878, section 3.1.1.1.
pub fn window_bytes(bytes: &[u8]) -> u64 {
    const ZSTANDARD: u32 = 2;
    // The decoder allocates no more.
    const MAX_WINDOW: u64 = 100 << 20;
    let window = || {
        let header = Header::read(bytes).filter(|header| header.supercompression == ZSTANDARD)?;
        let frame = bytes.get(usize::try_from(header.level[0]).ok()?..)?;
        let number = |offset: usize, length: usize| {
            let field = frame.get(offset..offset + length)?;
            Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        };
        let descriptor = number(4, 1)?;
        if descriptor & 0x20 == 0 {
            let window = number(5, 1)?;
            let base = 1 << (10 + (window >> 3));
            return Some(base + base / 8 * (window & 7));
        }
        // A frame of one segment has no window but its size, behind the id of a dictionary.
        let offset = 5 + [0, 1, 2, 4][descriptor as usize & 3];
        let length = 1 << (descriptor >> 6);
        number(offset, length).map(|size| if length == 2 { size + 256 } else { size })
    };
    window().unwrap_or(0).min(MAX_WINDOW)
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
        let image = Transcoder::new(bytes).map_err(fault)?;
        if image.base_dimensions() != (width, height) {
            return Err("its header contradicts its data".to_owned());
        }
        let pixels = image.transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE).map_err(fault)?;
        Ok((width, height, pixels.as_chunks().0.to_vec()))
    };
    // The crate is young. A panic on a damaged texture must not end a bake.
    std::panic::catch_unwind(decode).unwrap_or_else(|_| Err("its data is damaged".to_owned()))
}

/// Returns the reason why a texture cannot be read, as a sentence.
#[cfg(feature = "basis")]
fn fault(error: basisu::Error) -> String {
    use basisu::Error;

    match error {
        Error::Unsupported { .. } => "its texels cannot be converted to RGBA".to_owned(),
        Error::UnsupportedFeature(feature) => format!("it cannot be decoded: {feature}"),
        Error::VideoRequiresState => "it is a video".to_owned(),
        _ => "its data is damaged".to_owned(),
    }
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

    #[test]
    fn the_window_of_a_frame_is_counted() {
        let whole = include_bytes!("../../tests/hostile_files/basis/uastc_zstd.ktx2");
        let frame = u64::from_le_bytes(whole[80..88].try_into().unwrap()) as usize;
        let [single, window] = [0x20, 0x00].map(|descriptor| {
            let mut bytes = whole.to_vec();
            bytes[frame + 4] = descriptor;
            bytes[frame + 5] = 64;
            window_bytes(&bytes)
        });
        // One segment of 64 bytes; 2^(10 + 8) bytes.
        assert_eq!([single, window], [64, 1 << 18]);
        assert_eq!(window_bytes(include_bytes!("../../tests/hostile_files/basis/uastc.ktx2")), 0);
        assert_eq!(window_bytes(&whole[..100]), 0);
    }

    #[cfg(feature = "basis")]
    #[test]
    fn pictures_by_the_encoder_of_basis_universal_have_its_colors() {
        // Each picture is this gradient, with the loss of its format.
        let gradient = |index: usize| {
            let [x, y] = [index % 8, index / 8];
            [x * 30, y * 30, (x ^ y) * 20, if x < 4 { 255 } else { 100 }]
        };
        for (bytes, max_error) in [
            (&include_bytes!("../../tests/hostile_files/basis/etc1s.ktx2")[..], 40.0),
            (include_bytes!("../../tests/hostile_files/basis/uastc.ktx2"), 12.0),
            (include_bytes!("../../tests/hostile_files/basis/uastc_zstd.ktx2"), 12.0),
        ] {
            let (width, height, pixels) = decode(bytes).unwrap();
            assert_eq!((width, height, pixels.len()), (8, 8, 64));
            let squared = pixels.iter().enumerate().flat_map(|(index, pixel)| {
                let expected = gradient(index);
                (0..4).map(move |channel| (f32::from(pixel[channel]) - expected[channel] as f32).powi(2))
            });
            let error = (squared.sum::<f32>() / 256.0).sqrt();
            assert!(error < max_error, "RMS {error}");
        }
    }
}
