//! Tests of pages drawn on the device against pages drawn by the CPU.

use std::sync::OnceLock;
use std::time::Instant;

use exr::prelude::f16;
use glam::Affine3A;

use super::super::context::{small_test_device, test_device, test_device_of_its_own};
use super::*;
use crate::Device;
use crate::bake::{BakeOutput, BakeSettings, RelightPatches, Unobserved, run_on};
use crate::builtin_scenes;
use crate::lightmap::files::rgb9e5;
use crate::progress::Unmonitored;
use crate::radiosity::Content;
use crate::relight::{Door, Doors, LazyTexelMapping, LiveLight, RelightInput, UpdateSettings};
use crate::scene::check::repair;
use crate::scene::{Light, LightKind, Material, MaterialId, MeshId, Role, Surface, SurfaceKey, shapes};

const FORMATS: [PageFormat; 2] = [PageFormat::HalfFloat, PageFormat::SharedExponent];
const LAMP: Vec3 = Vec3::new(0.5, 0.6, 0.2);
const ELSEWHERE: Vec3 = Vec3::new(-0.4, 0.3, 0.6);

fn lamp_at(position: Vec3) -> Light {
    let kind = LightKind::Point { position, intensity: Vec3::new(10.0, 8.0, 6.0), radius: 0.0, range: f32::INFINITY };
    Light { name: "lamp".to_owned(), kind }
}

/// Returns a baked Cornell box with a lamp, and a movable board above its floor.
fn bake(content: Content) -> &'static BakeOutput {
    static BAKES: [OnceLock<BakeOutput>; 2] = [OnceLock::new(), OnceLock::new()];
    BAKES[usize::from(content == Content::Full)].get_or_init(|| {
        let mut scene = builtin_scenes::build("cornell_box").unwrap();
        scene.lights = vec![lamp_at(LAMP)];
        let [mesh, material] = [scene.meshes.len(), scene.materials.len()];
        let board = shapes::cuboid("board", Vec3::new(-0.3, -0.5, -0.3), Vec3::new(0.3, -0.45, 0.3));
        scene.meshes.push(Arc::new(board));
        scene.materials.push(Material::diffuse("board", Vec3::splat(0.5)));
        let mut board =
            Surface::new(SurfaceKey("board".to_owned()), MeshId::from_index(mesh), MaterialId::from_index(material));
        board.role = Role::Occluder;
        scene.surfaces.push(board);
        let mut settings = BakeSettings { volume: None, relight: Some(RelightPatches(100)), ..BakeSettings::default() };
        settings.layout.texels_per_meter = 6.0;
        settings.solver.error = 0.05;
        settings.solver.content = content;
        run_on(&Device::Cpu, repair(scene).0, &settings, &Unobserved).unwrap()
    })
}

fn level(content: Content) -> RelightInput {
    let bake = bake(content);
    RelightInput {
        scene: Arc::clone(&bake.scene),
        world: bake.world.clone(),
        elements: Arc::clone(&bake.elements),
        precomputed: Arc::clone(bake.relight.as_ref().unwrap()),
        pages: bake.pages.clone().into(),
        content,
        texel_mapping: LazyTexelMapping::default(),
    }
}

fn see(relighter: &mut Relighter, place: Vec3) {
    relighter.set_lights(&[LiveLight { id: 1, light: lamp_at(place), is_excluded: false }], &[]);
}

fn packed(texels: &[Vec3], format: PageFormat) -> Vec<u8> {
    let bytes = |texel: &Vec3| match format {
        PageFormat::HalfFloat => rgb9e5::encode_half(*texel).into_iter().flat_map(u16::to_le_bytes).collect(),
        PageFormat::SharedExponent => rgb9e5::encode(*texel).to_le_bytes().to_vec(),
    };
    texels.iter().flat_map(bytes).collect::<Vec<u8>>()
}

fn unpacked(bytes: &[u8], format: PageFormat) -> Vec<Vec3> {
    let half = |bytes: &[u8]| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
    let color = |texel: &[u8]| match format {
        PageFormat::HalfFloat => Vec3::new(half(texel), half(&texel[2..]), half(&texel[4..])),
        PageFormat::SharedExponent => rgb9e5::decode(u32::from_le_bytes([texel[0], texel[1], texel[2], texel[3]])),
    };
    bytes.chunks(format.bytes() as usize).map(color).collect()
}

/// Draws on both, and returns the maximum difference relative to the brightest summand.
fn difference(relighter: &mut Relighter, pages: &GpuPages, format: PageFormat) -> f32 {
    pages.draw(&relighter.difference());
    relighter.draw();
    let mut largest = 0.0f32;
    for page in 0..pages.len() {
        let (found, wanted) = (unpacked(&pages.read(page).unwrap(), format), relighter.page(page));
        assert_eq!(found.len(), wanted.len());
        let baked = &relighter.level().pages[page].texels;
        for ((found, wanted), baked) in found.iter().zip(wanted).zip(baked) {
            let added = wanted.max(*baked).max_element().max(1e-3);
            largest = largest.max((*found - *wanted).abs().max_element() / added);
        }
    }
    // All work is done, but the completion callback may still be pending in another test's thread that polls the
    // device.
    let asked = Instant::now();
    while pages.is_drawing() {
        assert!(asked.elapsed() < Duration::from_secs(60), "the device has forgotten what was submitted");
        std::thread::yield_now();
    }
    println!("{format:?}: {largest}");
    largest
}

/// Returns half a quantization step of the format, plus a margin for another order of summation.
fn tolerance(format: PageFormat) -> f32 {
    let half_step = if format == PageFormat::HalfFloat { 0.5 / 1024.0 } else { 0.5 / 256.0 };
    1.1 * half_step
}

#[test]
fn what_has_not_changed_is_drawn_as_it_was_baked_byte_for_byte() {
    let Some(gpu) = test_device() else { return };
    let mut level = level(Content::Indirect);
    // Covers values inside and outside the range of the formats, including ties of rounding.
    let value = |index: usize| f32::from_bits((index as u32).wrapping_mul(0x0000_8001) % 0x4800_0000) * 2.0;
    let texels = |from: usize, page: &Page| -> Vec<Vec3> {
        (0..page.texels.len())
            .map(|texel| Vec3::from_array([0, 1, 2].map(|c| value(from + 7 * texel + c * 1009))))
            .collect()
    };
    let halves = (0..2048u32).map(|half| Vec3::new(half as f32, half as f32 + 0.5, 0.5) * 2f32.powi(-25));
    let mut pages = level.pages.to_vec();
    for (index, page) in pages.iter_mut().enumerate() {
        page.texels = texels(index << 16, page);
        page.texels.iter_mut().zip(halves.clone()).for_each(|(texel, half)| *texel = half);
        page.texels[0] = Vec3::new(f32::MAX, 65_519.9, 65_408.1);
    }
    level.pages = pages.into();
    let relighter = Relighter::new(level);
    for format in FORMATS {
        let pages = GpuPages::new(&gpu, &relighter, format).unwrap();
        pages.draw(&relighter.difference());
        for page in 0..pages.len() {
            let (found, wanted) = (pages.read(page).unwrap(), packed(relighter.page(page), format));
            let texel = format.bytes() as usize;
            let differs = found.chunks(texel).zip(wanted.chunks(texel)).position(|(found, wanted)| found != wanted);
            assert_eq!(differs.map(|texel| relighter.page(page)[texel]), None, "{format:?}, page {page}");
            assert_eq!(found.len(), wanted.len());
        }
    }
}

#[test]
fn pages_follow_a_lamp_as_the_processor_has_them_while_it_moves_and_once_it_rests() {
    let Some(gpu) = test_device() else { return };
    for (content, format) in [(Content::Indirect, FORMATS[0]), (Content::Full, FORMATS[1])] {
        let mut relighter = Relighter::new(level(content));
        let pages = GpuPages::new(&gpu, &relighter, format).unwrap();
        see(&mut relighter, LAMP);
        let smooth = UpdateSettings { rays: 3_000, keep: 0.5, ..UpdateSettings::default() };
        for step in [3.0, 2.0, 1.0, 0.0] {
            see(&mut relighter, ELSEWHERE + 0.05 * step * Vec3::Y);
            assert!(relighter.advance(&smooth).is_new);
            assert!(difference(&mut relighter, &pages, format) < tolerance(format));
        }
        while !relighter.advance(&UpdateSettings::default()).is_settled() {}
        assert!(!relighter.difference().elements.is_empty());
        assert!(difference(&mut relighter, &pages, format) < tolerance(format));
        see(&mut relighter, LAMP);
        while !relighter.advance(&UpdateSettings::default()).is_settled() {}
        pages.draw(&relighter.difference());
        for page in 0..pages.len() {
            let baked = packed(&relighter.level().pages[page].texels, format);
            assert!(pages.read(page).unwrap() == baked, "back where it was baked, byte for byte");
        }
    }
}

#[test]
fn what_is_found_while_the_device_still_draws_is_drawn_next() {
    let Some(gpu) = test_device() else { return };
    let mut relighter = Relighter::new(level(Content::Full));
    let pages = GpuPages::new(&gpu, &relighter, FORMATS[0]).unwrap();
    let shown = || (0..pages.len()).map(|page| pages.read(page).unwrap()).collect::<Vec<_>>();
    see(&mut relighter, LAMP);
    for place in [ELSEWHERE, LAMP, ELSEWHERE] {
        see(&mut relighter, place);
        relighter.advance(&UpdateSettings::default());
        pages.draw(&relighter.difference());
    }
    let in_a_row = shown();
    pages.draw(&relighter.difference());
    assert!(shown() == in_a_row, "as if nothing had been under way");
    assert!(difference(&mut relighter, &pages, FORMATS[0]) < tolerance(FORMATS[0]));
}

#[test]
fn a_device_that_is_destroyed_while_it_draws_is_not_waited_for() {
    let Some(gpu) = test_device_of_its_own() else { return };
    let mut relighter = Relighter::new(level(Content::Full));
    let pages = GpuPages::new(&gpu, &relighter, FORMATS[0]).unwrap();
    see(&mut relighter, LAMP);
    relighter.advance(&UpdateSettings::default());
    pages.draw(&relighter.difference());
    gpu.device().destroy();
    let asked = Instant::now();
    (0..3).for_each(|_| pages.draw(&relighter.difference()));
    pages.finish();
    assert!(asked.elapsed() < Duration::from_secs(60));
    assert!(pages.read(0).is_err());
}

#[test]
fn a_level_with_its_doors_elsewhere_is_uploaded_anew() {
    let Some(gpu) = test_device() else { return };
    let level = level(Content::Indirect);
    let board = level.scene.surface_ids().find(|&id| level.scene.surface(id).key.0 == "board").unwrap();
    let mut relighter = Relighter::new(level.clone());
    let before = GpuPages::new(&gpu, &relighter, FORMATS[0]).unwrap();
    see(&mut relighter, LAMP);
    see(&mut relighter, ELSEWHERE);
    while !relighter.advance(&UpdateSettings::default()).is_settled() {}
    assert!(difference(&mut relighter, &before, FORMATS[0]) < tolerance(FORMATS[0]));
    let mut doors = Doors::new(level, &Unmonitored).unwrap();
    let away = Door { surface: board, to_world: Some(Affine3A::from_translation(Vec3::X * 9.0)) };
    relighter.set_level(doors.place(&[away], &Unmonitored).unwrap().unwrap());
    while !relighter.advance(&UpdateSettings::default()).is_settled() {}
    let after = GpuPages::new(&gpu, &relighter, FORMATS[0]).unwrap();
    assert!(difference(&mut relighter, &after, FORMATS[0]) < tolerance(FORMATS[0]));
    assert_ne!(after.read(0).unwrap(), before.read(0).unwrap());
}

#[test]
fn a_device_that_shows_shaders_too_little_is_named() {
    let Some(small) = small_test_device(1 << 14) else { return };
    let fault = GpuPages::new(&small, &Relighter::new(level(Content::Indirect)), FORMATS[0]).err().unwrap();
    let text = fault.to_string();
    assert!(text.contains("16384") && text.contains("use the CPU") && text.contains(small.name()), "{text}");
}
