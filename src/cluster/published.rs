//! Measured runs of document `002`, for comparison with a [`Simulation`](super::Simulation).

use serde::Serialize;

use super::{Fragments, Strategy};

/// Machines of document `002`, and runs on them.
#[derive(Clone, Copy, Debug)]
pub struct PublishedCluster {
    /// Name of the machines.
    pub name: &'static str,
    /// Time that each machine alone takes for the picture of Sponza, in seconds.
    pub seconds_alone: &'static [f64],
    /// Runs on all machines.
    pub runs: &'static [PublishedRun],
}

/// Measured run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedRun {
    /// Strategy of the run, which never issues fragments again.
    pub strategy: Strategy,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// Efficiency, E of the document.
    pub efficiency: f64,
    /// Balance factor, `1 - sigma / seconds`. The document's program divides by the wall time, and its text by the mean
    /// load.
    pub beta: f64,
}

/// Number of rows of the pictures of document `002`, its work units.
const ROWS: u32 = 1080;

/// Cost of the top row, where that of the bottom row is 1. Linear in between, costs give four equal machines with equal
/// parts the published beta (table 4). The bottom is cheaper, since there the slow machines were faster than with mean rows
/// (table 10).
const TOP_COST: f64 = 1.7;

/// Time of one of the 16 equal machines alone, in seconds (table 4).
const EQUAL: f64 = 2320.158;

/// Times of Beatrix, Amelia, Grendel, Wargo, Annwn, Lugh and Bran alone, in seconds (tables 7 and 9).
pub(super) const UNEQUAL: &[f64] = &[1208.840, 1394.664, 3325.563, 3293.219, 1368.327, 28011.752, 27764.628];

/// Machines and runs of tables 4 to 10.
pub const PUBLISHED_CLUSTERS: [PublishedCluster; 5] = [
    PublishedCluster {
        name: "4 equal",
        seconds_alone: &[EQUAL; 4],
        runs: &[run(Strategy::Equally, 588.651, 0.99, 0.879), run(queue(80), 534.979, 1.08, 0.998)],
    },
    PublishedCluster {
        name: "8 equal",
        seconds_alone: &[EQUAL; 8],
        runs: &[run(Strategy::Equally, 315.513, 0.92, 0.903), run(queue(80), 298.794, 0.97, 0.969)],
    },
    PublishedCluster {
        name: "16 equal",
        seconds_alone: &[EQUAL; 16],
        runs: &[
            run(Strategy::Equally, 162.500, 0.89, 0.922),
            run(queue(12), 165.631, 0.88, 0.919),
            run(queue(40), 147.267, 0.98, 0.865),
            run(queue(80), 163.933, 0.88, 0.965),
            run(queue(160), 150.856, 0.96, 0.976),
            run(queue(280), 128.948, 1.12, 0.989),
        ],
    },
    PublishedCluster {
        name: "5 unequal",
        seconds_alone: UNEQUAL.split_at(5).0,
        runs: &[
            run(Strategy::Equally, 631.268, 0.55, 0.727),
            run(Strategy::SpeedProportional, 553.753, 0.63, 0.812),
            run(queue(80), 400.479, 0.87, 0.974),
        ],
    },
    PublishedCluster {
        name: "5 unequal and 2 slow",
        seconds_alone: UNEQUAL,
        runs: &[
            run(Strategy::Equally, 2726.194, 0.12, 0.610),
            run(Strategy::SpeedProportional, 701.738, 0.48, 0.742),
            run(queue(80), 505.869, 0.67, 0.875),
        ],
    },
];

const fn run(strategy: Strategy, seconds: f64, efficiency: f64, beta: f64) -> PublishedRun {
    PublishedRun { strategy, seconds, efficiency, beta }
}

const fn queue(fragments: u32) -> Strategy {
    Strategy::WorkQueue { fragments: Fragments::Count(fragments), reissue: false }
}

/// Returns costs of the rows of the document's picture that sum to a time, in seconds. The document has no costs of
/// rows: these are linear from the top to the bottom.
pub fn published_costs(seconds: f64) -> Vec<f64> {
    let weight = |row: u32| TOP_COST - (TOP_COST - 1.0) * (f64::from(row) + 0.5) / f64::from(ROWS);
    let sum: f64 = (0..ROWS).map(weight).sum();
    (0..ROWS).map(|row| seconds * weight(row) / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Simulation, efficiency_of_unequal, harmonic_mean};
    use super::*;

    #[test]
    fn published_efficiencies_follow_from_the_published_times() {
        for PublishedCluster { name, seconds_alone, runs } in PUBLISHED_CLUSTERS {
            for run in runs {
                let found = efficiency_of_unequal(seconds_alone, run.seconds);
                assert!((found - run.efficiency).abs() <= 0.005, "{name}: {found}, published {}", run.efficiency);
            }
        }
    }

    #[test]
    fn harmonic_means_are_those_of_tables_7_and_9() {
        for (machines, published) in [(&UNEQUAL[..5], 1_736.453_212_1), (UNEQUAL, 2_371.957_530_9)] {
            let found = harmonic_mean(machines);
            assert!((found - published).abs() < 5e-8, "{found}, published {published}");
        }
    }

    #[test]
    fn four_machines_with_equal_parts_have_the_published_balance() {
        let costs = published_costs(EQUAL);
        assert!((costs.iter().sum::<f64>() - EQUAL).abs() < 1e-9);
        let report = Simulation { costs: &costs, speeds: &[1.0; 4], latency: 0.0 }.run(Strategy::Equally);
        let beta = 1.0 - report.balance().sigma / report.seconds;
        assert!((beta - 0.879).abs() < 5e-4, "{beta}");
    }
}
