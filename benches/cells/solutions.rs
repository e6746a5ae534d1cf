//! All bounces, counted on the graphics card from cell to cell, and on the processor through a KD-tree.

use std::error::Error;
use std::time::Instant;

use bevy_radiosity::gpu::{Gpu, GpuCounters};
use bevy_radiosity::partition::{CellTracer, Factor, Fineness, PartitionKind};
use bevy_radiosity::progress::{Monitor, Unmonitored};
use bevy_radiosity::radiosity::{
    CountedBounce, Counters, Counts, CpuCounters, StepError, SubsceneElements, SubsceneSolution,
};
use bevy_radiosity::scene::builtin;
use glam::Vec3;

use super::{cells, number};

/// The seed of all solutions, so that all shoot the same rays.
const SEED: u32 = 7;
/// Threads of a block.
const BLOCK: u32 = 64;
/// Solutions of which the fastest counts.
const RUNS: usize = 3;

/// Which cells, how many, and how many parts of power to one of area they share out.
type Cells = (PartitionKind, u32, f64);

/// For each scene those that were best in the thesis (table 5.2).
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

/// What is timed is the solution alone: not cutting the scene, building the tree, or sending either to the card. Without a
/// card its times are left out.
pub fn print_table(gpu: Option<&Gpu>) -> Result<(), Box<dyn Error>> {
    println!("{}\n", gpu.map_or("no graphics card", Gpu::name));
    println!(
        "| scene | accelerator | elements | deviation of blocks | bounces | rays | s | ns a ray | times as fast |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, partitions) in SCENES {
        let scene = builtin::build(name).ok_or("there is no such scene")?;
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

/// The end of a row: what was done, in which time, and how many times as fast as on the processor.
fn times(solution: &SubsceneSolution, seconds: f64, processor: f64) -> String {
    let SubsceneSolution { bounces, rays, .. } = solution;
    let (of_ray, gain) = (seconds * 1e9 / *rays as f64, processor / seconds);
    format!("{bounces} | {rays} | {seconds:.3} | {of_ray:.1} | {gain:.2} |")
}

fn solve(elements: &SubsceneElements, counters: &mut dyn Counters) -> Result<SubsceneSolution, StepError> {
    elements.solve(counters, SEED, number("STAGE"), &Unmonitored)
}

/// The solution, and the seconds of the fastest run; counters are made anew each time, which is not timed.
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

/// Counters that say how full the blocks of threads are of what they shoot.
struct Watched<'a> {
    counters: &'a mut dyn Counters,
    rays: f64,
    squares: f64,
}

impl<'a> Watched<'a> {
    /// The deviation of blocks (equation 5.5) over all bounces. A card is given a stage in several goes, but in whole blocks
    /// to the last; who counts changes nothing.
    fn deviation(elements: &SubsceneElements, counters: &'a mut dyn Counters) -> Result<f64, StepError> {
        let mut watched = Watched { counters, rays: 0.0, squares: 0.0 };
        solve(elements, &mut watched)?;
        Ok((watched.squares / watched.rays).sqrt())
    }
}

impl Counters for Watched<'_> {
    fn shoot(&mut self, bounce: &CountedBounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        let rays: f64 = bounce.allotment.iter().map(|&rays| f64::from(rays)).sum();
        self.rays += rays;
        self.squares += rays * bounce.stages.deviation_of_blocks(bounce.allotment, BLOCK).powi(2);
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
