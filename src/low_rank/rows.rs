//! Form factors from elements to patches, computed in four ways.

use glam::Vec3;
use rayon::prelude::*;

use super::{PatchId, Patches, parts};
use crate::geometry::{Ray, RayQuery};
use crate::lightmap::{ElementId, Elements};
use crate::progress::Monitor;
use crate::radiosity::facets_of;
use crate::radiosity::point_to_polygon;
use crate::radiosity::{Hits, Step, StepError, TransportBackend};
use crate::radiosity::{StoredHits, does_not_count};
use crate::scene::{Scene, luminance};

/// Form factors from elements to patches: the fraction of an element's view that a patch covers. Rows are in the
/// elements' own order, and contain only visible patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    offsets: Vec<u64>,
    entries: Vec<(PatchId, f32)>,
}

impl Rows {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the patches that an element sees, in ascending order, with their form factors.
    pub fn of(&self, element: usize) -> &[(PatchId, f32)] {
        &self.entries[self.offsets[element] as usize..self.offsets[element + 1] as usize]
    }

    /// Builds rows with `add`, which adds the form factors of an element to a row.
    fn build(elements: usize, patches: usize, add: impl Fn(usize, &mut Row) + Sync) -> Self {
        let mut all = Self { offsets: vec![0], entries: Vec::new() };
        for elements in parts(elements) {
            let rows: Vec<Vec<(PatchId, f32)>> = elements
                .into_par_iter()
                .map_init(
                    || Row { sums: vec![0.0; patches], touched: Vec::new() },
                    |row, element| {
                        add(element, row);
                        row.take()
                    },
                )
                .collect();
            for row in rows {
                all.entries.extend(row);
                all.offsets.push(all.entries.len() as u64);
            }
        }
        all
    }

    /// Computes rows from the stored hits of a bake, which is fast. Tinted rays are weighted by the luminance of their
    /// tint, because all channels share the rows.
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

    /// Computes rows by tracing `rays` new rays of each half of an element. Time grows with elements times rays. The
    /// hits stay in the backend.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the backend's device fails.
    pub fn by_rays(
        patches: &Patches,
        backend: &mut dyn TransportBackend,
        rays: u32,
        monitor: &dyn Monitor,
    ) -> Result<Self, StepError> {
        Self::by_ray_counts(patches, backend, vec![rays; patches.order.len()], monitor)
    }

    /// Computes rows by tracing new rays. `rays` is the number of rays for each half of each element. The row of an
    /// element without rays is empty.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the backend's device fails.
    pub fn by_ray_counts(
        patches: &Patches,
        backend: &mut dyn TransportBackend,
        rays: Vec<u32>,
        monitor: &dyn Monitor,
    ) -> Result<Self, StepError> {
        backend.run(&Step::Gather { rays, hits: Hits::Store }, monitor)?;
        let halves = backend.snapshot()?;
        Ok(Self::of_hits(patches, halves.iter().filter_map(|half| half.stored.last())))
    }

    /// Computes rows from form factors between elements, summed over each patch. Time grows with the square of the
    /// number of elements.
    pub fn of_form_factors(patches: &Patches, form_factor: impl Fn(usize, usize) -> f32 + Sync) -> Self {
        let patch_of = patches.of_elements();
        Self::build(patch_of.len(), patches.len(), |element, row| {
            for (other, &patch) in patch_of.iter().enumerate() {
                row.add(patch, form_factor(element, other));
            }
        })
    }
}

impl Rows {
    /// Computes rows from form factors between elements and patches, such as those of [`PatchFormFactors`]. Time grows with
    /// elements times patches.
    pub fn of_patch_form_factors(patches: &Patches, form_factor: impl Fn(usize, PatchId) -> f32 + Sync) -> Self {
        let ids: Vec<PatchId> = patches.ids().collect();
        Self::build(patches.order.len(), patches.len(), |element, row| {
            ids.iter().for_each(|&patch| row.add(patch, form_factor(element, patch)));
        })
    }
}

/// Accumulator of a row.
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

/// Form factors between elements, for small scenes. The form factors are analytic, and one ray between the centers
/// gives the visibility.
pub struct ElementFormFactors<'a> {
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    facets: Vec<Vec<Vec<Vec3>>>,
}

impl<'a> ElementFormFactors<'a> {
    /// Computes the outlines of all elements.
    pub fn new(scene: &Scene, world: &'a dyn RayQuery, elements: &'a Elements) -> Self {
        let outlines =
            |id: ElementId| facets_of(scene, elements, &[id]).into_iter().map(|facet| facet.corners).collect();
        Self { world, elements, facets: elements.ids().map(outlines).collect() }
    }

    /// Returns the form factor from the center of one element to another.
    pub fn between(&self, from: usize, to: usize) -> f32 {
        let Self { world, elements, facets } = self;
        let unhidden: f32 = facets[to].iter().map(|corners| unhidden(elements, from, corners)).sum();
        if unhidden > 0.0 { unhidden * visibility(*world, elements, from, to) } else { 0.0 }
    }
}

/// Form factors from elements to patches as wholes. They are analytic, and rays to the centers of some of a patch's elements
/// give the visibility (`001` section 3.2).
///
/// A patch stands for the convex hull of its elements in each triangle. Elements that do not fill it, such as those around
/// a corner, count as more than they are.
pub struct PatchFormFactors<'a> {
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    patches: Vec<Outline>,
}

/// Polygons of a patch, and elements that stand for it.
struct Outline {
    facets: Vec<Vec<Vec3>>,
    seen: Vec<usize>,
}

/// Number of a patch's elements that rays test.
const VISIBILITY_RAYS: usize = 16;

impl<'a> PatchFormFactors<'a> {
    /// Computes the outlines of all patches.
    pub fn new(scene: &Scene, world: &'a dyn RayQuery, elements: &'a Elements, patches: &Patches) -> Self {
        let outline = |patch: PatchId| {
            let mut group: Vec<ElementId> =
                patches.of(patch).map(|row| ElementId::from_index(patches.order[row] as usize)).collect();
            let side = |id: &ElementId| (elements.surface(*id), elements.back[id.index()]);
            group.sort_by_key(side);
            let of_side = |side: &[ElementId]| facets_of(scene, elements, side);
            let facets = group.chunk_by(|a, b| side(a) == side(b)).flat_map(of_side).map(|facet| facet.corners);
            // Elements lie in rows, so equal steps could all be in one column.
            let spread = (0..VISIBILITY_RAYS).map(|ray| (ray * group.len() / VISIBILITY_RAYS + 7 * ray) % group.len());
            let mut seen: Vec<usize> = spread.map(|at| group[at].index()).collect();
            seen.sort_unstable();
            seen.dedup();
            Outline { facets: facets.collect(), seen }
        };
        Self { world, elements, patches: patches.ids().map(outline).collect() }
    }

    /// Returns the form factor from the center of an element to a patch.
    pub fn between(&self, from: usize, to: PatchId) -> f32 {
        let Self { world, elements, patches } = self;
        let Outline { facets, seen } = &patches[to.index()];
        let unhidden: f32 = facets.iter().map(|corners| unhidden(elements, from, corners)).sum();
        if unhidden > 0.0 {
            let visible = seen.iter().map(|&element| visibility(*world, elements, from, element)).sum::<f32>();
            unhidden * visible / seen.len() as f32
        } else {
            0.0
        }
    }
}

/// Returns the form factor from the center of an element to a polygon that nothing hides.
fn unhidden(elements: &Elements, from: usize, corners: &[Vec3]) -> f32 {
    point_to_polygon(elements.center[from], elements.shading_normal[from], elements.geometric_normal[from], corners)
}

/// Returns the luminance that passes between the centers of two elements.
fn visibility(world: &dyn RayQuery, elements: &Elements, from: usize, to: usize) -> f32 {
    let (at, normal) = (elements.center[from], elements.geometric_normal[from]);
    let ray_epsilon = 1e-5 + 1e-6 * at.abs().max_element();
    let ray =
        Ray::between(at + normal * ray_epsilon, elements.center[to] + elements.geometric_normal[to] * ray_epsilon);
    luminance(world.blocked(&ray).0)
}
