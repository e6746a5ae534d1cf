//! How far radiosities are from solving their equation, judged by rays that no solver has used.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::HALVES;
use super::cpu::{End, Source, Transport};
use super::seeds::Stage;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, Elements};
use crate::scene::{Chances, luminance};

/// Elements that are looked at, fewer where there are not as many.
const SAMPLES: usize = 1024;

/// Rays of either half of each.
const RAYS: u32 = 512;

/// A measured root mean square, noise removed, and its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// What was measured.
    pub value: f32,
    /// By how much it may be wrong: one standard deviation.
    pub standard_error: f32,
}

/// How far what a solution claims is from what rays find.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Deviation {
    /// Root mean square, lux or lm/m2.
    pub rms: Measured,
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

/// Root mean square of the difference between the irradiance that a solution claims and what gather rays find that read
/// its radiosities, in luminance (lux), over elements that were drawn in proportion to their area. Each is weighed by
/// `weight`: with one it is the error of a bounce, with the reflectance the residual (`000` equation 2.13).
///
/// Two halves of the rays share no random number, so that the product of their differences is free of noise.
pub(super) fn deviation(transport: &Transport, claim: &Claim, weight: impl Fn(usize) -> Vec3 + Sync) -> Deviation {
    let chosen = choose(transport.elements, claim.visible);
    let product = |&element: &usize| {
        let differences = [0, 1].map(|half| {
            let found = gathered(transport, claim.radiosity, half, element)?;
            Some(f64::from(luminance(weight(element) * (claim.brought[element] - found))))
        });
        let [first, second]: [Option<f64>; HALVES] = differences;
        Some([first? * second?, 0.5 * (first? + second?)])
    };
    let found: Vec<[f64; 2]> = chosen.par_iter().with_min_len(8).filter_map(product).collect();
    let count = found.len().max(1) as f64;
    let mean_of = |which: usize| found.iter().map(|one| one[which]).sum::<f64>() / count;
    let (mean, surplus) = (mean_of(0), mean_of(1));
    let variance = found.iter().map(|[product, _]| (product - mean).powi(2)).sum::<f64>() / (count * count);
    let value = mean.max(0.0).sqrt();
    let error = variance.sqrt();
    // The square's error, halved by the root; where the square is lost in its error, the root of that.
    let standard_error = if mean > error { 0.5 * error / value } else { error.sqrt() };
    let rms = Measured { value: value as f32, standard_error: standard_error as f32 };
    Deviation { rms, surplus: surplus as f32 }
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
    let source = Source { element, suspect: true, chances: Chances::All(0) };
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
