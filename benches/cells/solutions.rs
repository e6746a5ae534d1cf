//! All bounces of stochastic radiosity, on the GPU from cell to cell and on the CPU through a KD-tree.

use std::error::Error;
use std::time::Instant;

use bevy_radiosity::builtin_scenes;
use bevy_radiosity::gpu::{Gpu, GpuCounters};
use bevy_radiosity::partition::{CellTracer, Factor, Fineness, PartitionKind};
use bevy_radiosity::progress::{Monitor, Unmonitored};
use bevy_radiosity::radiosity::{
    CountedBounce, Counters, Counts, CpuCounters, StepError, SubsceneElements, SubsceneSolution,
};
use glam::Vec3;

use super::{cells, number};

/// Seed of all solutions, so that all shoot the same rays.
const SEED: u32 = 7;
/// Number of threads per block.
const BLOCK: u32 = 64;
/// Number of solutions. The fastest counts.
const RUNS: usize = 3;

/// Kind and number of cells, and the weight of power relative to area.
type Cells = (PartitionKind, u32, f64);

/// Best settings of each scene in the thesis (table 5.2).
const SCENES: [(&str, [Cells; 3]); 3] = [
    (
        "edificio",
        [(PartitionKind::Uniform, 64, 0.0), (PartitionKind::Balanced, 64, 1.1), (PartitionKind::Hybrid, 64, 1.3)],
    ),
    (
        "salon",
        [(PartitionKind::Uniform, 256, 0.0), (PartitionKind::Balanced, 4, 0.0), (PartitionKind::Hybrid, 50, 0.5)],
    ),
    (
        "estudio",
        [(PartitionKind::Uniform, 256, 0.0), (PartitionKind::Balanced, 8, 1.2), (PartitionKind::Hybrid, 22, 1.1)],
    ),
];

/// Prints the table. The time covers the solution alone, without partitioning, tree construction and upload. Without a
/// GPU its times are left out.
pub fn print_table(gpu: Option<&Gpu>) -> Result<(), Box<dyn Error>> {
    println!("{}\n", gpu.map_or("no graphics card", Gpu::name));
    println!(
        "| scene | accelerator | elements | deviation of blocks | bounces | rays | s | ns a ray | times as fast |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, partitions) in SCENES {
        let scene = builtin_scenes::build(name).ok_or("there is no such scene")?;
        let mut processor = None;
        for (kind, count, k) in partitions {
            let settings = cells(kind, count, Factor::Both(k));
            let tracer = CellTracer::new(&scene, &Fineness::default(), &settings)?;
            let elements = SubsceneElements::new(&scene, &tracer);
            let through_tree = || Ok(CpuCounters::with_tree(&tracer, &elements));
            let baseline = match processor {
                Some(seconds) => seconds,
                None => {
                    let (solution, seconds) = alone.install(|| fastest(&elements, through_tree))?;
                    println!(
                        "| {name} | KD-tree, processor, one thread | {} | | {}",
                        elements.len(),
                        times(&solution, seconds, seconds)
                    );
                    *processor.insert(seconds)
                }
            };
            let deviation = Watched::deviation(&elements, &mut through_tree()?)?;
            let of_card = match gpu {
                Some(gpu) => {
                    let through_cells = || GpuCounters::new(gpu, &tracer, &elements).map_err(StepError::from);
                    let (solution, seconds) = fastest(&elements, through_cells)?;
                    times(&solution, seconds, baseline)
                }
                None => "| | | | |".into(),
            };
            let accelerator = format!("{kind:?}, {}, {k}", tracer.partition().cells().len()).to_lowercase();
            println!("| {name} | {accelerator} | {} | {deviation:.4} | {of_card}", elements.len());
        }
    }
    Ok(())
}

/// Returns the end of a row: work, time, and speedup over the CPU.
fn times(solution: &SubsceneSolution, seconds: f64, processor: f64) -> String {
    let SubsceneSolution { bounces, rays, .. } = solution;
    let (of_ray, gain) = (seconds * 1e9 / *rays as f64, processor / seconds);
    format!("{bounces} | {rays} | {seconds:.3} | {of_ray:.1} | {gain:.2} |")
}

fn solve(elements: &SubsceneElements, counters: &mut dyn Counters) -> Result<SubsceneSolution, StepError> {
    elements.solve(counters, SEED, number("STAGE"), &Unmonitored)
}

/// Returns the solution and the time of the fastest run, in seconds. Counters are created for each run, outside the
/// measured time.
fn fastest<C: Counters>(
    elements: &SubsceneElements,
    counters: impl Fn() -> Result<C, StepError>,
) -> Result<(SubsceneSolution, f64), StepError> {
    let run = || {
        let mut counters = counters()?;
        let started = Instant::now();
        let solution = solve(elements, &mut counters)?;
        Ok::<_, StepError>((solution, started.elapsed().as_secs_f64()))
    };
    let mut best = run()?;
    for _ in 1..RUNS {
        let again = run()?;
        if again.1 < best.1 {
            best = again;
        }
    }
    Ok(best)
}

/// Counters that also measure how evenly thread blocks are filled.
struct Watched<'a> {
    counters: &'a mut dyn Counters,
    rays: f64,
    squares: f64,
}

impl<'a> Watched<'a> {
    /// Returns the deviation of blocks (equation 5.5) over all bounces. A GPU gets a stage in several dispatches, but
    /// in whole blocks up to the last. So the result does not depend on the counters.
    fn deviation(elements: &SubsceneElements, counters: &'a mut dyn Counters) -> Result<f64, StepError> {
        let mut watched = Watched { counters, rays: 0.0, squares: 0.0 };
        solve(elements, &mut watched)?;
        Ok((watched.squares / watched.rays).sqrt())
    }
}

impl Counters for Watched<'_> {
    fn restart(&mut self) -> Result<(), StepError> {
        self.counters.restart()
    }

    fn shoot(&mut self, bounce: &CountedBounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        let rays: f64 = bounce.ray_counts.iter().map(|&rays| f64::from(rays)).sum();
        self.rays += rays;
        self.squares += rays * bounce.stages.deviation_of_blocks(bounce.ray_counts, BLOCK).powi(2);
        self.counters.shoot(bounce, monitor)
    }

    fn unshot(&self) -> Result<Vec<Vec3>, StepError> {
        self.counters.unshot()
    }

    fn power(&self) -> Result<Vec<Vec3>, StepError> {
        self.counters.power()
    }

    fn counts(&self) -> Result<Counts, StepError> {
        self.counters.counts()
    }
}
