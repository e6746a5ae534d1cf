//! Error estimates of a solution, from the solution alone.
//!
//! The two halves share no random number, so half of their difference is the error of their mean. Both have the same
//! discretization error, because radiosity is constant over each element. This error is estimated from the change that
//! coarser elements cause (Richardson extrapolation). Measured errors shrink by a factor of about three when the size
//! of elements is halved. The change from coarse to fine elements is therefore about twice the remaining error.

use std::collections::HashMap;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::backend::{ElementEstimate, StepError, TransportBackend};
use super::bands::{Bands, Judged};
use super::bright::BrightElement;
use super::{Content, HALVES};
use crate::lightmap::{ElementId, Elements, Texel};
use crate::scene::luminance;

/// Error estimate of a solution.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Errors of the whole scene as one band, relative to the mean irradiance.
    pub whole: Judged,
    /// Errors of brightness bands, relative to the adaptation levels.
    pub local: Judged,
}

/// Returns the part of a reading that the lightmap pages will contain.
pub(super) fn delivered(element_estimate: &ElementEstimate, content: Content) -> Vec3 {
    match content {
        Content::Full => element_estimate.total(),
        Content::Indirect => element_estimate.indirect,
    }
}

/// Estimates the errors of a solution from the differences of its halves. Also returns the visible area of each
/// element. `areas` are those shown by texels. The error of the whole scene is relative to the mean of `irradiance`,
/// luminances in lux. Errors of bands are relative to `adaptation`, in lux.
pub(super) fn estimate(
    areas: &[f32],
    adaptation: Arc<[f32]>,
    irradiance: &[f32],
    halves: &[Vec<ElementEstimate>; HALVES],
    content: Content,
) -> (Estimate, Vec<f32>) {
    let [first, second] = halves;
    let open = |(area, (a, b)): (&f32, (&ElementEstimate, &ElementEstimate))| {
        area * 0.5 * (a.visible_fraction + b.visible_fraction)
    };
    let weights: Vec<f32> = areas.iter().zip(first.iter().zip(second)).map(open).collect();
    let (light, area) = weights.iter().zip(irradiance).fold((0.0, 0.0), |(light, area), (weight, irradiance)| {
        (light + f64::from(*weight) * f64::from(*irradiance), area + f64::from(*weight))
    });
    let mean = if light > 0.0 { (light / area) as f32 } else { f32::INFINITY };
    let whole = Bands::whole(mean, weights.len()).judge(&weights, halves, content);
    let local = Bands::new(adaptation, &weights).judge(&weights, halves, content);
    (Estimate { whole, local }, weights)
}

/// Groups of two by two texels: the group index of each element. Parts of texels that other geometry divides stay
/// alone. One part may be lit and another dark, and coarser elements would not mix them.
pub(super) struct Groups {
    of_element: Vec<u32>,
    count: usize,
}

impl Groups {
    pub fn new(elements: &Elements) -> Self {
        let mut numbers = HashMap::new();
        let mut groups = Self { of_element: Vec::with_capacity(elements.len()), count: 0 };
        for texel in elements.texels() {
            let first = texel.start;
            let Texel { page, x, y } = elements.texel[first];
            let surface = elements.surface(ElementId::from_index(first));
            let place = (surface, elements.back[first], page, x / 2, y / 2);
            for _ in texel.clone() {
                let next = groups.count as u32;
                let number = if texel.len() == 1 { *numbers.entry(place).or_insert(next) } else { next };
                groups.count += usize::from(number == next);
                groups.of_element.push(number);
            }
        }
        groups
    }

    /// Returns radiosities averaged over the visible part of each group.
    fn coarsen(&self, elements: &Elements, half: &[ElementEstimate], radiosity: &[Vec3]) -> Vec<Vec3> {
        let mut sums = vec![(Vec3::ZERO, 0.0f32); self.count];
        for (element, (group, radiosity)) in self.of_element.iter().zip(radiosity).enumerate() {
            let visible = elements.area[element] * half[element].visible_fraction;
            let (sum, total) = &mut sums[*group as usize];
            *sum += *radiosity * visible;
            *total += visible;
        }
        self.of_element
            .iter()
            .map(|&group| {
                let (sum, total) = sums[group as usize];
                sum / total.max(f32::MIN_POSITIVE)
            })
            .collect()
    }
}

/// Error of fine elements, relative to the difference between coarse and fine ones.
const REMAINING: f32 = 0.5;

/// Returns the discretization error of each element, in lux, estimated with groups of two by two texels.
pub(super) fn discretization(
    backend: &dyn TransportBackend,
    elements: &Elements,
    groups: &Groups,
    half: &[ElementEstimate],
) -> Result<Vec<f32>, StepError> {
    let radiosity = backend.radiosity(0);
    let fine = backend.apply(0, &radiosity)?;
    let coarse = backend.apply(0, &groups.coarsen(elements, half, &radiosity))?;
    Ok(fine.iter().zip(&coarse).map(|(fine, coarse)| REMAINING * luminance(*fine - *coarse).abs()).collect())
}

/// Returns the relative excess of arriving over leaving indirect light.
pub(super) fn energy_balance(
    backend: &dyn TransportBackend,
    elements: &Elements,
    halves: &[Vec<ElementEstimate>; HALVES],
    bright: &[BrightElement],
) -> f32 {
    let (mut arriving, mut leaving) = (0.0f64, 0.0f64);
    for (half, element_estimates) in halves.iter().enumerate() {
        let mut radiosities = backend.radiosity(half);
        bright.iter().for_each(|bright| radiosities[bright.element as usize] += bright.radiosity);
        for (element, (element_estimate, radiosity)) in element_estimates.iter().zip(radiosities).enumerate() {
            let area = f64::from(elements.area[element]);
            let power = |light: Vec3| area * f64::from(element_estimate.visible_fraction * luminance(light));
            arriving += power(element_estimate.indirect);
            leaving += power(radiosity) * f64::from(1.0 - element_estimate.lost);
        }
    }
    if leaving > 0.0 { ((arriving - leaving) / leaving) as f32 } else { 0.0 }
}

/// Returns the mean of both halves, weighted by the visible fraction in each.
pub(super) fn mean_estimate(a: &ElementEstimate, b: &ElementEstimate) -> ElementEstimate {
    let weight = a.visible_fraction + b.visible_fraction;
    if weight <= 0.0 {
        return ElementEstimate::default();
    }
    let (wa, wb) = (a.visible_fraction / weight, b.visible_fraction / weight);
    ElementEstimate {
        light_sampled: a.light_sampled * wa + b.light_sampled * wb,
        bsdf_sampled: a.bsdf_sampled * wa + b.bsdf_sampled * wb,
        indirect: a.indirect * wa + b.indirect * wb,
        visible_fraction: 0.5 * weight,
        gathered: a.gathered + b.gathered,
        lost: a.lost * wa + b.lost * wb,
    }
}

/// Returns the means of both halves, and the standard error of each element's luminance, estimated from one difference.
pub(super) fn merge(halves: &[Vec<ElementEstimate>; HALVES], content: Content) -> (Vec<ElementEstimate>, Vec<f32>) {
    let [first, second] = halves;
    let merged = first.par_iter().zip(second).map(|(a, b)| mean_estimate(a, b)).collect();
    let error = |(a, b): (&ElementEstimate, &ElementEstimate)| {
        0.5 * luminance(delivered(a, content) - delivered(b, content)).abs()
    };
    (merged, first.par_iter().zip(second).map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_agree_have_no_noise_and_unlit_ones_no_nan() {
        let element_estimate = |light: f32| ElementEstimate {
            light_sampled: Vec3::splat(light),
            visible_fraction: 1.0,
            ..ElementEstimate::default()
        };
        let judge = |light: f32| {
            let halves = [vec![element_estimate(light); 4], vec![element_estimate(light); 4]];
            estimate(&[1.0; 4], [light.max(1e-20); 4].into(), &[light; 4], &halves, Content::Full).0
        };
        for light in [2.0, 0.0] {
            let found = judge(light);
            assert_eq!((found.whole.error(), found.local.error(), found.local.bands.len()), (0.0, 0.0, 1), "{found:?}");
        }
        assert_eq!(judge(2.0).local.bands[0].light, 2.0);
    }

    #[test]
    fn the_noise_of_a_mean_is_half_the_difference() {
        let element_estimate = |light: f32| ElementEstimate {
            light_sampled: Vec3::splat(light),
            visible_fraction: 1.0,
            ..ElementEstimate::default()
        };
        let pair = |a, b| [[element_estimate(a), element_estimate(b)]; 5_000].concat();
        let halves = [pair(9.0, 11.0), pair(11.0, 9.0)];
        let light = vec![10.0; 10_000];
        let (found, _) = estimate(&[1.0; 10_000], light.clone().into(), &light, &halves, Content::Full);
        for band in [found.whole.bands[0], found.local.bands[0]] {
            assert!((band.noise - 0.1).abs() < 2.1e-3 && (band.light_sampled - 0.1).abs() < 2.1e-3, "{band:?}");
            assert_eq!(band.gathered, 0.0);
        }
    }
}
