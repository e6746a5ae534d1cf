//! How wrong a solution is, judged by itself.
//!
//! Two halves that share no random number differ by their noise: half their difference is the error of their mean. What
//! both get wrong alike is the discretisation, one radiosity an element; it is judged by what coarser elements would
//! change (Richardson's argument: measured errors shrink by a factor of about three when elements halve, so the
//! step from coarse to fine is about twice the error that remains).

use std::collections::HashMap;

use glam::Vec3;
use rayon::prelude::*;

use super::backend::{Reading, StepError, TransportBackend};
use super::{Content, HALVES};
use crate::lightmap::{ElementId, Elements, Texel};
use crate::scene::luminance;

/// Errors relative to the mean irradiance, that of all light: area-weighted root mean squares of luminance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Noise of direct light found by aimed rays.
    pub aimed: f32,
    /// Noise of all light that gather rays brought.
    pub gathered: f32,
    /// Noise of the whole.
    pub noise: f32,
    /// Error of taking elements for evenly bright.
    pub discretisation: f32,
    /// Area-weighted mean luminance of all light, lux.
    pub mean: f32,
    /// All light over the light that is judged: above one where others follow its bounces.
    pub all_light: f32,
}

impl Estimate {
    /// The error of the whole.
    pub fn total(&self) -> f32 {
        self.noise.hypot(self.discretisation)
    }

    /// The same errors where all light is so many times the light that was judged.
    pub fn over(self, all_light: f32) -> Self {
        let [aimed, gathered, noise] = [self.aimed, self.gathered, self.noise].map(|error| error / all_light);
        Self { aimed, gathered, noise, mean: self.mean * all_light, all_light, ..self }
    }
}

/// The part of a reading that the pages will show.
pub(super) fn delivered(reading: &Reading, content: Content) -> Vec3 {
    match content {
        Content::Full => reading.total(),
        Content::Indirect => reading.indirect,
    }
}

/// Judges the halves by their differences.
pub(super) fn estimate(areas: &[f32], halves: &[Vec<Reading>; HALVES], content: Content) -> Estimate {
    let [first, second] = halves;
    let mut weight_sum = 0.0f64;
    let mut mean = 0.0f64;
    let mut squares = [0.0f64; 3];
    for (area, (a, b)) in areas.iter().zip(first.iter().zip(second)) {
        let weight = f64::from(area * 0.5 * (a.visible_fraction + b.visible_fraction));
        weight_sum += weight;
        mean += weight * f64::from(0.5 * luminance(delivered(a, content) + delivered(b, content)));
        let aimed = if content == Content::Full { a.aimed - b.aimed } else { Vec3::ZERO };
        let whole = delivered(a, content) - delivered(b, content);
        for (square, difference) in squares.iter_mut().zip([aimed, whole - aimed, whole]) {
            *square += weight * f64::from(0.5 * luminance(difference)).powi(2);
        }
    }
    if mean <= 0.0 {
        return Estimate::default();
    }
    // Few differences tell little, and may happen to be small: about two standard deviations of the estimate are added.
    let caution = 1.0 + 2.0 / (areas.len() as f64).sqrt();
    let [aimed, gathered, noise] = squares.map(|square| (caution * (square * weight_sum).sqrt() / mean) as f32);
    Estimate { aimed, gathered, noise, discretisation: 0.0, mean: (mean / weight_sum) as f32, all_light: 1.0 }
}

/// The largest part of its light that a bounce may bring to the next.
const MOST_REFLECTED: f64 = 0.95;

/// All light over the light that is there before it bounces.
///
/// The first bounce is known: what elements reflect, less what escapes. Those after it are taken for a geometric series,
/// whose ratio is that of the first bounce, or that of even light where this is smaller: rather too little light than too
/// much, since errors are allowed in proportion to it.
pub(super) fn all_light(elements: &Elements, halves: &[Vec<Reading>; HALVES], bounces: Option<u32>) -> f32 {
    let [first, second] = halves;
    let (mut light, mut first_bounce, mut area, mut bounce_of_even_light) = (0.0, 0.0, 0.0, 0.0);
    for (element, (a, b)) in first.iter().zip(second).enumerate() {
        let reading = mean_reading(a, b);
        let visible = f64::from(elements.area[element] * reading.visible_fraction);
        let staying = visible * f64::from(1.0 - reading.lost);
        let reflectance = elements.reflectance[element];
        light += visible * f64::from(luminance(reading.total()));
        first_bounce += staying * f64::from(luminance(reflectance * reading.total()));
        area += visible;
        bounce_of_even_light += staying * f64::from(luminance(reflectance));
    }
    if light <= 0.0 {
        return 1.0;
    }
    let first = first_bounce / light;
    let ratio = first.min(bounce_of_even_light / area).min(MOST_REFLECTED);
    let bounces = bounces.map_or(0.0, |bounces| ratio.powf(f64::from(bounces)));
    (1.0 + first * (1.0 - bounces) / (1.0 - ratio)) as f32
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

/// Relative error of taking elements for evenly bright, judged by groups of two by two.
pub(super) fn discretisation(
    backend: &dyn TransportBackend,
    elements: &Elements,
    groups: &Groups,
    half: &[Reading],
    mean: f32,
) -> Result<f32, StepError> {
    let radiosity = backend.radiosity(0);
    let fine = backend.apply(0, &radiosity)?;
    let coarse = backend.apply(0, &groups.coarsen(elements, half, &radiosity))?;
    let (squares, weights) = fine.iter().zip(&coarse).enumerate().fold((0.0f64, 0.0f64), |sums, (element, pair)| {
        let weight = f64::from(elements.area[element] * half[element].visible_fraction);
        (sums.0 + weight * f64::from(luminance(*pair.0 - *pair.1)).powi(2), sums.1 + weight)
    });
    Ok(if mean > 0.0 && weights > 0.0 { REMAINING * ((squares / weights).sqrt() as f32) / mean } else { 0.0 })
}

/// How much more indirect light arrives than leaves, relative to what leaves.
pub(super) fn energy_balance(
    backend: &dyn TransportBackend,
    elements: &Elements,
    halves: &[Vec<Reading>; HALVES],
) -> f32 {
    let (mut arriving, mut leaving) = (0.0f64, 0.0f64);
    for (half, readings) in halves.iter().enumerate() {
        for (element, (reading, radiosity)) in readings.iter().zip(backend.radiosity(half)).enumerate() {
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
    use crate::radiosity::test_scene::{TestScene, grey};

    #[test]
    fn halves_that_agree_have_no_noise_and_unlit_ones_no_nan() {
        let reading = |light: f32| Reading { aimed: Vec3::splat(light), visible_fraction: 1.0, ..Reading::default() };
        let lit = estimate(&[1.0; 4], &[vec![reading(2.0); 4], vec![reading(2.0); 4]], Content::Full);
        assert_eq!((lit.noise, lit.mean), (0.0, 2.0));
        let unlit = estimate(&[1.0; 4], &[vec![reading(0.0); 4], vec![reading(0.0); 4]], Content::Full);
        assert_eq!(unlit, Estimate::default());
    }

    #[test]
    fn the_noise_of_a_mean_is_half_the_difference() {
        let reading = |light: f32| Reading { aimed: Vec3::splat(light), visible_fraction: 1.0, ..Reading::default() };
        let pair = |a, b| [[reading(a), reading(b)]; 5_000].concat();
        let halves = [pair(9.0, 11.0), pair(11.0, 9.0)];
        let found = estimate(&[1.0; 10_000], &halves, Content::Full);
        assert!((found.noise - 0.1).abs() < 2e-3 && (found.aimed - 0.1).abs() < 2e-3, "{found:?}");
        assert_eq!(found.gathered, 0.0);
    }

    #[test]
    fn all_light_is_a_geometric_series_of_what_is_reflected_and_stays() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], grey(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [2; 2], grey(0.9));
        let elements = test.elements();
        let all = |[grey, white]: [f32; 2], lost: f32, bounces: Option<u32>| {
            let reading =
                |light: f32| Reading { aimed: Vec3::splat(light), visible_fraction: 1.0, lost, ..Reading::default() };
            let half = [[reading(grey); 4], [reading(white); 4]].concat();
            all_light(&elements, &[half.clone(), half], bounces)
        };
        for (light, lost, bounces, expected) in [
            // Even light is reflected by 0.7.
            ([1.0, 1.0], 0.0, None, 1.0 / 0.3),
            ([1.0, 1.0], 0.0, Some(2), 1.0 + 0.7 + 0.49),
            ([1.0, 1.0], 0.0, Some(0), 1.0),
            ([1.0, 1.0], 0.5, None, 1.0 / 0.65),
            // On grey alone it counts as reflected by grey alone, on white alone by white first and both then.
            ([1.0, 0.0], 0.0, None, 2.0),
            ([0.0, 1.0], 0.0, None, 1.0 + 0.9 / 0.3),
            ([0.0, 0.0], 0.0, None, 1.0),
        ] {
            let found = all(light, lost, bounces);
            assert!((found / expected - 1.0).abs() < 1e-4, "{found} instead of {expected}");
        }
    }
}
