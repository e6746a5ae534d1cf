//! Queue of fragments: which worker computes which units.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Rank, split_equally};

/// Number of fragments into which a queue divides its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fragments {
    /// Fragments of equal length. There are at least as many as workers, and at most as many as units. More balance
    /// unequal workers better, and cost more messages.
    Count(u32),
    /// Lengths fall with the units that are left, in proportion to the measured speed of the worker (weighted factoring,
    /// Hummel et al. 1996). The default.
    #[default]
    Adaptive,
}

/// Part of the first fragments in adaptive mode, for workers of unknown speed: this divisor times the workers.
const FIRST_DIVISOR: u32 = 32;

/// Time below which fragments are not divided further in adaptive mode, in seconds. A message takes a tenth of it.
const MIN_SECONDS: f64 = 0.002;

/// Time that a fragment takes at most in adaptive mode, in seconds, by the worker's speed so far. A killed run loses what
/// workers have not sent.
const MAX_SECONDS: f64 = 60.0;

/// Fragment that workers compute.
#[derive(Clone, Debug)]
struct Issued {
    units: Range<u32>,
    /// Workers that have got it.
    workers: Vec<Rank>,
    is_finished: bool,
}

/// Progress of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WorkerProgress {
    /// Number of units that it was the first to finish.
    pub units: u32,
    /// Number of fragments that it was the first to finish.
    pub fragments: u32,
    /// Time that it computed, in seconds, with work that others finished before.
    pub seconds: f64,
}

/// Fragments of a work, served in order to workers that ask for them.
#[derive(Clone, Debug)]
pub struct Queue {
    pending: Range<u32>,
    /// Ends of pending fragments, in descending order. Unused in adaptive mode.
    ends: Option<Vec<u32>>,
    reissue: bool,
    issued: Vec<Issued>,
    progress: Vec<WorkerProgress>,
    unfinished: usize,
    reissued: u32,
}

impl Queue {
    /// Creates a queue of all units. With `reissue`, workers that find no fragment left get those that others have not
    /// finished, so that slow or lost workers do not delay the end.
    pub fn new(units: u32, workers: u32, fragments: Fragments, reissue: bool) -> Self {
        let ends = match fragments {
            Fragments::Count(count) => {
                let ranges = split_equally(units, count.max(workers).min(units).max(1));
                Some(ranges.into_iter().rev().map(|range| range.end).collect())
            }
            Fragments::Adaptive => None,
        };
        Self { pending: 0..units, ends, reissue, ..Self::assigned(Vec::new(), workers) }
    }

    /// Creates a queue with one range per worker, which it computes without asking. Empty ranges count as finished:
    /// several of them are equal, so that their results would be taken for each other.
    pub fn assigned(ranges: Vec<Range<u32>>, workers: u32) -> Self {
        let issue = |(worker, units): (usize, Range<u32>)| Issued {
            is_finished: units.is_empty(),
            units,
            workers: vec![Rank::from_index(worker)],
        };
        let issued: Vec<Issued> = ranges.into_iter().enumerate().map(issue).collect();
        Self {
            pending: 0..0,
            ends: None,
            reissue: false,
            unfinished: issued.iter().filter(|it| !it.is_finished).count(),
            issued,
            progress: vec![WorkerProgress::default(); workers as usize],
            reissued: 0,
        }
    }

    /// Returns the next fragment for a worker, or `None` if there is none left for it.
    pub fn next(&mut self, worker: Rank) -> Option<Range<u32>> {
        if self.pending.is_empty() {
            return self.reissue_to(worker);
        }
        let end = match &mut self.ends {
            Some(ends) => ends.pop()?,
            None => self.pending.start + self.adaptive_length(worker),
        };
        let units = self.pending.start..end;
        self.pending.start = end;
        self.issued.push(Issued { units: units.clone(), workers: vec![worker], is_finished: false });
        self.unfinished += 1;
        Some(units)
    }

    /// Returns the unfinished fragment that the smallest number of workers have, and the earliest of those.
    fn reissue_to(&mut self, worker: Rank) -> Option<Range<u32>> {
        let candidates = self.issued.iter_mut().filter(|it| !it.is_finished && !it.workers.contains(&worker));
        let chosen = candidates.min_by_key(|it| it.workers.len()).filter(|_| self.reissue)?;
        chosen.workers.push(worker);
        self.reissued += 1;
        Some(chosen.units.clone())
    }

    /// Returns half of the worker's share of the pending units, within [`MIN_SECONDS`] and [`MAX_SECONDS`]. A small first
    /// fragment measures its speed.
    fn adaptive_length(&self, worker: Rank) -> u32 {
        let speed = |progress: &WorkerProgress| {
            (progress.units > 0 && progress.seconds > 0.0).then(|| f64::from(progress.units) / progress.seconds)
        };
        let pending = self.pending.len() as u32;
        let workers = self.progress.len() as u32;
        let Some(own) = speed(&self.progress[worker.index()]) else {
            return (pending / (FIRST_DIVISOR * workers)).max(1);
        };
        let known: Vec<f64> = self.progress.iter().filter_map(speed).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let share = own / (mean * f64::from(workers));
        let [min, max] = [MIN_SECONDS, MAX_SECONDS].map(|seconds| ((own * seconds) as u32).clamp(1, pending));
        ((f64::from(pending) * share / 2.0) as u32).clamp(min, max)
    }

    /// Records that a worker has finished a fragment after so many seconds. Returns true for the first one, whose result
    /// counts.
    pub fn finish(&mut self, worker: Rank, units: &Range<u32>, seconds: f64) -> bool {
        self.spend(worker, seconds);
        let Some(issued) = self.issued.iter_mut().find(|it| it.units == *units && !it.is_finished) else {
            return false;
        };
        issued.is_finished = true;
        self.unfinished -= 1;
        let progress = &mut self.progress[worker.index()];
        progress.units += units.len() as u32;
        progress.fragments += 1;
        true
    }

    /// Records that a worker has computed for so many seconds.
    pub fn spend(&mut self, worker: Rank, seconds: f64) {
        self.progress[worker.index()].seconds += seconds;
    }

    /// Returns true if a fragment is finished.
    pub fn has_finished(&self, units: &Range<u32>) -> bool {
        self.issued.iter().any(|it| it.units == *units && it.is_finished)
    }

    /// Returns true if all units are finished.
    pub fn is_finished(&self) -> bool {
        self.pending.is_empty() && self.unfinished == 0
    }

    /// Returns the number of finished units.
    pub fn finished_units(&self) -> u32 {
        self.progress.iter().map(|progress| progress.units).sum()
    }

    /// Returns the progress of each worker, by rank.
    pub fn progress(&self) -> &[WorkerProgress] {
        &self.progress
    }

    /// Returns the number of fragments so far, without those issued again.
    pub fn fragments(&self) -> u32 {
        self.issued.len() as u32
    }

    /// Returns how often a fragment was issued again.
    pub fn reissued(&self) -> u32 {
        self.reissued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Rank = Rank(0);
    const SECOND: Rank = Rank(1);

    #[test]
    fn fragments_come_in_order_and_then_none() {
        let mut queue = Queue::new(10, 2, Fragments::Count(3), false);
        let served = [FIRST, SECOND, FIRST, SECOND].map(|worker| queue.next(worker));
        assert_eq!(served, [Some(0..4), Some(4..7), Some(7..10), None]);
        assert!(!queue.is_finished());
        assert!([(FIRST, 0..4), (FIRST, 7..10), (SECOND, 4..7)].iter().all(|(who, it)| queue.finish(*who, it, 1.0)));
        assert!(queue.is_finished());
        assert_eq!(queue.progress()[0], WorkerProgress { units: 7, fragments: 2, seconds: 2.0 });
    }

    #[test]
    fn workers_without_units_are_not_waited_for() {
        let mut queue = Queue::assigned(vec![0..1, 1..1, 1..1], 3);
        assert!(!queue.is_finished() && !queue.finish(SECOND, &(1..1), 0.0));
        assert!(queue.finish(FIRST, &(0..1), 1.0) && queue.is_finished());
        assert!(Queue::assigned(vec![0..0, 0..0], 2).is_finished());
    }

    #[test]
    fn there_are_no_fewer_fragments_than_workers_and_no_more_than_units() {
        for (units, workers, asked, expected) in [(100, 16, 12, 16), (5, 2, 80, 5), (3, 8, 8, 3), (0, 2, 4, 0)] {
            let mut queue = Queue::new(units, workers, Fragments::Count(asked), false);
            while queue.next(FIRST).is_some() {}
            assert_eq!(queue.fragments(), expected, "{units} units, {workers} workers");
        }
    }

    #[test]
    fn adaptive_fragments_take_two_milliseconds_at_least() {
        let mut queue = Queue::new(6400, 2, Fragments::Adaptive, false);
        // A unit takes 2^-17 seconds, so 262 of them take two milliseconds.
        let mut lengths = Vec::new();
        while let Some(units) = queue.next(FIRST) {
            lengths.push(units.len());
            assert!(queue.finish(FIRST, &units, units.len() as f64 / 131072.0));
        }
        // A first one of a 64th, quarters of what is left for one of two workers, then 262 units each, and the rest.
        assert_eq!(lengths[..3], [100, 1575, 1181]);
        assert!(lengths[1..lengths.len() - 1].iter().all(|&length| length >= 262), "{lengths:?}");
        assert_eq!(lengths.iter().sum::<usize>(), 6400);
    }

    #[test]
    fn adaptive_fragments_take_a_minute_at_most() {
        let mut queue = Queue::new(6400, 2, Fragments::Adaptive, false);
        let first = queue.next(FIRST).unwrap();
        // Half a second a unit: a quarter of the 6300 units that are left would take 13 minutes.
        assert!(queue.finish(FIRST, &first, first.len() as f64 / 2.0));
        assert_eq!(queue.next(FIRST).unwrap().len(), 120);
        // Units of two minutes come alone.
        let mut queue = Queue::new(6400, 2, Fragments::Adaptive, false);
        let first = queue.next(FIRST).unwrap();
        assert!(queue.finish(FIRST, &first, first.len() as f64 * 120.0));
        assert_eq!(queue.next(FIRST).unwrap().len(), 1);
    }

    #[test]
    fn idle_workers_get_what_others_have_not_finished() {
        let mut queue = Queue::new(2, 2, Fragments::Count(2), true);
        assert_eq!([queue.next(FIRST), queue.next(SECOND)], [Some(0..1), Some(1..2)]);
        assert!(queue.finish(SECOND, &(1..2), 1.0));
        assert_eq!(queue.next(SECOND), Some(0..1));
        assert_eq!(queue.next(SECOND), None);
        assert!(queue.finish(SECOND, &(0..1), 1.0));
        // The late result does not count.
        assert!(!queue.finish(FIRST, &(0..1), 9.0));
        assert!(queue.is_finished());
        assert_eq!((queue.finished_units(), queue.reissued()), (2, 1));
        assert_eq!(queue.progress()[0], WorkerProgress { units: 0, fragments: 0, seconds: 9.0 });
    }

    #[test]
    fn adaptive_fragments_measure_speeds_and_then_shrink() {
        let mut queue = Queue::new(6400, 2, Fragments::Adaptive, false);
        let (first, second) = (queue.next(FIRST).unwrap(), queue.next(SECOND).unwrap());
        assert_eq!([first.len(), second.len()], [100, 98]);
        queue.finish(FIRST, &first, 1.0);
        queue.finish(SECOND, &second, 9.8);
        // Speeds are 100 and 10; shares of the 6202 units are 10 / 11 and 1 / 11, of which half is given.
        let (first, second) = (queue.next(FIRST).unwrap(), queue.next(SECOND).unwrap());
        assert_eq!([first.len(), second.len()], [2819, 153]);
        let mut lengths = Vec::new();
        while let Some(units) = queue.next(FIRST) {
            lengths.push(units.len());
        }
        assert!(lengths.is_sorted_by(|long, short| long >= short) && lengths.last() == Some(&1), "{lengths:?}");
        assert_eq!(queue.issued.iter().map(|it| it.units.len()).sum::<usize>(), 6400);
    }
}
