//! What each element sees of each patch, found in three ways.

use glam::Vec3;
use rayon::prelude::*;

use super::{PatchId, Patches};
use crate::geometry::{Ray, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::progress::Monitor;
use crate::radiosity::accumulators::{StoredHits, does_not_count, offsets};
use crate::radiosity::backend::{Hits, Step, StepError, TransportBackend};
use crate::radiosity::form_factor::point_to_polygon;
use crate::radiosity::progressive::facets_of;
use crate::scene::{Scene, luminance};

/// Form factors from elements to patches: the share of what an element sees that is a patch's. The rows of elements are in
/// the elements' own order, and hold nothing of the patches that an element does not see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    offsets: Vec<u64>,
    entries: Vec<(PatchId, f32)>,
}

impl Rows {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The patches that an element sees, rising, and how much of each.
    pub fn of(&self, element: usize) -> &[(PatchId, f32)] {
        &self.entries[self.offsets[element] as usize..self.offsets[element + 1] as usize]
    }

    /// Rows that `add` fills: it is given an element and adds to what that sees of patches.
    fn build(elements: usize, patches: usize, add: impl Fn(usize, &mut Row) + Sync) -> Self {
        let rows: Vec<Vec<(PatchId, f32)>> = (0..elements)
            .into_par_iter()
            .map_init(
                || Row { sums: vec![0.0; patches], touched: Vec::new() },
                |row, element| {
                    add(element, row);
                    row.take()
                },
            )
            .collect();
        Self { offsets: offsets(rows.iter().map(Vec::len)), entries: rows.concat() }
    }

    /// From what gather rays of a bake have met, which costs next to nothing. A ray that was coloured on its way counts by
    /// the luminance of its tint, since all channels share the rows.
    pub fn of_hits<'a>(patches: &Patches, hits: impl IntoIterator<Item = &'a StoredHits>) -> Self {
        let hits: Vec<&StoredHits> = hits.into_iter().collect();
        let patch_of = patches.of_elements();
        let uncounted = does_not_count(patch_of.len());
        Self::build(patch_of.len(), patches.len(), |element, row| {
            let of_element = || hits.iter().flat_map(|stored| &stored.hits[stored.range(element)]);
            let counted = of_element().filter(|&&hit| hit != uncounted).count();
            let share = 1.0 / counted.max(1) as f32;
            for patch in of_element().filter_map(|&hit| patch_of.get(hit as usize)) {
                row.add(*patch, share);
            }
            for tinted in hits.iter().flat_map(|stored| stored.tinted_in(element..element + 1)) {
                row.add(patch_of[tinted.hit as usize], share * luminance(tinted.tint));
            }
        })
    }

    /// From fresh rays, so many of each half of an element: work that grows with elements times rays. Takes over what the
    /// backend has added up.
    ///
    /// # Errors
    /// When the monitor asks for it, or the backend's device fails.
    pub fn by_rays(
        patches: &Patches,
        backend: &mut dyn TransportBackend,
        rays: u32,
        monitor: &dyn Monitor,
    ) -> Result<Self, StepError> {
        Self::by_dealt_rays(patches, backend, vec![rays; patches.order.len()], monitor)
    }

    /// The same with as many rays for each half of each element as is said: without any, its row is empty.
    ///
    /// # Errors
    /// When the monitor asks for it, or the backend's device fails.
    pub fn by_dealt_rays(
        patches: &Patches,
        backend: &mut dyn TransportBackend,
        rays: Vec<u32>,
        monitor: &dyn Monitor,
    ) -> Result<Self, StepError> {
        backend.run(&Step::Gather { rays, hits: Hits::Store }, monitor)?;
        let halves = backend.snapshot()?;
        Ok(Self::of_hits(patches, halves.iter().filter_map(|half| half.stored.last())))
    }

    /// From the form factors between elements, summed over each patch: work that grows with the square of the elements.
    pub fn of_form_factors(patches: &Patches, form_factor: impl Fn(usize, usize) -> f32 + Sync) -> Self {
        let patch_of = patches.of_elements();
        Self::build(patch_of.len(), patches.len(), |element, row| {
            for (other, &patch) in patch_of.iter().enumerate() {
                row.add(patch, form_factor(element, other));
            }
        })
    }
}

/// A row that grows.
struct Row {
    sums: Vec<f32>,
    touched: Vec<PatchId>,
}

impl Row {
    fn add(&mut self, patch: PatchId, share: f32) {
        if share > 0.0 {
            let sum = &mut self.sums[patch.index()];
            if *sum == 0.0 {
                self.touched.push(patch);
            }
            *sum += share;
        }
    }

    fn take(&mut self) -> Vec<(PatchId, f32)> {
        self.touched.sort_unstable();
        self.touched.drain(..).map(|patch| (patch, core::mem::take(&mut self.sums[patch.index()]))).collect()
    }
}

/// Form factors between elements of a scene of few: exact but for the visibility, which one ray between centres finds.
pub struct ElementFormFactors<'a> {
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    facets: Vec<Vec<Vec<Vec3>>>,
}

impl<'a> ElementFormFactors<'a> {
    /// Prepares the outlines of all elements.
    pub fn new(scene: &Scene, world: &'a dyn RayQuery, elements: &'a Elements) -> Self {
        let outlines =
            |id: ElementId| facets_of(scene, elements, &[id]).into_iter().map(|facet| facet.corners).collect();
        Self { world, elements, facets: elements.ids().map(outlines).collect() }
    }

    /// The share of what one element sees from its centre that is another's.
    pub fn between(&self, from: usize, to: usize) -> f32 {
        let Self { world, elements, facets } = self;
        let (at, normal) = (elements.centre[from], elements.geometric_normal[from]);
        let shading = elements.shading_normal[from];
        let unhidden: f32 = facets[to].iter().map(|corners| point_to_polygon(at, shading, normal, corners)).sum();
        let hair = 1e-5 + 1e-6 * at.abs().max_element();
        let ray = Ray::between(at + normal * hair, elements.centre[to] + elements.geometric_normal[to] * hair);
        if unhidden > 0.0 { unhidden * luminance(world.blocked(&ray).0) } else { 0.0 }
    }
}
