//! Denoising of a bake by averaging similar texels.
//!
//! Non-local means with two buffers (Rousselle, Knaus, Zwicker, "Adaptive rendering with non-local means filtering",
//! SIGGRAPH Asia 2012). The bake has two halves with independent random numbers. Similarity of texels is judged in one
//! half, and the average is taken in the other. So noise does not count as detail. Differences are measured relative to
//! the noise estimated from the halves. A bake with little noise stays nearly unchanged.

use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::SurfaceId;
use crate::lightmap::{ElementId, Elements, Texel};

/// Radius of the search window, in texels.
const WINDOW: usize = 5;
/// Radius of the patches that are compared, in texels.
const PATCH: usize = 1;
/// Radius over which noise is assumed to be uniform, in texels.
const NOISE: usize = 2;
/// Margin around a surface's texels, which saves bounds checks in loops.
const MARGIN: usize = WINDOW + PATCH;
/// Number of standard deviations above which differences count as detail. Lower values keep more detail and more noise.
const TOLERANCE: f32 = 0.8;
/// Chart of empty texels.
const NONE: u32 = u32::MAX;
/// Minimum visible fraction of texels that contribute to others.
const MIN_VISIBILITY: f32 = 0.5;

/// Denoises the irradiance, given two independent halves of a bake.
///
/// `irradiance` is their mean. Only texels of one chart are averaged. Elements of one texel get the same correction.
/// `visible` is the fraction of each element that light can reach.
pub fn denoise(irradiance: &mut [Vec3], elements: &Elements, halves: &[Vec<Vec3>; 2], visible: &[f32]) {
    let surfaces: Vec<SurfaceId> =
        (0..elements.surface_offsets.len().saturating_sub(1)).map(SurfaceId::from_index).collect();
    let smoothed: Vec<Vec<(Range<usize>, Vec3)>> = surfaces
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|surface| Some(Canvas::new(surface, elements, halves, visible)?.smooth()))
        .collect();
    for (texel, correction) in smoothed.into_iter().flatten() {
        for value in &mut irradiance[texel] {
            *value = (*value + correction).max(Vec3::ZERO);
        }
    }
}

/// Texels of one surface, with a margin around them.
struct Canvas {
    width: usize,
    height: usize,
    /// Elements of each texel; empty if too little is visible.
    elements: Vec<Range<usize>>,
    chart: Vec<u32>,
    halves: [Vec<Vec3>; 2],
    /// Variance of either half, per channel.
    variance: Vec<Vec3>,
}

impl Canvas {
    /// Creates the canvas; `None` for a surface without texels.
    fn new(surface: SurfaceId, elements: &Elements, halves: &[Vec<Vec3>; 2], visible: &[f32]) -> Option<Self> {
        let charts: Vec<([u32; 2], u32)> = elements.charts_of(surface).collect();
        let min = charts.iter().map(|(texel, _)| *texel).reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])])?;
        let max = charts.iter().map(|(texel, _)| *texel).reduce(|a, b| [a[0].max(b[0]), a[1].max(b[1])])?;
        let width = (max[0] - min[0]) as usize + 1 + 2 * MARGIN;
        let height = (max[1] - min[1]) as usize + 1 + 2 * MARGIN;
        let place = |x: u32, y: u32| (y - min[1]) as usize * width + (x - min[0]) as usize + MARGIN * (width + 1);
        let mut chart_of = vec![NONE; width * height];
        for ([x, y], chart) in charts {
            chart_of[place(x, y)] = chart;
        }
        let count = width * height;
        let mut canvas = Self {
            width,
            height,
            elements: vec![0..0; count],
            chart: vec![NONE; count],
            halves: [vec![Vec3::ZERO; count], vec![Vec3::ZERO; count]],
            variance: vec![Vec3::ZERO; count],
        };
        for texel in elements.texels_of(surface) {
            let is_shown = elements.is_shown(ElementId::from_index(texel.start));
            let [(a, seen), (b, _)] = halves.each_ref().map(|half| elements.mean_over(texel.clone(), half, visible));
            if !is_shown || seen < MIN_VISIBILITY {
                continue;
            }
            let Texel { x, y, .. } = elements.texel[texel.start];
            let at = place(u32::from(x), u32::from(y));
            canvas.elements[at] = texel;
            canvas.chart[at] = chart_of[at];
            canvas.halves[0][at] = a;
            canvas.halves[1][at] = b;
        }
        canvas.measure_noise();
        Some(canvas)
    }

    fn texels(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.chart.len()).filter(|&at| self.chart[at] != NONE)
    }

    /// Estimates the variance of each half. Half the squared difference of the halves is an unbiased but noisy
    /// estimate. The mean over a neighborhood reduces that noise.
    fn measure_noise(&mut self) {
        let [a, b] = &self.halves;
        let variance = self.texels().map(|at| {
            let (mut sum, mut count) = (Vec3::ZERO, 0.0);
            for y in 0..=2 * NOISE {
                let first = at + y * self.width - NOISE * (self.width + 1);
                for near in first..=first + 2 * NOISE {
                    if self.chart[near] == self.chart[at] {
                        sum += 0.5 * (a[near] - b[near]) * (a[near] - b[near]);
                        count += 1.0;
                    }
                }
            }
            (at, sum / count)
        });
        for (at, variance) in variance.collect::<Vec<_>>() {
            self.variance[at] = variance;
        }
    }

    /// Returns the correction to add to the elements of each texel.
    fn smooth(&self) -> Vec<(Range<usize>, Vec3)> {
        let mut averages = [Averages::new(self.chart.len()), Averages::new(self.chart.len())];
        let mut comparison = Comparison::new(self.chart.len());
        for y in 0..=2 * WINDOW {
            for x in 0..=2 * WINDOW {
                let shift = (y * self.width + x) as isize - (WINDOW * (self.width + 1)) as isize;
                comparison.compare(self, shift);
                for at in self.texels() {
                    let other = at.wrapping_add_signed(shift);
                    if self.chart[other] != self.chart[at] {
                        continue;
                    }
                    let [in_first, in_second] = comparison.around(at, self.width);
                    averages[0].add(at, self.halves[0][other], likeness(in_second));
                    averages[1].add(at, self.halves[1][other], likeness(in_first));
                }
            }
        }
        let [first, second] = averages;
        self.texels()
            .map(|at| {
                let change = |half: usize, averages: &Averages| averages.mean(at) - self.halves[half][at];
                (self.elements[at].clone(), 0.5 * (change(0, &first) + change(1, &second)))
            })
            .collect()
    }
}

/// Weighted sums.
struct Averages {
    sums: Vec<Vec3>,
    weights: Vec<f32>,
}

impl Averages {
    fn new(count: usize) -> Self {
        Self { sums: vec![Vec3::ZERO; count], weights: vec![0.0; count] }
    }

    fn add(&mut self, at: usize, value: Vec3, weight: f32) {
        self.sums[at] += value * weight;
        self.weights[at] += weight;
    }

    /// Returns the weighted mean. A texel always resembles itself, so the sum of weights is positive.
    fn mean(&self, at: usize) -> Vec3 {
        self.sums[at] / self.weights[at]
    }
}

/// Difference of each texel from the one at a fixed shift, in each half and channel, relative to the noise.
struct Comparison {
    differences: Vec<[Vec3; 2]>,
    counts: Vec<f32>,
}

impl Comparison {
    fn new(count: usize) -> Self {
        Self { differences: vec![[Vec3::ZERO; 2]; count], counts: vec![0.0; count] }
    }

    fn compare(&mut self, canvas: &Canvas, shift: isize) {
        let first = MARGIN * canvas.width;
        for at in first..canvas.width * (canvas.height - MARGIN) {
            let other = at.wrapping_add_signed(shift);
            let is_pair = canvas.chart[at] != NONE && canvas.chart.get(other) == Some(&canvas.chart[at]);
            self.counts[at] = f32::from(is_pair);
            self.differences[at] = [Vec3::ZERO; 2];
            if is_pair {
                let (here, there) = (canvas.variance[at], canvas.variance[other]);
                let expected = here + here.min(there);
                let scale = (TOLERANCE * TOLERANCE * (here + there) + f32::MIN_POSITIVE).recip();
                self.differences[at] = core::array::from_fn(|half| {
                    let difference = canvas.halves[half][at] - canvas.halves[half][other];
                    (difference * difference - expected) * scale
                });
            }
        }
    }

    /// Returns the mean over a texel's patch, in the channel that differs most, since two colors may have equal
    /// luminance.
    fn around(&self, at: usize, width: usize) -> [f32; 2] {
        let (mut sums, mut count) = ([Vec3::ZERO; 2], 0.0);
        for y in 0..=2 * PATCH {
            let first = at + y * width - PATCH * (width + 1);
            for near in first..=first + 2 * PATCH {
                sums[0] += self.differences[near][0];
                sums[1] += self.differences[near][1];
                count += self.counts[near];
            }
        }
        sums.map(|sum| sum.max_element() / count)
    }
}

/// Returns the weight of a texel by its difference: close to `exp(-difference)`, and zero from four on.
fn likeness(difference: f32) -> f32 {
    let rest = (1.0 - 0.25 * difference.max(0.0)).max(0.0);
    rest * rest * rest * rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accel::BruteForce;
    use crate::geometry::sobol::{hash2, unit_float};
    use crate::lightmap::fixtures::{Fixture, quad};
    use crate::progress::Unmonitored;
    use crate::scene::Sides;

    /// Builds a floor of 48 by 48 texels.
    fn floor() -> Elements {
        let mut fixture = Fixture::default();
        fixture.add(quad(Vec3::ZERO, Vec3::X, Vec3::NEG_Z), Sides::Front, [48, 48]);
        Elements::build(&fixture.scene, &fixture.layout, &BruteForce::new(&fixture.scene), &Unmonitored).unwrap()
    }

    /// Returns two noisy copies of a signal, with uniform noise of standard deviation `noise` each.
    fn noisy(truth: &[Vec3], noise: f32) -> [Vec<Vec3>; 2] {
        core::array::from_fn(|half| {
            let spread = noise * 12.0f32.sqrt();
            let error = |element: usize| (unit_float(hash2(element as u32, half as u32)) - 0.5) * spread;
            truth.iter().enumerate().map(|(element, truth)| truth + Vec3::splat(error(element))).collect()
        })
    }

    fn mean(halves: &[Vec<Vec3>; 2]) -> Vec<Vec3> {
        halves[0].iter().zip(&halves[1]).map(|(a, b)| 0.5 * (a + b)).collect()
    }

    fn error(found: &[Vec3], truth: &[Vec3]) -> f32 {
        let squares = found.iter().zip(truth).map(|(a, b)| (a.x - b.x) * (a.x - b.x)).sum::<f32>();
        (squares / truth.len() as f32).sqrt()
    }

    /// Returns the errors before and after denoising.
    fn denoised(truth: impl Fn(Vec3) -> f32, noise: f32) -> (f32, f32, Vec<Vec3>, Elements) {
        let elements = floor();
        let truth: Vec<Vec3> = elements.center.iter().map(|&center| Vec3::splat(truth(center))).collect();
        let halves = noisy(&truth, noise);
        let mut found = mean(&halves);
        let before = error(&found, &truth);
        denoise(&mut found, &elements, &halves, &vec![1.0; elements.len()]);
        (before, error(&found, &truth), found, elements)
    }

    #[test]
    fn noise_on_even_light_falls_to_a_fifth() {
        let (before, after, ..) = denoised(|_| 10.0, 2.0);
        assert!(after < 0.2 * before, "{before} {after}");
    }

    #[test]
    fn light_that_fades_is_followed() {
        let (before, after, ..) = denoised(|center| 10.0 * (-3.0 * center.x).exp(), 0.5);
        assert!(after < 0.4 * before, "{before} {after}");
    }

    #[test]
    fn the_edge_of_a_shadow_stays_where_it_is() {
        let (_, _, found, elements) = denoised(|center| if center.x < 0.5 { 10.0 } else { 2.0 }, 1.0);
        for (value, center) in found.iter().zip(&elements.center) {
            let (lit, nearly) = (center.x < 0.5, (center.x - 0.5).abs() < 3.0 / 48.0);
            let expected = if lit { 10.0 } else { 2.0 };
            let tolerance = if nearly { 2.5 } else { 1.2 };
            assert!((value.x - expected).abs() < tolerance, "{value} at {center}");
        }
    }

    #[test]
    fn light_without_noise_keeps_every_bit() {
        let (_, after, ..) = denoised(|center| 5.0 + center.x * center.z, 0.0);
        assert!(after < 1e-6, "{after}");
    }
}
