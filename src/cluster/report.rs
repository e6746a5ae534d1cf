//! Report of a distribution: what each rank did, efficiency and balance.

use serde::Serialize;

use super::{Balance, Strategy, WorkerProgress, efficiency_of_unequal};

/// Result of [`distribute`](super::distribute) on the master.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterReport {
    /// Strategy that divided the work.
    pub strategy: Strategy,
    /// Number of units.
    pub units: u32,
    /// Number of fragments, without those issued again.
    pub fragments: u32,
    /// Time until the last result arrived, in seconds.
    pub seconds: f64,
    /// Progress of each rank.
    pub ranks: Vec<WorkerProgress>,
    /// Number of requests for fragments, with those of the master. Without reissue it is the number of fragments and
    /// ranks.
    pub requests: u32,
    /// Number of received results, without those of the master.
    pub results: u32,
    /// Number of fragments issued again to idle ranks.
    pub reissued: u32,
}

impl ClusterReport {
    /// Adds the report of another distribution to the same ranks.
    pub(super) fn add(&mut self, more: &Self) {
        self.units += more.units;
        self.fragments += more.fragments;
        self.seconds += more.seconds;
        for (sum, rank) in self.ranks.iter_mut().zip(&more.ranks) {
            sum.units += rank.units;
            sum.fragments += rank.fragments;
            sum.seconds += rank.seconds;
        }
        self.requests += more.requests;
        self.results += more.results;
        self.reissued += more.reissued;
    }

    /// Returns the balance of the times that ranks computed.
    pub fn balance(&self) -> Balance {
        Balance::of(&self.ranks.iter().map(|rank| rank.seconds).collect::<Vec<_>>())
    }

    /// Returns the efficiency (E for unequal workers in the document). The time that a rank alone would take follows
    /// from its units and its time. `None` if a rank has no units.
    pub fn efficiency(&self) -> Option<f64> {
        let time = |rank: &WorkerProgress| {
            (rank.units > 0 && rank.seconds > 0.0).then(|| rank.seconds * f64::from(self.units) / f64::from(rank.units))
        };
        let times: Option<Vec<f64>> = self.ranks.iter().map(time).collect();
        times.map(|times| efficiency_of_unequal(&times, self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_and_balance_follow_from_units_and_times() {
        let rank = |units, seconds| WorkerProgress { units, fragments: 1, seconds };
        let report = ClusterReport {
            strategy: Strategy::Equally,
            units: 40,
            fragments: 2,
            seconds: 4.0,
            ranks: vec![rank(30, 4.0), rank(10, 2.0)],
            requests: 0,
            results: 1,
            reissued: 0,
        };
        // Both could do 7.5 and 5 units a second: 40 units in 3.2 s.
        assert!((report.efficiency().unwrap() - 0.8).abs() < 1e-12);
        assert!((report.balance().beta - (1.0 - 1.0 / 3.0)).abs() < 1e-12);
        let idle = ClusterReport { ranks: vec![rank(40, 4.0), rank(0, 0.0)], ..report };
        assert_eq!(idle.efficiency(), None);
    }
}
