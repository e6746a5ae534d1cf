//! Pages as KTX2 textures: `Rgb9e5Ufloat`, one mip level, no compression. Bevy loads them directly.

use std::path::Path;

use ktx2::dfd::{Basic, Block};
use ktx2::{Format, Header, Index, LevelIndex};

use super::{LevelError, rgb9e5};
use crate::lightmap::{Page, PageSize};

const FORMAT: Format = Format::E5B9G9R9_UFLOAT_PACK32;
/// Bytes per texel.
const TEXEL: usize = 4;
/// Offset of the width in a file; the height follows. In bytes.
const SIZE_START: usize = 20;

/// Returns the bytes of a KTX2 file with a page's texels, and the number of texels that were clamped to the format's
/// range.
pub fn write_ktx2(page: &Page) -> (Vec<u8>, usize) {
    let mut bytes = beginning(PageSize { width: page.width, height: page.height });
    bytes.reserve(page.texels.len() * TEXEL);
    bytes.extend(page.texels.iter().flat_map(|&texel| rgb9e5::encode(texel).to_le_bytes()));
    (bytes, page.texels.iter().filter(|texel| rgb9e5::is_clamped(**texel)).count())
}

/// Returns all bytes before the texels.
fn beginning(size: PageSize) -> Vec<u8> {
    let Ok((descriptor, type_size)) = Basic::from_format(FORMAT) else {
        unreachable!("the format is one that the descriptor table knows");
    };
    let block = Block::Basic(descriptor).to_vec();
    let descriptor_start = Header::LENGTH + LevelIndex::LENGTH;
    let descriptor_length = 4 + block.len();
    // Texels start at a multiple of their size. The lengths of header and descriptor are such multiples, too.
    let data_start = (descriptor_start + descriptor_length).next_multiple_of(TEXEL);
    let data_length = u64::from(size.width) * u64::from(size.height) * TEXEL as u64;
    let header = Header {
        format: Some(FORMAT),
        type_size,
        pixel_width: size.width,
        pixel_height: size.height,
        pixel_depth: 0,
        layer_count: 0,
        face_count: 1,
        level_count: 1,
        supercompression_scheme: None,
        index: Index {
            dfd_byte_offset: descriptor_start as u32,
            dfd_byte_length: descriptor_length as u32,
            kvd_byte_offset: 0,
            kvd_byte_length: 0,
            sgd_byte_offset: 0,
            sgd_byte_length: 0,
        },
    };
    let level =
        LevelIndex { byte_offset: data_start as u64, byte_length: data_length, uncompressed_byte_length: data_length };
    let mut bytes = Vec::with_capacity(data_start);
    bytes.extend(header.as_bytes());
    bytes.extend(level.as_bytes());
    bytes.extend((descriptor_length as u32).to_le_bytes());
    bytes.extend(block);
    bytes.resize(data_start, 0);
    bytes
}

/// Reads the size and the texels, four bytes each, of a KTX2 file of [`write_ktx2`].
///
/// # Errors
/// When the bytes are anything else. `path` names the file in errors.
pub fn read_ktx2(bytes: &[u8], path: &Path) -> Result<(PageSize, Vec<u8>), LevelError> {
    let damaged = |fault: &str| LevelError::damaged(path, fault);
    let said = bytes.get(SIZE_START..SIZE_START + 8).ok_or_else(|| damaged("it is too short"))?;
    let number = |at: usize| u32::from_le_bytes(core::array::from_fn(|byte| said[at + byte]));
    let size = PageSize { width: number(0), height: number(4) };
    if !size.is_possible() {
        return Err(damaged(&format!("it claims {} x {} texels", size.width, size.height)));
    }
    // Files of one size begin with the same bytes. A general reader would trust the claims of other headers.
    let texels = bytes.strip_prefix(beginning(size).as_slice());
    let texels = texels.ok_or_else(|| damaged("it is not an uncompressed Rgb9e5 texture as bakes write them"))?;
    if texels.len() != size.width as usize * size.height as usize * TEXEL {
        return Err(damaged("its texels do not fill its size"));
    }
    Ok((size, texels.to_vec()))
}
