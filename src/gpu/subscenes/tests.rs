//! Tests of shaders against their Rust counterparts.

use glam::Vec3;

use super::super::Block;
use super::super::context::test_device;
use super::super::tests::rays_in;
use super::*;
use crate::builtin_scenes;
use crate::partition::{Fineness, PartitionKind, PartitionSettings};
use crate::progress::Unmonitored;
use crate::radiosity::{CountedBounce, Counters, CpuCounters, Stages, SubsceneElements};
use crate::scene::Scene;

fn tracer(scene: &Scene, kind: PartitionKind, count: u32) -> CellTracer {
    let fineness = Fineness { largest_element: 0.2, ..Fineness::default() };
    CellTracer::new(scene, &fineness, &PartitionSettings { kind, count, ..Default::default() }).unwrap()
}

#[test]
fn rays_meet_in_cells_what_they_meet_on_the_cpu_after_the_same_work() {
    let Some(gpu) = test_device() else { return };
    let kernel = CellRayKernel::new(&gpu);
    let kinds = [(PartitionKind::Uniform, 64), (PartitionKind::Balanced, 32), (PartitionKind::Hybrid, 64)];
    for (name, (kind, count)) in ["salon", "armadillo", "edificio"].into_iter().zip(kinds) {
        let scene = builtin_scenes::build(name).unwrap();
        let tracer = tracer(&scene, kind, count);
        let cells = GpuCells::new(&gpu, &tracer).unwrap();
        let rays = rays_in(&scene, 20_000);
        let answers = kernel.trace(&gpu, &cells, &CellRays::new(&tracer, &rays)).unwrap();
        let (mut elsewhere, mut more_work) = (0, 0);
        for (ray, answer) in rays.iter().zip(&answers) {
            let (hit, work) = tracer.closest(ray);
            assert_eq!(hit.is_some(), answer.triangle != u32::MAX, "{name}: {ray:?}");
            let Some(hit) = hit else { continue };
            let is_there = (hit.t - answer.t).abs() <= 1e-5 * hit.t.max(1.0);
            assert!(is_there || hit.triangle == answer.triangle, "{name}: {hit:?} {answer:?}");
            elsewhere += usize::from(hit.triangle != answer.triangle);
            let same = [work.cells, work.surfaces, work.borders] == [answer.cells, answer.surfaces, answer.borders];
            more_work += usize::from(!same);
            if hit.triangle == answer.triangle && answer.element != u32::MAX {
                let element = tracer.element_at(&hit);
                elsewhere += usize::from(element != Some(answer.element));
            }
        }
        // Rays along the axes may lie exactly in planes of cells and walls.
        assert!(elsewhere < 40 && more_work < 40, "{name}: {elsewhere} elsewhere, {more_work} by another way");
    }
}

#[test]
fn as_many_rays_arrive_at_each_element_as_on_the_cpu_whatever_is_shot_at_a_time() {
    let Some(gpu) = test_device() else { return };
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let tracer = tracer(&scene, PartitionKind::Hybrid, 22);
    let elements = SubsceneElements::new(&scene, &tracer);
    let ray_counts: Vec<u32> = (0..3 * elements.len() as u32).map(|number| number % 31).collect();
    let rays: u32 = ray_counts.iter().sum();
    let shot = |counters: &mut dyn Counters, of_each| {
        let stages = Stages::new(&elements, of_each);
        let bounce = CountedBounce { seed: 5, ray_counts: &ray_counts, stages, power_of_ray: 0.5 };
        counters.shoot(&bounce, &Unmonitored).unwrap();
        (counters.counts().unwrap(), counters.unshot().unwrap())
    };
    let (counts, unshot) = shot(&mut GpuCounters::new(&gpu, &tracer, &elements).unwrap(), None);
    assert_eq!(counts.arrived.iter().sum::<u32>(), rays - counts.escaped - counts.absorbed);
    for (of_each, threads) in [(None, 64), (Some(16), 64), (None, 8), (Some(16), 200)] {
        let block = Block::new(&gpu, threads).unwrap();
        let mut again = GpuCounters::with_block(&gpu, &tracer, &elements, block).unwrap();
        assert_eq!(shot(&mut again, of_each), (counts.clone(), unshot.clone()), "bit for bit");
    }
    let (on_cpu, _) = shot(&mut CpuCounters::new(&tracer, &elements), None);
    let moved: u32 = counts.arrived.iter().zip(&on_cpu.arrived).map(|(a, b)| a.abs_diff(*b)).sum();
    assert!(moved < 20, "{moved} of {rays} rays are counted elsewhere");
    // Counts become power.
    for (element, received) in unshot.iter().enumerate() {
        let arrived = [0, 1, 2].map(|channel| counts.arrived[3 * element + channel] as f32);
        let expected = elements.reflectance[element] * Vec3::from_array(arrived) * 0.5;
        assert!((*received - expected).abs().max_element() <= 1e-5 * expected.max_element());
    }
}

#[test]
fn all_bounces_bring_as_much_light_as_on_the_cpu() {
    let Some(gpu) = test_device() else { return };
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let tracer = tracer(&scene, PartitionKind::Uniform, 8);
    let elements = SubsceneElements::new(&scene, &tracer);
    let solve = |counters: &mut dyn Counters| elements.solve(counters, 3, Some(64), &Unmonitored).unwrap();
    let on_gpu = solve(&mut GpuCounters::new(&gpu, &tracer, &elements).unwrap());
    let on_cpu = solve(&mut CpuCounters::new(&tracer, &elements));
    assert_eq!(on_gpu.bounces, on_cpu.bounces);
    let sum = |power: &[Vec3]| power.iter().sum::<Vec3>();
    let ratio = sum(&on_gpu.power) / sum(&on_cpu.power);
    assert!((ratio - 1.0).abs().max_element() < 1e-3, "{ratio}");
    // The residual of the device's solution matches the number of rays.
    let found = elements.residual(&tracer, &on_gpu, 1, &Unmonitored).unwrap();
    println!("residual of the device's solution: {found:?}, {:.2} times", found.relative / found.claimed);
    assert!((0.8..1.2).contains(&(found.relative / found.claimed)), "{found:?}");
}
