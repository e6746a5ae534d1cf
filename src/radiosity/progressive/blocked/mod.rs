//! Progressive refinement subscene by subscene (`000` S8).
//!
//! A working subscene uses only its own geometry, receivers and form factors, which are small enough for the CPU cache.
//!
//! A patch lights its own subscene directly. A copy of the patch with a visibility mask
//! ([`masks`](crate::partition::masks)) goes to subscenes beyond each border. From there it is passed on. A subscene's
//! data is thus only used by its own [`Worker`]. All workers take turns in one process, and messages wait in queues.
//! Geometry and receiver points of idle subscenes are dropped if memory is short ([`Sites`]).
//!
//! With [`SubsceneSettings::ranks`], workers run at the same time, each on a rank of its own ([`rank`]).
//!
//! Patches are divided between texels at planes of the partition. A texel belongs to the subscene of its center. For
//! parts beyond a plane, masks are read at their nearest point.

mod encoding;
mod local;
mod message;
mod rank;
mod ray_count;
mod site;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;
mod worker;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::patches::{Part, Patch, parts, patches_apart};
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::refinement::{Brightness, State, fit, mean, restore, shots_of};
use super::start::Start;
use super::{Options, Place, Refine};
use crate::cluster::{Communicator, LocalCommunicator, Schedule, run_local};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::lightmap::ElementId;
use crate::partition::masks::{Interface, Mask, Sectors};
use crate::partition::{CellId, Partition, PartitionError};
use crate::radiosity::SubsceneSettings;
use crate::radiosity::solver_checkpoint::Shots;
use glam::Vec3;

use local::Origins;
use message::{Flash, Message, Shape};
use rank::{Round, RoundCount};
use ray_count::RayCount;
use site::{SiteAccess, Sites, Source};
use worker::{Common, Contents, Worker};

/// Fraction of the strongest patch's power at the start of a round above which patches shoot.
const SHARE_OF_STRONGEST: f64 = 0.5;

/// Maximum number of shots in a round, or one for each subscene. After a round all light has arrived.
const MAX_SHOTS: usize = 64;

/// Divisor of the memory limit for sites. Sites have priority over form-factor rows, which are recomputed one by one.
const SITES_SHARE: usize = 2;

/// Memory limit of masks in transit, in bytes. One shot may exceed it. A limit relative to total memory would change
/// the rounding of results.
const MAX_BYTES_IN_FLIGHT: usize = 32 << 20;

/// Returns the maximum bytes of masks at all borders, for one shot and for all shots in transit.
pub fn max_mask_bytes_in_flight(subscenes: usize, borders: usize, mask_resolution: u32) -> [usize; 2] {
    let shots = max_shots_in_flight(borders, mask_resolution).min(MAX_SHOTS.max(subscenes));
    let of_shot = borders * Mask::max_bytes(mask_resolution);
    [of_shot, shots * of_shot]
}

fn max_shots_in_flight(borders: usize, mask_resolution: u32) -> usize {
    let bytes_of_shot = borders * Mask::max_bytes(mask_resolution);
    (MAX_BYTES_IN_FLIGHT / bytes_of_shot.max(1)).max(1)
}

/// Solution by all subscenes together.
pub struct Blocked<'a> {
    place: Place<'a>,
    workers: Vec<Worker>,
    sites: Sites<'a>,
    inboxes: Vec<VecDeque<Message>>,
    /// Number of shots in transit, and its maximum.
    on_their_way: usize,
    max_in_flight: usize,
    shots: u64,
    /// Order in which ranks run, or `None` if workers take turns.
    schedule: Option<Schedule>,
    /// State of light before the last round.
    before: Shots,
}

impl<'a> Blocked<'a> {
    /// Divides a scene, and prepares to shoot the initial radiosities of elements, in lm/m2.
    ///
    /// # Errors
    /// Returns an error if the scene cannot be divided into the requested subscenes. Also returns an error if subscenes
    /// on ranks do not fit into memory together.
    pub fn new(
        place: Place<'a>,
        sources: &[Vec3],
        options: &Options,
        settings: &SubsceneSettings,
    ) -> Result<Self, PartitionError> {
        settings.check()?;
        let Place { scene, elements, visible, .. } = place;
        let (polygons, origins) = Origins::of(scene);
        let partition = Partition::new(&polygons, &settings.partition)?;
        let sectors = Sectors::new(&partition);
        let of_elements = ElementReceivers::new(place, options.seed);
        let mut places = of_elements.of_all(|receiver| receiver.place());
        let apart = patches_apart(scene, elements, visible, |id: ElementId| sectors.at(places[id.index()]));
        let Start { patches, responses, states, brightness, unmapped } =
            Start::new(place, &of_elements, apart, sources);
        places.extend(unmapped.iter().map(Receiver::place));
        let all_patches = patches.len();
        let mut shares: Vec<Share> = partition.ids().map(|_| Share::default()).collect();
        let Aabb { min, max } = partition.bounds();
        for (patch, state) in patches.into_iter().zip(states) {
            let place = places[patch.receivers[0].index()];
            if let Some(cell) = partition.cell_at(place.clamp(min, max)) {
                shares[cell.index()].add(patch, state, &responses);
            }
        }
        drop((places, responses));
        let interface = |cell: CellId| Interface::new(&partition, cell, settings.mask_resolution);
        let interfaces = partition.ids().map(interface).collect::<Result<Vec<_>, _>>()?;
        let numbers = shares.iter_mut().map(|share| core::mem::take(&mut share.numbers)).collect();
        let max_in_flight = max_shots_in_flight(partition.borders().len(), settings.mask_resolution);
        let made_from = Source { place, of_elements, unmapped, partition, polygons, origins, numbers };
        let mut sites = Sites::new(made_from, options.max_bytes / SITES_SHARE);
        let (mut first, mut contents) = (0, Vec::with_capacity(shares.len()));
        for (share, interface) in shares.into_iter().zip(&interfaces) {
            contents.push(share.contents(first, &sites.at(interface.cell()).receivers, brightness, options.seed));
            first += contents[contents.len() - 1].patches.len();
        }
        if settings.ranks && sites.all().is_none() {
            return Err(PartitionError::RanksBeyondMemory { bytes: options.max_bytes / SITES_SHARE });
        }
        let common = Common {
            patches: all_patches,
            light_per_ray: brightness.light_per_ray(options.noise),
            search: options.search,
            max_bytes: (options.max_bytes - sites.bytes()) / (2 * interfaces.len()),
            seed: options.seed,
        };
        let worker = |(interface, contents)| Worker::new(common, interface, contents);
        let workers: Vec<_> = interfaces.into_iter().zip(contents).map(worker).collect();
        let inboxes = workers.iter().map(|_| VecDeque::new()).collect();
        let schedule = settings.ranks.then_some(Schedule::Parallel);
        let before = Shots::default();
        Ok(Self { place, workers, sites, inboxes, on_their_way: 0, max_in_flight, shots: 0, schedule, before })
    }

    /// Shoots power above a threshold on ranks, one for each subscene. Returns the counts of all ranks.
    fn shoot_on_ranks(&mut self, threshold: f64, schedule: Schedule) -> Vec<RoundCount> {
        let Place { scene, elements, .. } = self.place;
        let Self { workers, sites, shots, .. } = self;
        let numbers: Vec<Vec<ReceiverId>> =
            workers.iter().map(|worker| sites.numbers(worker.cell()).to_vec()).collect();
        let workers: Vec<Mutex<&mut Worker>> = workers.iter_mut().map(Mutex::new).collect();
        let sites = sites.all().expect("all sites were kept at the start");
        let first = *shots;
        let counts = run_local(workers.len() as u32, schedule, |communicator: &LocalCommunicator| {
            let rank = communicator.rank().index();
            let mut worker = workers[rank].lock().unwrap_or_else(PoisonError::into_inner);
            let parts_of = |patch: &Patch| -> Vec<Part> {
                parts(scene, elements, patch, |id| ElementId(numbers[rank][id.index()].0))
            };
            let round = Round::new(communicator, &mut worker, sites[rank]);
            round.shoot(threshold, first + (rank * MAX_SHOTS) as u64, parts_of)
        });
        let counts: Result<Vec<RoundCount>, _> = counts.into_iter().collect();
        let counts = counts.expect("ranks of one process answer each other");
        let shot: u64 = counts.iter().map(|count| count.shot).sum();
        debug_assert!(counts.iter().all(|count| count.total() == shot), "each shot comes to every rank once");
        *shots += shot;
        counts
    }

    /// Shoots power above a threshold in one subscene, up to a number of shots.
    fn shoot_in(&mut self, cell: usize, threshold: f64, go_on: &dyn Fn() -> bool) {
        for _ in 0..MAX_SHOTS.div_ceil(self.workers.len()) {
            let Self { place: Place { scene, elements, .. }, workers, sites, shots, .. } = self;
            let worker = &mut workers[cell];
            let Some(shot) = worker.strongest().filter(|shot| shot.power > threshold && go_on()) else { break };
            let numbers = sites.numbers(CellId::from_index(cell));
            let patch = &worker.contents().patches[shot.patch.index()];
            let parts = parts(scene, elements, patch, |id| ElementId(numbers[id.index()].0));
            let mut post = Vec::new();
            worker.shoot(shot.patch, *shots, parts, sites, &mut post);
            *shots += 1;
            self.on_their_way += 1;
            self.send(post);
            if self.on_their_way == self.max_in_flight {
                self.deliver(go_on);
            }
        }
    }

    /// Processes messages of all subscenes until there are no more.
    fn deliver(&mut self, go_on: &dyn Fn() -> bool) {
        self.on_their_way = 0;
        while self.inboxes.iter().any(|inbox| !inbox.is_empty()) {
            for cell in 0..self.workers.len() {
                while let Some(message) = self.inboxes[cell].pop_front_if(|_| go_on()) {
                    let mut post = Vec::new();
                    self.workers[cell].receive(message, &mut self.sites, &mut post);
                    self.send(post);
                }
                if !self.inboxes[cell].is_empty() {
                    return;
                }
            }
        }
    }

    /// Returns the weighted power of shots in transit, in lumens.
    fn power_on_its_way(&self, weight: impl Fn(&Flash) -> f64) -> f64 {
        let messages = self.inboxes.iter().flatten();
        let flashes: BTreeMap<u64, &Flash> = messages.map(|message| (message.flash.number, &*message.flash)).collect();
        flashes.values().map(|flash| weight(flash) * mean(flash.power()).abs()).sum()
    }

    fn send(&mut self, post: Vec<Message>) {
        post.into_iter().for_each(|message| self.inboxes[message.to.index()].push_back(message));
    }

    /// Collects the state of all light, with the given ray counts.
    fn light(&self, rays: Vec<u64>) -> Shots {
        shots_of(self.states(), self.shots as u32, rays)
    }

    fn states(&self) -> impl Iterator<Item = &State> {
        self.workers.iter().flat_map(|worker| &worker.contents().states)
    }
}

impl Refine for Blocked<'_> {
    fn patches(&self) -> usize {
        self.states().count()
    }

    fn shots(&self) -> u32 {
        self.shots as u32
    }

    fn rays(&self) -> u64 {
        self.workers.iter().flat_map(Worker::rays).sum()
    }

    fn unshot_power(&self) -> f64 {
        self.workers.iter().map(Worker::unshot_power).sum::<f64>() + self.power_on_its_way(|flash| flash.weight)
    }

    fn unshot_lumens(&self) -> f64 {
        self.states().map(State::unshot_lumens).sum::<f64>() + self.power_on_its_way(|_| 1.0)
    }

    fn strongest_power(&self) -> Option<f64> {
        let powers = self.workers.iter().filter_map(Worker::strongest).map(|shot| shot.power);
        powers.max_by(f64::total_cmp)
    }

    /// Visits each subscene once. Afterwards all shots have arrived everywhere.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> bool {
        let Some(strongest) = self.strongest_power() else { return true };
        let threshold = tolerance.max(strongest * SHARE_OF_STRONGEST);
        self.before = self.light(Vec::new());
        if let Some(schedule) = self.schedule {
            let is_on = go_on();
            if is_on {
                self.shoot_on_ranks(threshold, schedule);
            }
            return is_on;
        }
        let is_through = Cell::new(true);
        let go_on = &|| {
            is_through.set(is_through.get() && go_on());
            is_through.get()
        };
        for cell in 0..self.workers.len() {
            self.shoot_in(cell, threshold, go_on);
        }
        self.deliver(go_on);
        is_through.get()
    }

    fn undo(&mut self) {
        self.inboxes.iter_mut().for_each(VecDeque::clear);
        self.workers.iter_mut().for_each(Worker::forget_masks_on_their_way);
        // Traced rays stay counted, because identical shots will follow.
        restore(self.workers.iter_mut().flat_map(Worker::states_mut), &self.before);
        self.shots = self.before.count.into();
    }

    fn add(&mut self, light: &[Vec3]) {
        for worker in &mut self.workers {
            let numbers = self.sites.numbers(worker.cell());
            worker.add(|id| light.get(numbers[id.index()].index()).copied());
        }
    }

    fn received(&self) -> Vec<Vec3> {
        let mut received = vec![Vec3::ZERO; self.place.elements.len()];
        for worker in &self.workers {
            let (contents, numbers) = (worker.contents(), self.sites.numbers(worker.cell()));
            for (patch, state) in contents.patches.iter().zip(&contents.states) {
                for (id, light) in patch.receivers.iter().zip(&state.received) {
                    if let Some(element) = received.get_mut(numbers[id.index()].index()) {
                        *element = *light;
                    }
                }
            }
        }
        received
    }

    fn state(&self) -> Shots {
        self.light(self.workers.iter().flat_map(Worker::rays_in_words).collect())
    }

    fn resume(&mut self, from: &Shots) -> bool {
        let each = 2 * RayCount::words(self.patches());
        let is_possible = from.rays.chunks_exact(each / 2).all(|words| words[0] <= RayCount::MAX_TRACED);
        if !fit(self.states(), from) || from.rays.len() != each * self.workers.len() || !is_possible {
            return false;
        }
        for (worker, rays) in self.workers.iter_mut().zip(from.rays.chunks_exact(each)) {
            worker.restore_rays(rays);
        }
        restore(self.workers.iter_mut().flat_map(Worker::states_mut), from);
        self.shots = from.count.into();
        true
    }
}

/// Data of one subscene during the division.
#[derive(Default)]
struct Share {
    patches: Vec<Patch>,
    states: Vec<State>,
    responses: Vec<Response>,
    /// Global index of each receiver.
    numbers: Vec<ReceiverId>,
}

impl Share {
    fn add(&mut self, mut patch: Patch, state: State, responses: &[Response]) {
        for id in &mut patch.receivers {
            self.responses.push(responses[id.index()]);
            self.numbers.push(*id);
            *id = ReceiverId::from_index(self.numbers.len() - 1);
        }
        self.patches.push(patch);
        self.states.push(state);
    }

    /// Computes the contents of the subscene, with bounding boxes of its receivers. `first` is the global index of its
    /// first patch.
    fn contents(self, first: usize, receivers: &[Receiver], brightness: Brightness, seed: u32) -> Contents {
        let Self { patches, states, responses, .. } = self;
        let eyes = |patch: &Patch| Aabb::around(patch.receivers.iter().flat_map(|id| receivers[id.index()].points));
        let eyes: Vec<Aabb> = patches.iter().map(eyes).collect();
        let bounds: Vec<Aabb> = patches.iter().zip(&eyes).map(|(patch, eyes)| patch.bounds().union(*eyes)).collect();
        let shape = |(index, patch): (usize, &Patch)| {
            let place = receivers[patch.receivers[0].index()].place();
            let glow = brightness.glow(patch, &states[index]);
            Arc::new(Shape::new(patch, bounds[index], glow, place, hash2(seed, (first + index) as u32)))
        };
        let shapes = patches.iter().enumerate().map(shape).collect();
        Contents { patches, responses, bounds, eyes, states, shapes, first }
    }
}
