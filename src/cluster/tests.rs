//! Tests of distributions over local ranks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::distribute::{FRAGMENT, REQUEST};
use super::*;
use crate::geometry::sobol::hash2;
use crate::progress::{Cancelled, Monitor, Unmonitored};

/// Work of a number of units. The result of a unit is its hash.
struct Hashes(u32);

impl Work for Hashes {
    fn units(&self) -> u32 {
        self.0
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        monitor.check()?;
        Ok(units.flat_map(|unit| hash2(17, unit).to_le_bytes()).collect())
    }
}

fn queue(fragments: Fragments, reissue: bool) -> Strategy {
    Strategy::WorkQueue { fragments, reissue }
}

/// Distributes hashes and returns the bytes of all units, and the report.
fn run(units: u32, ranks: u32, strategy: Strategy, schedule: Schedule) -> (Vec<u8>, ClusterReport) {
    let mut outcomes = run_local(ranks, schedule, |communicator| {
        let mut bytes = vec![0; 4 * units as usize];
        let mut receive = |units: Range<u32>, part: Vec<u8>| {
            let place = &mut bytes[4 * units.start as usize..4 * units.end as usize];
            assert!(place.iter().all(|&byte| byte == 0), "units {units:?} came twice");
            place.copy_from_slice(&part);
        };
        let speed = communicator.rank().0 as f32 + 1.0;
        let report = distribute(communicator, &Hashes(units), strategy, speed, &mut receive, &Unmonitored).unwrap();
        assert_eq!(report.is_some(), communicator.rank() == Rank::MASTER);
        report.map(|report| (bytes, report))
    });
    outcomes.swap_remove(0).unwrap()
}

#[test]
fn every_strategy_schedule_and_number_of_ranks_gives_the_same_bytes() {
    const UNITS: u32 = 37;
    let expected = Hashes(UNITS).compute(0..UNITS, &Unmonitored).unwrap();
    let strategies = [
        Strategy::Equally,
        Strategy::SpeedProportional,
        queue(Fragments::Count(9), false),
        queue(Fragments::Count(12), true),
        queue(Fragments::Adaptive, true),
    ];
    let schedules = (0..60).map(Schedule::Random).chain([Schedule::InTurn, Schedule::Parallel]);
    for schedule in schedules {
        for strategy in strategies {
            for ranks in 1..=4 {
                let (bytes, report) = run(UNITS, ranks, strategy, schedule);
                assert_eq!(bytes, expected, "{strategy:?}, {ranks} ranks, {schedule:?}");
                assert_eq!(report.ranks.iter().map(|rank| rank.units).sum::<u32>(), UNITS);
            }
        }
    }
}

#[test]
fn each_rank_asks_once_more_than_it_computes() {
    for schedule in (0..40).map(Schedule::Random) {
        let (_, report) = run(100, 5, queue(Fragments::Count(20), false), schedule);
        assert_eq!((report.fragments, report.requests, report.reissued), (20, 20 + 5, 0));
        // The master sends itself no result.
        assert_eq!(report.results, 20 - report.ranks[0].fragments);
    }
}

#[test]
fn ranks_without_work_end_too() {
    for strategy in [Strategy::Equally, Strategy::SpeedProportional, queue(Fragments::Count(1), true)] {
        for units in [0, 1, 3] {
            let (bytes, _) = run(units, 5, strategy, Schedule::Random(units));
            assert_eq!(bytes.len(), 4 * units as usize);
        }
    }
}

#[test]
fn speeds_decide_on_the_units_of_each_rank() {
    let (_, report) = run(60, 3, Strategy::SpeedProportional, Schedule::InTurn);
    assert_eq!(report.ranks.iter().map(|rank| rank.units).collect::<Vec<_>>(), [10, 20, 30]);
}

/// Work that begins when a rank is lost.
struct AfterLoss<'a> {
    work: Hashes,
    is_lost: &'a AtomicBool,
}

impl Work for AfterLoss<'_> {
    fn units(&self) -> u32 {
        self.work.units()
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        while !self.is_lost.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        self.work.compute(units, monitor)
    }
}

/// Runs three ranks, of which rank 1 takes a fragment and ends. Returns what the master finds.
fn run_with_lost_rank(reissue: bool, schedule: Schedule) -> Result<Option<ClusterReport>, ClusterError> {
    let is_lost = AtomicBool::new(false);
    let work = AfterLoss { work: Hashes(50), is_lost: &is_lost };
    let mut outcomes = run_local(3, schedule, |communicator| {
        if communicator.rank() == Rank(1) {
            communicator.send(Rank::MASTER, REQUEST, Vec::new());
            assert_eq!(communicator.recv(None, None).unwrap().tag, FRAGMENT);
            is_lost.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let strategy = queue(Fragments::Count(12), reissue);
        distribute(communicator, &work, strategy, 1.0, &mut |_, _| {}, &Unmonitored)
    });
    outcomes.swap_remove(0)
}

#[test]
fn what_a_lost_rank_had_is_computed_by_others() {
    for schedule in (0..50).map(Schedule::Random).chain([Schedule::InTurn, Schedule::Parallel]) {
        let report = run_with_lost_rank(true, schedule).unwrap().unwrap();
        assert_eq!(report.ranks.iter().map(|rank| rank.units).sum::<u32>(), 50);
        assert!(report.reissued > 0 && report.ranks[1].units == 0);
    }
}

#[test]
fn without_reissue_a_lost_rank_is_named() {
    for schedule in (0..50).map(Schedule::Random).chain([Schedule::InTurn, Schedule::Parallel]) {
        assert_eq!(run_with_lost_rank(false, schedule).unwrap_err(), ClusterError::Lost(Rank(1)));
    }
}

/// Monitor that cancels after the first progress.
#[derive(Default)]
struct Impatient(AtomicBool);

impl Monitor for Impatient {
    fn progress(&self, _fraction: f32) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn all_ranks_end_when_the_master_cancels() {
    for schedule in (0..50).map(Schedule::Random).chain([Schedule::InTurn, Schedule::Parallel]) {
        let outcomes = run_local(3, schedule, |communicator| {
            let strategy = queue(Fragments::Count(30), true);
            let monitor = Impatient::default();
            distribute(communicator, &Hashes(30), strategy, 1.0, &mut |_, _| {}, &monitor)
        });
        assert_eq!(outcomes, [Err(Cancelled.into()), Ok(None), Ok(None)]);
    }
}
