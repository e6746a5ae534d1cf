//! Ranks that `mpirun` or a cluster's scheduler has started.

use std::str::FromStr;

use serde::Serialize;

use super::{Failure, say};
use crate::cluster::{Balance, ClusterReport, Communicator, Fragments, Strategy};

/// Variables of the environment that hold the rank: those of Open MPI, PMIx and PMI.
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];

fn rank() -> Option<String> {
    RANKS.iter().find_map(|name| std::env::var(name).ok())
}

/// Returns true on all ranks but the first. They print nothing, so that each message comes once.
pub fn is_silent() -> bool {
    rank().is_some_and(|rank| rank != "0")
}

/// Refuses ranks for a command that works in one process.
pub fn refuse(command: &str) -> Result<(), Failure> {
    match rank() {
        None => Ok(()),
        Some(_) => Err(format!("{command} does not work on several ranks: start it without mpirun").into()),
    }
}

/// Returns the communicator of the ranks, or `None` if the process is none of several.
#[cfg(feature = "mpi")]
pub fn communicator() -> Result<Option<impl Communicator>, Failure> {
    match rank() {
        None => Ok(None),
        Some(_) => Ok(crate::cluster::MpiCommunicator::new()),
    }
}

/// Returns no communicator, and refuses ranks.
#[cfg(not(feature = "mpi"))]
pub fn communicator() -> Result<Option<impl Communicator>, Failure> {
    match rank() {
        None => Ok(None::<crate::cluster::LocalCommunicator>),
        Some(_) => {
            Err("this program was built without the feature mpi: build it with `--features cli,mpi`, or start it \
                        without mpirun"
                .into())
        }
    }
}

/// Options for the division of work among ranks.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct StrategyArguments {
    /// Division of the work among ranks of mpirun
    #[arg(long, value_enum, default_value_t)]
    strategy: StrategyArgument,
    /// Number of fragments of the queue, or auto: they adapt to the speed of each rank
    #[arg(long, value_name = "auto|N", default_value = "auto")]
    fragments: FragmentsArgument,
    /// Speed of a rank, for --strategy proportional
    #[arg(long, value_enum, default_value_t)]
    pub speed: Speed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum StrategyArgument {
    /// As much for each rank
    Equally,
    /// In proportion to the speed of each rank
    Proportional,
    /// Ranks ask for fragments until there are none left
    #[default]
    Queue,
}

/// Model of a rank's speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum Speed {
    /// As many as it has threads
    Threads,
    /// As a short test measures it
    #[default]
    Measured,
}

/// Number of fragments of the queue, or `auto`.
#[derive(Clone, Copy, Debug)]
pub struct FragmentsArgument(pub Fragments);

impl FromStr for FragmentsArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(Fragments::Adaptive));
        }
        text.parse().map(|count| Self(Fragments::Count(count))).map_err(|_| "give a number or auto".to_owned())
    }
}

impl StrategyArgument {
    /// Returns the strategy with so many fragments for the queue.
    pub fn with(self, FragmentsArgument(fragments): FragmentsArgument) -> Result<Strategy, Failure> {
        if fragments == Fragments::Count(0) {
            return Err("--fragments must be at least 1".into());
        }
        Ok(match self {
            Self::Equally => Strategy::Equally,
            Self::Proportional => Strategy::SpeedProportional,
            Self::Queue => Strategy::WorkQueue { fragments, reissue: true },
        })
    }
}

/// Refuses ranks that would have no row.
pub fn check_ranks(ranks: u32, rows: u32) -> Result<(), Failure> {
    if ranks > rows {
        return Err(format!("{ranks} ranks are more than the {rows} rows of the picture: start fewer").into());
    }
    Ok(())
}

impl StrategyArguments {
    /// Returns the strategy.
    pub fn chosen(self) -> Result<Strategy, Failure> {
        self.strategy.with(self.fragments)
    }

    /// Returns the strategy for this number of rows on so many ranks.
    pub fn strategy(self, rows: u32, ranks: u32) -> Result<Strategy, Failure> {
        let strategy = self.chosen()?;
        check_ranks(ranks, rows)?;
        Ok(strategy)
    }
}

/// Outcome of a distribution, for the user.
#[derive(Serialize)]
pub struct ClusterOutcome<'a> {
    #[serde(flatten)]
    report: &'a ClusterReport,
    /// Name of the units.
    #[serde(skip)]
    units: &'static str,
    efficiency: Option<f64>,
    balance: Balance,
}

impl<'a> ClusterOutcome<'a> {
    /// Judges a report whose units have a name in the plural.
    pub fn of(report: &'a ClusterReport, units: &'static str) -> Self {
        Self { report, units, efficiency: report.efficiency(), balance: report.balance() }
    }

    /// Prints efficiency and balance, and a line for each rank.
    pub fn say(&self) {
        let Self { report, units, efficiency, balance } = self;
        let efficiency =
            efficiency.map_or_else(|| format!("unknown, since a rank had no {units}"), |it| format!("{it:.3}"));
        say(format_args!(
            "{} ranks, {} fragments, {} issued again: efficiency {efficiency}, balance {:.3} (delta {:.3}, sigma {:.2} s)",
            report.ranks.len(),
            report.fragments,
            report.reissued,
            balance.beta,
            balance.delta,
            balance.sigma,
        ));
        for (rank, progress) in report.ranks.iter().enumerate() {
            say(format_args!("rank {rank}: {} {units} in {:.2} s", progress.units, progress.seconds));
        }
    }
}
