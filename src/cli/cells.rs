//! Partition report of `radiosity info`.

use serde::Serialize;

use crate::accel::World;
use crate::clock;
use crate::cluster::{Communicator, LocalCommunicator, Schedule, agree, run_local};
use crate::partition::{
    AxisChoice, Factor, Fineness, Partition, PartitionError, PartitionKind, PartitionSettings, Polygons, Traffic,
    imbalance, light_rays,
};
use crate::progress::Unmonitored;
use crate::radiosity::{GatheredSolution, PacketSettings, Packets, RankError, SubsceneSettings, solve_on_rank};
use crate::scene::{self, Scene};

use super::{Failure, say};

/// Maximum number of light paths. Their rays are held in memory together: some hundred megabytes.
const MAX_PATHS: i64 = 1_000_000;

#[derive(clap::Args)]
pub struct CellArguments {
    /// Partition the scene into cells
    #[arg(long, value_enum, value_name = "KIND")]
    partition: Option<Kind>,
    /// Number of cells: a power of two for balanced ones, a maximum for hybrid ones [default: 8, or as many as the level
    /// limit allows]
    #[arg(long, value_name = "N", requires = "partition")]
    count: Option<u32>,
    /// Maximum level of hybrid cells: N allows 8^N cells
    #[arg(long, value_name = "N", requires = "partition")]
    level_limit: Option<u32>,
    /// Quantity balanced between cells: area, power, or both, where a number K weighs power K times as much as area
    #[arg(long, value_name = "area|power|K", default_value = "area", value_parser = factor, requires = "partition")]
    factor: Factor,
    /// Axis along which balanced cells are halved: that where a plane through the middle divides best, or that with the
    /// most equal volumes of the halves
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t, requires = "partition")]
    axis: Axis,
    /// Trace N light paths, a million at most, and count rays in cells and through borders
    #[arg(long, value_name = "N", requires = "partition", value_parser = clap::value_parser!(u32).range(1..=MAX_PATHS))]
    paths: Option<u32>,
    /// Follow all diffuse light by counted rays, with one rank for each cell, and count the rays and packets between
    /// ranks: those of mpirun, or else threads
    #[arg(long, requires = "partition")]
    pub ranks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Boxes of equal size
    Uniform,
    /// Boxes of equal area, for powers of two
    Balanced,
    /// Eight boxes, with eighths of the most loaded ones
    Hybrid,
}

impl Kind {
    pub fn partition(self) -> PartitionKind {
        match self {
            Self::Uniform => PartitionKind::Uniform,
            Self::Balanced => PartitionKind::Balanced,
            Self::Hybrid => PartitionKind::Hybrid,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Axis {
    Middle,
    #[default]
    Volume,
}

impl Axis {
    pub fn choice(self) -> AxisChoice {
        match self {
            Self::Middle => AxisChoice::Middle,
            Self::Volume => AxisChoice::Volume,
        }
    }
}

pub fn factor(text: &str) -> Result<Factor, String> {
    match text {
        "area" => Ok(Factor::Area),
        "power" => Ok(Factor::Power),
        _ => text.parse().map(Factor::Both).map_err(|_| "give area, power or a number".to_owned()),
    }
}

/// Partition statistics; all fields are `None` without a partition.
#[derive(Default, Serialize)]
pub struct PartitionInfo {
    kind: Option<PartitionKind>,
    cells: Option<usize>,
    /// Imbalance of the cells' loads.
    sigma: Option<f64>,
    /// Mean number of neighbors per cell.
    #[serde(rename = "neighbours")]
    neighbors: Option<f64>,
    #[serde(flatten)]
    details: Option<Details>,
}

#[derive(Serialize)]
struct Details {
    factor: Factor,
    borders: usize,
    /// Load of each cell.
    loads: Vec<f64>,
    seconds: f64,
    traffic: Option<TrafficInfo>,
    ranks: Option<RanksInfo>,
}

#[derive(Serialize)]
struct TrafficInfo {
    rays: u64,
    crossings_per_ray: f64,
    /// Imbalance of the number of rays traced per cell.
    sigma: f64,
    /// Number of rays traced in each cell.
    rays_per_cell: Vec<u64>,
    seconds: f64,
}

/// Statistics of counted rays on ranks.
#[derive(Serialize)]
struct RanksInfo {
    bounces: u32,
    rays: u64,
    /// Number of rays that went on to another rank, once for each border.
    handed_on: u64,
    /// Number of packets, with or without as many rays as they hold.
    packets: u64,
    complete_packets: u64,
    /// Total power that all elements emit and reflect, in lumens.
    power: f64,
    /// Digest of the light of all elements.
    digest: String,
    seconds: f64,
    /// Rays and messages of each rank.
    of_each: Vec<OfRank>,
}

/// Rays and messages of one rank.
#[derive(Serialize)]
struct OfRank {
    /// Number of rays that started at the rank's elements.
    shot: u64,
    handed_on: u64,
    packets: u64,
    complete_packets: u64,
    /// Number of times that the rank looked for packets.
    polls: u64,
    /// Number of messages about the end of a bounce.
    reports: u64,
}

impl PartitionInfo {
    /// Partitions a scene. All ranks must call this, if there are several.
    pub fn of(
        arguments: &CellArguments,
        world: &World,
        communicator: Option<&dyn Communicator>,
    ) -> Result<Self, Failure> {
        let Some(kind) = arguments.partition else { return Ok(Self::default()) };
        let settings = arguments.settings(kind);
        let started = clock::now();
        let (polygons, _) = Polygons::of_scene(world.scene());
        let partition = Partition::new(&polygons, &settings)?;
        let seconds = started.elapsed().as_secs_f64();
        let loads = partition.loads(&polygons, &settings.factor.loads(&polygons)?);
        let cells = partition.cells().len();
        let neighbors: usize = partition.ids().map(|id| partition.neighbors(id).len()).sum();
        let sigma = imbalance(&loads);
        let traffic = arguments.paths.map(|paths| TrafficInfo::of(&partition, world, paths));
        let ranks = if arguments.ranks {
            let scene = world.scene();
            match communicator {
                Some(communicator) => {
                    partition.check_ranks(communicator.size())?;
                    RanksInfo::on_rank(communicator, scene, &settings)?
                }
                None => RanksInfo::of_threads(scene, &settings, cells)?,
            }
        } else {
            None
        };
        let borders = partition.borders().len();
        Ok(Self {
            kind: Some(settings.kind),
            cells: Some(cells),
            sigma: Some(sigma),
            neighbors: Some(neighbors as f64 / cells as f64),
            details: Some(Details { factor: settings.factor, borders, loads, seconds, traffic, ranks }),
        })
    }

    /// Prints the statistics as lines of text.
    pub fn print(&self) {
        if let (Some(kind), Some(cells), Some(sigma), Some(neighbors), Some(details)) =
            (self.kind, self.cells, self.sigma, self.neighbors, &self.details)
        {
            let kind = format!("{kind:?}").to_lowercase();
            let seconds = details.seconds;
            say(format_args!(
                "partition  {kind}, {cells} cells, sigma {sigma:.4}, {neighbors:.2} neighbors a cell, cut in {seconds:.3} s"
            ));
            if let Some(traffic) = &details.traffic {
                say(format_args!(
                    "traffic    {} rays, {:.3} borders a ray, sigma {:.4} of rays a cell",
                    traffic.rays, traffic.crossings_per_ray, traffic.sigma
                ));
            }
            if let Some(ranks) = &details.ranks {
                say(format_args!(
                    "ranks      {} bounces, {} rays, {} handed on in {} packets, {} complete, {:.4e} lm, {:.3} s",
                    ranks.bounces,
                    ranks.rays,
                    ranks.handed_on,
                    ranks.packets,
                    ranks.complete_packets,
                    ranks.power,
                    ranks.seconds
                ));
                for (rank, of_rank) in ranks.of_each.iter().enumerate() {
                    say(format_args!(
                        "rank {rank:<5} {} rays, {} handed on in {} packets, {} complete, {} polls, {} reports",
                        of_rank.shot,
                        of_rank.handed_on,
                        of_rank.packets,
                        of_rank.complete_packets,
                        of_rank.polls,
                        of_rank.reports
                    ));
                }
            }
        }
    }
}

impl CellArguments {
    /// Checks that all ranks have prepared the same scene and options, of which this rank has those given or a failure.
    pub fn agree(&self, communicator: &dyn Communicator, scene: Result<&Scene, String>) -> Result<(), Failure> {
        let digest = |scene| {
            let mut hasher = blake3::Hasher::new();
            let settings = self.partition.map(|kind| self.settings(kind));
            hasher.update(&scene::hash(scene).0).update(format!("{settings:?}").as_bytes());
            *hasher.finalize().as_bytes()
        };
        Ok(agree(communicator, scene.map(digest))?)
    }

    fn settings(&self, kind: Kind) -> PartitionSettings {
        let of_level = 8u32.saturating_pow(self.level_limit.unwrap_or(1)).min(Partition::MAX_CELLS);
        PartitionSettings {
            kind: kind.partition(),
            count: self.count.unwrap_or(of_level),
            level_limit: self.level_limit,
            factor: self.factor,
            axis: self.axis.choice(),
            ..PartitionSettings::default()
        }
    }
}

impl TrafficInfo {
    fn of(partition: &Partition, world: &World, paths: u32) -> Self {
        let rays = light_rays(world.scene(), world, paths, 0);
        let started = clock::now();
        let traffic = Traffic::of(partition, &rays);
        let seconds = started.elapsed().as_secs_f64();
        let counts: Vec<f64> = traffic.traced.iter().map(|&count| count as f64).collect();
        Self {
            rays: traffic.rays,
            crossings_per_ray: traffic.crossings as f64 / traffic.rays.max(1) as f64,
            sigma: imbalance(&counts),
            rays_per_cell: traffic.traced,
            seconds,
        }
    }
}

impl RanksInfo {
    /// Solves one subscene together with all other ranks. Returns the statistics on the first rank.
    fn on_rank(
        communicator: &dyn Communicator,
        scene: &Scene,
        settings: &PartitionSettings,
    ) -> Result<Option<Self>, RankError> {
        let started = clock::now();
        let (fineness, packets) = (Fineness::default(), PacketSettings::default());
        let part = solve_on_rank(communicator, scene, &fineness, settings, packets, 0, &Unmonitored)?;
        let found = part.gather(communicator)?;
        Ok(found.map(|found| Self::new(&found, started.elapsed().as_secs_f64())))
    }

    /// Solves all subscenes in this process, on a thread for each.
    fn of_threads(scene: &Scene, settings: &PartitionSettings, cells: usize) -> Result<Option<Self>, Failure> {
        let (count, max) = (cells as u32, SubsceneSettings::MAX_RANKS);
        if count > max {
            return Err(PartitionError::TooManyRanks { count, max }.into());
        }
        let on_rank = |communicator: &LocalCommunicator| Self::on_rank(communicator, scene, settings);
        Ok(run_local(count, Schedule::Parallel, on_rank).swap_remove(0)?)
    }

    fn new(found: &GatheredSolution, seconds: f64) -> Self {
        let GatheredSolution { solution, packets } = found;
        let sum = |of: fn(&Packets) -> u64| packets.iter().map(of).sum();
        Self {
            bounces: solution.bounces,
            rays: solution.rays,
            handed_on: sum(|packets| packets.rays),
            packets: sum(|packets| packets.packets),
            complete_packets: sum(|packets| packets.complete),
            power: solution.power.iter().map(|power| f64::from(power.element_sum())).sum(),
            digest: blake3::Hash::from_bytes(found.digest()).to_hex().to_string(),
            seconds,
            of_each: packets.iter().map(OfRank::new).collect(),
        }
    }
}

impl OfRank {
    fn new(packets: &Packets) -> Self {
        let &Packets { shot, rays, packets, complete, polls, reports } = packets;
        Self { shot, handed_on: rays, packets, complete_packets: complete, polls, reports }
    }
}
