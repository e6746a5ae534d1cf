//! How wrong a solution is, judged by itself.
//!
//! Two halves that share no random number differ by their noise: half their difference is the error of their mean. What
//! both get wrong alike is the discretisation, one radiosity an element; it is judged by what coarser elements would
//! change (Richardson's argument: measured errors shrink by a factor of about three when elements halve, so the
//! step from coarse to fine is about twice the error that remains).

use std::collections::HashMap;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::backend::{Reading, StepError, TransportBackend};
use super::bands::{Bands, Judged};
use super::bright::BrightElement;
use super::{Content, HALVES};
use crate::lightmap::{ElementId, Elements, Texel};
use crate::scene::luminance;

/// The errors of a solution.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Errors of the whole scene as one band, relative to the mean light.
    pub whole: Judged,
    /// Errors of bands of brightness, relative to the light nearby.
    pub local: Judged,
}

/// The part of a reading that the pages will show.
pub(super) fn delivered(reading: &Reading, content: Content) -> Vec3 {
    match content {
        Content::Full => reading.total(),
        Content::Indirect => reading.indirect,
    }
}

/// Judges the halves of a solution by their differences. `areas` are those that texels show. The error of the whole is
/// relative to the mean `irradiance`, luminance in lux; those of bands are relative to `adaptation`, lux.
pub(super) fn estimate(
    areas: &[f32],
    adaptation: Arc<[f32]>,
    irradiance: &[f32],
    halves: &[Vec<Reading>; HALVES],
    content: Content,
) -> (Estimate, Vec<f32>) {
    let [first, second] = halves;
    let open = |(area, (a, b)): (&f32, (&Reading, &Reading))| area * 0.5 * (a.visible_fraction + b.visible_fraction);
    let weights: Vec<f32> = areas.iter().zip(first.iter().zip(second)).map(open).collect();
    let (light, area) = weights.iter().zip(irradiance).fold((0.0, 0.0), |(light, area), (weight, irradiance)| {
        (light + f64::from(*weight) * f64::from(*irradiance), area + f64::from(*weight))
    });
    let mean = if light > 0.0 { (light / area) as f32 } else { f32::INFINITY };
    let whole = Bands::whole(mean, weights.len()).judge(&weights, halves, content);
    let local = Bands::new(adaptation, &weights).judge(&weights, halves, content);
    (Estimate { whole, local }, weights)
}

/// Groups elements two by two texels: for each element the number of its group. What is left of texels that other
/// geometry crosses stands alone: one part may be lit and the other dark, and no coarser elements would mix them.
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

    /// Radiosities averaged over the visible part of each group.
    fn coarsen(&self, elements: &Elements, half: &[Reading], radiosity: &[Vec3]) -> Vec<Vec3> {
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

/// How much of the difference between coarse and fine elements remains as error of the fine ones.
const REMAINING: f32 = 0.5;

/// Errors of taking elements for evenly bright, lux, one an element, judged by groups of two by two.
pub(super) fn discretisation(
    backend: &dyn TransportBackend,
    elements: &Elements,
    groups: &Groups,
    half: &[Reading],
) -> Result<Vec<f32>, StepError> {
    let radiosity = backend.radiosity(0);
    let fine = backend.apply(0, &radiosity)?;
    let coarse = backend.apply(0, &groups.coarsen(elements, half, &radiosity))?;
    Ok(fine.iter().zip(&coarse).map(|(fine, coarse)| REMAINING * luminance(*fine - *coarse).abs()).collect())
}

/// How much more indirect light arrives than leaves, relative to what leaves.
pub(super) fn energy_balance(
    backend: &dyn TransportBackend,
    elements: &Elements,
    halves: &[Vec<Reading>; HALVES],
    bright: &[BrightElement],
) -> f32 {
    let (mut arriving, mut leaving) = (0.0f64, 0.0f64);
    for (half, readings) in halves.iter().enumerate() {
        let mut radiosities = backend.radiosity(half);
        bright.iter().for_each(|bright| radiosities[bright.element as usize] += bright.radiosity);
        for (element, (reading, radiosity)) in readings.iter().zip(radiosities).enumerate() {
            let area = f64::from(elements.area[element]);
            let power = |light: Vec3| area * f64::from(reading.visible_fraction * luminance(light));
            arriving += power(reading.indirect);
            leaving += power(radiosity) * f64::from(1.0 - reading.lost);
        }
    }
    if leaving > 0.0 { ((arriving - leaving) / leaving) as f32 } else { 0.0 }
}

/// The mean of both halves, weighted by how much of the element each found visible.
pub(super) fn mean_reading(a: &Reading, b: &Reading) -> Reading {
    let weight = a.visible_fraction + b.visible_fraction;
    if weight <= 0.0 {
        return Reading::default();
    }
    let (wa, wb) = (a.visible_fraction / weight, b.visible_fraction / weight);
    Reading {
        aimed: a.aimed * wa + b.aimed * wb,
        met: a.met * wa + b.met * wb,
        indirect: a.indirect * wa + b.indirect * wb,
        visible_fraction: 0.5 * weight,
        gathered: a.gathered + b.gathered,
        lost: a.lost * wa + b.lost * wb,
    }
}

/// Means of both halves, and for each element the standard error of its luminance as far as one difference tells.
pub(super) fn merge(halves: &[Vec<Reading>; HALVES], content: Content) -> (Vec<Reading>, Vec<f32>) {
    let [first, second] = halves;
    let merged = first.par_iter().zip(second).map(|(a, b)| mean_reading(a, b)).collect();
    let error = |(a, b): (&Reading, &Reading)| 0.5 * luminance(delivered(a, content) - delivered(b, content)).abs();
    (merged, first.par_iter().zip(second).map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_agree_have_no_noise_and_unlit_ones_no_nan() {
        let reading = |light: f32| Reading { aimed: Vec3::splat(light), visible_fraction: 1.0, ..Reading::default() };
        let judge = |light: f32| {
            let halves = [vec![reading(light); 4], vec![reading(light); 4]];
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
        let reading = |light: f32| Reading { aimed: Vec3::splat(light), visible_fraction: 1.0, ..Reading::default() };
        let pair = |a, b| [[reading(a), reading(b)]; 5_000].concat();
        let halves = [pair(9.0, 11.0), pair(11.0, 9.0)];
        let light = vec![10.0; 10_000];
        let (found, _) = estimate(&[1.0; 10_000], light.clone().into(), &light, &halves, Content::Full);
        for band in [found.whole.bands[0], found.local.bands[0]] {
            assert!((band.noise - 0.1).abs() < 2.1e-3 && (band.aimed - 0.1).abs() < 2.1e-3, "{band:?}");
            assert_eq!(band.gathered, 0.0);
        }
    }
}
