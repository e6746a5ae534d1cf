//! What a backend has added up so far: the whole state of a solution, and nothing else.

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use rayon::prelude::*;

use super::backend::Reading;
use super::bright::BrightElement;
use crate::lightmap::{ElementId, Elements};

/// How many independent solutions run side by side. Their difference is the error estimate.
pub const HALVES: usize = 2;

/// Sums of one element. Irradiances are in lux and already divided by the probability of their samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Sums {
    /// Irradiance found by rays aimed at emitters.
    pub aimed: Vec3,
    /// Squares of its luminance.
    pub aimed_square: f32,
    /// How many samples aimed at all emitters.
    pub aimed_count: u32,
    /// Direct irradiance that gather rays met: sky, and emissive surfaces.
    pub met: Vec3,
    /// Gather rays traced, which is where the next ones go on in the element's sequence.
    pub gathered: u32,
    /// Indirect irradiance that gather rays brought straight from lights by way of surfaces that own no elements, or of
    /// bright elements.
    pub detour: Vec3,
    /// Indirect irradiance of gather rays whose hits are not stored.
    pub read: Vec3,
    /// Gather rays that count.
    pub valid: u32,
    /// Those among them whose hits count, in `read` or as stored hits.
    pub carriers: u32,
    /// Those that escaped or were absorbed.
    pub lost: u32,
    /// Gather rays that started inside other geometry; they do not count.
    pub buried: u32,
}

/// Stored hit: the ray counts and brings nothing. The entry after the last element's radiosity, always zero.
pub(crate) const fn brings_nothing(elements: usize) -> u32 {
    elements as u32
}

/// Stored hit: the ray does not count.
pub(crate) const fn does_not_count(elements: usize) -> u32 {
    elements as u32 + 1
}

/// What a run of gather rays met: a sparse Monte Carlo row of the form-factor matrix for each element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredHits {
    /// Where the rays of each element start, and their number at the end.
    pub offsets: Vec<u64>,
    /// Index of the element that was hit.
    pub hits: Vec<u32>,
    /// Rays that were coloured on their way, in order of `element`; `hits` says of them that they bring nothing.
    pub tinted: Vec<TintedHit>,
}

/// A gather ray that passed a blended surface or bounced off a surface without elements before it hit one.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TintedHit {
    /// Where the ray started.
    pub element: u32,
    /// What it hit.
    pub hit: u32,
    /// Share of the radiosity that arrives, per channel.
    pub tint: Vec3,
}

/// Where rows of such lengths start when they stand one after the other, and where the last ends.
pub(super) fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u64;
        Some(*end)
    });
    core::iter::once(0).chain(ends).collect()
}

impl StoredHits {
    /// Where the rays of each element start when it has so many, and their number.
    pub(crate) fn offsets_for(rays: &[u32]) -> Vec<u64> {
        offsets(rays.iter().map(|&rays| rays as usize))
    }

    /// Room for so many rays of each element.
    pub(crate) fn with_room_for(rays: &[u32]) -> Self {
        let offsets = Self::offsets_for(rays);
        let count = offsets[rays.len()] as usize;
        Self { offsets, hits: vec![0; count], tinted: Vec::new() }
    }

    /// Where the rays of an element are.
    #[inline]
    pub(crate) fn range(&self, element: usize) -> core::ops::Range<usize> {
        self.offsets[element] as usize..self.offsets[element + 1] as usize
    }

    /// True when the arrays fit a number of elements.
    fn fits(&self, elements: usize) -> bool {
        self.offsets.len() == elements + 1
            && self.offsets.first() == Some(&0)
            && self.offsets.is_sorted()
            && self.offsets.last().is_some_and(|&count| count as usize == self.hits.len())
            && self.hits.iter().all(|&hit| hit as usize <= elements + 1)
            && self.tinted.iter().all(|tinted| (tinted.element.max(tinted.hit) as usize) < elements)
    }

    /// The coloured rays of a range of elements.
    pub(crate) fn tinted_in(&self, elements: core::ops::Range<usize>) -> &[TintedHit] {
        let at = |element: usize| self.tinted.partition_point(|tinted| (tinted.element as usize) < element);
        if self.tinted.is_empty() { &[] } else { &self.tinted[at(elements.start)..at(elements.end)] }
    }
}

/// One of the independent solutions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accumulators {
    /// One an element.
    pub sums: Vec<Sums>,
    /// One an executed storing step.
    pub stored: Vec<StoredHits>,
    /// Reflected radiosity in lm/m2 that gathering reads, one an element, then two zeros that stored hits point at.
    pub radiosity: Vec<Vec4>,
    /// Radiosity in lm/m2 that shooting brought, summed over its runs, one an element; empty before the first.
    pub shot: Vec<Vec3>,
    /// How many times all power has been shot.
    pub shots: u32,
    /// Elements that gather rays sample as lights.
    pub bright: Vec<BrightElement>,
}

impl Accumulators {
    /// Bytes of all halves for each element that stores the hits of so many rays.
    pub fn bytes_per_element(rays: f64) -> f64 {
        // The last is where each step's hits start.
        let fixed = size_of::<Sums>() + size_of::<Vec4>() + 4 * size_of::<u64>();
        HALVES as f64 * (fixed as f64 + rays * size_of::<u32>() as f64)
    }

    /// Nothing gathered yet.
    pub fn new(elements: usize) -> Self {
        Self { sums: vec![Sums::default(); elements], radiosity: vec![Vec4::ZERO; elements + 2], ..Self::default() }
    }

    /// True when the arrays fit a number of elements.
    pub(crate) fn fits(&self, elements: usize) -> bool {
        self.sums.len() == elements
            && self.radiosity.len() == elements + 2
            && (self.shot.is_empty() || self.shot.len() == elements)
            && self.stored.iter().all(|stored| stored.fits(elements))
            && self.bright.iter().all(|bright| (bright.element as usize) < elements)
    }

    /// Direct irradiance of an element over its visible part: from aimed rays, and met by gather rays.
    pub(crate) fn direct(&self, element: usize) -> [Vec3; 2] {
        let sums = &self.sums[element];
        if sums.valid == 0 {
            return [Vec3::ZERO; 2];
        }
        // A buried point is dark to every light, so only the visible part has brought something.
        let aimed = sums.aimed / (sums.aimed_count.max(1) as f32 * sums.visible_fraction());
        [aimed, sums.met / sums.valid as f32]
    }

    /// What is known of each element; `brought` is the sum of the radiosities that its stored hits see.
    pub(crate) fn readings(&self, brought: &[Vec3]) -> Vec<Reading> {
        let reading = |(element, (sums, brought)): (usize, (&Sums, &Vec3))| {
            let [aimed, met] = self.direct(element);
            Reading {
                aimed,
                met,
                indirect: sums.detour() + (sums.read + *brought) / sums.carriers.max(1) as f32,
                visible_fraction: sums.visible_fraction(),
                gathered: sums.gathered,
                lost: sums.lost as f32 / sums.valid.max(1) as f32,
            }
        };
        self.sums.par_iter().zip(brought).enumerate().map(reading).collect()
    }

    /// Reflected radiosity of each element that gathering reads, lm/m2.
    pub(crate) fn radiosities(&self) -> Vec<Vec3> {
        self.radiosity[..self.sums.len()].iter().map(|radiosity| radiosity.truncate()).collect()
    }

    /// What an iteration starts from: where all bounces are followed, the radiosities of the pass before are nearly right
    /// already.
    pub(crate) fn start_of_iteration(&self, sources: &[Vec3], bounces: Option<u32>) -> Vec<Vec3> {
        let followed = bounces.is_none() && self.radiosity.iter().any(|&radiosity| radiosity != Vec4::ZERO);
        if followed { self.radiosities() } else { sources.to_vec() }
    }

    /// Adds what one more run of shooting brought; radiosities become the mean over all runs.
    pub(crate) fn add_shot(&mut self, sources: &[Vec3], brought: &[Vec3]) {
        self.shot.resize(sources.len(), Vec3::ZERO);
        self.shots += 1;
        for (element, (source, brought)) in sources.iter().zip(brought).enumerate() {
            self.shot[element] += *brought;
            self.radiosity[element] = (*source + self.shot[element] / self.shots as f32).extend(0.0);
        }
    }

    /// Reflected light of an element that did not come from other elements, lm/m2, without the part that gather rays
    /// sample as that of a light.
    pub(crate) fn source(&self, elements: &Elements, element: usize) -> Vec3 {
        let [aimed, met] = self.direct(element);
        let reflected = elements.reflectance[element] * (aimed + met + self.sums[element].detour());
        match BrightElement::find(&self.bright, ElementId::from_index(element)) {
            // The samples of one half may say less than those that the sampled part was measured by.
            Some(bright) => (reflected - bright.radiosity).max(Vec3::ZERO),
            None => reflected,
        }
    }
}

impl Sums {
    /// Indirect irradiance that came straight from lights by way of surfaces without elements, lux.
    pub(crate) fn detour(&self) -> Vec3 {
        self.detour / self.valid.max(1) as f32
    }

    /// How much of the element is open to light.
    pub fn visible_fraction(&self) -> f32 {
        match self.valid + self.buried {
            0 => 0.0,
            all => self.valid as f32 / all as f32,
        }
    }
}
