//! How far radiosities are from solving their equation, judged by rays that no solver has used.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::HALVES;
use super::cpu::{End, Source, Transport, Until};
use super::seeds::Stage;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements};
use crate::scene::{Chances, luminance};

/// Elements that are looked at, fewer where there are not as many.
const SAMPLES: usize = 1024;

/// Rays of either half of each.
const RAYS: u32 = 512;

/// How far what a solution claims is from what rays find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Deviation {
    /// Root mean square, lux or lm/m2, free of the rays' noise.
    pub rms: f32,
    /// Mean of what is claimed less what is found, in the same unit.
    pub surplus: f32,
}

/// What is to be checked, one an element: `radiosity` is reflected light in lm/m2, `brought` the irradiance that the
/// solution says comes from other elements, in lux, `visible` the part of the element that light reaches.
#[derive(Clone, Copy)]
pub(super) struct Claim<'a> {
    pub radiosity: &'a [Vec3],
    pub brought: &'a [Vec3],
    pub visible: &'a [f32],
}

/// What an element's claimed irradiance is above what either half of its rays found, lux.
pub(super) struct Difference {
    element: usize,
    halves: [Vec3; HALVES],
}

/// Traces gather rays that read a solution's radiosities, from elements that were drawn in proportion to their area, and
/// compares what they find with what the solution claims.
pub(super) fn differences(transport: &Transport, claim: &Claim) -> Vec<Difference> {
    let chosen = choose(transport.elements, claim.visible);
    let difference = |&element: &usize| {
        let found = [0, 1].map(|half| gathered(transport, claim.radiosity, half, element));
        let [first, second]: [Option<Vec3>; HALVES] = found;
        Some(Difference { element, halves: [first?, second?].map(|found| claim.brought[element] - found) })
    };
    chosen.par_iter().with_min_len(8).filter_map(difference).collect()
}

/// How large differences are, in luminance, each weighed by `weight`: with one it is the error of a bounce, with the
/// reflectance the residual (`000` equation 2.13).
///
/// The two halves share no random number, so that the product of their differences is free of noise.
pub(super) fn deviation(differences: &[Difference], weight: impl Fn(usize) -> Vec3) -> Deviation {
    let (mut square, mut surplus) = (0.0f64, 0.0f64);
    for Difference { element, halves } in differences {
        let [first, second] = halves.map(|half| f64::from(luminance(weight(*element) * half)));
        square += first * second;
        surplus += 0.5 * (first + second);
    }
    let count = differences.len().max(1) as f64;
    Deviation { rms: (square / count).max(0.0).sqrt() as f32, surplus: (surplus / count) as f32 }
}

/// Elements in proportion to their visible area, evenly spread over their order.
fn choose(elements: &Elements, visible: &[f32]) -> Vec<usize> {
    let areas = || elements.area.iter().zip(visible).map(|(area, visible)| f64::from(area * visible));
    let samples = SAMPLES.min(elements.len());
    let step = areas().sum::<f64>() / samples as f64;
    let mut sum = -0.5 * step;
    let mut chosen = Vec::with_capacity(samples);
    for (element, area) in areas().enumerate() {
        sum += area;
        while sum > 0.0 && chosen.len() < samples {
            chosen.push(element);
            sum -= step;
        }
    }
    chosen
}

/// Mean radiosity that an element sees, lux; `None` where none of its rays counts.
fn gathered(transport: &Transport, radiosity: &[Vec3], half: usize, element: usize) -> Option<Vec3> {
    let id = ElementId::from_index(element);
    let sampler = transport.elements.sampler(transport.scene, id);
    let seed = transport.seed_of(half, Stage::Check, element);
    let source = Source { element, suspect: true, chances: Chances::All(0), until: Until::Element };
    let numbers = OwenSobol::new(seed);
    let (mut sum, mut count) = (Vec3::ZERO, 0);
    for ray in 0..RAYS {
        let [x, y, u, v] = numbers.point(ray);
        let point = sampler.sample(Vec2::new(x, y));
        let direction = cosine_hemisphere(point.shading_normal, Vec2::new(u, v));
        let arrival = transport.gather(&source, &point, direction, hash2(seed, ray));
        match arrival.end {
            End::Element(hit) => sum += arrival.tint * radiosity[hit.index()],
            End::Lost => {}
            End::Buried => continue,
        }
        count += 1;
    }
    (count > 0).then(|| sum / count as f32)
}
