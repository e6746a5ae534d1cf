//! Tests of the solver that counts rays.

use glam::Vec3;

use super::*;
use crate::builtin_scenes;
use crate::partition::{CellTracer, Fineness, PartitionKind, PartitionSettings};
use crate::pathtrace::fixtures::add_part;
use crate::progress::Unmonitored;
use crate::radiosity::SolverSettings;
use crate::radiosity::test_scene::{TestScene, gray};
use crate::scene::{Material, Scene, Sides, shapes};

fn tracer(scene: &Scene, threshold: f64, kind: PartitionKind, count: u32) -> CellTracer {
    finer(scene, Fineness { threshold, largest_element: 0.3 }, kind, count)
}

fn finer(scene: &Scene, fineness: Fineness, kind: PartitionKind, count: u32) -> CellTracer {
    CellTracer::new(scene, &fineness, &PartitionSettings { kind, count, ..Default::default() }).unwrap()
}

fn room(emission: f32) -> Scene {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 1.5, 1.0), 1, |_| Material { emission: Vec3::new(1.0, 2.0, 0.5) * emission, ..gray(0.5) });
    test.scene
}

fn solve(scene: &Scene, tracer: &CellTracer, of_each: Option<u32>) -> (SubsceneElements, SubsceneSolution, Counts) {
    let elements = SubsceneElements::new(scene, tracer);
    let mut counters = CpuCounters::new(tracer, &elements);
    let solution = elements.solve(&mut counters, 7, of_each, &Unmonitored).unwrap();
    let counts = counters.counts().unwrap();
    (elements, solution, counts)
}

#[test]
fn in_a_room_that_shines_alike_everywhere_every_bounce_halves_the_light() {
    let scene = room(10.0);
    let fineness = Fineness { largest_element: 0.01, ..Fineness::default() };
    let tracer = finer(&scene, fineness, PartitionKind::Hybrid, 15);
    let (elements, solution, _) = solve(&scene, &tracer, None);
    assert_eq!((solution.escaped, solution.absorbed), (0, 0));
    // B = E / (1 - 0.5), except for the unshot rest of less than a thousandth of E.
    let emitted: Vec3 = elements.emitted.iter().sum();
    let power: Vec3 = solution.power.iter().sum();
    assert!((power / emitted - 2.0).abs().max_element() < 3e-3, "{power} of {emitted}");
    assert!((9..=11).contains(&solution.bounces), "2^-10 is the first below a thousandth");
    // About two thousand rays arrive at each wall in each channel.
    for wall in scene.surface_ids() {
        let of_wall = tracer.parts().enumerate().filter(|(_, part)| tracer.source(part.triangle).0 == wall);
        let sums = of_wall.fold((Vec3::ZERO, Vec3::ZERO), |(power, emitted), (element, _)| {
            (power + solution.power[element], emitted + elements.emitted[element])
        });
        assert!((sums.0 / sums.1 - 2.0).abs().max_element() < 0.16, "{sums:?} of {wall:?}");
    }
}

#[test]
fn elements_below_the_minimum_area_do_not_determine_the_number_of_rays_and_epsilon_ends_the_bounces() {
    let scene = room(10.0);
    let tracer = tracer(&scene, 0.0, PartitionKind::Uniform, 2);
    let mut elements = SubsceneElements::new(&scene, &tracer);
    let all: f32 = elements.area.iter().sum();
    let largest = elements.area.iter().copied().fold(0.0, f32::max);
    let smallest = elements.area.iter().copied().fold(largest, f32::min);
    assert!(smallest < 0.9 * largest);
    // Half of the light is left after each bounce: a half, and a sixteenth as the first below a tenth.
    for (min_area, counted, epsilon, bounces) in
        [(0.0, smallest, 0.6, 1), (largest, largest, 0.6, 1), (largest, largest, 0.1, 4)]
    {
        elements.set_min_area(Some(min_area));
        elements.epsilon = epsilon;
        let solution = elements.solve(&mut CpuCounters::new(&tracer, &elements), 7, None, &Unmonitored).unwrap();
        assert_eq!(solution.bounces, bounces);
        // Equation 4.8 for each of three channels; a bounce has half the rays of the one before.
        let first = 3.0 * 9.0 * 0.5 * all / counted;
        let expected = first * (2.0 - 0.5f32.powi(bounces as i32 - 1));
        assert!((solution.rays as f32 - expected).abs() < 16.0, "{} rays, not {expected}", solution.rays);
    }
}

#[test]
fn a_room_beside_its_turned_copy_loses_no_light_on_backs() {
    // The copy comes before and after the room, since the lower number wins where nothing else decides.
    for is_copy_first in [false, true] {
        let mut scene = Scene::default();
        let mut add = |is_copy: bool| {
            let room = shapes::cuboid("room", Vec3::ZERO, Vec3::new(2.0, 1.5, 1.0));
            if is_copy {
                add_part(&mut scene, room, gray(0.5));
            } else {
                add_part(&mut scene, shapes::inside_out(room), Material { emission: Vec3::ONE, ..gray(0.5) });
            }
        };
        add(is_copy_first);
        add(!is_copy_first);
        for kind in [PartitionKind::Uniform, PartitionKind::Balanced] {
            let tracer = tracer(&scene, 1e-3, kind, 8);
            let (elements, solution, counts) = solve(&scene, &tracer, None);
            assert_eq!((counts.escaped, counts.absorbed), (0, 0), "{kind:?} {is_copy_first}");
            let emitted: Vec3 = elements.emitted.iter().sum();
            let power: Vec3 = solution.power.iter().sum();
            assert!((power / emitted - 2.0).abs().max_element() < 0.02, "{kind:?}: {power} of {emitted}");
        }
    }
}

#[test]
fn stages_together_are_all_elements_once_and_none_leaves_its_subscene() {
    let scene = builtin_scenes::build("habitacion").unwrap();
    for kind in [PartitionKind::Uniform, PartitionKind::Balanced, PartitionKind::Hybrid] {
        let tracer = tracer(&scene, 1e-3, kind, 16);
        let elements = SubsceneElements::new(&scene, &tracer);
        let fullest = (0..elements.cells()).map(|cell| elements.range_of(cell).len()).max().unwrap();
        for of_each in [1, 7, 64, 100_000] {
            let stages = Stages::new(&elements, Some(of_each));
            assert_eq!(stages.count(), fullest.div_ceil(of_each as usize) as u32, "equation 5.2");
            let mut seen = vec![0; elements.len()];
            for stage in 0..stages.count() {
                let of_stage: Vec<u32> = stages.elements(stage).collect();
                let cells: Vec<u32> = of_stage.iter().map(|&element| elements.cell[element as usize]).collect();
                assert!(cells.is_sorted());
                assert!(cells.chunk_by(|a, b| a == b).all(|of_cell| of_cell.len() <= of_each as usize));
                of_stage.iter().for_each(|&element| seen[element as usize] += 1);
            }
            assert!(seen.iter().all(|&times| times == 1));
            assert_eq!(stages.elements(stages.count()).count(), 0);
        }
    }
}

#[test]
fn blocks_of_threads_are_full() {
    let scene = builtin_scenes::build("habitacion").unwrap();
    let tracer = tracer(&scene, 1e-3, PartitionKind::Uniform, 64);
    let elements = SubsceneElements::new(&scene, &tracer);
    let ray_counts = vec![10; 3 * elements.len()];
    // Rays of two subscenes share at most one block for each subscene, half of which is useless at worst.
    let rays: u32 = ray_counts.iter().sum();
    let worst = (f64::from(elements.cells() as u32) / f64::from(rays.div_ceil(64))).sqrt() * 32.0 / 63.0;
    let one = Stages::new(&elements, None).deviation_of_blocks(&ray_counts, 64);
    let deviation = Stages::new(&elements, Some(64)).deviation_of_blocks(&ray_counts, 64);
    println!("{one} {deviation}, at most {worst}");
    assert!(one > 0.0 && one < worst && one < deviation && deviation < 0.2, "{one} {deviation}, at most {worst}");
}

#[test]
fn threads_of_a_block_with_rays_of_fewer_elements_of_another_subscene_are_useless() {
    let scene = room(10.0);
    let tracer = tracer(&scene, 0.0, PartitionKind::Uniform, 2);
    let elements = SubsceneElements::new(&scene, &tracer);
    let deviation = |of_first: u32, of_second: u32| {
        // The first element of each subscene has all of its rays.
        let mut ray_counts = vec![0; 3 * elements.len()];
        for (cell, rays) in [(0, of_first), (1, of_second)] {
            let element = elements.sorted[elements.range_of(cell).start as usize];
            ray_counts[3 * element as usize] = rays;
        }
        Stages::new(&elements, None).deviation_of_blocks(&ray_counts, 64)
    };
    let expect = |useless: &[f64], found: f64| {
        let squares: f64 = useless.iter().map(|threads| (threads / 63.0).powi(2)).sum();
        assert!((found - (squares / useless.len() as f64).sqrt()).abs() < 1e-12, "{useless:?}: {found}");
    };
    expect(&[0.0, 0.0], deviation(64, 64));
    // The second block has 32 rays of each subscene.
    expect(&[0.0, 32.0], deviation(96, 32));
    // It has 26 of the first and 38 of the second, and 6 are left.
    expect(&[0.0, 26.0, 58.0], deviation(90, 44));
    expect(&[63.0], deviation(1, 0));
}

#[test]
fn the_result_is_the_same_whatever_is_done_at_a_time_and_by_however_many_threads() {
    let scene = room(10.0);
    let tracer = tracer(&scene, 1e-3, PartitionKind::Balanced, 8);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (_, expected, counts) = alone.install(|| solve(&scene, &tracer, None));
    for of_each in [None, Some(1), Some(5)] {
        let (_, solution, again) = solve(&scene, &tracer, of_each);
        assert_eq!(solution, expected);
        assert_eq!(again, counts, "bit for bit");
    }
}

#[test]
fn every_ray_is_counted_once_also_where_some_escape_and_backs_absorb() {
    let mut scene = builtin_scenes::build("cornell_box").unwrap();
    let is_open = |scene: &Scene| scene.surfaces.iter().any(|surface| surface.sides == Sides::Front);
    assert!(is_open(&scene));
    // Some backs shoot, and other backs absorb.
    scene.surfaces.iter_mut().step_by(2).for_each(|surface| surface.sides = Sides::Both);
    let tracer = tracer(&scene, 1e-3, PartitionKind::Uniform, 12);
    let elements = SubsceneElements::new(&scene, &tracer);
    let mut counters = CpuCounters::new(&tracer, &elements);
    let ray_counts: Vec<u32> = (0..3 * elements.len() as u32).map(|number| number % 11).collect();
    let stages = Stages::new(&elements, Some(3));
    let bounce = CountedBounce { seed: 5, ray_counts: &ray_counts, stages, power_of_ray: 1.0 };
    counters.shoot(&bounce, &Unmonitored).unwrap();
    let counts = counters.counts().unwrap();
    let rays: u32 = ray_counts.iter().sum();
    assert_eq!(counts.arrived.iter().sum::<u32>(), rays - counts.escaped - counts.absorbed);
    assert!(counts.escaped > rays / 100 && counts.absorbed > 0, "{} and {}", counts.escaped, counts.absorbed);
    // Arrived power is reflected.
    let received: f32 = counters.unshot().unwrap().iter().map(|power| power.element_sum()).sum();
    let expected = counts.arrived.iter().zip(elements.reflectance.iter().flat_map(|share| share.to_array()));
    let expected: f32 = expected.map(|(&count, share)| count as f32 * share).sum();
    assert!((received / expected - 1.0).abs() < 1e-4);
}

#[test]
fn the_same_rays_arrive_at_the_same_elements_through_cells_and_through_a_tree() {
    let scene = builtin_scenes::build("habitacion").unwrap();
    let tracer = tracer(&scene, 1e-3, PartitionKind::Hybrid, 22);
    let elements = SubsceneElements::new(&scene, &tracer);
    let ray_counts = vec![4; 3 * elements.len()];
    let counts =
        [CpuCounters::new(&tracer, &elements), CpuCounters::with_tree(&tracer, &elements)].map(|mut counters| {
            let stages = Stages::new(&elements, None);
            let bounce = CountedBounce { seed: 5, ray_counts: &ray_counts, stages, power_of_ray: 1.0 };
            counters.shoot(&bounce, &Unmonitored).unwrap();
            counters.counts().unwrap()
        });
    let pairs = counts[0].arrived.iter().zip(&counts[1].arrived);
    let moved: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let rays: u64 = ray_counts.iter().map(|&rays| u64::from(rays)).sum();
    assert!(moved * 1_000 < rays && counts[0].arrived != vec![0; ray_counts.len()], "{moved} of {rays}");
}

#[test]
fn without_simplification_the_same_rays_arrive_at_the_same_elements() {
    let scene = builtin_scenes::build("habitacion").unwrap();
    let counts = [1e-3, 0.0].map(|threshold| {
        let tracer = tracer(&scene, threshold, PartitionKind::Uniform, 8);
        let elements = SubsceneElements::new(&scene, &tracer);
        let mut counters = CpuCounters::new(&tracer, &elements);
        let ray_counts = vec![4; 3 * elements.len()];
        let stages = Stages::new(&elements, None);
        let bounce = CountedBounce { seed: 5, ray_counts: &ray_counts, stages, power_of_ray: 1.0 };
        counters.shoot(&bounce, &Unmonitored).unwrap();
        counters.counts().unwrap()
    });
    let rays: u64 = counts[0].arrived.iter().map(|&count| u64::from(count)).sum();
    let pairs = counts[0].arrived.iter().zip(&counts[1].arrived);
    let moved: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    // Planes of coarse surfaces equal those of their triangles except for rounding, so only rays at edges differ.
    assert!(moved * 1_000 < rays, "{moved} of {rays}");
}

#[test]
fn counted_rays_light_the_cornell_box_as_the_gather_solver_does_but_for_the_noise_of_their_numbers() {
    let test = TestScene::cornell();
    let fineness = Fineness { largest_element: 0.02, ..Fineness::default() };
    let tracer = finer(&test.scene, fineness, PartitionKind::Uniform, 8);
    let (_, solution, _) = solve(&test.scene, &tracer, None);
    let (texels, found) = test.solve(&SolverSettings { error: 0.01, ..SolverSettings::default() });
    for surface in test.scene.surface_ids() {
        let of_surface =
            tracer.parts().zip(&solution.power).filter(|(part, _)| tracer.source(part.triangle).0 == surface);
        let counted: Vec3 = of_surface.map(|(_, power)| *power).sum();
        let sum = |of: &dyn Fn(usize) -> Vec3| -> Vec3 {
            texels.of_surface(surface).map(|texel| texels.area[texel] * of(texel)).sum()
        };
        let reflectance = texels.reflectance[texels.of_surface(surface).start];
        let reflected = sum(&|texel| reflectance * (found.direct[texel] + found.indirect[texel]));
        let expected = reflected + sum(&|texel| core::f32::consts::PI * texels.emission[texel]);
        // The number of n arrived rays has a standard deviation of sqrt(n).
        let deviation = (reflectance * solution.power_of_ray * reflected).map(f32::sqrt);
        let allowed = 4.0 * deviation + 0.01 * expected;
        assert!((counted - expected).abs().cmple(allowed).all(), "{surface:?}: {counted} instead of {expected}");
    }
}

#[test]
fn the_residual_is_what_numbers_of_rays_claim() {
    let habitacion = builtin_scenes::build("habitacion").unwrap();
    let cases = [
        ("a Cornell box", TestScene::cornell().scene, 0.02, PartitionKind::Uniform, 8),
        ("a room that shines", room(10.0), 0.01, PartitionKind::Hybrid, 15),
        ("habitacion", habitacion, 0.3, PartitionKind::Balanced, 16),
    ];
    for (name, scene, largest_element, kind, count) in cases {
        let tracer = finer(&scene, Fineness { largest_element, ..Fineness::default() }, kind, count);
        let (elements, solution, _) = solve(&scene, &tracer, None);
        let found = elements.residual(&tracer, &solution, 1, &Unmonitored).unwrap();
        let SubsceneResidual { relative, standard_error, claimed } = found;
        println!(
            "{name}, {} elements, {} rays: residual {relative:.4}, give or take {standard_error:.4}, claimed {claimed:.4}: {:.2} times",
            elements.len(),
            solution.rays,
            relative / claimed
        );
        assert!((0.8..1.2).contains(&(relative / claimed)), "{name}: {found:?}");
    }
}

#[test]
fn the_residual_shows_what_is_missing_and_a_dark_scene_has_none() {
    let scene = room(10.0);
    let tracer = finer(&scene, Fineness { largest_element: 0.01, ..Fineness::default() }, PartitionKind::Uniform, 8);
    let (elements, solution, _) = solve(&scene, &tracer, None);
    let residual = |solution: &SubsceneSolution| elements.residual(&tracer, solution, 1, &Unmonitored).unwrap();
    // Without any bounce, the first bounce is missing, which is equal everywhere.
    let emitted = SubsceneSolution { power: elements.emitted.clone(), ..solution.clone() };
    let found = residual(&emitted).relative;
    assert!((found - 1.0).abs() < 0.02, "{found}");
    // An excess of 10 % in reflected light gives a residual of 10 % of the first bounce.
    let brighter =
        solution.power.iter().zip(&elements.emitted).map(|(power, emitted)| emitted + (power - emitted) * 1.1);
    let found = residual(&SubsceneSolution { power: brighter.collect(), ..solution.clone() });
    let noise = residual(&solution).relative * 1.1;
    let expected = (noise * noise + 0.1 * 0.1).sqrt();
    assert!((found.relative / expected - 1.0).abs() < 0.1, "{found:?} instead of {expected}");
    let dark = room(0.0);
    let (elements, solution, _) = solve(&dark, &tracer, None);
    assert_eq!(elements.residual(&tracer, &solution, 1, &Unmonitored), Ok(SubsceneResidual::default()));
}
