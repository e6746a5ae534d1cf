//! Division of a scene into subscenes, before any shot.

use std::sync::Arc;

use glam::Vec3;

use super::super::patches::{Patch, patches_apart};
use super::super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::super::refinement::{Brightness, State};
use super::super::start::Start;
use super::super::{Options, Place};
use super::local::Origins;
use super::message::Shape;
use super::site::Source;
use super::worker::{Common, Contents};
use crate::geometry::Aabb;
use crate::geometry::sobol::hash2;
use crate::lightmap::ElementId;
use crate::partition::masks::{Interface, Sectors};
use crate::partition::{Partition, PartitionError};
use crate::radiosity::SubsceneSettings;

/// Scene that is divided into subscenes.
pub struct Division<'a> {
    pub source: Source<'a>,
    /// Share of each subscene, by cell.
    pub shares: Vec<Share>,
    pub parameters: Parameters,
}

impl<'a> Division<'a> {
    /// Divides a scene whose elements have initial radiosities, in lm/m2.
    ///
    /// # Errors
    /// Returns an error if the scene cannot be divided into the requested subscenes.
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
        let parameters = Parameters { patches: patches.len(), brightness, options: *options };
        let interface = |cell| Interface::new(&partition, cell, settings.mask_resolution);
        let mut shares =
            partition.ids().map(|cell| interface(cell).map(Share::new)).collect::<Result<Vec<_>, PartitionError>>()?;
        let Aabb { min, max } = partition.bounds();
        for (patch, state) in patches.into_iter().zip(states) {
            let place = places[patch.receivers[0].index()];
            if let Some(cell) = partition.cell_at(place.clamp(min, max)) {
                shares[cell.index()].add(patch, state, &responses);
            }
        }
        let mut first = 0;
        for share in &mut shares {
            share.first = first;
            first += share.patches.len();
        }
        let numbers = shares.iter_mut().map(|share| core::mem::take(&mut share.numbers)).collect();
        let source = Source { place, of_elements, unmapped, partition, polygons, origins, numbers };
        Ok(Self { source, shares, parameters })
    }
}

/// Parameters of all workers.
#[derive(Clone, Copy)]
pub struct Parameters {
    /// Number of patches in all subscenes.
    patches: usize,
    brightness: Brightness,
    options: Options,
}

impl Parameters {
    /// Returns the parameters of workers, each of which has a memory limit for form-factor rows and the same for masks.
    pub fn common(&self, max_bytes: usize) -> Common {
        let Self { patches, brightness, options: Options { search, noise, seed, .. } } = *self;
        Common { patches, light_per_ray: brightness.light_per_ray(noise), search, max_bytes, seed }
    }
}

/// Patches of one subscene, and its borders.
pub struct Share {
    interface: Interface,
    patches: Vec<Patch>,
    states: Vec<State>,
    responses: Vec<Response>,
    /// Global index of each receiver, until all are collected.
    numbers: Vec<ReceiverId>,
    /// Global index of the first patch.
    first: usize,
}

impl Share {
    fn new(interface: Interface) -> Self {
        let (patches, states, responses, numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { interface, patches, states, responses, numbers, first: 0 }
    }

    fn add(&mut self, mut patch: Patch, state: State, responses: &[Response]) {
        for id in &mut patch.receivers {
            self.responses.push(responses[id.index()]);
            self.numbers.push(*id);
            *id = ReceiverId::from_index(self.numbers.len() - 1);
        }
        self.patches.push(patch);
        self.states.push(state);
    }

    /// Computes the contents of the subscene, with bounding boxes of its receivers.
    pub fn contents(self, receivers: &[Receiver], parameters: &Parameters) -> (Interface, Contents) {
        let Self { interface, patches, states, responses, first, .. } = self;
        let Parameters { brightness, options: Options { seed, .. }, .. } = *parameters;
        let eyes = |patch: &Patch| Aabb::around(patch.receivers.iter().flat_map(|id| receivers[id.index()].points));
        let eyes: Vec<Aabb> = patches.iter().map(eyes).collect();
        let bounds: Vec<Aabb> = patches.iter().zip(&eyes).map(|(patch, eyes)| patch.bounds().union(*eyes)).collect();
        let shape = |(index, patch): (usize, &Patch)| {
            let place = receivers[patch.receivers[0].index()].place();
            let glow = brightness.glow(patch, &states[index]);
            Arc::new(Shape::new(patch, bounds[index], glow, place, hash2(seed, (first + index) as u32)))
        };
        let shapes = patches.iter().enumerate().map(shape).collect();
        (interface, Contents { patches, responses, bounds, eyes, states, shapes, first })
    }
}
