use std::sync::Arc;

use glam::{Affine3A, Vec3};

use super::amounts::EDGE_ELEMENTS;
use super::*;
use crate::partition::PartitionKind;
use crate::scene::{Material, MaterialId, MeshData, MeshId, Surface, SurfaceKey};

/// Returns the scene of a square in the ground plane with edges of `edge` meters.
fn square(edge: f32) -> Scene {
    let mesh = MeshData {
        positions: vec![Vec3::ZERO, Vec3::Z, Vec3::X, Vec3::new(1.0, 0.0, 1.0)],
        triangles: vec![[0, 1, 2], [2, 1, 3]],
        ..MeshData::default()
    };
    let mut surface = Surface::new(SurfaceKey("square".into()), MeshId(0), MaterialId(0));
    surface.to_world = Affine3A::from_scale(Vec3::splat(edge));
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![surface],
        materials: vec![Material::default()],
        ..Scene::default()
    }
}

/// Checks the memory of progressive refinement of a square of ten meters.
fn refined(texels_per_meter: f32, memory_mib: u32, subscenes: Option<u32>) -> Result<(), String> {
    let mut settings = at_density(texels_per_meter);
    let (method, subscenes) = (Method::Progressive, subscenes.map(uniform));
    settings.memory_mib = Some(memory_mib);
    settings.solver = SolverSettings { method, subscenes, ..settings.solver };
    let estimate = MemoryEstimate::new(&square(10.0), &settings, |_| false);
    estimate.check(&settings).map_err(|refusal| refusal.to_string())
}

fn uniform(count: u32) -> SubsceneSettings {
    let partition = PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() };
    SubsceneSettings { partition, ..SubsceneSettings::default() }
}

fn at_density(texels_per_meter: f32) -> BakeSettings {
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = texels_per_meter;
    settings
}

#[test]
fn a_square_meter_has_the_square_of_the_density_in_elements_and_some_at_edges() {
    let estimate = MemoryEstimate::new(&square(3.0), &at_density(10.0), |_| false);
    assert!((estimate.area - 9.0).abs() < 1e-6);
    // Two triangles, each as large as a square of 21.2 texels.
    let edges = EDGE_ELEMENTS * 2.0 * 450.0f64.sqrt();
    assert!((estimate.elements - 900.0 - edges).abs() < 1e-3);
}

#[test]
fn a_surface_with_two_sides_is_counted_as_two() {
    let [one, both] =
        [false, true].map(|two_sided| MemoryEstimate::new(&square(3.0), &at_density(10.0), |_| two_sided));
    let fixed = BYTES_OF_PROCESS + 2.0 * BYTES_PER_TRIANGLE + 4.0 * BYTES_PER_VERTEX;
    assert!((both.elements - 2.0 * one.elements).abs() < 1e-3);
    assert!((both.bytes - fixed - 2.0 * (one.bytes - fixed)).abs() < 1e-3);
    assert_eq!(both.area, one.area);
}

#[test]
fn a_smaller_error_takes_more_memory_until_hits_fill_half_of_what_is_allowed() {
    let bytes = |error: f32, memory_mib: u32| {
        let mut settings = at_density(100.0);
        settings.solver = SolverSettings { error, memory_mib, ..settings.solver };
        MemoryEstimate::new(&square(10.0), &settings, |_| false).bytes
    };
    assert!(bytes(0.01, 4096) > 1.5 * bytes(0.05, 4096));
    let growth = bytes(1e-4, 4096) - bytes(1e-4, 2048);
    assert!((growth / (1024.0 * MIB) - 1.0).abs() < 1e-6, "{growth}");
}

#[test]
fn a_ten_kilometer_scene_at_a_hundred_texels_a_meter_is_refused_with_the_numbers() {
    let settings = BakeSettings { memory_mib: Some(4096), ..at_density(100.0) };
    let refusal =
        MemoryEstimate::new(&square(10_000.0), &settings, |_| false).check(&settings).unwrap_err().to_string();
    assert!(refusal.contains("elements") && refusal.contains("4096 MiB"), "{refusal}");
    assert!(refusal.contains("--density"), "{refusal}");
}

#[test]
fn what_is_too_large_to_be_refined_at_once_is_proposed_in_subscenes_as_far_as_these_save() {
    let with_memory = |memory_mib, subscenes| refined(100.0, memory_mib, subscenes);
    let smallest = |subscenes| (1..4096).find(|&memory| with_memory(memory, subscenes).is_ok()).unwrap();
    let (whole, cut) = (smallest(None), smallest(Some(16)));
    // The outlooks of a million elements are 229 MiB, and one subscene in sixteen is active. Numbers, copies of light,
    // subscenes and masks in flight take 49 MiB. A quarter of the memory is for kept data.
    let saved = (240.0 * 1.0e6 * (1.0 - 1.0 / 16.0) / MIB - 49.0) / 0.75;
    assert!((f64::from(whole - cut) / saved - 1.0).abs() < 0.03, "{whole} and {cut} MiB, {saved}");
    let refusal = with_memory(whole - 1, None).unwrap_err();
    assert!(refusal.contains(&format!("{whole} MiB")), "{refusal}");
    let refusal = with_memory(cut, None).unwrap_err();
    assert!(refusal.contains("--subscenes 16") && !refusal.contains('\n'), "{refusal}");
    assert!(with_memory(cut, Some(16)).is_ok());
    let refusal = with_memory(cut - 40, None).unwrap_err();
    assert!(!refusal.contains("--subscenes") && refusal.contains("--density"), "{refusal}");
}

#[test]
fn more_subscenes_than_there_is_memory_for_are_refused_with_a_number_that_fits() {
    let check = |count| refined(1.0, 80, Some(count));
    let refusal = check(4_000).unwrap_err();
    assert!(refusal.starts_with("4000 subscenes") && refusal.contains("--subscenes 1024"), "{refusal}");
    assert!(check(1024).is_ok() && check(2048).is_err());
}

#[test]
fn subscenes_take_more_than_the_whole_where_there_is_memory_for_all() {
    let amounts = Amounts { triangles: 19_840.0, ..Amounts::default() }.of_elements(305_040.0);
    let settings = SolverSettings { method: Method::Progressive, ..SolverSettings::default() };
    let minimum = |subscenes| Refined::new(&settings, &amounts, subscenes).minimum;
    // The outlooks of all subscenes are kept.
    let outlooks = 240.0 * amounts.elements() * (1.0 - 1.0 / 16.0);
    let more = minimum(Some(uniform(16))) + outlooks - minimum(None);
    // Measured before the first shot, plus a copy of all light.
    let measured = 19.7e6 + 24.0 * amounts.elements();
    assert!((more / measured - 1.0).abs() < 0.02, "{more}");
}

#[test]
fn what_form_factors_take_that_are_kept_is_expected_up_to_a_quarter_of_the_memory() {
    let bytes = |method, memory_mib| {
        let mut settings = at_density(10.0);
        settings.memory_mib = Some(memory_mib);
        settings.solver.method = method;
        MemoryEstimate::new(&square(10.0), &settings, |_| false).bytes
    };
    let more = |memory_mib| bytes(Method::Progressive, memory_mib) - bytes(Method::Path, memory_mib);
    // About ten thousand elements of 300 bytes each; two in five of their form factors to 2,048 patches, and links of
    // those.
    let elements = 10_000.0 + EDGE_ELEMENTS * 2.0 * 5_000.0f64.sqrt();
    let all = 0.4 * 2048.0 * (16.0 * 2048.0 + 4.0 * elements);
    assert!(((more(4096) - 300.0 * elements) / all - 1.0).abs() < 1e-6);
    assert!(((more(64) - 300.0 * elements) / (16.0 * MIB) - 1.0).abs() < 1e-6);
}

#[test]
fn the_density_that_the_refusal_names_is_accepted() {
    let scene = square(10_000.0);
    for method in [Method::Gather, Method::Progressive] {
        let at_density = |texels_per_meter| {
            let mut settings = at_density(texels_per_meter);
            settings.solver.method = method;
            settings
        };
        let settings = at_density(100.0);
        let Err(BakeError::TooMuchMemory { fitting_density, .. }) =
            MemoryEstimate::new(&scene, &settings, |_| false).check(&settings)
        else {
            panic!("refused for memory")
        };
        let settings = at_density(fitting_density as f32);
        assert!(MemoryEstimate::new(&scene, &settings, |_| false).check(&settings).is_ok());
    }
}

#[test]
fn charts_have_an_element_at_whatever_density() {
    let amounts = Amounts::expected(&square(10.0), &at_density(10.0), |_| false);
    // Two triangles, each as large as a square of 70.7 texels.
    let edges = 2.0 * EDGE_ELEMENTS * 5_000f64.sqrt();
    let half = amounts.scale_for(0.25 * 10_000.0 + 0.5 * edges).unwrap();
    assert!((half - 0.5).abs() < 1e-9, "{half}");
    let crumbs = Amounts { charts: 600.0, ..amounts };
    assert_eq!(crumbs.scale_for(600.0), None);
    let scale = crumbs.scale_for(700.0).unwrap();
    let elements = scale * scale * 10_000.0 + scale * edges + (1.0 - scale) * 600.0;
    assert!((650.0..=700.0).contains(&elements), "{elements} at {scale}");
}

#[test]
fn where_no_density_is_low_enough_more_memory_is_all_that_is_proposed() {
    // 80,000 triangles of 550 bytes.
    let mut scene = square(1.0);
    Arc::make_mut(&mut scene.meshes[0]).triangles = [[0, 1, 2]; 80_000].to_vec();
    let mut settings = at_density(1.0);
    settings.memory_mib = Some(40);
    let refusal = MemoryEstimate::new(&scene, &settings, |_| false).check(&settings).unwrap_err().to_string();
    assert!(refusal.contains("at any density") && refusal.contains("--memory"), "{refusal}");
    assert!(!refusal.contains("--density"), "{refusal}");
}

#[test]
fn densities_are_proposed_with_three_digits() {
    let shown = [0.000_123_99, 0.057, 3.009, 15.449, 99_999.0].map(|density| rounded_down(density).to_string());
    assert_eq!(shown, ["0.000123", "0.057", "3", "15.4", "99900"]);
}

#[test]
fn what_the_machine_has_changes_nothing_that_is_stored() {
    let (mut said, unsaid) = (at_density(100.0), at_density(100.0));
    let scene = square(10.0);
    let solver = |settings: &BakeSettings| {
        MemoryEstimate::new(&scene, settings, |_| false).shares(settings).unwrap().solver.memory_mib
    };
    assert_eq!(solver(&unsaid), SolverSettings::default().memory_mib);
    // If the user sets the limit, hits get at most half of the solver's memory.
    said.memory_mib = Some(1200);
    let estimate = MemoryEstimate::new(&scene, &said, |_| false);
    let left = 1200.0 - estimate.without_hits / MIB;
    assert!((400.0..600.0).contains(&left), "{left}");
    assert_eq!(f64::from(solver(&said)), (2.0 * left).ceil());
}

#[test]
fn elements_that_see_few_patches_still_have_values_for_those_of_their_block() {
    // 10,000 elements see 30 of 300 patches each, but blocks of 32 of them see all. Values have two bytes, and are in
    // memory twice while the file is written.
    let bytes = relit::bytes(1e4, 32.0, 300.0, 0.0);
    assert!(bytes > 2.0 * 1e4 * 300.0 * 2.0, "{bytes}");
}

#[test]
fn relighting_is_refused_where_it_does_not_fit_with_a_number_of_patches_that_does() {
    let scene = square(10.0);
    let check = |memory_mib, relight| {
        let settings =
            BakeSettings { memory_mib: Some(memory_mib), relight: Some(RelightPatches(relight)), ..at_density(20.0) };
        MemoryEstimate::new(&scene, &settings, |_| false).shares(&settings)
    };
    // 40,000 elements: 42 MiB, and 44 bytes a pair of patches.
    let Err(BakeError::PatchesBeyondMemory { fitting, needed_mib, .. }) = check(100, 4_000) else { panic!("refused") };
    assert!(needed_mib > 44.0 * 16.0e6 / MIB, "{needed_mib}");
    assert!(check(100, fitting).is_ok() && check(100, fitting + 1).is_err(), "{fitting}");
    assert!(check(needed_mib.ceil() as u32, 4_000).is_ok() && check(needed_mib as u32 - 1, 4_000).is_err());
    // With more memory there are more rays, up to the maximum.
    let rays = |memory_mib| check(memory_mib, 100).unwrap().relight_rays;
    assert!(rays(81) < rays(4096) && rays(4096) == RELIGHT_RAYS, "{} {}", rays(81), rays(4096));
    assert!(matches!(check(43, 100), Err(BakeError::RelightBeyondMemory { .. })));
}
