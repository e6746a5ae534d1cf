//! What cutting a scene into cells is worth.
//!
//! Prints three tables; names of tables as arguments leave out the others:
//!
//! * `rays`: the same rays through the cells of partitions of every kind and through a KD-tree, on the same graphics card.
//!   `RAYS` in the environment asks for more of them, which a card needs to have its hands full: a million, or more.
//! * `solutions`: all bounces of stochastic radiosity, with rays that the card counts from cell to cell, beside one thread of
//!   the processor that counts the same rays through a KD-tree (tables 5.1 and 5.2 of Sanjurjo's thesis). `STAGE` in the
//!   environment says how many elements of each cell are shot at a time (the thesis' Nps); all, if it does not. Software that
//!   stands in for a card would take hours and is left out, unless `SOFTWARE=1` asks for it.
//! * `evenness`: how evenly uniform and balanced cells share out areas and rays, and what that is worth in time. It needs no card.

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

/// A number from the environment.
fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Seconds of the fastest of three runs, of which the first may compile.
fn fastest<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut seconds = f64::INFINITY;
    for _ in 0..3 {
        let started = Instant::now();
        run()?;
        seconds = seconds.min(started.elapsed().as_secs_f64());
    }
    Ok(seconds)
}
