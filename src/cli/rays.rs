//! Command `radiosity rays`, which replays ray files for benchmarks and comparisons.

use std::path::{Path, PathBuf};

use glam::Vec3;
use rayon::prelude::*;

use crate::accel::{ExactShapes, MAX_STEPS, World};
use crate::clock;
use crate::geometry::Ray;
use crate::input;
use crate::output::{check_place, write_atomic};

use super::arguments::{BlockArguments, Opened, SceneArguments, WorkArguments, print_warnings};
use super::walks::{Answers, Traversal, TreeBuilder, Work, unfinished_warning};
use super::{Failure, say};
use crate::Device;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Rays: f32 x 8 each (origin, t_near, direction, t_far), little-endian
    #[arg(long, value_name = "FILE")]
    rays: PathBuf,
    /// Output file: f32 t (-1 for a miss) and u32 triangle in file order for each ray
    #[arg(long, value_name = "FILE")]
    hits: PathBuf,
    /// Only test for any hit, and write f32 1 or 0 for each ray
    #[arg(long)]
    any_hit: bool,
    /// Number of times to trace all rays; the fastest pass is reported
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    passes: u32,
    /// Builder of the tree, on the processor [default: sah]
    #[arg(long, value_enum)]
    builder: Option<TreeBuilder>,
    /// Traversal of the tree; a graphics card has stack, restart and ropes [default: wide, or a short stack on a graphics card]
    #[arg(long, value_enum)]
    traversal: Option<Traversal>,
    /// Meet opaque spheres, tori and Bezier patches of the file exactly instead of their meshes, on the processor
    #[arg(long)]
    exact_shapes: bool,
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    block: BlockArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Returns true if the work of each ray is reported: in JSON, or to whoever compares trees.
    fn reports_work(&self) -> bool {
        self.json || self.traversal.is_some() || self.builder.is_some()
    }
}

#[derive(serde::Serialize)]
struct Outcome {
    rays: usize,
    hits: usize,
    build_seconds: f64,
    passes: u32,
    /// Duration of the fastest pass; the first pass also warms the caches.
    seconds: f64,
    mrays_per_second: f64,
    /// Number of walks that ended at the step limit. Any-hit rays on the processor have no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfinished: Option<u64>,
    /// Work on the processor.
    #[serde(flatten)]
    work: Option<Work>,
    /// Number of shapes that rays met exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_shapes: Option<usize>,
    warnings: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let traversal = arguments.traversal.unwrap_or_default();
    let is_for_processor = arguments.exact_shapes
        || arguments.builder.is_some()
        || arguments.traversal.is_some_and(|traversal| matches!(traversal, Traversal::Wide | Traversal::BruteForce));
    if is_for_processor {
        arguments.work.prepare()?;
    } else {
        arguments.work.prepare_threads()?;
    }
    let rays = read_rays(&arguments.rays)?;
    check_place(&arguments.hits)?;
    let opened = arguments.scene.open_within_memory()?;
    traversal.check(arguments.any_hit, &opened.scene)?;
    let device = if is_for_processor { Device::Cpu } else { arguments.work.open_device()? };
    arguments.block.check(&device)?;
    let traced = match device {
        Device::Cpu => replay_on_cpu(&opened, &rays, arguments, traversal),
        #[cfg(feature = "gpu")]
        Device::Gpu(gpu) => replay_on(&gpu, &opened, &rays, arguments)?,
    };
    let Traced { replay: Replay { records, hits, seconds }, build_seconds, work, unfinished, limit, exact_shapes } =
        traced;
    write_atomic(&arguments.hits, &records)?;

    let mrays_per_second = rays.len() as f64 / seconds.max(1e-9) / 1e6;
    let passes = arguments.passes;
    let warnings = unfinished.and_then(|count| unfinished_warning(count, limit.0, limit.1)).into_iter().collect();
    let rays = rays.len();
    let outcome = Outcome {
        rays,
        hits,
        build_seconds,
        passes,
        seconds,
        mrays_per_second,
        unfinished,
        work,
        exact_shapes,
        warnings,
    };
    if arguments.json {
        say(serde_json::to_string(&outcome)?);
    } else {
        print_warnings(&outcome.warnings);
        outcome.work.iter().for_each(say);
        outcome.exact_shapes.iter().for_each(|count| say(format_args!("{count} curved shapes, met exactly")));
        say(format_args!(
            "{} rays, {} hits, {:.3} s at best of {passes}, {:.2} million rays a second (tree: {:.3} s)",
            outcome.rays, outcome.hits, seconds, mrays_per_second, build_seconds
        ));
    }
    Ok(())
}

/// Result of a command, on any device.
struct Traced {
    replay: Replay,
    build_seconds: f64,
    work: Option<Work>,
    unfinished: Option<u64>,
    /// Maximum number of steps of a walk, and the remedy for walks that reach it.
    limit: (u64, &'static str),
    /// Number of shapes that rays met exactly.
    exact_shapes: Option<usize>,
}

/// Traces the rays on the CPU. Counts the work of closest-hit rays if it is reported, which traces them once more.
fn replay_on_cpu(opened: &Opened, rays: &[Ray], arguments: &Arguments, traversal: Traversal) -> Traced {
    let preset = arguments.builder.unwrap_or_default().preset(traversal);
    let started = clock::now();
    let shapes: &[_] = if arguments.exact_shapes { &opened.shapes } else { &[] };
    let (scene, exact) = ExactShapes::take_from(opened.scene.shared(), shapes);
    let world = World::build(scene, preset).with_movers();
    let build_seconds = started.elapsed().as_secs_f64();
    let answers = Answers::new(traversal, &world);
    let (replay, counted) = if arguments.any_hit {
        (replay(rays, arguments.passes, |ray| any_hit(&answers, &exact, ray)), None)
    } else {
        let replay = replay(rays, arguments.passes, |ray| closest_hit(&world, &answers, &exact, ray));
        (replay, arguments.reports_work().then(|| answers.work(rays)))
    };
    let (work, unfinished) = counted.unzip();
    let exact_shapes = arguments.exact_shapes.then(|| exact.count());
    let limit = (MAX_STEPS, "compare with --traversal wide");
    Traced { replay, build_seconds, work, unfinished, limit, exact_shapes }
}

/// Traces the rays on a graphics card. The result's seconds include the transfer of rays in both directions.
#[cfg(feature = "gpu")]
fn replay_on(gpu: &crate::gpu::Gpu, opened: &Opened, rays: &[Ray], arguments: &Arguments) -> Result<Traced, Failure> {
    use super::walks::USE_PROCESSOR;
    use crate::accel::Preset;
    use crate::gpu::{GpuScene, GpuTree, MAX_DEVICE_STEPS, Question, RayAnswers, RayKernels, Stack};

    let stack = match arguments.traversal {
        Some(Traversal::Stack) => Stack::Full,
        Some(Traversal::Restart) => Stack::Restart,
        Some(Traversal::Ropes) => Stack::Ropes,
        Some(Traversal::Wide | Traversal::BruteForce) | None => Stack::Short,
    };
    let scene = &opened.scene;
    let started = clock::now();
    let on_device = GpuScene::with_tree(gpu, scene, &GpuTree::build(scene, &Preset::narrow()).for_stack(stack))?;
    let build_seconds = started.elapsed().as_secs_f64();
    let kernels = RayKernels::with_block(gpu, stack, on_device.trees(), arguments.block.on(gpu)?);
    let question = if arguments.any_hit { Question::Any } else { Question::Closest };
    let rays: Vec<Ray> = rays.iter().map(|ray| if ray.is_valid() { *ray } else { NOWHERE }).collect();
    let mut answers = RayAnswers::default();
    let mut seconds = f64::INFINITY;
    for _ in 0..arguments.passes {
        let started = clock::now();
        answers = kernels.trace(gpu, &on_device, &rays, question)?;
        seconds = seconds.min(started.elapsed().as_secs_f64());
    }
    let first_triangles = scene.first_triangles();
    let hits = answers.of_rays.iter().filter(|answer| answer.triangle != u32::MAX).count();
    let record = |answer: &crate::gpu::RayAnswer| -> Vec<u8> {
        if arguments.any_hit {
            return f32::from(u8::from(answer.t <= 0.0)).to_le_bytes().into();
        }
        let (t, triangle) = match on_device.source(answer.triangle) {
            Some((surface, triangle)) => (answer.t, first_triangles[surface.index()] + triangle),
            None => (-1.0, u32::MAX),
        };
        [t.to_le_bytes(), triangle.to_le_bytes()].concat()
    };
    let records = answers.of_rays.iter().flat_map(record).collect();
    let replay = Replay { records, hits, seconds };
    let limit = (MAX_DEVICE_STEPS.into(), USE_PROCESSOR);
    let unfinished = Some(answers.unfinished);
    Ok(Traced { replay, build_seconds, work: None, unfinished, limit, exact_shapes: None })
}

/// Number of bytes per ray in a file.
const RAY_BYTES: usize = 32;

/// Reads a file of rays: f32 x 8 each, little-endian.
///
/// # Errors
/// When the file cannot be read, or its length is not that of whole rays.
pub fn read_rays(path: &Path) -> Result<Vec<Ray>, Failure> {
    let name = path.display();
    let bytes = input::read(path, input::LARGEST_LIST)
        .map_err(|source| format!("cannot read {name}: {source}; check that the file exists and may be read"))?;
    if bytes.len() % RAY_BYTES != 0 {
        let length = bytes.len();
        return Err(format!("{name} has {length} bytes, but rays have {RAY_BYTES} each (8 little-endian f32)").into());
    }
    Ok(bytes.chunks_exact(RAY_BYTES).map(parse_ray).collect())
}

fn parse_ray(bytes: &[u8]) -> Ray {
    let mut numbers = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let mut number = || numbers.next().unwrap_or(f32::NAN);
    let origin = Vec3::new(number(), number(), number());
    let t_min = number();
    let direction = Vec3::new(number(), number(), number());
    Ray { origin, direction, t_min, t_max: number() }
}

fn closest_hit(world: &World, answers: &Answers, exact: &ExactShapes, ray: &Ray) -> (bool, [u8; 8]) {
    let in_tree = answers.closest(ray).map(|hit| (hit.t, world.triangle_in_scene(&hit)));
    let nearer = exact.closest(&Ray { t_max: in_tree.map_or(ray.t_max, |(t, _)| t), ..*ray });
    let hit = nearer.or(in_tree);
    let (t, triangle) = hit.unwrap_or((-1.0, u32::MAX));
    (hit.is_some(), bytemuck::cast([t.to_bits().to_le(), triangle.to_le()]))
}

fn any_hit(answers: &Answers, exact: &ExactShapes, ray: &Ray) -> (bool, [u8; 4]) {
    let blocked = answers.is_blocked(ray) || exact.closest(ray).is_some();
    (blocked, f32::from(u8::from(blocked)).to_le_bytes())
}

/// Result of tracing all rays.
struct Replay {
    records: Vec<u8>,
    hits: usize,
    /// Duration of the fastest pass.
    seconds: f64,
}

/// Number of rays per work item.
const CHUNK: usize = 4096;

/// Replacement for invalid rays, which hits nothing.
const NOWHERE: Ray = Ray { origin: Vec3::ZERO, direction: Vec3::X, t_min: 1.0, t_max: 0.0 };

/// Traces all rays several times. Invalid rays (NaN, zero direction) count as misses, whatever the tree would return.
fn replay<const BYTES: usize>(rays: &[Ray], passes: u32, trace: impl Fn(&Ray) -> (bool, [u8; BYTES]) + Sync) -> Replay {
    let mut traced: Vec<(bool, [u8; BYTES])> = Vec::new();
    let mut seconds = f64::INFINITY;
    for _ in 0..passes {
        let started = clock::now();
        let rays = rays.par_iter().with_min_len(CHUNK);
        rays.map(|ray| trace(if ray.is_valid() { ray } else { &NOWHERE })).collect_into_vec(&mut traced);
        seconds = seconds.min(started.elapsed().as_secs_f64());
    }
    Replay {
        records: traced.iter().flat_map(|(_, record)| *record).collect(),
        hits: traced.iter().filter(|(hit, _)| *hit).count(),
        seconds,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::ValueEnum;

    use super::*;
    use crate::accel::Preset;
    use crate::scene::{Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey};

    /// Builds two triangles across the z axis, one at z = 0 and one at z = 2.
    fn world() -> World {
        let positions = [0.0, 2.0]
            .iter()
            .flat_map(|&z| [Vec3::new(-1.0, -1.0, z), Vec3::new(1.0, -1.0, z), Vec3::new(0.0, 1.0, z)])
            .collect();
        let mesh = MeshData { positions, triangles: vec![[0, 1, 2], [3, 4, 5]], ..MeshData::default() };
        let scene = Scene {
            meshes: vec![Arc::new(mesh)],
            surfaces: vec![Surface::new(SurfaceKey("pair".into()), MeshId(0), MaterialId(0))],
            materials: vec![Material::default()],
            ..Scene::default()
        };
        World::build(Arc::new(scene), Preset::best())
    }

    fn rays() -> Vec<Ray> {
        let file: Vec<u8> = [
            [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, -1.0, 1e30],
            [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0, 1e30],
            [f32::NAN, 0.0, 5.0, 0.0, 0.0, 0.0, -1.0, 1e30],
            [0.0, 0.0, 5.0, 4.0, 0.0, 0.0, -1.0, 1e30],
        ]
        .as_flattened()
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
        file.chunks_exact(RAY_BYTES).map(parse_ray).collect()
    }

    #[test]
    fn hits_are_distances_and_triangles_and_misses_minus_one_by_every_traversal() {
        let world = world();
        for traversal in Traversal::value_variants() {
            let answers = Answers::new(*traversal, &world);
            check_closest(&replay(&rays(), 2, |ray| closest_hit(&world, &answers, &ExactShapes::default(), ray)));
            assert_eq!(answers.work(&rays()).1, 0);
        }
    }

    fn check_closest(replay: &Replay) {
        let records: Vec<(f32, u32)> = replay
            .records
            .chunks_exact(8)
            .map(|record| {
                let (t, triangle) = record.split_at(4);
                (f32::from_le_bytes(t.try_into().unwrap()), u32::from_le_bytes(triangle.try_into().unwrap()))
            })
            .collect();
        assert_eq!(records, [(3.0, 1), (-1.0, u32::MAX), (-1.0, u32::MAX), (5.0, 0)]);
        assert_eq!(replay.hits, 2);
    }

    #[test]
    fn any_hit_says_one_or_zero() {
        let world = world();
        let answers = Answers::new(Traversal::Wide, &world);
        let replay = replay(&rays(), 2, |ray| any_hit(&answers, &ExactShapes::default(), ray));
        let records: Vec<f32> =
            replay.records.chunks_exact(4).map(|record| f32::from_le_bytes(record.try_into().unwrap())).collect();
        assert_eq!(records, [1.0, 0.0, 0.0, 1.0]);
    }
}
