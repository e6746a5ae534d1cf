//! Counted radiosity on many ranks: prints the tables of `docs/benchmarks/ranks.md`.
//!
//! ```text
//! cargo bench --no-default-features --bench ranks -- workers|factors|packets|polls|speedups [SCENE...]
//! ```
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

use std::cell::Cell;
use std::error::Error;

use bevy_radiosity::builtin_scenes;
use bevy_radiosity::cluster::{
    Communicator, LocalCommunicator, Message, NoSenderError, Rank, Schedule, SimulatedMachines, Tag, run_local,
};
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
    let (table, scenes) =
        arguments.split_first().ok_or("name a table: workers, factors, packets, polls or speedups")?;
    let all = ["edificio", "salon", "estudio"].map(str::to_owned);
    let scenes = if scenes.is_empty() { &all } else { scenes };
    if table == "speedups" {
        return print_speedups(scenes);
    }
    println!(
        "| scene | partition | factor | ranks | packets of | poll every | sigma | partition, cpu-s | cpu-s of all ranks | of the busiest | rays | handed on | packets | complete | bounces |"
    );
    println!("|{}", " --- |".repeat(15));
    for name in scenes {
        let scene = build(name)?;
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

fn build(name: &str) -> Result<Scene, String> {
    builtin_scenes::build(name).ok_or_else(|| format!("there is no scene {name}"))
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

/// Seconds of one processor of the thesis, all bounces (section 4.3; those of the last two are swapped there).
const SECONDS_OF_ONE: [(&str, f64); 3] = [("edificio", 19.21), ("salon", 23.48), ("estudio", 12.50)];

/// Latency of the thesis' network, in seconds, and its bandwidth.
const LATENCY: f64 = 6e-6;
const BYTES_PER_SECOND: f64 = 2e9;

/// Prints speed-ups of simulated ranks, one of which takes as long as the thesis' processor.
fn print_speedups(scenes: &[String]) -> Result<(), Box<dyn Error>> {
    println!("| scene | partition | factor | ranks | slowdown | seconds | speed-up | without latency |");
    println!("|{}", " --- |".repeat(8));
    for name in scenes {
        let scene = build(name)?;
        let of_one = SECONDS_OF_ONE.iter().find(|(scene, _)| scene == name).ok_or("the thesis does not time it")?.1;
        let machines = SimulatedMachines {
            clock: bounce_seconds,
            slowdown: 1.0,
            latency: LATENCY,
            bytes_per_second: BYTES_PER_SECOND,
        };
        let alone = simulate(&scene, settings(PartitionKind::Uniform, Factor::Area, 1), machines)?;
        let machines = SimulatedMachines { slowdown: of_one / alone, ..machines };
        for ranks in [2, 4, 8, 16, MAX_RANKS] {
            for (kind, factor) in [
                (PartitionKind::Uniform, Factor::Area),
                (PartitionKind::Balanced, Factor::Area),
                (PartitionKind::Balanced, Factor::Power),
            ] {
                let seconds = simulate(&scene, settings(kind, factor, ranks), machines)?;
                let instant = SimulatedMachines { latency: 0.0, bytes_per_second: f64::INFINITY, ..machines };
                let without_latency = simulate(&scene, settings(kind, factor, ranks), instant)?;
                println!(
                    "| {name} | {kind:?} | {factor:?} | {ranks} | {:.1} | {seconds:.2} | {:.2} | {:.2} |",
                    machines.slowdown,
                    of_one / seconds,
                    of_one / without_latency,
                );
            }
        }
    }
    Ok(())
}

/// Returns the time of all bounces on simulated ranks, in seconds.
fn simulate(scene: &Scene, partition: PartitionSettings, machines: SimulatedMachines) -> Result<f64, Box<dyn Error>> {
    let found = run_local(partition.count, Schedule::Simulated(machines), |communicator: &LocalCommunicator| {
        let bounces = Bounces(communicator);
        let packets = PacketSettings::default();
        solve_on_rank(&bounces, scene, &Fineness::default(), &partition, packets, SEED, &Unmonitored)
            .map(|_| communicator.seconds())
    });
    let seconds: Vec<f64> = found.into_iter().collect::<Result<_, _>>()?;
    Ok(seconds.into_iter().fold(0.0, f64::max))
}

thread_local! {
    /// CPU time at which this rank began its bounces.
    static BEGAN: Cell<Option<f64>> = const { Cell::new(None) };
}

/// Returns the CPU time that this rank has spent on bounces, in seconds.
fn bounce_seconds() -> f64 {
    BEGAN.get().map_or(0.0, |began| thread_seconds() - began)
}

/// Communicator of a rank. The first message begins the bounces.
struct Bounces<'a>(&'a LocalCommunicator<'a>);

impl Bounces<'_> {
    fn begun(&self) -> &LocalCommunicator<'_> {
        BEGAN.set(BEGAN.get().or_else(|| Some(thread_seconds())));
        self.0
    }
}

impl Communicator for Bounces<'_> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn size(&self) -> u32 {
        self.0.size()
    }

    fn send(&self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        self.begun().send(to, tag, bytes);
    }

    fn try_recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        self.begun().try_recv(from, tag)
    }

    fn recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Message, NoSenderError> {
        self.begun().recv(from, tag)
    }
}

/// Returns the CPU time of this thread, in seconds.
fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a local value.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(code, 0, "each thread has a clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
