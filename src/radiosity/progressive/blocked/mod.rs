//! Progressive refinement subscene by subscene (`000` S8): while one is at work, only its own geometry, receivers and
//! interactions are touched, which is little enough to stay in a processor's cache.
//!
//! A patch lights the subscene that it is in as ever. To those behind borders goes a copy of it with a mask
//! ([`masks`](crate::partition::masks)), and from there on, so that nobody looks into a subscene but its own [`Worker`].
//! Here all of them take turns in one process, and messages wait in queues.
//!
//! Patches are cut between texels where planes of the partition cut them. A texel belongs to the subscene that its middle
//! is in; for what of it lies beyond, the masks are read where they are nearest.

mod local;
mod message;
#[cfg(test)]
mod tests;
mod worker;

use std::collections::VecDeque;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::patches::{Facet, Patch, facets_of, patches_apart};
use super::receivers::{Receiver, ReceiverId};
use super::refinement::{Brightness, State, fit, parts, restore, shots_of};
use super::shooter::Shining;
use super::{Options, Place, Refine};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::lightmap::ElementId;
use crate::partition::masks::{Interface, Sectors};
use crate::partition::{CellId, Partition, PartitionError};
use crate::radiosity::SubsceneSettings;
use crate::radiosity::partial::Shots;

use local::{Local, Origins};
use message::{Message, Shape};
use worker::{Common, Contents, Worker};

/// Patches shoot that have more than this share of what the strongest had when the round began.
const SHARE_OF_STRONGEST: f64 = 0.5;

/// Shots of a subscene in a round at most.
const MOST_SHOTS: usize = 64;

/// A solution that all subscenes together work at.
pub struct Blocked<'a> {
    place: Place<'a>,
    workers: Vec<Worker>,
    /// The receivers of each subscene in the numbers of all.
    receivers: Vec<Vec<ReceiverId>>,
    inboxes: Vec<VecDeque<Message>>,
    shots: u64,
}

impl<'a> Blocked<'a> {
    /// Cuts a scene and prepares to shoot what elements send out of themselves, lm/m2.
    ///
    /// # Errors
    /// When the scene cannot be cut like that.
    pub fn new(
        place: Place<'a>,
        sources: &[Vec3],
        options: &Options,
        settings: &SubsceneSettings,
    ) -> Result<Self, PartitionError> {
        let Place { scene, world, elements, visible } = place;
        let (polygons, origins) = Origins::of(scene);
        let partition = Partition::new(&polygons, &settings.partition)?;
        let sectors = Sectors::new(&partition);
        let mut receivers = super::receivers::receivers(scene, world, elements, visible, options.seed);
        let sector_of = |id: ElementId| sectors.at(receivers[id.index()].place());
        let mut patches = patches_apart(scene, elements, visible, sector_of);
        super::bare::add(scene, elements, &mut patches, &mut receivers);
        let source = |id: ReceiverId| sources.get(id.index()).copied().unwrap_or(Vec3::ZERO);
        let states = patches.iter().map(|patch| State::new(patch, &receivers, |id| source(*id))).collect::<Vec<_>>();
        let brightness = Brightness::of(&patches, &receivers, &states);
        drop(states);
        let cells = partition.cells().len();
        let common = Common {
            patches: patches.len(),
            light_per_ray: brightness.light_per_ray(options.noise),
            visibility: options.visibility,
            most_bytes: options.most_bytes / (2 * cells),
            seed: options.seed,
        };
        let mut shares: Vec<Share> = partition.ids().map(|_| Share::default()).collect();
        for patch in patches {
            let place = receivers[patch.receivers[0].index()].place();
            let Aabb { min, max } = partition.bounds();
            if let Some(cell) = partition.cell_at(place.clamp(min, max)) {
                shares[cell.index()].add(patch, &receivers);
            }
        }
        drop(receivers);
        let mut first = 0;
        let mut firsts = Vec::with_capacity(cells);
        for share in &shares {
            firsts.push(first);
            first += share.patches.len();
        }
        let subscenes = partition.distribute(&polygons, |polygon, corner| origins.weights(polygon, corner));
        let numbers = shares.iter_mut().map(|share| core::mem::take(&mut share.numbers)).collect::<Vec<_>>();
        let worker = |(((share, numbers), first), cell): (((Share, &Vec<ReceiverId>), usize), CellId)| {
            let interface = Interface::new(&partition, cell, settings.mask_resolution)?;
            let facets = |id: &ReceiverId| facets_of(scene, elements, &[ElementId(numbers[id.index()].0)]);
            let contents = share.contents(first, brightness, |id| source(numbers[id.index()]), facets, options.seed);
            let local = Local::new(&origins, &subscenes[cell.index()]);
            Ok(Worker::new(common, interface, local, contents))
        };
        let all: Vec<_> = shares.into_iter().zip(&numbers).zip(firsts).zip(partition.ids()).collect();
        let workers = all.into_par_iter().map(worker).collect::<Result<Vec<_>, PartitionError>>()?;
        let inboxes = workers.iter().map(|_| VecDeque::new()).collect();
        Ok(Self { place, workers, receivers: numbers, inboxes, shots: 0 })
    }

    /// One subscene shoots what is above a threshold, a little of it at a time.
    fn shoot_in(&mut self, cell: usize, threshold: f64) {
        let mut post = Vec::new();
        for _ in 0..MOST_SHOTS {
            let worker = &mut self.workers[cell];
            let Some(shot) = worker.strongest().filter(|shot| shot.power > threshold) else { break };
            worker.shoot(shot.patch, self.shots, &mut post);
            self.shots += 1;
        }
        self.send(post);
    }

    /// Subscenes read their messages until there are no more.
    fn deliver(&mut self) {
        while self.inboxes.iter().any(|inbox| !inbox.is_empty()) {
            for cell in 0..self.workers.len() {
                let mut post = Vec::new();
                for message in core::mem::take(&mut self.inboxes[cell]) {
                    self.workers[cell].receive(message, &mut post);
                }
                self.send(post);
            }
        }
    }

    fn send(&mut self, post: Vec<Message>) {
        post.into_iter().for_each(|message| self.inboxes[message.to.index()].push_back(message));
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
        self.workers.iter().map(Worker::unshot_power).sum()
    }

    fn strongest_power(&self) -> Option<f64> {
        let powers = self.workers.iter().filter_map(Worker::strongest).map(|shot| shot.power);
        powers.max_by(f64::total_cmp)
    }

    /// Goes from subscene to subscene once; then all that was shot has arrived everywhere.
    fn shoot_on(&mut self, tolerance: f64) {
        let Some(strongest) = self.strongest_power() else { return };
        let threshold = tolerance.max(strongest * SHARE_OF_STRONGEST);
        for cell in 0..self.workers.len() {
            self.shoot_in(cell, threshold);
        }
        self.deliver();
    }

    fn add(&mut self, light: &[Vec3]) {
        for (worker, numbers) in self.workers.iter_mut().zip(&self.receivers) {
            worker.add(|id| light.get(numbers[id.index()].index()).copied());
        }
    }

    fn received(&self) -> Vec<Vec3> {
        let mut received = vec![Vec3::ZERO; self.place.elements.len()];
        for (worker, numbers) in self.workers.iter().zip(&self.receivers) {
            let contents = worker.contents();
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
        let rays = self.workers.iter().flat_map(Worker::rays).collect();
        shots_of(self.states(), self.shots as u32, rays)
    }

    fn resume(&mut self, from: &Shots) -> bool {
        let each = 2 * self.patches();
        if !fit(self.states(), from) || from.rays.len() != each * self.workers.len() {
            return false;
        }
        for (worker, rays) in self.workers.iter_mut().zip(from.rays.chunks_exact(each.max(1))) {
            worker.know_rays(rays);
        }
        restore(self.workers.iter_mut().flat_map(Worker::states_mut), from);
        self.shots = from.count.into();
        true
    }
}

/// What goes to one subscene.
#[derive(Default)]
struct Share {
    patches: Vec<Patch>,
    receivers: Vec<Receiver>,
    /// Its receivers in the numbers of all.
    numbers: Vec<ReceiverId>,
}

impl Share {
    fn add(&mut self, mut patch: Patch, receivers: &[Receiver]) {
        for id in &mut patch.receivers {
            self.receivers.push(receivers[id.index()]);
            self.numbers.push(*id);
            *id = ReceiverId::from_index(self.numbers.len() - 1);
        }
        self.patches.push(patch);
    }

    fn contents(
        self,
        first: usize,
        brightness: Brightness,
        source: impl Fn(ReceiverId) -> Vec3,
        facets: impl Fn(&ReceiverId) -> Vec<Facet>,
        seed: u32,
    ) -> Contents {
        let Self { patches, receivers, .. } = self;
        let eyes = |patch: &Patch| Aabb::around(patch.receivers.iter().flat_map(|id| receivers[id.index()].points));
        let eyes: Vec<Aabb> = patches.iter().map(eyes).collect();
        let bounds: Vec<Aabb> = patches.iter().zip(&eyes).map(|(patch, eyes)| patch.bounds().union(*eyes)).collect();
        let states: Vec<State> = patches.iter().map(|patch| State::new(patch, &receivers, |id| source(*id))).collect();
        let shape = |(index, patch): (usize, &Patch)| {
            let place = receivers[patch.receivers[0].index()].place();
            let glow = brightness.glow(patch, &states[index]);
            let shining = Shining { patch, bounds: bounds[index], parts: &parts(patch, &facets), glow };
            Arc::new(Shape::new(&shining, place, hash2(seed, (first + index) as u32)))
        };
        let shapes = patches.iter().enumerate().map(shape).collect();
        Contents { patches, receivers, bounds, eyes, states, shapes, first }
    }
}
