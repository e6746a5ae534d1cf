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

use super::patches::{Patch, facets_of, patches_apart};
use super::receivers::{Receiver, ReceiverId};
use super::refinement::{State, light_per_ray};
use super::{Found, Options, Place};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::lightmap::ElementId;
use crate::partition::masks::{Interface, Sectors};
use crate::partition::{CellId, Partition, PartitionError};
use crate::radiosity::{SolveError, SubsceneSettings};

use local::{Local, Origins};
use message::{Message, Shape};
use worker::{Common, Contents, Worker};

/// Patches shoot that have more than this share of what the strongest had when the round began.
const SHARE_OF_STRONGEST: f64 = 0.5;

/// A solution that all subscenes together work at.
pub struct Blocked<'a> {
    place: Place<'a>,
    workers: Vec<Worker>,
    /// The receivers of each subscene in the numbers of all.
    receivers: Vec<Vec<ReceiverId>>,
    inboxes: Vec<VecDeque<Message>>,
    shots: u64,
    /// True when nobody may shoot any more.
    is_over: bool,
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
        let power = |id: &ReceiverId| source(*id) * receivers[id.index()].area;
        let power: Vec3 = patches.iter().flat_map(|patch| &patch.receivers).map(power).sum();
        let area = patches.iter().map(|patch| patch.visible_area).sum();
        let cells = partition.cells().len();
        let common = Common {
            patches: patches.len(),
            light_per_ray: light_per_ray(f64::from(power.element_sum()) / 3.0, area, options.noise),
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
            let contents = share.contents(first, |id| source(numbers[id.index()]), options.seed);
            let local = Local::new(&origins, &subscenes[cell.index()]);
            Ok(Worker::new(common, interface, local, contents))
        };
        let all: Vec<_> = shares.into_iter().zip(&numbers).zip(firsts).zip(partition.ids()).collect();
        let workers = all.into_par_iter().map(worker).collect::<Result<Vec<_>, PartitionError>>()?;
        let inboxes = workers.iter().map(|_| VecDeque::new()).collect();
        Ok(Self { place, workers, receivers: numbers, inboxes, shots: 0, is_over: false })
    }

    /// How many patches there are.
    pub fn patches(&self) -> usize {
        self.workers.iter().map(|worker| worker.contents().patches.len()).sum()
    }

    /// All power that has not been shot, lumens, the mean of the channels.
    pub fn unshot_power(&self) -> f64 {
        self.workers.iter().map(Worker::unshot_power).sum()
    }

    /// The most power that a patch has not shot; `None` when all has been shot.
    pub fn strongest(&self) -> Option<f64> {
        let powers = self.workers.iter().filter_map(Worker::strongest).map(|shot| shot.power);
        powers.max_by(f64::total_cmp)
    }

    /// Goes from subscene to subscene once; false when nothing was left to do: no patch has more power than a tolerance,
    /// or `go_on`, which is told the power of the next shot, has wanted no more, and all messages have arrived.
    ///
    /// # Errors
    /// What `go_on` answers.
    pub fn go_round(
        &mut self,
        tolerance: f64,
        go_on: &mut impl FnMut(f64) -> Result<bool, SolveError>,
    ) -> Result<bool, SolveError> {
        let strongest = self.strongest().filter(|&power| !self.is_over && power > tolerance);
        if strongest.is_none() && self.inboxes.iter().all(VecDeque::is_empty) {
            return Ok(false);
        }
        let threshold = strongest.map(|power| tolerance.max(power * SHARE_OF_STRONGEST));
        for cell in 0..self.workers.len() {
            self.visit(cell, threshold, go_on)?;
        }
        Ok(true)
    }

    /// One subscene reads its messages and shoots what is above a threshold.
    fn visit(
        &mut self,
        cell: usize,
        threshold: Option<f64>,
        go_on: &mut impl FnMut(f64) -> Result<bool, SolveError>,
    ) -> Result<(), SolveError> {
        let Self { place, workers, receivers, inboxes, shots, is_over } = self;
        let (worker, numbers) = (&mut workers[cell], &receivers[cell]);
        let facets = |id: ReceiverId| facets_of(place.scene, place.elements, &[ElementId(numbers[id.index()].0)]);
        let mut post = Vec::new();
        for message in core::mem::take(&mut inboxes[cell]) {
            worker.receive(message, &mut post);
        }
        while let (false, Some(threshold), Some(shot)) = (*is_over, threshold, worker.strongest()) {
            if shot.power <= threshold {
                break;
            }
            *is_over = !go_on(shot.power)?;
            if !*is_over {
                worker.shoot(shot.patch, *shots, facets, &mut post);
                *shots += 1;
            }
        }
        post.into_iter().for_each(|message| inboxes[message.to.index()].push_back(message));
        Ok(())
    }

    /// Irradiance that each element has received, lux.
    pub fn received(&self) -> Vec<Vec3> {
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

    /// What all shots came to, of so much power.
    pub fn found(&self, all: f64) -> Found {
        Found {
            received: self.received(),
            unshot: (self.unshot_power() / all) as f32,
            shots: self.shots as u32,
            rays: self.workers.iter().map(Worker::rays).sum(),
        }
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

    fn contents(self, first: usize, source: impl Fn(ReceiverId) -> Vec3, seed: u32) -> Contents {
        let Self { patches, receivers, .. } = self;
        let eyes = |patch: &Patch| Aabb::around(patch.receivers.iter().flat_map(|id| receivers[id.index()].points));
        let eyes: Vec<Aabb> = patches.iter().map(eyes).collect();
        let bounds: Vec<Aabb> = patches.iter().zip(&eyes).map(|(patch, eyes)| patch.bounds().union(*eyes)).collect();
        let shape = |(index, patch): (usize, &Patch)| {
            let place = receivers[patch.receivers[0].index()].place();
            Arc::new(Shape::new(patch, bounds[index], place, hash2(seed, (first + index) as u32)))
        };
        let shapes = patches.iter().enumerate().map(shape).collect();
        let states = patches.iter().map(|patch| State::new(patch, &receivers, |id| source(*id))).collect();
        Contents { patches, receivers, bounds, eyes, states, shapes, first }
    }
}
