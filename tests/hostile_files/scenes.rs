//! Tests of scenes and the files that they name: glTF, OBJ, materials, textures.

use std::io::Cursor;
use std::path::Path;

use bevy_radiosity::lightmap::PageSize;
use bevy_radiosity::lightmap::files::{read_exr, read_validity};
use bevy_radiosity::scene::Sky;
use bevy_radiosity::scene_files;
use bevy_radiosity::scene_files::SceneOptions;
use exr::prelude::{Blocks, Compression, Encoding, LineOrder, SpecificChannels, WritableImage};
use glam::Vec3;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ExtendedColorType, ImageBuffer, ImageEncoder, ImageFormat, Rgb32FImage, RgbImage};

use crate::allocator::max_held;
use crate::damage::Make;
use crate::documents::{MATERIALS, OBJECT, OTHER_OBJECT, binary_gltf, buffer, gltf, png};
use crate::fuzz::{MIB, Reader, alone};

/// Memory that a scene may take, MiB.
const ALLOWED: u32 = 32;
/// Measured limit: a twentieth more, and a constant for any reader.
const MAX_MEMORY: usize = ALLOWED as usize * MIB * 21 / 20 + MIB;

/// Returns true for a scene that is accepted, and checks that its numbers are finite. Returns false for a refused one.
fn is_scene(file: &Path, bytes: &[u8]) -> bool {
    std::fs::write(file, bytes).expect("the folder can be written to");
    let options = SceneOptions { memory_mib: Some(ALLOWED), ..SceneOptions::default() };
    let load = if bytes.len().is_multiple_of(2) { scene_files::load_with } else { scene_files::load_for_pictures_with };
    let scene = match load(&file.to_string_lossy(), &options) {
        Ok(loaded) => loaded.scene,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    for surface in scene.surface_ids() {
        for triangle in 0..scene.mesh_of(surface).triangles.len() as u32 {
            let corners = scene.triangle(surface, triangle).corners;
            assert!(corners.iter().all(|corner| corner.is_finite()), "a corner is not finite");
        }
    }
    true
}

/// Returns a folder with all files that scenes name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    for (name, content) in [
        ("case.bin", &buffer()[..]),
        ("dot.png", &png()),
        ("case.mtl", MATERIALS.as_bytes()),
        ("case.obj", OBJECT.as_bytes()),
    ] {
        std::fs::write(folder.path().join(name), content).expect("the folder can be written to");
    }
    folder
}

#[test]
fn gltf_files_are_read_or_refused() {
    let _alone = alone();
    let (folder, corpus) = (folder(), gltf());
    let reader = Reader { name: "glTF", make: Make::Json, corpus, mend: None, max_memory: MAX_MEMORY, count: 1_500 };
    reader.run(|bytes| is_scene(&folder.path().join("case.gltf"), bytes));
}

#[test]
fn binary_gltf_files_are_read_or_refused() {
    let _alone = alone();
    let (folder, corpus) = (folder(), binary_gltf());
    let reader = Reader { name: "GLB", make: Make::Glb, corpus, mend: None, max_memory: MAX_MEMORY, count: 1_500 };
    reader.run(|bytes| is_scene(&folder.path().join("case.glb"), bytes));
}

#[test]
fn objects_are_read_or_refused() {
    let _alone = alone();
    let (folder, corpus) = (folder(), vec![OBJECT.into(), OTHER_OBJECT.into()]);
    let reader = Reader { name: "OBJ", make: Make::Text, corpus, mend: None, max_memory: MAX_MEMORY, count: 1_500 };
    reader.run(|bytes| is_scene(&folder.path().join("case.obj"), bytes));
}

#[test]
fn objects_with_damaged_materials_are_read() {
    let _alone = alone();
    let (folder, corpus) = (folder(), vec![MATERIALS.into()]);
    let (materials, object) = (folder.path().join("case.mtl"), folder.path().join("case.obj"));
    let reader = Reader { name: "MTL", make: Make::Text, corpus, mend: None, max_memory: MAX_MEMORY, count: 1_500 };
    reader.run(|bytes| {
        std::fs::write(&materials, bytes).expect("the folder can be written to");
        assert!(is_scene(&object, OBJECT.as_bytes()), "materials are nothing that an object cannot do without");
        true
    });
}

fn stored(picture: DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("there is room");
    bytes.into_inner()
}

fn colored() -> RgbImage {
    RgbImage::from_fn(9, 5, |x, y| image::Rgb([x as u8 * 20, y as u8 * 40, 7]))
}

fn bright() -> Rgb32FImage {
    Rgb32FImage::from_fn(9, 5, |x, y| image::Rgb([x as f32, y as f32 * 0.1, 1e3]))
}

/// Returns a texture of each format except for TIFF.
fn pictures() -> Vec<Vec<u8>> {
    use ImageFormat::{Bmp, Gif, Hdr, Jpeg, OpenExr, Png, Tga, WebP};
    let colored = [Png, Jpeg, Bmp, Gif, Tga, WebP].map(|format| stored(colored().into(), format));
    let bright = [Hdr, OpenExr].map(|format| stored(bright().into(), format));
    colored.into_iter().chain(bright).collect()
}

/// Reads a picture as the sky. Returns true if it was accepted.
fn is_picture(file: &Path, bytes: &[u8], allowed_mib: u32) -> bool {
    std::fs::write(file, bytes).expect("the folder can be written to");
    match Sky::read(&file.to_string_lossy(), Some(allowed_mib)) {
        Ok(sky) => {
            let directions = [Vec3::X, Vec3::Y, Vec3::NEG_Y, Vec3::ONE.normalize()];
            assert!(directions.iter().all(|&direction| sky.radiance(direction).is_finite()));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn pictures_are_read_or_refused() {
    let _alone = alone();
    let folder = folder();
    // A TGA file has no magic bytes, so its name decides; other formats are recognized by theirs.
    let file = folder.path().join("sky.tga");
    let mend = Some(mend_png as fn(&mut Vec<u8>));
    let (make, corpus) = (Make::Bytes, pictures());
    let reader = Reader { name: "pictures", make, corpus, mend, max_memory: MAX_MEMORY, count: 4_000 };
    reader.run(|bytes| is_picture(&file, bytes, ALLOWED));
}

#[test]
fn tiff_pictures_are_read_or_refused() {
    // Their decoder may allocate 256 MiB before a limit can be set.
    const ALLOWED: u32 = 288;
    let _alone = alone();
    let folder = folder();
    let file = folder.path().join("sky.tif");
    let deep = ImageBuffer::from_fn(9, 5, |x, y| image::Luma([x as u16 * 5_000 + y as u16]));
    let pictures = [colored().into(), bright().into(), DynamicImage::ImageLuma16(deep)];
    let corpus = pictures.map(|picture| stored(picture, ImageFormat::Tiff)).to_vec();
    let max_memory = ALLOWED as usize * MIB * 21 / 20 + MIB;
    let reader = Reader { name: "TIFF pictures", make: Make::Bytes, corpus, mend: None, max_memory, count: 1_000 };
    reader.run(|bytes| is_picture(&file, bytes, ALLOWED));
}

#[cfg(feature = "basis")]
#[test]
fn basis_universal_pictures_are_read_or_refused() {
    // The encoder of Basis Universal made these (npm's `ktx2-encoder` 0.6.0): 8 x 8 pixels, one mip level.
    let corpus = [
        &include_bytes!("basis/etc1s.ktx2")[..],
        include_bytes!("basis/uastc.ktx2"),
        include_bytes!("basis/uastc_zstd.ktx2"),
    ];
    let _alone = alone();
    let folder = folder();
    let (file, corpus) = (folder.path().join("sky.ktx2"), corpus.map(<[u8]>::to_vec).to_vec());
    let (name, make, max_memory) = ("Basis Universal", Make::Bytes, MAX_MEMORY);
    let reader = Reader { name, make, corpus, mend: None, max_memory, count: 4_000 };
    reader.run(|bytes| is_picture(&file, bytes, ALLOWED));
}

#[test]
fn a_color_profile_of_zeros_takes_little_memory() {
    let _alone = alone();
    let folder = folder();
    let file = folder.path().join("sky.png");
    let mut bytes = Vec::new();
    let mut encoder = PngEncoder::new(&mut bytes);
    encoder.set_icc_profile(vec![0; 4 * MAX_MEMORY]).expect("PNG files may have a profile");
    encoder.write_image(&[9], 1, 1, ExtendedColorType::L8).expect("there is room");
    std::fs::write(&file, &bytes).expect("the folder can be written to");
    let (sky, held) = max_held(|| Sky::read(&file.to_string_lossy(), Some(ALLOWED)));
    assert!(sky.is_ok() && held < MAX_MEMORY, "{held}");
    let size = PageSize { width: 1, height: 1 };
    let (validity, held) = max_held(|| read_validity(&bytes, size, &file));
    assert!(validity.is_ok_and(|texels| texels == [9]) && held < MAX_MEMORY, "{held}");
}

#[test]
fn an_exr_file_that_claims_a_tile_of_gigabytes_takes_little_memory() {
    let _alone = alone();
    let folder = folder();
    let file = folder.path().join("sky.exr");
    let mut bytes = picture_of_one_tile();
    let name = b"tiles\0tiledesc\0\x09\0\0\0";
    let sizes = bytes.windows(name.len()).position(|window| window == name).expect("it has tiles") + name.len();
    bytes[sizes + 4..sizes + 8].copy_from_slice(&(8u32 << 20).to_le_bytes());
    // The tile begins where the table of one offset ends: with four coordinates, and the bytes that it claims.
    let points_behind_itself = |at: &usize| bytes.get(*at..at + 8) == Some(&(*at as u64 + 8).to_le_bytes()[..]);
    let tile = (sizes..bytes.len()).find(points_behind_itself).expect("a table of offsets") + 8;
    bytes[tile + 16..tile + 20].copy_from_slice(&(1u32 << 30).to_le_bytes());
    std::fs::write(&file, &bytes).expect("the folder can be written to");
    let (sky, held) = max_held(|| Sky::read(&file.to_string_lossy(), Some(ALLOWED)));
    let refusal = sky.expect_err("there is no such tile").to_string();
    assert!(refusal.contains("memory") && held < MAX_MEMORY, "{held}, {refusal}");
    let (page, held) = max_held(|| read_exr(&bytes, PageSize { width: 9, height: 5 }, &file));
    let refusal = page.expect_err("there is no such tile").to_string();
    assert!(refusal.contains("tiles") && held < MAX_MEMORY, "{held}, {refusal}");
}

/// Returns an EXR picture of 9 x 5 pixels in a tile of 64 x 64.
fn picture_of_one_tile() -> Vec<u8> {
    let blocks = Blocks::Tiles(exr::math::Vec2(64, 64));
    let encoding = Encoding { compression: Compression::RLE, blocks, line_order: LineOrder::Increasing };
    let channels = SpecificChannels::rgb(|place: exr::math::Vec2<usize>| (place.x() as f32, 1.0f32, 2.0f32));
    let mut bytes = Cursor::new(Vec::new());
    let image = exr::prelude::Image::from_encoded_channels((9, 5), encoding, channels);
    image.write().to_buffered(&mut bytes).expect("there is room");
    bytes.into_inner()
}

/// Corrects the checksums of the chunks of a PNG file.
#[expect(clippy::ptr_arg, reason = "reports grow, and all are mended alike")]
pub fn mend_png(file: &mut Vec<u8>) {
    const MARK: usize = 8;
    if !file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return;
    }
    let mut at = MARK;
    while let Some(length) = file.get(at..at + 4) {
        let length = u32::from_be_bytes(core::array::from_fn(|byte| length[byte])) as usize;
        let Some(content) = file.get(at + 4..at + 8 + length) else { return };
        let sum = crc32(content).to_be_bytes();
        at += 8 + length;
        file[at..].iter_mut().zip(sum).for_each(|(byte, new)| *byte = new);
        at += 4;
    }
}

/// Returns the checksum of PNG files (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    let turn = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    };
    !bytes.iter().fold(!0, turn)
}
