//! Progressive refinement on ranks, one for each subscene (`000` S5).
//!
//! Each rank has the light of its own patches. The master gives all ranks an [`Order`], such as a round of shots
//! ([`rank`](super::rank)). Each rank answers with a [`Report`], before the next order. Within a round, ranks only wait for
//! each other's light.

use core::ops::Range;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use glam::Vec3;

use super::super::patches::{Patch, parts};
use super::super::receivers::ReceiverId;
use super::super::refinement::{mean, restore, shots_of};
use super::super::{Options, Place, Refine};
use super::division::Division;
use super::orders::{Order, Report};
use super::rank::{Round, RoundCount};
use super::ray_count::RayCount;
use super::site::Site;
use super::worker::Worker;
use super::{MAX_SHOTS, SITES_SHARE, threshold};
use crate::cluster::{
    ClusterError, Communicator, DecodeError, Rank, RankTeam, Schedule, Strategy, Tag, Team, run_local_beside, serve,
};
use crate::geometry::RayQuery;
use crate::lightmap::{ElementId, Elements};
use crate::partition::{CellId, PartitionError};
use crate::radiosity::solver_checkpoint::Shots;
use crate::radiosity::{SolveError, SolverSettings, StepError, SubsceneSettings};
use crate::scene::Scene;

/// Report of a rank, or the reason why it cannot take part.
const REPORT: Tag = Tag(20);

/// Scene and elements that patches were made from.
#[derive(Clone, Copy)]
pub struct Texels<'a> {
    pub scene: &'a Scene,
    pub elements: &'a Elements,
}

/// Refines a scene on ranks: those of a team, or else threads of this process. `refine` is called on the master.
///
/// # Errors
/// Returns an error of `refine`. Also returns an error if the scene cannot be divided into a subscene for each rank, if
/// the subscenes of a process do not fit into memory, or if a rank is lost.
pub fn refine_on_ranks<T>(
    place: Place,
    sources: &[Vec3],
    options: &Options,
    settings: &SubsceneSettings,
    team: Option<&dyn Team>,
    refine: impl FnOnce(&mut OnRanks) -> Result<T, SolveError>,
) -> Result<T, SolveError> {
    let Place { scene, elements, visible, weights, .. } = place;
    let texels = Texels { scene, elements };
    let Some(team) = team else {
        let subscenes = RankSubscenes::all(Division::new(place, sources, options, settings)?, options)?;
        return subscenes.on_threads(texels, Schedule::Parallel, |refinement| refine(&mut refinement?));
    };
    let order = Order::Prepare { visible: visible.into(), sources: sources.into(), weights: weights.into() };
    let communicator = team.call(&order.encode()).map_err(StepError::from)?;
    let subscenes = Division::new(place, sources, options, settings)
        .and_then(|division| RankSubscenes::own(division, options, communicator));
    refine(&mut OnRanks::begin(team, communicator, texels, subscenes)?)
}

/// Part of a rank other than the master in [`refine_on_ranks`].
pub struct RefinementHelper<'a> {
    communicator: &'a dyn Communicator,
    texels: Texels<'a>,
    world: &'a dyn RayQuery,
    settings: &'a SolverSettings,
    own: RefCell<Option<RankSubscene>>,
}

impl<'a> RefinementHelper<'a> {
    /// Creates the helper of a rank, with the same elements and settings as on the master.
    pub fn new(
        communicator: &'a dyn Communicator,
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        elements: &'a Elements,
        settings: &'a SolverSettings,
    ) -> Self {
        Self { communicator, texels: Texels { scene, elements }, world, settings, own: RefCell::default() }
    }

    /// Obeys an order.
    ///
    /// # Errors
    /// Returns an error if the order is damaged.
    pub fn join(&self, order: &[u8]) -> Result<(), ClusterError> {
        let order = Order::decode(order)?;
        let mut own = self.own.borrow_mut();
        if let Order::Prepare { visible, sources, weights } = &order {
            let prepared = self.prepare(visible, sources, weights);
            let report = prepared.as_ref().map(|own| own.report(RoundCount::default())).map_err(String::clone);
            *own = prepared.ok();
            self.communicator.send(Rank::MASTER, REPORT, Report::encode(&report));
            return Ok(());
        }
        own.as_mut().ok_or(DecodeError)?.answer(self.communicator, self.texels, &order);
        Ok(())
    }

    /// Prepares the subscene of this rank, or returns the reason for the master why there is none.
    fn prepare(&self, visible: &[f32], sources: &[Vec3], weights: &[f32]) -> Result<RankSubscene, String> {
        let Self { communicator, texels: Texels { scene, elements }, world, settings, .. } = *self;
        let count = elements.len();
        let fits = [visible.len(), sources.len()] == [count; 2] && (weights.is_empty() || weights.len() == count);
        let Some(subscenes) = settings.subscenes.as_ref().filter(|_| fits) else {
            return Err(DecodeError.to_string());
        };
        let (place, options) = (Place { scene, world, elements, visible, weights }, Options::of(settings));
        let own = Division::new(place, sources, &options, subscenes)
            .and_then(|division| RankSubscenes::own(division, &options, communicator));
        own.map(|mut own| own.subscenes.remove(0)).map_err(|error| error.to_string())
    }
}

/// Subscenes of some ranks.
pub struct RankSubscenes {
    subscenes: Vec<RankSubscene>,
    /// Global index of each receiver of all ranks, in the order of their patches.
    numbers: Vec<Vec<ReceiverId>>,
}

impl RankSubscenes {
    /// Prepares all subscenes for threads of this process.
    ///
    /// # Errors
    /// Returns an error if they do not fit into memory together.
    pub fn all(division: Division, options: &Options) -> Result<Self, PartitionError> {
        let cells = 0..division.shares.len();
        Self::of_cells(division, cells, options)
    }

    /// Prepares the subscene of a rank.
    fn own(division: Division, options: &Options, communicator: &dyn Communicator) -> Result<Self, PartitionError> {
        division.source.partition.check_ranks(communicator.size())?;
        let own = communicator.rank().index();
        Self::of_cells(division, own..own + 1, options)
    }

    fn of_cells(division: Division, cells: Range<usize>, options: &Options) -> Result<Self, PartitionError> {
        let Division { source, shares, parameters } = division;
        let max_bytes = options.max_bytes / SITES_SHARE;
        let mut bytes = 0;
        let mut sites = Vec::with_capacity(cells.len());
        for cell in cells.clone() {
            let site = source.make(CellId::from_index(cell));
            bytes += site.bytes();
            if bytes > max_bytes {
                return Err(PartitionError::RanksBeyondMemory { bytes: max_bytes });
            }
            sites.push(site);
        }
        let common = parameters.common((options.max_bytes - bytes) / (2 * cells.len()));
        let numbers = source.numbers;
        let mut subscenes = Vec::with_capacity(cells.len());
        for ((cell, share), site) in shares.into_iter().enumerate().skip(cells.start).zip(sites) {
            let (interface, contents) = share.contents(&site.receivers, &parameters);
            let worker = Worker::new(common, interface, contents);
            let first_receiver = numbers[..cell].iter().map(Vec::len).sum();
            subscenes.push(RankSubscene { worker, site, numbers: numbers[cell].clone(), first_receiver });
        }
        Ok(Self { subscenes, numbers })
    }

    /// Runs the ranks as threads, and calls a function with the refinement on the master.
    pub fn on_threads<T>(
        self,
        texels: Texels,
        schedule: Schedule,
        refine: impl FnOnce(Result<OnRanks, SolveError>) -> T,
    ) -> T {
        let Self { mut subscenes, numbers } = self;
        let count = subscenes.len() as u32;
        let own = Self { subscenes: vec![subscenes.remove(0)], numbers };
        let others: Vec<Mutex<RankSubscene>> = subscenes.into_iter().map(Mutex::new).collect();
        let strategy = Strategy::default();
        run_local_beside(
            count,
            schedule,
            |communicator| {
                let team = RankTeam::new(communicator, strategy, 1.0);
                refine(OnRanks::begin(&team, communicator, texels, Ok(own)))
            },
            |communicator| {
                let own = &others[communicator.rank().index() - 1];
                let own = RefCell::new(own.lock().unwrap_or_else(PoisonError::into_inner));
                own.borrow().send(communicator, RoundCount::default());
                let join = |order: &[u8]| {
                    own.borrow_mut().answer(communicator, texels, &Order::decode(order)?);
                    Ok(())
                };
                // Without a master, which panics, there are no more orders.
                let _ = serve(communicator, strategy, 1.0, &|_| Ok(None), &join);
            },
        )
    }
}

/// Subscene of a rank.
struct RankSubscene {
    worker: Worker,
    site: Site,
    /// Global index of each receiver, in the order of patches.
    numbers: Vec<ReceiverId>,
    /// Number of receivers of all subscenes before this one.
    first_receiver: usize,
}

impl RankSubscene {
    /// Obeys an order, and reports to the master.
    fn answer(&mut self, communicator: &dyn Communicator, texels: Texels, order: &Order) {
        let count = self.obey(communicator, texels, order);
        self.send(communicator, count);
    }

    fn send(&self, communicator: &dyn Communicator, count: RoundCount) {
        communicator.send(Rank::MASTER, REPORT, Report::encode(&Ok(self.report(count))));
    }

    fn obey(&mut self, communicator: &dyn Communicator, texels: Texels, order: &Order) -> RoundCount {
        match order {
            Order::Prepare { .. } => {}
            Order::Shoot { threshold, first } => return self.shoot(communicator, texels, *threshold, *first),
            Order::Add(light) => self.worker.add(|id| light.get(self.numbers[id.index()].index()).copied()),
            Order::Restore(light) => self.restore(communicator.rank(), light),
        }
        RoundCount::default()
    }

    fn shoot(
        &mut self,
        communicator: &dyn Communicator,
        Texels { scene, elements }: Texels,
        threshold: f64,
        first: u64,
    ) -> RoundCount {
        let Self { worker, site, numbers, .. } = self;
        let parts = |patch: &Patch| parts(scene, elements, patch, |id| ElementId(numbers[id.index()].0));
        let first = first + u64::from(communicator.rank().0) * MAX_SHOTS as u64;
        let round = Round::new(communicator, worker, site).shoot(threshold, first, parts);
        round.expect("ranks that have agreed read each other's messages")
    }

    /// Restores the own part of the light of all ranks.
    fn restore(&mut self, rank: Rank, Shots { rays, received, unshot, power, .. }: &Shots) {
        let contents = self.worker.contents();
        let (patches, receivers) = (contents.patches.len(), self.numbers.len());
        let (first, first_receiver) = (contents.first, self.first_receiver);
        let words = self.worker.rays_in_words().count();
        let of_receivers = |all: &[Vec3]| all[first_receiver..first_receiver + receivers].to_vec();
        let own = Shots {
            received: of_receivers(received),
            unshot: of_receivers(unshot),
            power: power[first..first + patches].to_vec(),
            ..Shots::default()
        };
        self.worker.restore_rays(&rays[rank.index() * words..][..words]);
        restore(self.worker.states_mut(), &own);
    }

    fn report(&self, count: RoundCount) -> Report {
        let worker = &self.worker;
        Report {
            count,
            strongest: worker.strongest().map_or(0.0, |shot| shot.power),
            unshot_power: worker.unshot_power(),
            traced: worker.rays().iter().sum(),
            light: shots_of(&worker.contents().states, 0, worker.rays_in_words().collect()),
        }
    }
}

/// Refinement on ranks, on the master.
pub struct OnRanks<'a> {
    team: &'a dyn Team,
    texels: Texels<'a>,
    own: RankSubscene,
    /// Global index of each receiver of all ranks.
    numbers: Vec<Vec<ReceiverId>>,
    /// Newest report of each rank.
    pub reports: Vec<Report>,
    shots: u64,
}

impl<'a> OnRanks<'a> {
    /// Begins with the reports of all ranks.
    ///
    /// # Errors
    /// Returns an error if a rank cannot take part.
    fn begin(
        team: &'a dyn Team,
        communicator: &dyn Communicator,
        texels: Texels<'a>,
        subscenes: Result<RankSubscenes, PartitionError>,
    ) -> Result<Self, SolveError> {
        let others: Vec<_> = communicator.others().map(|rank| report_of(communicator, rank)).collect();
        let RankSubscenes { mut subscenes, numbers } = subscenes?;
        let own = subscenes.remove(0);
        let mut reports = vec![own.report(RoundCount::default())];
        for report in others {
            reports.push(report?);
        }
        Ok(Self { team, texels, own, numbers, reports, shots: 0 })
    }

    /// Gives all ranks an order, and receives their reports.
    fn order(&mut self, order: &Order) -> Result<(), StepError> {
        let communicator = self.team.call(&order.encode())?;
        let count = self.own.obey(communicator, self.texels, order);
        self.reports[Rank::MASTER.index()] = self.own.report(count);
        for rank in communicator.others() {
            self.reports[rank.index()] = report_of(communicator, rank)?;
        }
        Ok(())
    }
}

/// Receives the next report of a rank.
fn report_of(communicator: &dyn Communicator, rank: Rank) -> Result<Report, StepError> {
    let lost = |fault: ClusterError| StepError::Device(fault.to_string());
    let message = communicator.recv(Some(rank), Some(REPORT)).map_err(|fault| lost(fault.into()))?;
    let report = Report::decode(&message.bytes).map_err(|fault| lost(fault.into()))?;
    report.map_err(|reason| StepError::Device(format!("rank {}: {reason}", rank.0)))
}

impl Refine for OnRanks<'_> {
    fn patches(&self) -> usize {
        self.reports.iter().map(|report| report.light.power.len()).sum()
    }

    fn shots(&self) -> u32 {
        self.shots as u32
    }

    fn rays(&self) -> u64 {
        self.reports.iter().map(|report| report.traced).sum()
    }

    fn unshot_power(&self) -> f64 {
        self.reports.iter().map(|report| report.unshot_power).sum()
    }

    fn unshot_lumens(&self) -> f64 {
        self.reports.iter().flat_map(|report| &report.light.power).map(|power| mean(*power).abs()).sum()
    }

    fn strongest_power(&self) -> Option<f64> {
        let powers = self.reports.iter().map(|report| report.strongest);
        powers.max_by(f64::total_cmp).filter(|&power| power > 0.0)
    }

    /// Shoots a round on all ranks. Afterwards all shots have arrived everywhere.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> Result<bool, StepError> {
        let Some(strongest) = self.strongest_power() else { return Ok(true) };
        if !go_on() {
            return Ok(false);
        }
        self.order(&Order::Shoot { threshold: threshold(strongest, tolerance), first: self.shots })?;
        let shot: u64 = self.reports.iter().map(|report| report.count.shot).sum();
        debug_assert!(self.reports.iter().all(|report| report.count.total() == shot), "each shot comes to every rank");
        self.shots += shot;
        Ok(true)
    }

    /// Does nothing, because a round is never partial.
    fn undo(&mut self) {}

    fn add(&mut self, light: &[Vec3]) -> Result<(), StepError> {
        self.order(&Order::Add(light.into()))
    }

    fn received(&self) -> Vec<Vec3> {
        let mut received = vec![Vec3::ZERO; self.texels.elements.len()];
        for (report, numbers) in self.reports.iter().zip(&self.numbers) {
            for (light, number) in report.light.received.iter().zip(numbers) {
                if let Some(element) = received.get_mut(number.index()) {
                    *element = *light;
                }
            }
        }
        received
    }

    fn state(&self) -> Shots {
        let mut all = Shots { count: self.shots as u32, ..Shots::default() };
        for Report { light, .. } in &self.reports {
            all.rays.extend(&light.rays);
            all.received.extend(&light.received);
            all.unshot.extend(&light.unshot);
            all.power.extend(&light.power);
        }
        all
    }

    fn resume(&mut self, from: &Shots) -> Result<bool, StepError> {
        let receivers: usize = self.numbers.iter().map(Vec::len).sum();
        let fit = [from.received.len(), from.unshot.len()] == [receivers; 2] && from.power.len() == self.patches();
        if !fit || !RayCount::fit(&from.rays, self.patches(), self.reports.len()) {
            return Ok(false);
        }
        self.order(&Order::Restore(Cow::Borrowed(from)))?;
        self.shots = from.count.into();
        Ok(true)
    }
}
