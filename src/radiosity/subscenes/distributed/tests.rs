//! Tests of counted rays on many ranks.

use super::*;
use crate::builtin_scenes;
use crate::cluster::{LocalCommunicator, Schedule, run_local};
use crate::partition::PartitionKind;
use crate::progress::Unmonitored;
use crate::radiosity::CpuCounters;
use crate::scene::{Scene, Sides};

const SEED: u32 = 7;
const FINENESS: Fineness = Fineness { threshold: 1e-3, largest_element: 0.3 };

/// Solves in one process with one tree, and returns the arrivals of the last bounce too.
fn alone(scene: &Scene, fineness: &Fineness) -> (SubsceneSolution, Counts) {
    let one = PartitionSettings { kind: PartitionKind::Uniform, count: 1, ..PartitionSettings::default() };
    let tracer = CellTracer::new(scene, fineness, &one).unwrap();
    let elements = SubsceneElements::new(scene, &tracer);
    let mut counters = CpuCounters::with_tree(&tracer, &elements);
    let solution = elements.solve(&mut counters, SEED, None, &Unmonitored).unwrap();
    (solution, counters.counts().unwrap())
}

/// Solves on ranks. Returns the solution and the counts of the last bounce, both of the whole scene, and all packets.
fn together(
    scene: &Scene,
    fineness: &Fineness,
    kind: PartitionKind,
    ranks: u32,
    packets: PacketSettings,
    schedule: Schedule,
) -> (SubsceneSolution, Counts, Packets) {
    let partition = PartitionSettings { kind, ..PartitionSettings::default() };
    let found = run_local(ranks, schedule, |communicator: &LocalCommunicator| {
        let part = solve_on_rank(communicator, scene, fineness, &partition, packets, SEED, &Unmonitored).unwrap();
        (part.clone(), part.gather(communicator).unwrap())
    });
    let mut counts = Counts::default();
    let mut arrived = Vec::new();
    let mut sum = Packets::default();
    for (part, _) in &found {
        sum.shot += part.packets.shot;
        arrived.extend(part.numbers.iter().zip(part.counts.arrived.chunks(3)));
        counts.escaped += part.counts.escaped;
        counts.absorbed += part.counts.absorbed;
        sum.packets += part.packets.packets;
        sum.complete += part.packets.complete;
        sum.rays += part.packets.rays;
        sum.polls += part.packets.polls;
    }
    arrived.sort_by_key(|(number, _)| **number);
    counts.arrived = arrived.into_iter().flat_map(|(_, channels)| channels).copied().collect();
    let of_ranks: Vec<Packets> = found.iter().map(|(part, _)| part.packets).collect();
    let mut solutions = found.into_iter().map(|(_, solution)| solution);
    let GatheredSolution { solution, packets } = solutions.next().unwrap().unwrap();
    assert!(solutions.all(|solution| solution.is_none()));
    assert_eq!((packets, sum.shot), (of_ranks, solution.rays));
    (solution, counts, sum)
}

#[test]
fn counts_are_those_of_one_process_for_any_number_of_ranks_and_kind_of_partition() {
    let scene = builtin_scenes::build("habitacion").unwrap();
    let expected = alone(&scene, &FINENESS);
    let uniform = [1, 2, 3, 8, 32].map(|ranks| (PartitionKind::Uniform, ranks));
    let others = [(PartitionKind::Balanced, 2), (PartitionKind::Balanced, 16), (PartitionKind::Hybrid, 15)];
    for (kind, ranks) in uniform.into_iter().chain(others) {
        let packets = PacketSettings::default();
        let (solution, counts, packets) = together(&scene, &FINENESS, kind, ranks, packets, Schedule::Parallel);
        assert!(counts == expected.1, "{kind:?} {ranks}");
        assert_eq!(solution, expected.0, "{kind:?} {ranks}");
        assert_eq!(packets.rays > solution.rays / 20, ranks > 1, "{kind:?} {ranks}: {packets:?}");
    }
}

#[test]
fn counts_are_those_of_one_process_where_rays_escape_backs_shine_and_walls_lie_in_borders() {
    let mut scene = builtin_scenes::build("cornell_box").unwrap();
    scene.surfaces.iter_mut().step_by(2).for_each(|surface| surface.sides = Sides::Both);
    let expected = alone(&scene, &FINENESS);
    assert!(expected.0.escaped > 0 && expected.0.absorbed > 0);
    for ranks in [4, 8] {
        let kind = PartitionKind::Uniform;
        let found = together(&scene, &FINENESS, kind, ranks, PacketSettings::default(), Schedule::Parallel);
        assert!(found.0 == expected.0 && found.1 == expected.1, "{ranks} ranks");
    }
    let scene = builtin_scenes::build("edificio").unwrap();
    let fineness = Fineness { largest_element: 4.0, ..FINENESS };
    let expected = alone(&scene, &fineness);
    let kind = PartitionKind::Uniform;
    let found = together(&scene, &fineness, kind, 8, PacketSettings::default(), Schedule::Parallel);
    assert!(found.0 == expected.0 && found.1 == expected.1);
}

#[test]
fn fewer_rays_a_packet_make_more_packets_and_the_same_counts() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let solve = |rays_per_packet, rays_per_poll| {
        let packets = PacketSettings { rays_per_packet, rays_per_poll };
        together(&scene, &FINENESS, PartitionKind::Uniform, 4, packets, Schedule::InTurn)
    };
    let (one, ten, many) = (solve(1, 100), solve(10, 1), solve(10_000, 100));
    assert!(one.0 == ten.0 && one.0 == many.0 && one.1 == many.1);
    assert!(one.2.packets > ten.2.packets && ten.2.packets > many.2.packets, "{:?} {:?}", one.2, many.2);
    assert_eq!((one.2.complete, one.2.rays), (one.2.rays, ten.2.rays), "each packet of one ray is complete");
    assert!(ten.2.polls > one.2.polls && ten.2.complete * 10 <= ten.2.rays);
}

/// Number of random schedules. `SCHEDULES=10000` runs those of `docs/validation/ranks.md`.
fn schedules() -> u32 {
    std::env::var("SCHEDULES").map_or(100, |count| count.parse().expect("a number"))
}

#[test]
fn however_messages_are_delayed_no_ray_is_lost_or_counted_twice_and_no_bounce_ends_early_or_never() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let fineness = Fineness { threshold: 1e-3, largest_element: 3.0 };
    let expected = alone(&scene, &fineness);
    for seed in 0..schedules() {
        let (kind, ranks) =
            [(PartitionKind::Uniform, 2), (PartitionKind::Uniform, 3), (PartitionKind::Balanced, 4)][seed as usize % 3];
        let packets = PacketSettings { rays_per_packet: 1 + seed % 40, rays_per_poll: 1 + seed % 50 };
        let found = together(&scene, &fineness, kind, ranks, packets, Schedule::Random(seed));
        assert!(found.0 == expected.0 && found.1 == expected.1, "schedule {seed}");
    }
}

#[test]
fn ranks_that_cannot_share_a_scene_say_so() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let solve = |ranks, kind, rays_per_packet| {
        let partition = PartitionSettings { kind, ..PartitionSettings::default() };
        let packets = PacketSettings { rays_per_packet, ..PacketSettings::default() };
        let errors = run_local(ranks, Schedule::InTurn, |communicator| {
            solve_on_rank(communicator, &scene, &FINENESS, &partition, packets, SEED, &Unmonitored).unwrap_err()
        });
        assert!(errors.iter().all(|error| *error == errors[0]));
        errors[0].clone()
    };
    let fewer = PartitionError::OtherRanks { ranks: 9, cells: 8 };
    assert_eq!(solve(9, PartitionKind::Hybrid, 1), RankError::Partition(fewer));
    assert_eq!(solve(2, PartitionKind::Uniform, 0), RankError::EmptyPackets);
    assert!(matches!(solve(3, PartitionKind::Balanced, 1), RankError::Partition(_)));
}

/// Monitor of a user who cancels at once.
struct Impatient;

impl Monitor for Impatient {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn all_ranks_end_if_one_is_cancelled() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let partition = PartitionSettings { kind: PartitionKind::Uniform, ..PartitionSettings::default() };
    let errors = run_local(4, Schedule::InTurn, |communicator| {
        let monitor: &dyn Monitor = if communicator.rank() == Rank(2) { &Impatient } else { &Unmonitored };
        let packets = PacketSettings::default();
        solve_on_rank(communicator, &scene, &FINENESS, &partition, packets, SEED, monitor).unwrap_err()
    });
    assert!(errors.iter().all(|error| *error == RankError::Step(crate::progress::Cancelled.into())));
}
