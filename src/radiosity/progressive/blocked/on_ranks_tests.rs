//! Tests of progressive refinement on ranks.

use glam::Vec3;

use super::Refine;
use super::division::Division;
use super::on_ranks::{OnRanks, RankSubscenes, RefinementHelper, Texels, refine_on_ranks};
use super::rank::RoundCount;
use super::tests::{Fixture, cut, room_with_block, shoot_all};
use crate::cluster::{Communicator, LocalCommunicator, Rank, RankTeam, Schedule, Strategy, run_local, serve};
use crate::partition::{PartitionError, PartitionKind};
use crate::radiosity::progressive::Options;
use crate::radiosity::{SolveError, SolverSettings, SubsceneSettings};

/// Number of random schedules. `SCHEDULES=10000` runs those of `docs/validation/ranks.md`.
fn schedules() -> u32 {
    std::env::var("SCHEDULES").map_or(8, |count| count.parse().expect("a number"))
}

/// Refines on threads of this process.
fn on_threads<T>(
    fixture: &Fixture,
    settings: &SubsceneSettings,
    schedule: Schedule,
    refine: impl FnOnce(&mut OnRanks) -> T,
) -> T {
    let options = Fixture::options(1 << 30);
    let division = Division::new(fixture.place(), &fixture.sources, &options, settings).unwrap();
    let subscenes = RankSubscenes::all(division, &options).unwrap();
    let texels = Texels { scene: &fixture.scene, elements: &fixture.elements };
    subscenes.on_threads(texels, schedule, |refinement| refine(&mut refinement.unwrap()))
}

fn on_ranks(kind: PartitionKind, count: u32) -> SubsceneSettings {
    SubsceneSettings { ranks: true, ..cut(kind, count, 8) }
}

#[test]
fn on_ranks_the_light_is_that_of_workers_in_turn_and_the_same_however_messages_are_delayed() {
    let fixture = Fixture::new(&room_with_block());
    for (kind, count) in [(PartitionKind::Uniform, 6), (PartitionKind::Balanced, 4)] {
        let settings = on_ranks(kind, count);
        let shoot_on_ranks = |schedule, tolerance| {
            on_threads(&fixture, &settings, schedule, |refinement| {
                shoot_all(refinement, tolerance);
                refinement.received()
            })
        };
        let in_turn = fixture.blocked(&cut(kind, count, 8), 1 << 30, 1e-3);
        let difference = fixture.difference(&in_turn, &shoot_on_ranks(Schedule::Parallel, 1e-3));
        assert!(difference < 3e-3, "{kind:?}: {difference}");
        let expected = shoot_on_ranks(Schedule::InTurn, 1.0);
        for seed in 0..schedules() {
            assert!(shoot_on_ranks(Schedule::Random(seed), 1.0) == expected, "{kind:?}, schedule {seed}");
        }
    }
}

#[test]
fn each_shot_comes_to_every_rank_once() {
    let fixture = Fixture::new(&room_with_block());
    for (kind, count) in [(PartitionKind::Uniform, 3), (PartitionKind::Uniform, 12), (PartitionKind::Hybrid, 15)] {
        for seed in 0..3 {
            on_threads(&fixture, &cut(kind, count, 4), Schedule::Random(seed), |refinement| {
                for _ in 0..3 {
                    let before = refinement.shots();
                    refinement.shoot_on(0.01, &|| true).unwrap();
                    let shot = u64::from(refinement.shots() - before);
                    let counts: Vec<_> = refinement.reports.iter().map(|report| report.count).collect();
                    assert!(shot > 3 && counts.iter().all(|count| count.total() == shot), "{kind:?}: {counts:?}");
                }
            });
        }
    }
}

#[test]
fn subscenes_of_threads_that_do_not_fit_into_one_process_are_refused() {
    let fixture = Fixture::new(&room_with_block());
    let options = Fixture::options(1 << 12);
    let settings = on_ranks(PartitionKind::Uniform, 4);
    let division = Division::new(fixture.place(), &fixture.sources, &options, &settings).unwrap();
    let error = RankSubscenes::all(division, &options).err();
    assert_eq!(error, Some(PartitionError::RanksBeyondMemory { bytes: 1 << 11 }));
    assert_eq!(on_ranks(PartitionKind::Uniform, 65).check(), Err(PartitionError::TooManyRanks { count: 65, max: 64 }));
}

#[test]
fn a_checkpoint_of_ranks_leads_to_the_same_light() {
    let fixture = Fixture::new(&room_with_block());
    let settings = on_ranks(PartitionKind::Uniform, 3);
    let light = vec![Vec3::splat(0.1); fixture.elements.len()];
    let (state, expected) = on_threads(&fixture, &settings, Schedule::Parallel, |refinement| {
        refinement.shoot_on(0.1, &|| true).unwrap();
        refinement.add(&light).unwrap();
        let state = refinement.state();
        shoot_all(refinement, 0.1);
        (state, (refinement.state(), refinement.rays()))
    });
    on_threads(&fixture, &settings, Schedule::Parallel, |refinement| {
        let mut other = state.clone();
        other.power.pop();
        assert_eq!(refinement.resume(&other), Ok(false));
        assert_eq!(refinement.resume(&state), Ok(true));
        assert_eq!(refinement.state(), state);
        assert_eq!(refinement.shoot_on(0.1, &|| false), Ok(false));
        assert_eq!(refinement.state(), state, "a round that is not begun changes nothing");
        shoot_all(refinement, 0.1);
        assert!((refinement.state(), refinement.rays()) == expected);
    });
}

/// Refines on ranks that prepare their own subscene. Each rank has its own settings.
fn on_team(
    fixture: &Fixture,
    size: u32,
    schedule: Schedule,
    settings: impl Fn(Rank) -> SolverSettings + Sync,
) -> Result<Vec<Vec3>, SolveError> {
    let run = |communicator: &LocalCommunicator| {
        let settings = settings(communicator.rank());
        let Fixture { scene, world, elements, sources, .. } = fixture;
        let strategy = Strategy::default();
        if communicator.rank() == Rank::MASTER {
            let team = RankTeam::new(communicator, strategy, 1.0);
            let (options, subscenes) = (Options::of(&settings), settings.subscenes.unwrap());
            return Some(refine_on_ranks(fixture.place(), sources, &options, &subscenes, Some(&team), |refinement| {
                shoot_all(refinement, 1.0);
                Ok(refinement.received())
            }));
        }
        let helper = RefinementHelper::new(communicator, scene, world, elements, &settings);
        serve(communicator, strategy, 1.0, &|_| Ok(None), &|order| helper.join(order)).unwrap();
        None
    };
    run_local(size, schedule, run).swap_remove(0).expect("the master")
}

#[test]
fn ranks_that_prepare_their_own_subscene_find_the_light_of_threads() {
    let fixture = Fixture::new(&room_with_block());
    for (kind, count) in [(PartitionKind::Uniform, 6), (PartitionKind::Balanced, 4)] {
        let settings = SolverSettings { subscenes: Some(on_ranks(kind, count)), ..SolverSettings::default() };
        let (options, subscenes) = (Options::of(&settings), on_ranks(kind, count));
        let threads = refine_on_ranks(fixture.place(), &fixture.sources, &options, &subscenes, None, |refinement| {
            shoot_all(refinement, 1.0);
            Ok(refinement.received())
        });
        for schedule in (0..5).map(Schedule::Random).chain([Schedule::Parallel]) {
            assert!(on_team(&fixture, count, schedule, |_| settings) == threads, "{kind:?}, {schedule:?}");
        }
    }
}

#[test]
fn a_rank_that_cannot_take_part_is_named_and_all_end() {
    let fixture = Fixture::new(&room_with_block());
    let settings = SolverSettings { subscenes: Some(on_ranks(PartitionKind::Uniform, 4)), ..SolverSettings::default() };
    let small = SolverSettings { memory_mib: 0, ..settings };
    let refused = |of_rank: &(dyn Fn(Rank) -> SolverSettings + Sync), size| {
        on_team(&fixture, size, Schedule::Random(3), of_rank).unwrap_err().to_string()
    };
    let refusal = refused(&|rank| if rank == Rank(2) { small } else { settings }, 4);
    assert!(refusal.starts_with("rank 2: subscenes on ranks need more than 0 MiB"), "{refusal}");
    let refusal = refused(&|rank| if rank == Rank(0) { small } else { settings }, 4);
    assert!(refusal.starts_with("subscenes on ranks need"), "{refusal}");
    let refusal = refused(&|_| settings, 3);
    assert!(refusal.starts_with("3 ranks cannot share 4 subscenes, one each: start 4"), "{refusal}");
}

#[test]
#[ignore = "prints a table"]
fn what_ranks_send() {
    let fixture = Fixture::new(&room_with_block());
    for (kind, count) in [(PartitionKind::Uniform, 2), (PartitionKind::Uniform, 8), (PartitionKind::Balanced, 8)] {
        on_threads(&fixture, &on_ranks(kind, count), Schedule::Parallel, |refinement| {
            let mut sums = vec![[0; 3]; count as usize];
            let mut rounds = 0;
            while refinement.strongest_power().is_some_and(|power| power > 0.01) {
                refinement.shoot_on(0.01, &|| true).unwrap();
                rounds += 1;
                for (sum, report) in sums.iter_mut().zip(&refinement.reports) {
                    let RoundCount { shot, received, sent } = report.count;
                    sum.iter_mut().zip([shot, received, sent]).for_each(|(sum, count)| *sum += count);
                }
            }
            for (rank, ([shot, received, sent], report)) in sums.iter().zip(&refinement.reports).enumerate() {
                let patches = report.light.power.len();
                println!(
                    "| {kind:?} | {rounds} | {rank} | {patches} | {shot} | {received} | {sent} | {} |",
                    report.traced
                );
            }
        });
    }
}
