//! Which elements the next gather rays are worth most to.

use rayon::prelude::*;

use super::HALVES;
use super::backend::Reading;
use super::cells::Cells;
use super::settings::Content;
use crate::lightmap::Elements;
use crate::scene::luminance;

/// Width in texels of the neighbourhoods whose noise decides, and of those that speak for an element without neighbours.
const NEAR_TEXELS: f32 = 4.0;
const WIDE_TEXELS: f32 = 16.0;

/// How many times its rays an element may have after a step: the first few tell little.
const MOST_GROWTH: u32 = 8;

/// Rays are dealt in such bundles, for sequences of points fill space evenly a few at a time.
const STEP: u32 = 8;

/// The share of the mean number of rays that every element gets, however calm its neighbours look: a few differences may
/// happen to be small, and no texel is to be left behind.
const LEAST_SHARE: f32 = 0.5;

/// Deals out gather rays.
pub(super) struct Allotment {
    near: Cells,
    wide: Cells,
}

impl Allotment {
    pub fn new(elements: &Elements) -> Self {
        Self { near: Cells::new(elements, NEAR_TEXELS), wide: Cells::new(elements, WIDE_TEXELS) }
    }

    /// How many more rays each half of each element gets, `mean` on average, such that the squared error over all area
    /// becomes least: in the end, rays in proportion to the spread that one ray has there.
    ///
    /// The spread is that of an element's neighbours: deciding by its own would prefer samples that happen to look calm,
    /// and bias the mean.
    pub fn deal(&self, elements: &Elements, halves: &[Vec<Reading>; HALVES], content: Content, mean: u32) -> Vec<u32> {
        let [first, second] = halves;
        let gathered = |reading: &Reading| match content {
            Content::Full => reading.met + reading.indirect,
            Content::Indirect => reading.indirect,
        };
        // Variance of one ray's light, as far as one difference tells.
        let squares: Vec<f32> = (first.par_iter().zip(second))
            .map(|(a, b)| luminance(gathered(a) - gathered(b)).powi(2) * a.gathered as f32)
            .collect();
        let (near, wide) = (self.near.sums(&squares), self.wide.sums(&squares));
        let all = squares.iter().map(|&square| f64::from(square)).sum::<f64>() / squares.len().max(1) as f64;
        let wanted: Vec<f32> = (0..squares.len())
            .into_par_iter()
            .map(|element| {
                let ((near_count, near_sum), (wide_count, wide_sum)) =
                    (near[self.near.of_element[element] as usize], wide[self.wide.of_element[element] as usize]);
                let beyond = match wide_count - near_count {
                    0 => all as f32,
                    others => (wide_sum - near_sum).max(0.0) / others as f32,
                };
                let variance = ((near_sum - squares[element]).max(0.0) + beyond) / near_count as f32;
                let open = 0.5 * (first[element].visible_fraction + second[element].visible_fraction);
                (elements.area[element] * open * variance).sqrt()
            })
            .collect();
        let have = |element: usize| first[element].gathered;
        let is_open = |element: usize| first[element].visible_fraction + second[element].visible_fraction > 0.0;
        let all_rays: u64 = (0..wanted.len()).map(|element| u64::from(have(element))).sum();
        let least = (all_rays as f32 / wanted.len().max(1) as f32 + mean as f32) * LEAST_SHARE;
        let more = |scale: f32, element: usize| {
            if !is_open(element) {
                return 0;
            }
            let have = have(element);
            let goal = (wanted[element] * scale).max(least).min((have * MOST_GROWTH) as f32) as u32;
            goal.saturating_sub(have) / STEP * STEP
        };
        let total =
            |scale: f32| (0..wanted.len()).into_par_iter().map(|element| u64::from(more(scale, element))).sum::<u64>();
        let goal = u64::from(mean) * wanted.len() as u64;
        // Bisection on the exponent of the scale.
        let (mut low, mut high) = (-60.0f32, 60.0f32);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if total(middle.exp2()) > goal { high = middle } else { low = middle }
        }
        (0..wanted.len()).map(|element| more(low.exp2(), element)).collect()
    }
}
