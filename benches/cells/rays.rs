//! Rays through cells and through a KD-tree, on the same GPU.

use std::error::Error;
use std::sync::Arc;

use bevy_radiosity::accel::{NodeKind, Preset, Tree, World};
use bevy_radiosity::builtin_scenes;
use bevy_radiosity::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use bevy_radiosity::geometry::sobol::{OwenSobol, hash2};
use bevy_radiosity::geometry::{Aabb, Ray, RayQuery, WatertightRay};
use bevy_radiosity::gpu::{CellRayKernel, CellRays, Gpu, GpuCells, GpuScene, GpuTree, Question, RayKernels, Stack};
use bevy_radiosity::partition::{CellTracer, Factor, Fineness, PartitionKind};
use bevy_radiosity::scene::Scene;
use glam::{Vec2, Vec3};

use super::{cells, fastest, number};

/// Number of rays per scene, unless the environment sets it.
const RAYS: u32 = 16_384;
/// Number of rays per element.
const TOGETHER: u32 = 64;
/// Number of GPU threads that run in lockstep.
const IN_STEP: usize = 32;

/// Cost of each ray: visited nodes or cells, and tested triangles or surfaces.
type Work = Vec<[u32; 2]>;

struct Row {
    scene: &'static str,
    accelerator: String,
    work: Work,
    borders: f64,
    seconds: f64,
}

/// Prints the table of the same rays through the tree and through cells. The time covers layout, upload, tracing and
/// readback. The start cells of rays are found beforehand, as a solver knows them for its elements.
pub fn print_table(gpu: &Gpu) -> Result<(), Box<dyn Error>> {
    let elements = number("RAYS").unwrap_or(RAYS).div_ceil(TOGETHER);
    println!("{}, {} rays, {TOGETHER} of each of {elements} elements\n", gpu.name(), elements * TOGETHER);
    println!("| scene | accelerator | nodes or cells a ray | tests a ray | borders a ray | lanes idle | ms |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for name in ["edificio", "salon", "estudio"] {
        let scene = builtin_scenes::build(name).ok_or("there is no such scene")?;
        compare(gpu, name, &scene, elements)?;
    }
    Ok(())
}

fn compare(gpu: &Gpu, name: &'static str, scene: &Scene, elements: u32) -> Result<(), Box<dyn Error>> {
    let sorting = CellTracer::new(scene, &Fineness::default(), &cells(PartitionKind::Uniform, 64, Factor::Area))?;
    let rays = rays_of(scene, &sorting, elements);
    let on_gpu = GpuScene::new(gpu, scene)?;
    let kernels = RayKernels::new(gpu, Stack::default(), on_gpu.trees());
    let seconds = fastest(|| kernels.trace(gpu, &on_gpu, &rays, Question::Closest).map(|_| ()))?;
    let trees = GpuTree::build(scene, &Preset::narrow());
    let work = rays.iter().map(|ray| work_in(trees.tree(), ray)).collect();
    print(&Row { scene: name, accelerator: "KD-tree".into(), work, borders: 0.0, seconds });

    let world = World::build(Arc::new(scene.clone()), Preset::best());
    let on_cpu = fastest(|| {
        let met = rays.iter().filter(|ray| world.closest(ray).is_some()).count();
        if std::hint::black_box(met) > 0 { Ok::<(), &str>(()) } else { Err("no ray meets anything") }
    })?;
    println!("| {name} | KD-tree, processor, one thread | | | | | {:.1} |", on_cpu * 1e3);

    let kernel = CellRayKernel::new(gpu);
    for kind in [PartitionKind::Uniform, PartitionKind::Balanced, PartitionKind::Hybrid] {
        for count in [8, 64, 256, 512, 4096] {
            let tracer = CellTracer::new(scene, &Fineness::default(), &cells(kind, count, Factor::Area))?;
            let cells = GpuCells::new(gpu, &tracer)?;
            let located = CellRays::new(&tracer, &rays);
            let mut answers = Vec::new();
            let seconds = fastest(|| kernel.trace(gpu, &cells, &located).map(|found| answers = found))?;
            let borders = answers.iter().map(|answer| f64::from(answer.borders)).sum::<f64>() / rays.len() as f64;
            let work = answers.iter().map(|answer| [answer.cells, answer.surfaces]).collect();
            let accelerator = format!("{kind:?}, {}", tracer.partition().cells().len()).to_lowercase();
            print(&Row { scene: name, accelerator, work, borders, seconds });
        }
    }
    Ok(())
}

/// Creates cosine-distributed rays from points on triangles in proportion to area, sorted by cell.
fn rays_of(scene: &Scene, sorting: &CellTracer, elements: u32) -> Vec<Ray> {
    let triangles: Vec<_> = scene
        .surface_ids()
        .flat_map(|surface| (0..scene.mesh_of(surface).triangles.len() as u32).map(move |index| (surface, index)))
        .collect();
    let mut sums = Vec::with_capacity(triangles.len());
    let mut area = 0.0;
    for &(surface, index) in &triangles {
        area += f64::from(scene.triangle(surface, index).area());
        sums.push(area);
    }
    let mut rays: Vec<(u32, Ray)> = (0..elements)
        .flat_map(|element| {
            let sought = area * (f64::from(element) + 0.5) / f64::from(elements);
            let (surface, index) = triangles[sums.partition_point(|&sum| sum < sought).min(triangles.len() - 1)];
            let (triangle, normal) = (scene.triangle(surface, index), scene.geometric_normal(surface, index));
            let points = OwenSobol::new(hash2(9, element));
            (0..TOGETHER).map(move |number| {
                let [x, y, u, v] = points.point(number);
                let point: Vec3 = triangle.at(uniform_triangle(Vec2::new(x, y)));
                let origin = point + normal * (1e-5 * point.abs().max_element().max(1.0));
                Ray::new(origin, cosine_hemisphere(normal, Vec2::new(u, v)))
            })
        })
        .map(|ray| (sorting.partition().traverse(&ray).next().map_or(u32::MAX, |step| step.cell.0), ray))
        .collect();
    rays.sort_by_key(|(cell, _)| *cell);
    rays.into_iter().map(|(_, ray)| ray).collect()
}

/// Returns the nodes that a front-to-back traversal visits, and the triangles it tests. The shader does the same while
/// its short stack suffices.
fn work_in(tree: &Tree, ray: &Ray) -> [u32; 2] {
    let prepared = WatertightRay::new(ray);
    let Some((enter, leave)) = crossing(tree.bounds(), ray) else { return [0, 0] };
    let (mut nodes, mut tests, mut best) = (0, 0, ray.t_max);
    let mut stack = vec![(0, enter, leave)];
    while let Some((mut node, t0, mut t1)) = stack.pop() {
        if t0 > best {
            break;
        }
        loop {
            nodes += 1;
            match tree.nodes()[node].kind() {
                NodeKind::Leaf { first, count } => {
                    tests += count;
                    for &reference in &tree.references()[first as usize..(first + count) as usize] {
                        if let Some(hit) = tree.triangles()[reference as usize].intersect(&prepared) {
                            best = best.min(hit.t);
                        }
                    }
                    break;
                }
                NodeKind::Split { axis, position, first } => {
                    let t = (position - ray.origin[axis]) / ray.direction[axis];
                    let falls = usize::from(ray.direction[axis] < 0.0);
                    let (near, far) = (first as usize + falls, first as usize + 1 - falls);
                    if t > t1 {
                        node = near;
                    } else if t < t0 {
                        node = far;
                    } else {
                        stack.push((far, t, t1));
                        (node, t1) = (near, t);
                    }
                }
            }
        }
    }
    [nodes, tests]
}

fn crossing(bounds: Aabb, ray: &Ray) -> Option<(f32, f32)> {
    let (low, high) = ((bounds.min - ray.origin) / ray.direction, (bounds.max - ray.origin) / ray.direction);
    let enter = low.min(high).max_element().max(ray.t_min);
    let leave = low.max(high).min_element().min(ray.t_max);
    (enter <= leave).then_some((enter, leave))
}

/// Returns the fraction of time that lockstep threads idle, if all steps take equally long.
fn idle(work: &Work) -> f64 {
    let steps = |ray: &[u32; 2]| f64::from(ray[0] + ray[1]);
    let (mut done, mut waited_for) = (0.0, 0.0);
    for group in work.chunks(IN_STEP) {
        done += group.iter().map(steps).sum::<f64>();
        waited_for += group.iter().map(steps).fold(0.0, f64::max) * group.len() as f64;
    }
    1.0 - done / waited_for
}

fn print(row: &Row) {
    let mean = |which: usize| row.work.iter().map(|work| f64::from(work[which])).sum::<f64>() / row.work.len() as f64;
    println!(
        "| {} | {} | {:.1} | {:.1} | {:.1} | {:.0} % | {:.1} |",
        row.scene,
        row.accelerator,
        mean(0),
        mean(1),
        row.borders,
        100.0 * idle(&row.work),
        row.seconds * 1e3
    );
}
