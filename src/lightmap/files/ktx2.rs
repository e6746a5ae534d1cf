//! Pages as KTX2 textures: `Rgb9e5Ufloat`, one level, no compression, which Bevy loads as it is.

use std::path::Path;

use ktx2::dfd::{Basic, Block};
use ktx2::{Format, Header, Index, LevelIndex, Reader};

use super::{LevelError, rgb9e5};
use crate::lightmap::{Page, PageSize};

const FORMAT: Format = Format::E5B9G9R9_UFLOAT_PACK32;

/// The bytes of a KTX2 file with a page's texels, and how many of those had to be clamped to the format's range.
pub fn write_ktx2(page: &Page) -> (Vec<u8>, usize) {
    let Ok((descriptor, type_size)) = Basic::from_format(FORMAT) else {
        unreachable!("the format is one that the descriptor table knows");
    };
    let block = Block::Basic(descriptor).to_vec();
    let descriptor_start = Header::LENGTH + LevelIndex::LENGTH;
    let descriptor_length = 4 + block.len();
    // Texels start at a multiple of their size, which headers and descriptor are too.
    let data_start = (descriptor_start + descriptor_length).next_multiple_of(4);
    let data_length = page.texels.len() * 4;
    let header = Header {
        format: Some(FORMAT),
        type_size,
        pixel_width: page.width,
        pixel_height: page.height,
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
    let level = LevelIndex {
        byte_offset: data_start as u64,
        byte_length: data_length as u64,
        uncompressed_byte_length: data_length as u64,
    };
    let mut bytes = Vec::with_capacity(data_start + data_length);
    bytes.extend(header.as_bytes());
    bytes.extend(level.as_bytes());
    bytes.extend((descriptor_length as u32).to_le_bytes());
    bytes.extend(block);
    bytes.resize(data_start, 0);
    bytes.extend(page.texels.iter().flat_map(|&texel| rgb9e5::encode(texel).to_le_bytes()));
    (bytes, page.texels.iter().filter(|texel| rgb9e5::is_clamped(**texel)).count())
}

/// The size and the texels, four bytes each, of a KTX2 file that [`write_ktx2`] made.
///
/// # Errors
/// When the bytes are anything else; `path` is what the message names.
pub fn read_ktx2(bytes: &[u8], path: &Path) -> Result<(PageSize, Vec<u8>), LevelError> {
    let reader = Reader::new(bytes).map_err(|fault| LevelError::damaged(path, fault))?;
    let header = reader.header();
    let size = PageSize { width: header.pixel_width, height: header.pixel_height };
    if header.format != Some(FORMAT) || header.supercompression_scheme.is_some() {
        return Err(LevelError::damaged(path, "it is not an uncompressed Rgb9e5 texture"));
    }
    let expected = u64::from(size.width) * u64::from(size.height) * 4;
    match reader.levels().next() {
        Some(level) if level.data.len() as u64 == expected => Ok((size, level.data.to_vec())),
        _ => Err(LevelError::damaged(path, "its texels do not fill its size")),
    }
}
