//! Accumulated sums of a backend, which are the whole state of a solution.

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use rayon::prelude::*;

use super::backend::ElementEstimate;
use super::bright::BrightElement;
use crate::lightmap::{ElementId, Elements};

/// Number of independent solutions (halves). Their difference is the error estimate.
pub const HALVES: usize = 2;

/// Sums of one element. Irradiances are in lux, already divided by the PDF of their samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Sums {
    /// Direct irradiance from light-sampled rays (next event estimation).
    pub light_sampled: Vec3,
    /// Sum of squared luminances of the samples in `light_sampled`.
    pub light_sampled_square: f32,
    /// Number of light samples.
    pub light_samples: u32,
    /// Direct irradiance from sky and emissive surfaces that gather rays hit.
    pub bsdf_sampled: Vec3,
    /// Number of traced gather rays. Also the index of the next ray in the element's sample sequence.
    pub gathered: u32,
    /// Indirect irradiance of paths that continued through unmapped surfaces, or that bright elements sampled as lights
    /// contributed.
    pub continuation: Vec3,
    /// Indirect irradiance of gather rays that read radiosity instead of storing their hits.
    pub read: Vec3,
    /// Number of valid gather rays.
    pub valid: u32,
    /// Number of valid gather rays whose hits contribute, in `read` or as stored hits.
    pub carriers: u32,
    /// Number of gather rays that escaped or were absorbed.
    pub lost: u32,
    /// Number of gather rays that started inside other geometry. They are invalid samples.
    pub inside: u32,
}

impl Sums {
    /// Most rays or samples of an element that are plausible in a checkpoint.
    pub(super) const MAX_RAYS: u32 = 1 << 30;

    /// Returns the number of light samples and gather rays.
    pub fn samples(&self) -> u64 {
        u64::from(self.light_samples) + u64::from(self.gathered)
    }

    /// Returns false for sums that no bake has: more rays than it would trace, or invalid numbers.
    fn are_possible(&self) -> bool {
        let Self {
            light_sampled,
            light_sampled_square,
            light_samples,
            bsdf_sampled,
            gathered,
            continuation,
            read,
            valid,
            carriers,
            lost,
            inside,
        } = self;
        let vectors = [light_sampled, bsdf_sampled, continuation, read];
        vectors.iter().all(|sum| sum.is_finite())
            && light_sampled_square.is_finite()
            && (*light_samples).max(*gathered) <= Self::MAX_RAYS
            && [valid, carriers, lost, inside].iter().all(|&part| part <= gathered)
    }
}

/// Returns the stored hit of a valid ray without contribution. This is the index of an always zero entry after the last
/// element's radiosity.
pub(crate) const fn brings_nothing(elements: usize) -> u32 {
    elements as u32
}

/// Returns the stored hit of an invalid ray.
pub(crate) const fn does_not_count(elements: usize) -> u32 {
    elements as u32 + 1
}

/// Element hits of a set of gather rays: one sparse Monte Carlo row of the form-factor matrix for each element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredHits {
    /// Start of each element's rays in `hits`, followed by the total number.
    pub offsets: Vec<u64>,
    /// Index of the element that was hit.
    pub hits: Vec<u32>,
    /// Rays tinted on their way, sorted by `element`. Their entries in `hits` are those of rays without contribution.
    pub tinted: Vec<TintedHit>,
}

/// Hit of a gather ray that passed a blended surface, or bounced off an unmapped surface, on its way.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TintedHit {
    /// Element from which the ray started.
    pub element: u32,
    /// Element that the ray hit.
    pub hit: u32,
    /// Fraction of the radiosity that arrives, per color channel.
    pub tint: Vec3,
}

/// Returns the start offsets of consecutive rows with these lengths, followed by the end of the last row.
pub(crate) fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u64;
        Some(*end)
    });
    core::iter::once(0).chain(ends).collect()
}

impl StoredHits {
    /// Returns the start offset of each element's rays, followed by the total number.
    pub(crate) fn offsets_for(rays: &[u32]) -> Vec<u64> {
        offsets(rays.iter().map(|&rays| rays as usize))
    }

    /// Allocates room for this number of rays of each element.
    pub(crate) fn with_room_for(rays: &[u32]) -> Self {
        let offsets = Self::offsets_for(rays);
        let count = offsets[rays.len()] as usize;
        Self { offsets, hits: vec![0; count], tinted: Vec::new() }
    }

    /// Drops the hits of all elements but some; tinted ones stay.
    pub(crate) fn retain(&mut self, stays: impl Fn(usize) -> bool) {
        let elements = self.offsets.len() - 1;
        let mut end = 0;
        for element in 0..elements {
            let range = self.range(element);
            self.offsets[element] = end as u64;
            if stays(element) {
                let length = range.len();
                self.hits.copy_within(range, end);
                end += length;
            }
        }
        self.offsets[elements] = end as u64;
        self.hits.truncate(end);
    }

    /// Returns the range of an element's rays in `hits`.
    #[inline]
    pub(crate) fn range(&self, element: usize) -> core::ops::Range<usize> {
        self.offsets[element] as usize..self.offsets[element + 1] as usize
    }

    /// Returns true if the arrays are valid for this number of elements.
    fn fits(&self, elements: usize) -> bool {
        self.offsets.len() == elements + 1
            && self.offsets.first() == Some(&0)
            && self.offsets.is_sorted()
            && self.offsets.last().is_some_and(|&count| count as usize == self.hits.len())
            && self.hits.iter().all(|&hit| hit as usize <= elements + 1)
            && self.tinted.is_sorted_by_key(|tinted| tinted.element)
            && self.tinted.iter().all(|tinted| (tinted.element.max(tinted.hit) as usize) < elements)
    }

    /// Returns the tinted rays of a range of elements.
    pub(crate) fn tinted_in(&self, elements: core::ops::Range<usize>) -> &[TintedHit] {
        let at = |element: usize| self.tinted.partition_point(|tinted| (tinted.element as usize) < element);
        if self.tinted.is_empty() { &[] } else { &self.tinted[at(elements.start)..at(elements.end)] }
    }
}

/// Accumulated state of one of the two independent solutions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accumulators {
    /// Sums of each element.
    pub sums: Vec<Sums>,
    /// Stored hits of each executed storing step.
    pub stored: Vec<StoredHits>,
    /// Reflected radiosity of each element, in lm/m2, read by gathering. Two zeros follow, for stored hits without
    /// contribution.
    pub radiosity: Vec<Vec4>,
    /// Radiosity that shooting transferred to each element, in lm/m2, summed over its runs. Empty before the first run.
    pub shot: Vec<Vec3>,
    /// Number of complete shooting runs.
    pub shots: u32,
    /// Elements sampled as lights by gather rays.
    pub bright: Vec<BrightElement>,
}

impl Accumulators {
    /// Returns only the sums of light-sampled rays.
    pub(crate) fn light_sampled(&self) -> Self {
        let light_sampled = |sums: &Sums| {
            let Sums { light_sampled, light_sampled_square, light_samples, .. } = *sums;
            Sums { light_sampled, light_sampled_square, light_samples, ..Sums::default() }
        };
        let sums = self.sums.iter().map(light_sampled).collect();
        Self { bright: self.bright.clone(), sums, ..Self::new(self.sums.len()) }
    }

    /// Returns for each element whether a ray has found points of it inside geometry.
    pub(crate) fn may_be_inside(&self) -> Vec<bool> {
        self.sums.iter().map(|sums| sums.inside > 0).collect()
    }

    /// Returns the bytes of both halves for each element, given its number of stored rays.
    pub fn bytes_per_element(rays: f64) -> f64 {
        // The last term is the element's offset in each stored step.
        let fixed = size_of::<Sums>() + size_of::<Vec4>() + 4 * size_of::<u64>();
        HALVES as f64 * (fixed as f64 + rays * size_of::<u32>() as f64)
    }

    /// Creates empty accumulators.
    pub fn new(elements: usize) -> Self {
        Self { sums: vec![Sums::default(); elements], radiosity: vec![Vec4::ZERO; elements + 2], ..Self::default() }
    }

    /// Returns true if the arrays are valid for this number of elements.
    pub(crate) fn fits(&self, elements: usize) -> bool {
        self.sums.len() == elements
            && self.radiosity.len() == elements + 2
            && (self.shot.is_empty() || self.shot.len() == elements)
            && self.stored.iter().all(|stored| stored.fits(elements))
            && self.bright.iter().all(|bright| (bright.element as usize) < elements)
    }

    /// Returns false if there are numbers that no bake has.
    pub(super) fn are_possible(&self) -> bool {
        let is_possible = |bright: &BrightElement| {
            bright.probability.is_finite() && bright.area.is_finite() && bright.radiosity.is_finite()
        };
        self.sums.iter().all(Sums::are_possible)
            && self.radiosity.iter().all(|radiosity| radiosity.is_finite())
            && self.shot.iter().all(|shot| shot.is_finite())
            && self.stored.iter().flat_map(|stored| &stored.tinted).all(|tinted| tinted.tint.is_finite())
            && self.bright.iter().all(is_possible)
    }

    /// Returns the direct irradiance of an element over its visible part, in lux: from light-sampled rays and from
    /// gather rays.
    pub(crate) fn direct(&self, element: usize) -> [Vec3; 2] {
        let sums = &self.sums[element];
        if sums.valid == 0 {
            return [Vec3::ZERO; 2];
        }
        // A point inside geometry sees no light, so all of the sum belongs to the visible part.
        let light_sampled = sums.light_sampled / (sums.light_samples.max(1) as f32 * sums.visible_fraction());
        [light_sampled, sums.bsdf_sampled / sums.valid as f32]
    }

    /// Returns the estimate of each element. `from_hits` holds the sum of radiosities over each element's stored hits.
    pub(crate) fn element_estimates(&self, from_hits: &[Vec3]) -> Vec<ElementEstimate> {
        let element_estimate = |(element, (sums, from_hits)): (usize, (&Sums, &Vec3))| {
            let [light_sampled, bsdf_sampled] = self.direct(element);
            ElementEstimate {
                light_sampled,
                bsdf_sampled,
                indirect: sums.continuation() + (sums.read + *from_hits) / sums.carriers.max(1) as f32,
                visible_fraction: sums.visible_fraction(),
                gathered: sums.gathered,
                lost: sums.lost as f32 / sums.valid.max(1) as f32,
            }
        };
        self.sums.par_iter().zip(from_hits).enumerate().map(element_estimate).collect()
    }

    /// Returns the reflected radiosity of each element, in lm/m2, read by gathering.
    pub(crate) fn radiosities(&self) -> Vec<Vec3> {
        self.radiosity[..self.sums.len()].iter().map(|radiosity| radiosity.truncate()).collect()
    }

    /// Returns the initial radiosities of an iteration. With an unlimited number of bounces, those of the previous pass
    /// are already close to the solution.
    pub(crate) fn start_of_iteration(&self, sources: &[Vec3], bounces: Option<u32>) -> Vec<Vec3> {
        let followed = bounces.is_none() && self.radiosity.iter().any(|&radiosity| radiosity != Vec4::ZERO);
        if followed { self.radiosities() } else { sources.to_vec() }
    }

    /// Adds the transferred radiosity of one more shooting run. Radiosities become the mean over all runs.
    pub(crate) fn add_shot(&mut self, sources: &[Vec3], received: &[Vec3]) {
        self.shot.resize(sources.len(), Vec3::ZERO);
        self.shots += 1;
        for (element, (source, received)) in sources.iter().zip(received).enumerate() {
            self.shot[element] += *received;
            self.radiosity[element] = (*source + self.shot[element] / self.shots as f32).extend(0.0);
        }
    }

    /// Returns the reflected direct light of an element, in lm/m2, including paths over unmapped surfaces. The part
    /// sampled as a light is left out.
    pub(crate) fn source(&self, elements: &Elements, element: usize) -> Vec3 {
        let [light_sampled, bsdf_sampled] = self.direct(element);
        let reflected =
            elements.reflectance[element] * (light_sampled + bsdf_sampled + self.sums[element].continuation());
        match BrightElement::find(&self.bright, ElementId::from_index(element)) {
            // The samples of one half may give less than the measured sampled part.
            Some(bright) => (reflected - bright.radiosity).max(Vec3::ZERO),
            None => reflected,
        }
    }
}

impl Sums {
    /// Returns the indirect irradiance of paths over unmapped surfaces, in lux.
    pub(crate) fn continuation(&self) -> Vec3 {
        self.continuation / self.valid.max(1) as f32
    }

    /// Returns the visible fraction of the element.
    pub fn visible_fraction(&self) -> f32 {
        match self.valid + self.inside {
            0 => 0.0,
            all => self.valid as f32 / all as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_elements_that_are_dropped_leave_no_gap() {
        let mut stored = StoredHits { offsets: vec![0, 2, 3, 3, 6], hits: vec![0, 1, 2, 3, 0, 1], tinted: Vec::new() };
        stored.retain(|element| element != 1);
        assert_eq!((&stored.offsets[..], &stored.hits[..]), (&[0, 2, 2, 2, 5][..], &[0, 1, 3, 0, 1][..]));
        stored.retain(|element| element == 3);
        assert_eq!((&stored.offsets[..], &stored.hits[..]), (&[0, 0, 0, 0, 3][..], &[3, 0, 1][..]));
    }
}
