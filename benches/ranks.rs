//! Counted radiosity on many ranks: prints the tables of `docs/benchmarks/ranks.md`.
//!
//! ```text
//! cargo bench --no-default-features --bench ranks -- workers|factors|packets|polls [SCENE...]
//! ```
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

use std::error::Error;

use bevy_radiosity::builtin_scenes;
use bevy_radiosity::cluster::{LocalCommunicator, Schedule, run_local};
use bevy_radiosity::partition::{CellTracer, Factor, Fineness, PartitionKind, PartitionSettings, Polygons, imbalance};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{PacketSettings, Packets, RankSolution, solve_on_rank};
use bevy_radiosity::scene::Scene;

/// Seed of all solutions, so that all shoot the same rays.
const SEED: u32 = 7;

/// Number of ranks of all tables but the first, as in the thesis.
const MAX_RANKS: u32 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let (table, scenes) = arguments.split_first().ok_or("name a table: workers, factors, packets or polls")?;
    let all = ["edificio", "salon", "estudio"].map(str::to_owned);
    println!(
        "| scene | partition | factor | ranks | packets of | poll every | sigma | partition, cpu-s | cpu-s of all ranks | of the busiest | rays | handed on | packets | complete | bounces |"
    );
    println!("|{}", " --- |".repeat(15));
    for name in if scenes.is_empty() { &all } else { scenes } {
        let scene = builtin_scenes::build(name).ok_or_else(|| format!("there is no scene {name}"))?;
        let row = |partition: PartitionSettings, packets| print(name, &scene, partition, packets);
        let packets = PacketSettings::default();
        match table.as_str() {
            "workers" => {
                row(settings(PartitionKind::Uniform, Factor::Area, 1), packets)?;
                for ranks in [2, 4, 8, 16, MAX_RANKS] {
                    row(settings(PartitionKind::Uniform, Factor::Area, ranks), packets)?;
                    row(settings(PartitionKind::Balanced, Factor::Area, ranks), packets)?;
                    row(settings(PartitionKind::Balanced, Factor::Power, ranks), packets)?;
                }
            }
            "factors" => {
                for weight in [0.0, 0.5, 1.0, 2.0, 3.7, 7.5, 15.0] {
                    row(settings(PartitionKind::Balanced, Factor::Both(weight), MAX_RANKS), packets)?;
                }
            }
            "packets" => {
                for rays_per_packet in [1, 20, 100, 400, 1_000, 10_000] {
                    let packets = PacketSettings { rays_per_packet, ..packets };
                    row(settings(PartitionKind::Balanced, Factor::Area, MAX_RANKS), packets)?;
                }
            }
            "polls" => {
                for rays_per_poll in [1, 100, 300, 500, 900, 1_300, u32::MAX] {
                    let packets = PacketSettings { rays_per_poll, ..packets };
                    row(settings(PartitionKind::Balanced, Factor::Area, MAX_RANKS), packets)?;
                }
            }
            other => return Err(format!("there is no table {other}").into()),
        }
    }
    Ok(())
}

fn settings(kind: PartitionKind, factor: Factor, count: u32) -> PartitionSettings {
    PartitionSettings { kind, count, factor, ..PartitionSettings::default() }
}

fn print(
    name: &str,
    scene: &Scene,
    partition: PartitionSettings,
    packets: PacketSettings,
) -> Result<(), Box<dyn Error>> {
    let before = thread_seconds();
    let cells = CellTracer::new(scene, &Fineness::default(), &partition)?;
    let partition_seconds = thread_seconds() - before;
    let (polygons, _) = Polygons::of_scene(scene);
    let areas: Vec<f64> = (0..polygons.len()).map(|polygon| polygons.area(polygon)).collect();
    let sigma = imbalance(&cells.partition().loads(&polygons, &areas));
    // One rank runs at a time, so others do not slow it down.
    let found = run_local(partition.count, Schedule::InTurn, |communicator: &LocalCommunicator| {
        let before = thread_seconds();
        let part = solve_on_rank(communicator, scene, &Fineness::default(), &partition, packets, SEED, &Unmonitored);
        part.map(|part| (part, thread_seconds() - before))
    });
    let found: Vec<(RankSolution, f64)> = found.into_iter().collect::<Result<_, _>>()?;
    let all: f64 = found.iter().map(|(_, seconds)| seconds).sum();
    let busiest = found.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let sum = |of: fn(&Packets) -> u64| found.iter().map(|(part, _)| of(&part.packets)).sum::<u64>();
    println!(
        "| {name} | {:?} | {:?} | {} | {} | {} | {sigma:.4} | {partition_seconds:.3} | {all:.3} | {busiest:.3} | {} | {} | {} | {} | {} |",
        partition.kind,
        partition.factor,
        partition.count,
        packets.rays_per_packet,
        packets.rays_per_poll,
        found[0].0.solution.rays,
        sum(|packets| packets.rays),
        sum(|packets| packets.packets),
        sum(|packets| packets.complete),
        found[0].0.solution.bounces,
    );
    Ok(())
}

/// Returns the CPU time of this thread, in seconds.
fn thread_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanoseconds: f64 = stat.split(' ').next().and_then(|time| time.parse().ok()).expect("a number comes first");
    nanoseconds * 1e-9
}
