//! Tests of bakes by counted rays.

use std::sync::Arc;

use glam::Vec3;

use super::overlap::Overlap;
use super::*;
use crate::accel::{Preset, World};
use crate::builtin_scenes;
use crate::lightmap::{Elements, Layout, LayoutSettings};
use crate::partition::{PartitionKind, PartitionSettings};
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, colored_pane, gray};
use crate::radiosity::{Method, SolverSettings, SubsceneSettings, solve};
use crate::scene::luminance;

/// Returns settings of counted rays on a partition.
fn counted(kind: PartitionKind, count: u32) -> SolverSettings {
    let partition = PartitionSettings { kind, count, ..PartitionSettings::default() };
    let subscenes = Some(SubsceneSettings { partition, ..SubsceneSettings::default() });
    SolverSettings { method: Method::Counted, subscenes, ..SolverSettings::default() }
}

fn elements_of(scene: &Arc<Scene>, texels_per_meter: f32) -> (World, Elements) {
    let settings = LayoutSettings { texels_per_meter, ..LayoutSettings::default() };
    let (layout, _) = Layout::build(scene, &settings, &Unmonitored).expect("a small scene fits");
    let world = World::build(scene.clone(), Preset::fast());
    let elements = Elements::build(scene, &layout, &world, &Unmonitored).expect("nobody cancels");
    (world, elements)
}

/// Returns the ratio of the mean irradiances, and the root mean square of their difference relative to the mean, both
/// over visible area.
fn compare(elements: &Elements, found: &Solution, truth: &Solution) -> (f64, f64) {
    let light = |solution: &Solution, element: usize| {
        f64::from(luminance(solution.direct[element] + solution.indirect[element]))
    };
    let weight = |element: usize| f64::from(elements.area[element] * truth.visible_fraction[element]);
    let sum = |of: &dyn Fn(usize) -> f64| (0..elements.len()).map(|element| weight(element) * of(element)).sum::<f64>();
    let (found_sum, truth_sum) = (sum(&|element| light(found, element)), sum(&|element| light(truth, element)));
    let squares = sum(&|element| (light(found, element) - light(truth, element)).powi(2));
    (found_sum / truth_sum, (squares * sum(&|_| 1.0)).sqrt() / truth_sum)
}

#[test]
fn built_in_scenes_are_lit_as_by_gathering_but_for_the_noise_of_both() {
    // The last texels are too coarse for furniture, so that bake ends above its error and says so.
    let cases: [(_, _, _, _, _, &[f32]); 2] = [
        ("cornell_box", 6.0, PartitionKind::Hybrid, 22, 0.03, &[0.1, 0.06]),
        ("habitacion", 2.0, PartitionKind::Balanced, 8, 0.05, &[0.06]),
    ];
    for (name, texels_per_meter, kind, count, error_of_truth, errors) in cases {
        let scene = Arc::new(builtin_scenes::build(name).expect("it is built in"));
        let (world, elements) = elements_of(&scene, texels_per_meter);
        let gather = SolverSettings { error: error_of_truth, ..SolverSettings::default() };
        let by = |settings| solve(&scene, &world, &elements, &settings, None, &Unmonitored).expect("nobody cancels");
        let truth = by(gather);
        for &error in errors {
            let found = by(SolverSettings { error, ..counted(kind, count) });
            let (ratio, difference) = compare(&elements, &found, &truth);
            let noise = f64::from(found.error_of_mean).hypot(f64::from(truth.error_of_mean));
            println!("{name}, {} elements: {ratio:.4}, {difference:.4}, noise {noise:.4}", elements.len());
            assert!((ratio - 1.0).abs() < 0.01, "{name}: {ratio}");
            assert!(difference < 1.2 * noise, "{name}, {error}: {difference} with a noise of {noise}");
            let is_said = found.warnings.iter().any(|warning| warning.contains("too coarse"));
            assert!(found.error_of_mean < 1.05 * error || is_said, "{:?}", found.warnings);
        }
    }
}

#[test]
fn even_light_stays_even_and_no_power_is_lost_between_texels_and_elements() {
    let scene = Arc::new(builtin_scenes::build("cornell_box").expect("it is built in"));
    let (_, elements) = elements_of(&scene, 5.0);
    let fineness = Fineness { largest_element: 0.01, ..Fineness::default() };
    let tracer = CellTracer::new(&scene, &fineness, &PartitionSettings::default()).expect("a whole scene");
    let ones = vec![1.0; elements.len()];
    let lit = Solution {
        direct: vec![Vec3::new(1.0, 2.0, 4.0); elements.len()],
        indirect: vec![Vec3::ZERO; elements.len()],
        visible_fraction: ones.clone(),
        ..Solution::default()
    };
    let (overlap, subscenes) = Overlap::new(&scene, &elements, &tracer, &lit, &ones);
    let reflected: Vec3 = (0..elements.len())
        .map(|element| elements.reflectance[element] * lit.direct[element] * elements.area[element])
        .sum();
    let emitted: Vec3 = subscenes.emitted.iter().sum();
    assert!((emitted / reflected - 1.0).abs().max_element() < 1e-4, "{emitted} of {reflected}");
    let received: Vec<Vec3> = subscenes.area.iter().map(|&area| Vec3::new(3.0, 2.0, 1.0) * area).collect();
    for light in overlap.irradiance(&received) {
        assert!((light / Vec3::new(3.0, 2.0, 1.0) - 1.0).abs().max_element() < 1e-5, "{light}");
    }
}

#[test]
fn scenes_that_light_passes_are_refused_by_the_name_of_a_surface() {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, 4, |_| gray(0.5));
    assert!(check(&test.scene).is_ok());
    test.quad(Vec3::Y * 0.5, Vec3::Z, Vec3::X, [4; 2], colored_pane(Vec3::splat(0.5)));
    let refusal = check(&test.scene).expect_err("a pane").to_string();
    assert!(refusal.contains("'6'") && refusal.contains("another method"), "{refusal}");
}
