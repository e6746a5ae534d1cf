//! Tests of levels on disk: completeness, detection of damage, replacement.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use glam::{UVec3, Vec2, Vec3};
use tempfile::tempdir;

use super::*;
use crate::geometry::Aabb;
use crate::lightmap::fixtures::{Fixture, ball, quad};
use crate::lightmap::{Page, PageSize, Voxels};
use crate::output::Overwrite;
use crate::scene::{Sides, SurfaceKey};

fn page(width: u32, height: u32) -> Page {
    let mut page = Page::new(PageSize { width, height });
    for (number, texel) in page.texels.iter_mut().enumerate() {
        *texel = Vec3::new(number as f32 * 0.37, 1.0 / (number + 1) as f32, 1e-3);
    }
    // Values that eight bits represent exactly.
    page.validity.iter_mut().enumerate().for_each(|(number, valid)| *valid = (number % 256) as f32 / 255.0);
    page
}

/// Returns a level of three surfaces with an irradiance volume and a precomputed transport. Two surfaces share a mesh,
/// and one has texels for both sides.
fn fixture() -> Fixture {
    let mut fixture = Fixture::default();
    fixture.add(ball(1.0, 8, 6), Sides::Front, [20, 12]);
    fixture.add(quad(Vec3::ZERO, Vec3::X, Vec3::Y), Sides::Both, [8, 8]).two_sided();
    let mut again = fixture.scene.surfaces[0].clone();
    again.key.0.push_str(" again");
    fixture.scene.surfaces.push(again);
    let shared = fixture.layout.placements[0].clone();
    fixture.layout.placements.push(shared);
    fixture.volume = Some(voxels());
    fixture.relight = Some(vec![1, 2, 3]);
    fixture
}

/// Returns voxels of different values.
fn voxels() -> Voxels {
    let value = |index: usize| core::array::from_fn(|direction| Vec3::new(index as f32, direction as f32, 0.5));
    let bounds = Aabb { min: Vec3::NEG_ONE, max: Vec3::new(1.0, 2.0, 3.0) };
    Voxels { bounds, count: UVec3::new(2, 3, 4), values: (0..24).map(value).collect() }
}

/// Returns a level of one surface.
fn small_fixture() -> Fixture {
    let mut fixture = Fixture::default();
    fixture.add(quad(Vec3::ZERO, Vec3::X, Vec3::Y), Sides::Front, [8, 8]);
    fixture
}

fn try_to_write(fixture: &Fixture, folder: &Path) -> Result<Written, LevelError> {
    try_to_write_over(fixture, folder, Overwrite::Own)
}

fn try_to_write_over(fixture: &Fixture, folder: &Path, overwrite: Overwrite) -> Result<Written, LevelError> {
    let pages: Vec<Page> = fixture.layout.pages.iter().map(|size| page(size.width, size.height)).collect();
    let settings = serde_json::json!({ "method": "gather", "texels_per_meter": 16.0, "time": null });
    let content = LevelContent {
        content_hash: "0123abcd",
        settings: &settings,
        error: 0.25,
        scene: &fixture.scene,
        layout: &fixture.layout,
        pages: &pages,
        volume: fixture.volume.as_ref(),
        relight: fixture.relight.as_deref().map(|bytes| (bytes, 0.125)),
        preview: None,
    };
    Level::write(folder, content, overwrite)
}

fn write(fixture: &Fixture, folder: &Path) -> Written {
    try_to_write(fixture, folder).expect("a fresh folder can be written")
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = (fs::read_dir(folder).expect("the folder"))
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_surface_with_another_parent_finds_its_light_by_name_and_mesh() {
    let mut fixture = small_fixture();
    fixture.scene.surfaces[0].key = SurfaceKey::from_node("hall/crate", 0);
    let folder = tempdir().expect("a folder");
    let level = write(&fixture, folder.path()).level;
    let place = |fixture: &Fixture| {
        let layout = level.layout(folder.path(), &fixture.scene).expect("a whole level");
        layout.placements[0].as_ref().map(|placement| placement.rectangle)
    };
    let baked = place(&fixture);
    assert!(baked.is_some());
    fixture.scene.surfaces[0].key = SurfaceKey::from_node("attic/crate", 0);
    assert_eq!(place(&fixture), baked);
    fixture.scene.surfaces[0].key = SurfaceKey::from_node("attic/barrel", 0);
    assert_eq!(place(&fixture), None);
    // The same name, but another mesh.
    let mut other = Fixture::default();
    let mut mesh = quad(Vec3::ZERO, Vec3::X, Vec3::Y);
    mesh.triangles.reverse();
    other.add(mesh, Sides::Front, [8, 8]);
    other.scene.surfaces[0].key = SurfaceKey::from_node("attic/crate", 0);
    assert_eq!(place(&other), None);
}

#[test]
fn a_ktx2_file_opens_with_the_reader_that_bevy_uses() {
    let page = page(13, 7);
    let (bytes, clamped) = write_ktx2(&page);
    assert_eq!(clamped, 0);
    let reader = ::ktx2::Reader::new(&bytes).expect("a valid file");
    let header = reader.header();
    assert_eq!(header.format, Some(::ktx2::Format::E5B9G9R9_UFLOAT_PACK32));
    assert_eq!((header.pixel_width, header.pixel_height, header.type_size), (13, 7, 4));
    assert_eq!((header.face_count, header.level_count, header.supercompression_scheme), (1, 1, None));
    assert_eq!(reader.transfer_function(), Some(::ktx2::TransferFunction::Linear));
    // Three mantissas of nine bits, each with the exponent in the five highest.
    let samples: Vec<(u16, u8)> = (reader.basic_dfd().expect("a descriptor").sample_information.iter())
        .map(|sample| (sample.bit_offset, sample.bit_length.get()))
        .collect();
    assert_eq!(samples, [(0, 9), (27, 5), (9, 9), (27, 5), (18, 9), (27, 5)]);
    let (size, texels) = read_ktx2(&bytes, Path::new("page")).expect("what was written");
    assert_eq!(size, PageSize { width: 13, height: 7 });
    for (texel, wanted) in texels.as_chunks::<4>().0.iter().zip(&page.texels) {
        let read = rgb9e5::decode(u32::from_le_bytes(*texel));
        assert!((read - *wanted).abs().max_element() <= 0.002 * wanted.max_element());
    }
}

#[test]
fn a_texture_that_claims_more_texels_than_numbers_can_count_is_refused() {
    let mut bytes = write_ktx2(&page(13, 7)).0;
    // Width and height are 2^31 each. At four bytes per texel these are 2^64 bytes, which overflows to zero in 64 bits.
    bytes[20..28].copy_from_slice(&[0, 0, 0, 0x80, 0, 0, 0, 0x80]);
    let refusal = read_ktx2(&bytes, Path::new("page")).expect_err("too large").to_string();
    assert!(refusal.contains("2147483648 x 2147483648"), "{refusal}");
}

#[test]
fn an_exr_file_gives_back_every_bit() {
    let mut page = page(13, 7);
    page.validity.fill(1.0);
    let bytes = write_exr(&page, Path::new("page")).expect("a page with texels");
    assert_eq!(read_exr(&bytes, PageSize { width: 13, height: 7 }, Path::new("page")).expect("what was written"), page);
    assert!(read_exr(&bytes, PageSize { width: 7, height: 13 }, Path::new("page")).is_err());
}

#[test]
fn a_level_is_read_as_it_was_written() {
    let (fixture, folder) = (fixture(), tempdir().expect("a temporary folder"));
    let written = write(&fixture, folder.path());
    assert_eq!(written.clamped, 0);
    let level = Level::read(folder.path()).expect("a level");
    assert_eq!(level, written.level);
    assert_eq!(level.settings["method"], "gather");
    // Two pages in two formats with validity, the meshes, the volume, the transport, and the level.
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 10);
    assert_eq!(level.read_meshes(folder.path()).expect("meshes").len(), 2, "two for three surfaces");
    assert_eq!((level.error, level.relight.as_ref().map(|relight| relight.error)), (0.25, Some(0.125)));
    let relight = level.read_relight(folder.path()).expect("a file");
    assert_eq!(relight, Some(vec![1, 2, 3].into()));
    assert_eq!(level.read_volume(folder.path()).expect("a volume"), Some(voxels()));
    let layout = level.layout(folder.path(), &fixture.scene).expect("the meshes that were baked");
    assert_eq!(layout.pages, fixture.layout.pages);
    for (read, baked) in layout.placements.iter().flatten().zip(fixture.layout.placements.iter().flatten()) {
        assert_eq!(read.unwrap, baked.unwrap);
        assert_eq!((read.page, read.rectangle), (baked.page, baked.rectangle));
    }
    for number in 0..2 {
        let read = level.read_page(folder.path(), number).expect("a page");
        assert_eq!(read, page(read.width, read.height));
        assert_eq!(level.read_texture(folder.path(), number).expect("a texture").len(), read.texels.len() * 4);
    }
}

#[test]
fn a_level_that_does_not_say_what_is_valid_counts_as_valid() {
    let folder = tempdir().expect("a temporary folder");
    let mut level = write(&small_fixture(), folder.path()).level;
    level.pages[0].validity = None;
    assert_eq!(level.read_validity(folder.path(), 0).expect("nothing to read"), None);
    let read = level.read_page(folder.path(), 0).expect("a page");
    assert!(read.validity.iter().all(|&valid| valid == 1.0));
}

#[test]
fn a_smaller_level_leaves_nothing_of_a_larger_one_behind() {
    let folder = tempdir().expect("a temporary folder");
    write(&fixture(), folder.path());
    write(&small_fixture(), folder.path());
    assert_eq!(
        names_in(folder.path()),
        ["level.ron", "page_0.exr", "page_0.ktx2", "unwrapped_meshes.bin", "validity_0.png"]
    );
}

#[test]
fn a_level_that_cannot_be_replaced_stays_whole() {
    let folder = tempdir().expect("a temporary folder");
    let small = write(&small_fixture(), folder.path()).level;
    let first_page = fs::read(folder.path().join("page_0.ktx2")).expect("a page");
    // A folder has the name of the larger level's second page.
    fs::create_dir_all(folder.path().join("page_1.ktx2/inside")).expect("a folder");
    let error = try_to_write(&fixture(), folder.path()).expect_err("the name of a page is taken");
    assert!(error.to_string().contains("page_1.ktx2"), "{error}");
    assert_eq!(Level::read(folder.path()).expect("the level of before"), small);
    assert_eq!(fs::read(folder.path().join("page_0.ktx2")).expect("its page"), first_page);
    let names = ["level.ron", "page_0.exr", "page_0.ktx2", "page_1.ktx2", "unwrapped_meshes.bin", "validity_0.png"];
    assert_eq!(names_in(folder.path()), names);
}

#[test]
fn a_mesh_that_has_changed_is_refused_by_name() {
    let (mut fixture, folder) = (fixture(), tempdir().expect("a temporary folder"));
    let level = write(&fixture, folder.path()).level;
    let changed = std::sync::Arc::make_mut(&mut fixture.scene.meshes[1]);
    changed.name = "changed leaf".into();
    changed.positions.push(Vec3::ONE);
    let error = level.layout(folder.path(), &fixture.scene).expect_err("another mesh");
    assert!(error.to_string().contains("changed leaf"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_stays_as_it_was() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("taken");
    fs::write(&file, "not a folder").expect("a file");
    let error = try_to_write(&small_fixture(), &file).expect_err("a file is no folder");
    assert!(error.to_string().contains("taken"), "{error}");
    // A folder with a name of the level stops the last step. Nothing of the first steps stays.
    fs::create_dir_all(folder.path().join("level/page_1.ktx2/inside")).expect("a folder");
    try_to_write(&fixture(), &folder.path().join("level")).expect_err("the name of a page is taken");
    assert_eq!(names_in(&folder.path().join("level")), ["page_1.ktx2"]);
}

#[test]
fn truncated_and_corrupted_files_are_errors_and_never_panics() {
    let (fixture, folder) = (fixture(), tempdir().expect("a temporary folder"));
    let level = write(&fixture, folder.path()).level;
    let read_all = |level: &Level| {
        let _ = level.layout(folder.path(), &fixture.scene);
        for number in 0..level.pages.len() {
            let _ = level.read_page(folder.path(), number);
            let _ = level.read_texture(folder.path(), number);
        }
        let _ = level.read_volume(folder.path());
    };
    for name in ["level.ron", "page_0.ktx2", "page_0.exr", "validity_0.png", "volume.exr", "unwrapped_meshes.bin"] {
        let path = folder.path().join(name);
        let good = fs::read(&path).expect("a file of the level");
        for place in (0..good.len()).step_by(good.len() / 31 + 1) {
            fs::write(&path, &good[..place]).expect("a shorter file");
            if name == "level.ron" {
                assert!(Level::read(folder.path()).is_err(), "{name} cut at {place}");
            } else {
                read_all(&level);
            }
            let mut bad = good.clone();
            bad[place] ^= 0x91;
            fs::write(&path, &bad).expect("a corrupted file");
            if let Ok(level) = Level::read(folder.path()) {
                read_all(&level);
            }
        }
        fs::write(&path, &good).expect("the good file");
    }
}

/// Returns the content with one bit flipped.
fn with_flipped_bit(content: &[u8], bit: usize) -> Vec<u8> {
    let mut damaged = content.to_vec();
    damaged[bit / 8] ^= 1 << (bit % 8);
    damaged
}

#[test]
fn each_flipped_bit_of_each_file_is_noticed_and_the_file_is_named() {
    let (fixture, folder) = (fixture(), tempdir().expect("a temporary folder"));
    write(&fixture, folder.path());
    let read_all = || {
        let level = Level::read(folder.path())?;
        for number in 0..level.pages.len() {
            level.read_page(folder.path(), number)?;
            level.read_texture(folder.path(), number)?;
        }
        level.read_volume(folder.path())?;
        level.read_relight(folder.path())?;
        level.read_meshes(folder.path()).map(drop)
    };
    read_all().expect("a whole level");
    for name in names_in(folder.path()) {
        let path = folder.path().join(&name);
        let good = fs::read(&path).expect("a file of the level");
        let bits = good.len() * 8;
        for bit in (0..bits).step_by(bits / 97 + 1) {
            fs::write(&path, with_flipped_bit(&good, bit)).expect("a damaged file");
            let refusal = read_all().expect_err("damage").to_string();
            assert!(refusal.contains(&name), "bit {bit} of {name}: {refusal}");
        }
        fs::write(&path, &good).expect("the good file");
    }
}

#[test]
fn light_that_cannot_be_is_refused_however_well_it_is_recorded() {
    let size = PageSize { width: 2, height: 2 };
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut page = Page::new(size);
        page.texels[3].y = value;
        let bytes = write_exr(&page, Path::new("page")).expect("a page with texels");
        let read = read_exr(&bytes, size, Path::new("page"));
        assert_eq!(read.is_ok(), value == f32::NEG_INFINITY, "{value}: light below zero is written as none");
    }
}

#[test]
fn what_no_level_has_recorded_is_named_and_stays() {
    for name in ["page_0.exr", "unwrapped_meshes.bin", "page_7.ktx2"] {
        let folder = tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        write(&small_fixture(), folder.path());
        fs::write(&path, "three years of work").expect("a file");
        let refusal = try_to_write(&fixture(), folder.path()).expect_err("a foreign file").to_string();
        assert!(refusal.contains(name) && refusal.contains("--force"), "{refusal}");
        assert_eq!(fs::read(&path).expect("the file"), b"three years of work");
        try_to_write_over(&fixture(), folder.path(), Overwrite::All).expect("nothing is spared");
        assert_eq!(names_in(folder.path()).len(), 10);
    }
}

#[test]
fn a_level_that_records_an_empty_file_vouches_for_no_other() {
    let folder = tempdir().expect("a temporary folder");
    let mut level = write(&small_fixture(), folder.path()).level;
    level.replaced.push(LevelFile::new("page_5.exr", b""));
    fs::write(folder.path().join(LEVEL_FILE), level.text().expect("a level as text")).expect("the level's file");
    let path = folder.path().join("page_5.exr");
    fs::write(&path, "three years of work").expect("a file");
    assert!(try_to_write(&fixture(), folder.path()).is_err());
    assert_eq!(fs::read(&path).expect("the file"), b"three years of work");
    fs::write(&path, "").expect("a file");
    try_to_write(&fixture(), folder.path()).expect("what was recorded makes way");
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn links_pipes_and_files_with_other_names_are_nobodys_own() {
    let folder = tempdir().expect("a temporary folder");
    write(&small_fixture(), folder.path());
    let (page, thesis) = (folder.path().join("page_0.exr"), folder.path().join("thesis.txt"));
    fs::rename(&page, &thesis).expect("a file");
    let before = fs::read(&thesis).expect("the file");
    // The link leads to the very bytes that the level has recorded.
    std::os::unix::fs::symlink(&thesis, &page).expect("a link");
    assert!(try_to_write(&fixture(), folder.path()).is_err());
    let level = try_to_write_over(&fixture(), folder.path(), Overwrite::All).expect("the link may go").level;
    assert_eq!(fs::read(&thesis).expect("the file"), before);
    fs::remove_file(&page).expect("a page");
    assert!(std::process::Command::new("mkfifo").arg(&page).status().expect("mkfifo").success());
    assert!(level.read_page(folder.path(), 0).expect_err("a pipe").to_string().contains("page_0.exr"));
    assert!(try_to_write(&fixture(), folder.path()).is_err());
}

#[test]
fn a_level_of_an_earlier_format_is_refused_with_the_remedy() {
    let folder = tempdir().expect("a temporary folder");
    let old = r#"(format: 1, content_hash: "0", settings: (), pages: [], surfaces: [(mesh: "thesis.txt")])"#;
    fs::write(folder.path().join(LEVEL_FILE), old).expect("a file");
    fs::write(folder.path().join("mesh_0.uv1"), "of the old level").expect("a file");
    fs::write(folder.path().join("thesis.txt"), "three years of work").expect("a file");
    for refusal in [Level::read(folder.path()).err(), try_to_write(&small_fixture(), folder.path()).err()] {
        let refusal = refusal.expect("another format").to_string();
        assert!(refusal.contains("format 1") && refusal.contains("--force"), "{refusal}");
    }
    try_to_write_over(&small_fixture(), folder.path(), Overwrite::All).expect("nothing is spared");
    let names = ["level.ron", "page_0.exr", "page_0.ktx2", "thesis.txt", "unwrapped_meshes.bin", "validity_0.png"];
    assert_eq!(names_in(folder.path()), names);
}

#[test]
fn a_reader_sees_one_level_while_others_take_its_place() {
    let folder = tempdir().expect("a temporary folder");
    let [large, small] = [fixture(), small_fixture()];
    let shown = |level: &Level| -> Result<(usize, usize, bool), LevelError> {
        let meshes = level.read_meshes(folder.path())?.len();
        let pages = (0..level.pages.len()).map(|page| level.read_page(folder.path(), page));
        let pages = pages.collect::<Result<Vec<_>, _>>()?.len();
        Ok((meshes, pages, level.read_volume(folder.path())?.is_some()))
    };
    let of_one = [(2, 2, true), (1, 1, false)];
    write(&large, folder.path());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..12 {
                write(&small, folder.path());
                write(&large, folder.path());
            }
        });
        let mut reads = 0;
        while !writer.is_finished() || reads == 0 {
            let seen = Level::read_with(folder.path(), shown).expect("a whole level");
            assert!(of_one.contains(&seen), "{seen:?}");
            reads += 1;
        }
    });
}

#[test]
fn a_level_that_was_replaced_and_one_that_goes_by_other_names_are_told_apart() {
    let folder = tempdir().expect("a temporary folder");
    let level = write(&small_fixture(), folder.path()).level;
    let mut renamed = level.clone();
    renamed.files_mut().for_each(|file| file.name.push_str(".part"));
    assert!(level.is_same_bake(&renamed));
    assert!(!level.is_same_bake(&write(&fixture(), folder.path()).level));
}

#[test]
fn a_level_that_could_not_be_read_again_is_not_written() {
    let folder = tempdir().expect("a temporary folder");
    let before = write(&small_fixture(), folder.path()).level;
    let mut wide = small_fixture();
    // The widest image has 16,384 columns.
    let (bounds, count) = (Aabb { min: Vec3::NEG_ONE, max: Vec3::ONE }, UVec3::new(16_385, 1, 1));
    wide.volume = Some(Voxels { bounds, count, values: vec![[Vec3::ZERO; 6]; 16_385] });
    let refusal = try_to_write(&wide, folder.path()).expect_err("too wide").to_string();
    assert!(refusal.contains("16385"), "{refusal}");
    let mut empty = small_fixture();
    empty.layout.placements[0].as_mut().expect("placed").rectangle.width = 0;
    let refusal = try_to_write(&empty, folder.path()).expect_err("no texels").to_string();
    assert!(refusal.contains("surface 0"), "{refusal}");
    assert_eq!(Level::read(folder.path()).expect("the level before"), before);
    assert_eq!(names_in(folder.path()).len(), 5);
}

#[test]
fn a_file_that_is_as_it_is_to_be_is_left_alone() {
    let folder = tempdir().expect("a temporary folder");
    let before = write(&fixture(), folder.path()).level;
    let page = folder.path().join("page_1.exr");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(&page).expect("the file").set_modified(long_ago).expect("a time");
    assert_eq!(write(&fixture(), folder.path()).level, before);
    assert_eq!(fs::metadata(&page).and_then(|found| found.modified()).expect("the file"), long_ago);
}

#[test]
fn impossible_levels_are_refused() {
    let (fixture, folder) = (fixture(), tempdir().expect("a temporary folder"));
    let level = write(&fixture, folder.path()).level;
    let mut bad = vec![level.clone(); 11];
    bad[0].pages[0].ktx2.name = "../page_0.ktx2".into();
    bad[1].pages[0].width = 1 << 30;
    bad[2].surfaces[0].page = 9;
    bad[3].surfaces[0].rectangle.x = u32::MAX;
    bad[4].format = 1;
    bad[5].volume.as_mut().expect("a volume").count = [u32::MAX, 2, 3];
    bad[6].volume.as_mut().expect("a volume").maximum[1] = f32::NAN;
    bad[7].pages[0].ktx2.name = "thesis.txt".into();
    bad[8].pages[1].exr = level.pages[0].exr.clone();
    bad[9].meshes.name = LEVEL_FILE.into();
    bad[10].error = f32::NAN;
    let write = |level: &Level| {
        fs::write(folder.path().join(LEVEL_FILE), level.text().expect("a level as text")).expect("the level's file");
        Level::read(folder.path())
    };
    for (number, level) in bad.iter().enumerate() {
        assert!(write(level).is_err(), "{number}");
    }
    assert_eq!(write(&level).expect("a good level"), level);
    let mut mesh =
        LevelMesh::new(&fixture.layout.placements[0].as_ref().expect("placed").unwrap, &fixture.scene.meshes[0]);
    mesh.uv1[3] = Vec2::new(0.5, f32::NAN);
    assert!(LevelMesh::all_from_bytes(&mesh.to_bytes(), Path::new("mesh")).is_err());
}
