//! Tests of whole bakes with random triangle soups that contain slivers.

use std::time::{Duration, Instant};

use rand::RngExt;

use super::*;
use crate::accel::{Preset, World};
use crate::geometry::CounterRng;
use crate::lightmap::{Elements, Layout};
use crate::progress::Unmonitored;
use crate::radiosity::Method;
use crate::scene::Sides;

fn point(rng: &mut CounterRng) -> Vec3 {
    Vec3::from(rng.random::<[f32; 3]>()) * 4.0 - 2.0
}

/// Returns a point, every other time on a grid of half meters: such points share planes, edges and corners.
fn corner(rng: &mut CounterRng) -> Vec3 {
    let point = point(rng);
    if rng.random_ratio(1, 2) { (point * 2.0).round() * 0.5 } else { point }
}

/// Returns a vector of a random length, from about 1e-11 to 0.1.
fn little(rng: &mut CounterRng) -> Vec3 {
    point(rng) * 10.0f32.powf(rng.random_range(-11.0..-1.0))
}

fn triangle(rng: &mut CounterRng) -> [Vec3; 3] {
    let (a, b, aside) = (corner(rng), corner(rng), little(rng));
    match rng.random_range(0..5) {
        // The third corner is nearly on the edge between the others, or beyond it.
        0 => [a, b, a + (b - a) * rng.random_range(-0.25..1.25) + aside],
        // A needle.
        1 => [a, b, b + aside],
        // A speck.
        2 => [a, a + aside, a + little(rng)],
        _ => [a, b, corner(rng)],
    }
}

fn mesh(rng: &mut CounterRng) -> MeshData {
    let triangles: Vec<[Vec3; 3]> = (0..rng.random_range(1..=8)).map(|_| triangle(rng)).collect();
    let positions = triangles.as_flattened().to_vec();
    let indices = (0..triangles.len() as u32).map(|triangle| [0, 1, 2].map(|corner| 3 * triangle + corner));
    let normals = if rng.random_ratio(1, 3) { positions.iter().map(|_| point(rng)).collect() } else { Vec::new() };
    MeshData { name: "soup".to_owned(), triangles: indices.collect(), positions, normals, ..MeshData::default() }
}

/// Returns one to three meshes of a few triangles each, and a lamp. Sometimes a mesh emits light.
fn soup(seed: u32) -> CheckedScene {
    let rng = &mut CounterRng::new(seed);
    let mut scene = Scene::default();
    for index in 0..rng.random_range(1..=3) {
        scene.meshes.push(Arc::new(mesh(rng)));
        let mut material = Material::diffuse("gray", Vec3::splat(rng.random()));
        if rng.random_ratio(1, 4) {
            material.emission = Vec3::splat(100.0);
        }
        scene.materials.push(material);
        let key = SurfaceKey::from_node(&format!("soup {index}"), 0);
        let mut surface = Surface::new(key, MeshId::from_index(index), MaterialId::from_index(index));
        surface.sides = if rng.random_ratio(1, 3) { Sides::Both } else { Sides::Front };
        scene.surfaces.push(surface);
    }
    let lamp =
        LightKind::Point { position: point(rng), intensity: Vec3::splat(100.0), radius: 0.0, range: f32::INFINITY };
    scene.lights.push(Light { name: "lamp".to_owned(), kind: lamp });
    repair(scene).0
}

/// Bakes soups and returns the longest time of one. The bake itself checks that pages are finite.
fn bake_soups(seeds: core::ops::Range<u32>) -> Duration {
    let mut longest = Duration::ZERO;
    for seed in seeds {
        let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
        settings.layout.texels_per_meter = 2.0 + (seed % 7) as f32;
        settings.layout.page_size = 256;
        settings.memory_mib = Some(256);
        settings.solver.error = 0.9;
        settings.solver.method =
            [Method::Gather, Method::Gather, Method::Stochastic, Method::Path][seed as usize / 7 % 4];
        let started = Instant::now();
        match run_on(&Device::Cpu, soup(seed), &settings, &Unobserved) {
            Ok(baked) => {
                let pages = baked.pages.iter().flat_map(|page| &page.texels);
                assert!(pages.clone().all(|texel| texel.is_finite() && texel.min_element() >= 0.0), "soup {seed}");
                assert!(baked.report.error_estimate.is_finite(), "soup {seed}");
            }
            Err(BakeError::NothingToBake { .. }) => {}
            Err(error) => panic!("soup {seed}: {error}"),
        }
        longest = longest.max(started.elapsed());
    }
    longest
}

#[test]
fn thousands_of_slivers_have_elements_of_finite_areas_that_add_up_to_their_surfaces() {
    for seed in 0..1_000 {
        let scene = soup(seed);
        let world = World::build(scene.shared().clone(), Preset::fast());
        let mut settings = crate::lightmap::LayoutSettings::default();
        (settings.texels_per_meter, settings.page_size) = (2.0 + (seed % 7) as f32, 256);
        let (layout, _) = Layout::build(&scene, &settings, &Unmonitored).unwrap();
        let elements = Elements::build(&scene, &layout, &world, &Unmonitored).unwrap();
        super::super::finite::Finite { scene: &scene, elements: &elements }
            .elements()
            .unwrap_or_else(|error| panic!("soup {seed}: {error}"));
        for id in scene.surface_ids().filter(|&id| scene.surface(id).sides == Sides::Front) {
            let mesh = scene.mesh_of(id);
            let whole = (0..mesh.triangles.len() as u32).map(|triangle| scene.triangle(id, triangle).area());
            let (whole, found): (f32, f32) = (whole.sum(), elements.area[elements.of_surface(id)].iter().sum());
            // Slivers that are too small for any texel are left out.
            let texel = settings.texels_per_meter.powi(-2);
            assert!((whole - found).abs() <= 1e-4 * whole + 1e-3 * texel, "soup {seed}: {found} m2 of {whole}");
        }
    }
}

#[test]
fn soups_with_slivers_are_baked_to_finite_pages() {
    // Three for each density and method.
    bake_soups(0..84);
}

/// `cargo test --release --lib ten_thousand_soups -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_soups_with_slivers_are_baked_to_finite_pages_each_within_a_minute() {
    let started = Instant::now();
    let longest = bake_soups(0..10_000);
    println!(
        "10000 soups in {:.0} s, the longest took {:.2} s",
        started.elapsed().as_secs_f32(),
        longest.as_secs_f32()
    );
    assert!(longest < Duration::from_secs(60));
}
