//! Tests of the files of baked levels, each with its own reader. The digests, which would notice damage first, are
//! bypassed.

use std::path::Path;

use bevy_radiosity::bake::{BakedScene, OutputFolder};
use bevy_radiosity::lightmap::files::{
    Level, LevelMesh, read_exr, read_ktx2, read_validity, write_exr, write_ktx2, write_validity,
};
use bevy_radiosity::lightmap::{Page, PageSize};
use bevy_radiosity::pathtrace::Receiver;
use exr::prelude::{Blocks, Compression, Encoding, Image, LineOrder, SpecificChannels, WritableImage};
use glam::Vec3;

use crate::baked_level::{baked, scene};
use crate::damage::Make;
use crate::fuzz::{MIB, Reader, alone};
use crate::scenes::mend_png;

const SIZE: PageSize = PageSize { width: 37, height: 21 };
const MAX_MEMORY: usize = 4 * MIB;

fn page() -> Page {
    let mut page = Page::new(SIZE);
    for (number, texel) in page.texels.iter_mut().enumerate() {
        *texel = Vec3::new(number as f32 * 0.37, 1.0 / (number + 1) as f32, 1e-3);
    }
    page.validity.iter_mut().enumerate().for_each(|(number, valid)| *valid = (number % 256) as f32 / 255.0);
    page
}

/// Returns a page in other encodings than bakes choose.
fn encoded(compression: Compression, blocks: Blocks, line_order: LineOrder) -> Vec<u8> {
    let page = page();
    let size = (SIZE.width as usize, SIZE.height as usize);
    let texel = |place: exr::math::Vec2<usize>| {
        let texel = page.texels[place.y() * size.0 + place.x()];
        (texel.x, texel.y, texel.z)
    };
    let encoding = Encoding { compression, blocks, line_order };
    let mut bytes = std::io::Cursor::new(Vec::new());
    let image = Image::from_encoded_channels(size, encoding, SpecificChannels::rgb(texel));
    image.write().to_buffered(&mut bytes).expect("there is room");
    bytes.into_inner()
}

#[test]
fn pages_are_read_or_refused() {
    let _alone = alone();
    let path = Path::new("page");
    let tiles = Blocks::Tiles(exr::math::Vec2(16, 8));
    let corpus = vec![
        write_exr(&page(), path).expect("a page"),
        encoded(Compression::ZIP16, Blocks::ScanLines, LineOrder::Increasing),
        encoded(Compression::PIZ, Blocks::ScanLines, LineOrder::Increasing),
        encoded(Compression::PXR24, Blocks::ScanLines, LineOrder::Decreasing),
        encoded(Compression::RLE, tiles, LineOrder::Unspecified),
        encoded(Compression::B44, tiles, LineOrder::Increasing),
        encoded(Compression::Uncompressed, tiles, LineOrder::Increasing),
    ];
    let reader =
        Reader { name: "EXR pages", make: Make::Bytes, corpus, mend: None, max_memory: MAX_MEMORY, count: 4_000 };
    reader.run(|bytes| {
        let Ok(page) = read_exr(bytes, SIZE, path) else { return false };
        assert_eq!(page.texels.len(), (SIZE.width * SIZE.height) as usize);
        assert!(page.texels.iter().all(|texel| texel.is_finite() && texel.min_element() >= 0.0));
        true
    });
}

#[test]
fn textures_are_read_or_refused() {
    let _alone = alone();
    let small = Page::new(PageSize { width: 1, height: 1 });
    let corpus = vec![write_ktx2(&page()).0, write_ktx2(&small).0];
    let reader = Reader { name: "KTX2", make: Make::Bytes, corpus, mend: None, max_memory: MAX_MEMORY, count: 20_000 };
    reader.run(|bytes| {
        let Ok((size, texels)) = read_ktx2(bytes, Path::new("page")) else { return false };
        assert_eq!(texels.len() as u64, u64::from(size.width) * u64::from(size.height) * 4);
        true
    });
}

#[test]
fn validity_is_read_or_refused() {
    let _alone = alone();
    let corpus = vec![write_validity(&page(), Path::new("page")).expect("a page")];
    let mend = Some(mend_png as fn(&mut Vec<u8>));
    let (make, max_memory) = (Make::Bytes, MAX_MEMORY);
    Reader { name: "validity", make, corpus, mend, max_memory, count: 10_000 }.run(|bytes| {
        let Ok(texels) = read_validity(bytes, SIZE, Path::new("page")) else { return false };
        assert_eq!(texels.len(), (SIZE.width * SIZE.height) as usize);
        true
    });
}

#[test]
fn unwrapped_meshes_are_read_or_refused() {
    let _alone = alone();
    let scene = scene();
    let folder = baked(&scene, 0);
    let corpus = vec![std::fs::read(folder.path().join("unwrapped_meshes.bin")).expect("a level's file")];
    let (make, max_memory) = (Make::Bytes, MAX_MEMORY);
    Reader { name: "unwrapped meshes", make, corpus, mend: None, max_memory, count: 10_000 }.run(|bytes| {
        let Ok(meshes) = LevelMesh::all_from_bytes(bytes, Path::new("meshes")) else { return false };
        for (mesh, source) in meshes.iter().flat_map(|mesh| scene.meshes.iter().map(move |source| (mesh, source))) {
            if let Some(unwrap) = mesh.unwrap(source) {
                assert_eq!(unwrap.mesh.positions.len(), unwrap.mesh.uv1.len());
            }
        }
        true
    });
}

#[test]
fn levels_are_read_or_refused() {
    let _alone = alone();
    let scene = scene();
    let folder = baked(&scene, 0);
    let path = folder.path().join("level.ron");
    let receivers =
        [Vec3::Y, Vec3::X, Vec3::NEG_Z].map(|normal| Receiver { position: Vec3::new(0.1, 0.2, 0.3), normal });
    let corpus = vec![std::fs::read(&path).expect("a level's file")];
    let mend = Some(mend_level as fn(&mut Vec<u8>));
    let (make, max_memory) = (Make::Text, MAX_MEMORY);
    Reader { name: "level.ron", make, corpus, mend, max_memory, count: 2_000 }.run(|bytes| {
        std::fs::write(&path, bytes).expect("the folder can be written to");
        let Ok(level) = Level::read(folder.path()) else { return false };
        assert!(level.error.is_finite());
        if let Ok(baked) = BakedScene::read(folder.path(), &scene) {
            let light = baked.irradiance_at(&receivers);
            assert!(light.iter().flatten().all(|light| light.is_finite()));
        }
        true
    });
}

/// Corrects the digest of a `level.ron`.
#[expect(clippy::ptr_arg, reason = "reports grow, and all are mended alike")]
fn mend_level(file: &mut Vec<u8>) {
    let Some(line) = file.iter().position(|&byte| byte == b'\n') else { return };
    let digest = blake3::hash(&file[line + 1..]).to_hex();
    if let Some(start) = line.checked_sub(digest.len()) {
        file[start..line].copy_from_slice(digest.as_bytes());
    }
}

#[test]
fn a_report_is_a_bakes_own_or_in_the_way() {
    let _alone = alone();
    let folder = baked(&scene(), 0);
    let path = folder.path().join("report.json");
    let whole = std::fs::read(&path).expect("a level's file");
    let (make, max_memory, mend) = (Make::Json, MAX_MEMORY, Some(mend_report as fn(&mut Vec<u8>)));
    Reader { name: "report.json", make, corpus: vec![whole], mend, max_memory, count: 1_000 }.run(|bytes| {
        std::fs::write(&path, bytes).expect("the folder can be written to");
        let is_own = OutputFolder::open(folder.path()).is_ok();
        assert_eq!(std::fs::read(&path).expect("it stays whatever it is"), bytes);
        is_own
    });
}

/// Corrects the digest of a `report.json`.
fn mend_report(file: &mut Vec<u8>) {
    let Ok(mut report) = serde_json::from_slice::<serde_json::Value>(file) else { return };
    if let Some(digest) = report.get_mut("digest") {
        *digest = "".into();
        let text = serde_json::to_string_pretty(&report).expect("JSON");
        let digest = blake3::hash(text.as_bytes()).to_hex();
        *file = text.replacen("\"digest\": \"\"", &format!("\"digest\": \"{digest}\""), 1).into_bytes();
    }
}
