//! Guarantees of layouts.

use std::sync::Arc;

use glam::{Affine3A, Quat, Vec3};

use super::*;
use crate::lightmap::fixtures::quad;
use crate::progress::{Monitor, Unmonitored};
use crate::scene::{Material, MaterialId, MeshData, MeshId, Role, Scene, Surface, SurfaceKey};

/// Builds walls of one by one meter, scaled.
fn walls(scales: &[f32]) -> Scene {
    let mut mesh = quad(Vec3::ZERO, Vec3::X, Vec3::Y);
    mesh.uv1.clear();
    let mut scene = Scene { meshes: vec![Arc::new(mesh)], materials: vec![Material::default()], ..Scene::default() };
    for (number, scale) in scales.iter().enumerate() {
        let mut surface = Surface::new(SurfaceKey(format!("wall {number}")), MeshId(0), MaterialId(0));
        let rotation = Quat::from_rotation_y(number as f32);
        surface.to_world = Affine3A::from_scale_rotation_translation(Vec3::splat(*scale), rotation, Vec3::X);
        scene.surfaces.push(surface);
    }
    scene
}

fn settings(texels_per_meter: f32) -> LayoutSettings {
    LayoutSettings { texels_per_meter, ..LayoutSettings::default() }
}

fn build(scene: &Scene, settings: &LayoutSettings) -> Result<(Layout, Vec<LayoutWarning>), LayoutError> {
    Layout::build(scene, settings, &Unmonitored)
}

#[test]
fn instances_at_one_scale_share_an_unwrap_and_own_rectangles_apart() {
    let (layout, warnings) = build(&walls(&[2.0, 2.0, 2.02, 4.0]), &settings(32.0)).expect("a sound scene");
    assert!(warnings.is_empty());
    let placements: Vec<&Placement> = layout.placements.iter().flatten().collect();
    let sizes: Vec<u32> = placements.iter().map(|placement| placement.rectangle.width).collect();
    assert_eq!(sizes, [64, 64, 64, 128]);
    assert!(Arc::ptr_eq(&placements[0].unwrap, &placements[2].unwrap));
    assert_eq!(layout.pages.len(), 1);
    for (index, one) in placements.iter().enumerate() {
        for other in &placements[index + 1..] {
            let (one, other) = (one.rectangle, other.rectangle);
            let apart = |a: u32, length: u32, b: u32| a + length + 2 <= b;
            assert!(
                apart(one.x, one.width, other.x)
                    || apart(other.x, other.width, one.x)
                    || apart(one.y, one.height, other.y)
                    || apart(other.y, other.height, one.y)
            );
        }
    }
}

#[test]
fn equal_meshes_are_unwrapped_once_whatever_they_are_called() {
    let mut scene = walls(&[1.0, 1.0]);
    let copy = MeshData { name: "copy".into(), ..(*scene.meshes[0]).clone() };
    scene.meshes.push(Arc::new(copy));
    scene.surfaces[1].mesh = MeshId(1);
    let (layout, _) = build(&scene, &settings(16.0)).expect("a sound scene");
    let [Some(one), Some(other)] = &layout.placements[..] else { panic!("both walls have texels") };
    assert!(Arc::ptr_eq(&one.unwrap, &other.unwrap));
}

#[test]
fn only_static_surfaces_own_texels() {
    let mut scene = walls(&[1.0; 4]);
    for (surface, role) in scene.surfaces.iter_mut().zip([Role::Static, Role::Occluder, Role::Mover, Role::Excluded]) {
        surface.role = role;
    }
    let (layout, _) = build(&scene, &settings(16.0)).expect("a sound scene");
    let owned: Vec<bool> = layout.placements.iter().map(Option::is_some).collect();
    assert_eq!(owned, [true, false, false, false]);
}

#[test]
fn what_does_not_fit_a_page_gets_another_page_or_a_lower_density_and_a_warning() {
    let settings = LayoutSettings { page_size: 64, ..settings(32.0) };
    let (layout, warnings) = build(&walls(&[2.0, 4.0, 2.0]), &settings).expect("a sound scene");
    assert_eq!(layout.pages.len(), 3);
    let [LayoutWarning::DensityLowered { surface, asked: 32.0, given }] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(surface == "wall 1" && (15.0..=16.0).contains(given));
}

#[test]
fn the_last_page_is_no_larger_than_its_rectangles_need() {
    let (layout, _) = build(&walls(&[2.0]), &settings(32.0)).expect("a sound scene");
    assert_eq!(layout.pages, [PageSize { width: 64, height: 64 }]);
}

#[test]
fn densities_that_mean_nothing_are_refused() {
    for density in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(build(&walls(&[1.0]), &settings(density)), Err(LayoutError::Density(_))));
        let mut scene = walls(&[1.0]);
        scene.surfaces[0].density_scale = density;
        let error = build(&scene, &settings(16.0)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("\"wall 0\""));
    }
}

#[test]
fn ten_kilometers_at_a_hundred_texels_a_meter_are_refused_with_the_numbers_and_a_remedy() {
    let error = build(&walls(&[10_000.0]), &settings(100.0)).map(|_| ()).unwrap_err();
    let LayoutError::TooManyTexels { texels, remedy, .. } = error else { panic!("{error}") };
    assert!((texels / 1e12 - 1.0).abs() < 1e-3);
    assert!(Layout::texel_estimate(&walls(&[10_000.0]), &settings(remedy as f32 * 0.999)) <= 1 << 28);
}

#[test]
fn the_estimate_and_the_statistics_agree_on_a_plain_wall() {
    let scene = walls(&[2.0, 2.0]);
    assert_eq!(Layout::texel_estimate(&scene, &settings(32.0)), 2 * 64 * 64);
    let (layout, _) = build(&scene, &settings(32.0)).expect("a sound scene");
    let statistics = layout.statistics(&scene, 32.0);
    assert_eq!((statistics.charts, statistics.covered), (2, 2 * 64 * 64));
    assert!((statistics.stretch - 1.0).abs() < 1e-4);
}

#[test]
fn threads_do_not_change_the_layout() {
    let mut scene = walls(&[1.0, 2.0, 3.3, 0.4, 7.0]);
    scene.meshes[0] = Arc::new(MeshData { uv1: Vec::new(), ..crate::lightmap::fixtures::ball(1.0, 24, 12) });
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (layout, _) = pool.install(|| build(&scene, &settings(12.0))).expect("a sound scene");
        let unwraps = layout.placements.iter().flatten();
        unwraps.map(|placed| (placed.page, placed.rectangle, (*placed.unwrap).clone())).collect::<Vec<_>>()
    };
    assert_eq!(with_threads(1), with_threads(4));
}

#[test]
fn a_cancelled_layout_says_so() {
    struct Impatient;
    impl Monitor for Impatient {
        fn progress(&self, _fraction: f32) {}
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let result = Layout::build(&walls(&[1.0]), &settings(16.0), &Impatient);
    assert!(matches!(result, Err(LayoutError::Cancelled(_))));
}
