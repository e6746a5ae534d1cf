//! Progressive refinement subscene by subscene (`000` S8).
//!
//! A working subscene uses only its own geometry, receivers and form factors, which are small enough for the CPU cache.
//!
//! A patch lights its own subscene directly. A copy of the patch with a visibility mask
//! ([`masks`](crate::partition::masks)) goes to subscenes beyond each border. From there it is passed on. A subscene's
//! data is thus only used by its own [`Worker`]. All workers take turns in one process, and messages wait in queues.
//! Geometry and receiver points of idle subscenes are dropped if memory is short ([`Sites`]).
//!
//! With [`SubsceneSettings::ranks`], workers run at the same time, each on a rank of its own ([`OnRanks`]).
//!
//! Patches are divided between texels at planes of the partition. A texel belongs to the subscene of its center. For
//! parts beyond a plane, masks are read at their nearest point.

mod division;
mod encoding;
mod local;
mod message;
mod on_ranks;
#[cfg(test)]
mod on_ranks_tests;
mod orders;
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

use super::patches::parts;
use super::refinement::{State, fit, mean, restore, shots_of};
use super::{Options, Place, Refine};
use crate::lightmap::ElementId;
use crate::partition::masks::Mask;
use crate::partition::{CellId, PartitionError};
use crate::radiosity::solver_checkpoint::Shots;
use crate::radiosity::{StepError, SubsceneSettings};
use glam::Vec3;

pub use on_ranks::{OnRanks, RefinementHelper, refine_on_ranks};

use division::{Division, Share};
use message::{Flash, Message};
use ray_count::RayCount;
use site::{SiteAccess, Sites};
use worker::Worker;

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
    /// State of light before the last round.
    before: Shots,
}

impl<'a> Blocked<'a> {
    /// Divides a scene, and prepares to shoot the initial radiosities of elements, in lm/m2.
    ///
    /// # Errors
    /// Returns an error if the scene cannot be divided into the requested subscenes.
    pub fn new(
        place: Place<'a>,
        sources: &[Vec3],
        options: &Options,
        settings: &SubsceneSettings,
    ) -> Result<Self, PartitionError> {
        let Division { source, shares, parameters } = Division::new(place, sources, options, settings)?;
        let max_in_flight = max_shots_in_flight(source.partition.borders().len(), settings.mask_resolution);
        let mut sites = Sites::new(source, options.max_bytes / SITES_SHARE);
        let contents =
            |(cell, share): (usize, Share)| share.contents(&sites.at(CellId::from_index(cell)).receivers, &parameters);
        let contents: Vec<_> = shares.into_iter().enumerate().map(contents).collect();
        let common = parameters.common((options.max_bytes - sites.bytes()) / (2 * contents.len()));
        let worker = |(interface, contents)| Worker::new(common, interface, contents);
        let workers: Vec<_> = contents.into_iter().map(worker).collect();
        let inboxes = workers.iter().map(|_| VecDeque::new()).collect();
        let before = Shots::default();
        Ok(Self { place, workers, sites, inboxes, on_their_way: 0, max_in_flight, shots: 0, before })
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
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> Result<bool, StepError> {
        let Some(strongest) = self.strongest_power() else { return Ok(true) };
        let threshold = threshold(strongest, tolerance);
        self.before = self.light(Vec::new());
        let is_through = Cell::new(true);
        let go_on = &|| {
            is_through.set(is_through.get() && go_on());
            is_through.get()
        };
        for cell in 0..self.workers.len() {
            self.shoot_in(cell, threshold, go_on);
        }
        self.deliver(go_on);
        Ok(is_through.get())
    }

    fn undo(&mut self) {
        self.inboxes.iter_mut().for_each(VecDeque::clear);
        self.workers.iter_mut().for_each(Worker::forget_masks_on_their_way);
        // Traced rays stay counted, because identical shots will follow.
        restore(self.workers.iter_mut().flat_map(Worker::states_mut), &self.before);
        self.shots = self.before.count.into();
    }

    fn add(&mut self, light: &[Vec3]) -> Result<(), StepError> {
        for worker in &mut self.workers {
            let numbers = self.sites.numbers(worker.cell());
            worker.add(|id| light.get(numbers[id.index()].index()).copied());
        }
        Ok(())
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

    fn resume(&mut self, from: &Shots) -> Result<bool, StepError> {
        let patches = self.patches();
        if !fit(self.states(), from) || !RayCount::fit(&from.rays, patches, self.workers.len()) {
            return Ok(false);
        }
        for (worker, rays) in self.workers.iter_mut().zip(from.rays.chunks_exact(2 * RayCount::words(patches))) {
            worker.restore_rays(rays);
        }
        restore(self.workers.iter_mut().flat_map(Worker::states_mut), from);
        self.shots = from.count.into();
        Ok(true)
    }
}

/// Returns the power above which patches shoot in a round, in lumens.
fn threshold(strongest: f64, tolerance: f64) -> f64 {
    tolerance.max(strongest * SHARE_OF_STRONGEST)
}
