//! Benchmarks of partitions into cells.
//!
//! Prints three tables. Arguments select tables by name:
//!
//! * `rays`: the same rays through the cells of all kinds of partitions and through a KD-tree, on the same GPU. The
//!   environment variable `RAYS` sets their number; a fast GPU needs a million or more.
//! * `solutions`: all bounces of stochastic radiosity. The GPU traces counted rays from cell to cell, and one CPU
//!   thread traces the same rays through a KD-tree. It corresponds to tables 5.1 and 5.2 of Sanjurjo's thesis. `STAGE`
//!   sets the number of elements per cell that shoot at a time (Nps in the thesis); the default is all. A software
//!   adapter would take hours and is skipped, unless `SOFTWARE=1` is set.
//! * `evenness`: balance of area and rays over uniform and balanced cells, and its effect on time. It needs no GPU.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

mod evenness;
mod rays;
mod solutions;

use std::error::Error;
use std::time::Instant;

use bevy_radiosity::gpu::Gpu;
use bevy_radiosity::partition::{Factor, PartitionKind, PartitionSettings};

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds an argument of its own.
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let is_wanted = |table: &str| names.is_empty() || names.iter().any(|name| name == table);
    if is_wanted("evenness") {
        evenness::print_table()?;
    }
    if is_wanted("rays") {
        rays::print_table(&Gpu::headless()?)?;
    }
    if is_wanted("solutions") {
        let is_worth_timing = |gpu: &Gpu| gpu.is_hardware() || number("SOFTWARE").is_some();
        solutions::print_table(Gpu::headless().ok().filter(is_worth_timing).as_ref())?;
    }
    Ok(())
}

fn cells(kind: PartitionKind, count: u32, factor: Factor) -> PartitionSettings {
    PartitionSettings { kind, count, factor, ..PartitionSettings::default() }
}

/// Returns a number from the environment.
fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Returns the time of the fastest of three runs in seconds. The first one may compile shaders.
fn fastest<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut seconds = f64::INFINITY;
    for _ in 0..3 {
        let started = Instant::now();
        run()?;
        seconds = seconds.min(started.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
