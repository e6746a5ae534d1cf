//! Simulation of distributions: discrete events instead of machines.

use std::ops::Range;

use super::{ClusterReport, Queue, Rank, Strategy, split_by_speed, split_equally};

/// Simulated machines, and the work that they share.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// Time of each unit on a machine of speed 1, in seconds.
    pub costs: &'a [f64],
    /// Speed of each machine, above zero.
    pub speeds: &'a [f64],
    /// Time from a request to its fragment and from a result to the master, in seconds, both together.
    pub latency: f64,
}

impl Simulation<'_> {
    /// Returns the time that one machine alone would take, in seconds.
    pub fn time_alone(&self, machine: usize) -> f64 {
        self.seconds(&(0..self.costs.len() as u32), machine)
    }

    /// Returns the report of a distribution as [`distribute`](super::distribute) would run it. Rank 0 has no latency.
    ///
    /// # Panics
    /// Panics if there is no machine.
    pub fn run(&self, strategy: Strategy) -> ClusterReport {
        let (units, workers) = (self.costs.len() as u32, self.speeds.len() as u32);
        let speeds: Vec<f32> = self.speeds.iter().map(|&speed| speed as f32).collect();
        match strategy {
            Strategy::Equally => self.run_assigned(strategy, split_equally(units, workers)),
            Strategy::SpeedProportional => self.run_assigned(strategy, split_by_speed(units, &speeds)),
            Strategy::WorkQueue { fragments, reissue } => {
                self.run_queue(strategy, Queue::new(units, workers, fragments, reissue))
            }
        }
    }

    fn run_assigned(&self, strategy: Strategy, ranges: Vec<Range<u32>>) -> ClusterReport {
        let mut queue = Queue::assigned(ranges.clone(), ranges.len() as u32);
        let mut end = 0.0f64;
        for (machine, units) in ranges.iter().enumerate() {
            let seconds = self.seconds(units, machine);
            queue.finish(Rank::from_index(machine), units, seconds);
            end = end.max(seconds + self.latency_of(machine));
        }
        self.report(strategy, &queue, end, 0)
    }

    fn run_queue(&self, strategy: Strategy, mut queue: Queue) -> ClusterReport {
        // Time at which each machine asks or finishes, and the fragment it computes.
        let mut machines: Vec<(f64, Option<Range<u32>>)> = vec![(0.0, None); self.speeds.len()];
        let mut requests = 0;
        loop {
            let next = (0..machines.len()).min_by(|&one, &other| machines[one].0.total_cmp(&machines[other].0));
            let machine = next.expect("a machine");
            let rank = Rank::from_index(machine);
            let (now, finished) = (machines[machine].0, machines[machine].1.take());
            if let Some(units) = finished {
                queue.finish(rank, &units, self.seconds(&units, machine));
            }
            if queue.is_finished() {
                for (machine, (end, units)) in machines.into_iter().enumerate() {
                    if let Some(units) = units {
                        let left = end - now;
                        let spent = (self.seconds(&units, machine) - left).max(0.0);
                        queue.spend(Rank::from_index(machine), spent);
                    }
                }
                return self.report(strategy, &queue, now, requests);
            }
            requests += 1;
            machines[machine] = match queue.next(rank) {
                Some(units) => (now + self.latency_of(machine) + self.seconds(&units, machine), Some(units)),
                None => (f64::INFINITY, None),
            };
        }
    }

    fn seconds(&self, units: &Range<u32>, machine: usize) -> f64 {
        self.costs[units.start as usize..units.end as usize].iter().sum::<f64>() / self.speeds[machine]
    }

    fn latency_of(&self, machine: usize) -> f64 {
        if machine == Rank::MASTER.index() { 0.0 } else { self.latency }
    }

    fn report(&self, strategy: Strategy, queue: &Queue, seconds: f64, requests: u32) -> ClusterReport {
        let ranks = queue.progress().to_vec();
        let results = queue.fragments() - ranks[Rank::MASTER.index()].fragments;
        ClusterReport {
            strategy,
            units: self.costs.len() as u32,
            fragments: queue.fragments(),
            seconds,
            ranks,
            requests,
            results,
            reissued: queue.reissued(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::published::UNEQUAL;
    use super::super::{Fragments, efficiency_of_unequal, published_costs};
    use super::*;

    /// Time of a message over the institute's Ethernet, in seconds.
    const LATENCY: f64 = 1e-3;

    /// Returns the efficiency on five or seven machines of the document, the time and the balance factor.
    fn run(machines: usize, strategy: Strategy) -> (f64, f64, f64) {
        let times = &UNEQUAL[..machines];
        let speeds: Vec<f64> = times.iter().map(|time| times[0] / time).collect();
        let costs = published_costs(times[0]);
        let simulation = Simulation { costs: &costs, speeds: &speeds, latency: LATENCY };
        assert!((0..machines).all(|machine| (simulation.time_alone(machine) - times[machine]).abs() < 1e-6));
        let report = simulation.run(strategy);
        (efficiency_of_unequal(times, report.seconds), report.seconds, report.balance().beta)
    }

    fn queue(fragments: u32) -> Strategy {
        Strategy::WorkQueue { fragments: Fragments::Count(fragments), reissue: false }
    }

    #[test]
    fn one_machine_takes_its_own_time() {
        for strategy in [Strategy::Equally, Strategy::SpeedProportional, queue(80), Strategy::default()] {
            let (efficiency, _, beta) = run(1, strategy);
            assert!((efficiency - 1.0).abs() < 1e-9 && beta == 1.0, "{strategy:?}: {efficiency}");
        }
    }

    #[test]
    fn equal_rows_are_as_slow_as_the_slowest_machine_with_the_dearest_ones() {
        let costs = [1.0, 1.0, 3.0, 3.0];
        let report = Simulation { costs: &costs, speeds: &[1.0, 2.0], latency: 0.5 }.run(Strategy::Equally);
        // 2 s on the first machine, 6 / 2 s and the latency on the second.
        assert_eq!(report.seconds, 3.5);
        let queue = Simulation { costs: &costs, speeds: &[1.0, 2.0], latency: 0.0 }.run(queue(4));
        // The first machine has rows 0 and 3, the second rows 1 and 2: they end after 4 s and 2 s.
        assert_eq!((queue.seconds, queue.ranks[0].units, queue.requests), (4.0, 2, 5));
    }

    #[test]
    fn on_unequal_machines_the_queue_beats_the_proportions_and_these_beat_equal_parts() {
        for machines in [5, 7] {
            let equally = run(machines, Strategy::Equally);
            let proportional = run(machines, Strategy::SpeedProportional);
            let queue = run(machines, queue(161));
            assert!(equally.0 < proportional.0 && proportional.0 < queue.0, "{equally:?} {proportional:?} {queue:?}");
            assert!(equally.2 < proportional.2 && proportional.2 < queue.2, "{equally:?} {proportional:?} {queue:?}");
        }
    }

    #[test]
    fn as_many_fragments_as_the_ratio_times_the_machines_beat_80() {
        assert!(run(7, queue(161)).0 > run(7, queue(80)).0);
    }

    #[test]
    fn the_adaptive_queue_is_better_than_the_documents_and_slow_machines_do_not_lengthen_the_run() {
        let without_reissue = Strategy::WorkQueue { fragments: Fragments::Adaptive, reissue: false };
        let (_, _, beta) = run(5, without_reissue);
        assert!(beta > 0.989, "{beta}");
        let (five, time_of_five, _) = run(5, Strategy::default());
        let (seven, time_of_seven, _) = run(7, Strategy::default());
        assert!(five > 0.87 && seven > 0.67, "{five} {seven}");
        assert!(time_of_seven <= time_of_five, "{time_of_seven} {time_of_five}");
    }
}
