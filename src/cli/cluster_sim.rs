//! Command `radiosity cluster-sim`, which predicts the time of a picture on many machines.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ranks::{FragmentsArgument, StrategyArgument, check_ranks};
use super::render::LARGEST;
use super::{Failure, ranks, say};
use crate::cluster::{
    Balance, Fragments, PUBLISHED_CLUSTERS, PublishedCluster, PublishedRun, Simulation, Strategy,
    efficiency_of_unequal, harmonic_mean, published_costs,
};
use crate::input;

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("own").multiple(true))]
pub struct Arguments {
    /// Costs of a picture's rows, as 'radiosity render --backend cpu --json' prints them [default: the picture of
    /// document 002]
    #[arg(long, value_name = "FILE", group = "own")]
    costs: Option<PathBuf>,
    /// Number of samples per pixel of the picture to predict [default: that of --costs]
    #[arg(long, value_name = "N", requires = "costs", value_parser = clap::value_parser!(u32).range(1..1 << 24))]
    samples: Option<u32>,
    /// Numbers of equal machines [default: 1,2,4,8,16,32; without --costs, the clusters of document 002]
    #[arg(long, value_name = "N,...", value_delimiter = ',', group = "own")]
    workers: Vec<u32>,
    /// Speeds of unequal machines, such as 1,1,0.5; 1 is that of the machine of --costs
    #[arg(
        long,
        value_name = "S,...",
        value_delimiter = ',',
        allow_negative_numbers = true,
        group = "own",
        conflicts_with = "workers"
    )]
    speeds: Vec<f64>,
    /// Strategies [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_enum, requires = "own")]
    strategy: Vec<StrategyArgument>,
    /// Numbers of fragments of the queue, or auto: they adapt to the speed of each machine [default: auto]
    #[arg(long, value_name = "auto|N,...", value_delimiter = ',', requires = "own")]
    fragments: Vec<FragmentsArgument>,
    /// Time from a request to its fragment and from a result to the master, both together, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.001, allow_negative_numbers = true)]
    latency: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Speeds that a machine may have.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// Longest time of a row, and of a message, in seconds.
const LONGEST: f64 = 1e9;
/// Largest file of costs, bytes.
const LARGEST_COSTS: u64 = 16 << 20;

#[derive(Serialize)]
struct Outcome {
    runs: Vec<Run>,
}

/// Predicted run.
#[derive(Serialize)]
struct Run {
    /// Name of a cluster of document `002`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'static str>,
    workers: usize,
    strategy: Strategy,
    fragments: u32,
    reissued: u32,
    /// Harmonic mean of the times of each machine alone (H), seconds.
    harmonic_mean: f64,
    /// Wall time, seconds.
    seconds: f64,
    /// Time of the fastest machine alone over the wall time.
    speedup: f64,
    /// E of the document.
    efficiency: f64,
    balance: Balance,
    /// Measurement of document `002`.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<PublishedRun>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    ranks::refuse("cluster-sim")?;
    if !(0.0..=LONGEST).contains(&arguments.latency) {
        return Err("--latency must be a number of seconds, not below zero".into());
    }
    let is_own = arguments.costs.is_some() || !arguments.workers.is_empty() || !arguments.speeds.is_empty();
    let runs = if is_own { arguments.own_runs()? } else { published_runs(arguments.latency) };
    if arguments.json {
        say(serde_json::to_string(&Outcome { runs })?);
    } else {
        runs.iter().fold(None, |last, run| {
            if last != Some(run.cluster) {
                run.say_heading();
            }
            run.say();
            Some(run.cluster)
        });
    }
    Ok(())
}

impl Arguments {
    /// Returns runs of all strategies on the machines of the user.
    fn own_runs(&self) -> Result<Vec<Run>, Failure> {
        let strategies = self.strategies()?;
        let costs = match &self.costs {
            Some(path) => Costs::read(path)?.of_samples(self.samples),
            None => published_costs(PUBLISHED_CLUSTERS[0].seconds_alone[0]),
        };
        let mut runs = Vec::new();
        for speeds in self.clusters(costs.len() as u32)? {
            let simulation = Simulation { costs: &costs, speeds: &speeds, latency: self.latency };
            runs.extend(strategies.iter().map(|strategy| Run::new(&simulation, *strategy)));
        }
        Ok(runs)
    }

    fn strategies(&self) -> Result<Vec<Strategy>, Failure> {
        use StrategyArgument::{Equally, Proportional, Queue};
        let auto = [FragmentsArgument(Fragments::Adaptive)];
        let names = if self.strategy.is_empty() { &[Equally, Proportional, Queue] } else { &self.strategy[..] };
        let of_queue = if self.fragments.is_empty() { &auto } else { &self.fragments[..] };
        let all = names.iter().flat_map(|name| {
            let fragments = if *name == Queue { of_queue } else { &auto };
            fragments.iter().map(|fragments| name.with(*fragments))
        });
        all.collect()
    }

    /// Returns the speeds of the machines of each cluster.
    fn clusters(&self, rows: u32) -> Result<Vec<Vec<f64>>, Failure> {
        if !self.speeds.is_empty() {
            if let Some(speed) = self.speeds.iter().find(|speed| !SPEEDS.contains(speed)) {
                let (min, max) = (SPEEDS.start(), SPEEDS.end());
                return Err(format!("{speed} in --speeds is no speed: give numbers from {min} to {max}").into());
            }
            check_ranks(self.speeds.len() as u32, rows)?;
            return Ok(vec![self.speeds.clone()]);
        }
        if self.workers.is_empty() {
            let usual = [1, 2, 4, 8, 16, 32].into_iter().filter(|workers| *workers <= rows);
            return Ok(usual.map(|workers| vec![1.0; workers as usize]).collect());
        }
        let equal = |&workers: &u32| {
            if workers == 0 {
                return Err("--workers must be at least 1".into());
            }
            check_ranks(workers, rows)?;
            Ok(vec![1.0; workers as usize])
        };
        self.workers.iter().map(equal).collect()
    }
}

/// Returns the runs of document `002` beside its measurements, and one with the default strategy on each cluster.
fn published_runs(latency: f64) -> Vec<Run> {
    let of_cluster = |PublishedCluster { name, seconds_alone, runs }| {
        let costs = published_costs(seconds_alone[0]);
        let speeds: Vec<f64> = seconds_alone.iter().map(|seconds| seconds_alone[0] / seconds).collect();
        let simulation = Simulation { costs: &costs, speeds: &speeds, latency };
        let run = |strategy, published| Run { cluster: Some(name), published, ..Run::new(&simulation, strategy) };
        let ours = run(Strategy::default(), None);
        runs.iter().map(|it| run(it.strategy, Some(*it))).chain([ours]).collect::<Vec<_>>()
    };
    PUBLISHED_CLUSTERS.into_iter().flat_map(of_cluster).collect()
}

impl Run {
    fn new(simulation: &Simulation, strategy: Strategy) -> Self {
        let report = simulation.run(strategy);
        let workers = simulation.speeds.len();
        let alone: Vec<f64> = (0..workers).map(|machine| simulation.time_alone(machine)).collect();
        Self {
            cluster: None,
            workers,
            strategy,
            fragments: report.fragments,
            reissued: report.reissued,
            harmonic_mean: harmonic_mean(&alone),
            seconds: report.seconds,
            speedup: alone.iter().copied().fold(f64::INFINITY, f64::min) / report.seconds,
            efficiency: efficiency_of_unequal(&alone, report.seconds),
            balance: report.balance(),
            published: None,
        }
    }

    fn say_heading(&self) {
        let published = self.cluster.map_or(String::new(), |name| {
            say(format_args!("{name} machines of document 002, and its beta, 1 - sigma / wall time"));
            format!("{:>18}{:>7}{:>8}", "published, s", "E", "beta")
        });
        say(format_args!(
            "{:>7}  {:<14}{:>9}{:>12}{:>14}{:>10}{:>7}{:>12}{:>8}{published}",
            "workers", "strategy", "fragments", "H, s", "wall time, s", "speed-up", "E", "sigma, s", "beta",
        ));
    }

    fn say(&self) {
        let Self { workers, fragments, harmonic_mean, seconds, speedup, efficiency, balance, .. } = self;
        let strategy = match self.strategy {
            Strategy::Equally => "equally",
            Strategy::SpeedProportional => "proportional",
            Strategy::WorkQueue { fragments: Fragments::Count(_), .. } => "queue",
            Strategy::WorkQueue { fragments: Fragments::Adaptive, .. } => "queue, auto",
        };
        let published = self.published.map_or(String::new(), |PublishedRun { seconds, efficiency, beta, .. }| {
            format!("{seconds:>18.2}{efficiency:>7.2}{beta:>8.3}")
        });
        let Balance { sigma, .. } = balance;
        let beta = if self.cluster.is_some() { 1.0 - sigma / seconds } else { balance.beta };
        say(format_args!(
            "{workers:>7}  {strategy:<14}{fragments:>9}{harmonic_mean:>12.2}{seconds:>14.2}{speedup:>10.2}\
            {efficiency:>7.3}{sigma:>12.2}{beta:>8.3}{published}"
        ));
    }
}

/// Costs of a picture's rows in a file. Other keys of `render --json` are not read.
#[derive(Deserialize)]
struct Costs {
    row_seconds: Vec<f64>,
    samples: u32,
}

impl Costs {
    fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let text = input::read_text(path, LARGEST_COSTS).map_err(|error| format!("cannot read {name}: {error}"))?;
        let costs: Self = serde_json::from_str(&text).map_err(|error| {
            format!("no costs in {name}: {error}; write it by radiosity render --backend cpu --json, without mpirun")
        })?;
        let rows = costs.row_seconds.len();
        if !(1..=LARGEST as usize).contains(&rows) {
            return Err(format!("{name} has {rows} rows: a picture has 1 to {LARGEST}").into());
        }
        if costs.samples == 0 {
            return Err(format!("{name} has no samples: it is no picture").into());
        }
        if costs.row_seconds.iter().any(|seconds| !(0.0..=LONGEST).contains(seconds)) {
            return Err(format!("{name} has a row below zero or above {LONGEST} seconds").into());
        }
        if costs.row_seconds.iter().all(|seconds| *seconds == 0.0) {
            return Err(format!("{name} has rows without cost: render more samples").into());
        }
        Ok(costs)
    }

    /// Returns the costs with another number of samples.
    fn of_samples(self, samples: Option<u32>) -> Vec<f64> {
        let factor = samples.map_or(1.0, |samples| f64::from(samples) / f64::from(self.samples));
        self.row_seconds.into_iter().map(|seconds| seconds * factor).collect()
    }
}
