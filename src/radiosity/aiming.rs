//! How many samples of direct light each element is worth.

use std::cell::OnceCell;

use rayon::prelude::*;

use super::accumulators::{Accumulators, HALVES, Sums};
use super::cells::Cells;
use crate::lightmap::Elements;
use crate::scene::luminance;

/// Width in texels of the neighbourhoods that speak for an element whose own samples are few.
const NEAR_TEXELS: f32 = 4.0;

/// How many times the samples of its neighbours an element in a penumbra may get.
const MOST_MORE: u32 = 16;

/// An element that needs less than a sixteenth of the samples, since all its light or none of it is in sight, gets only a
/// quarter of them: those before may have missed a shadow's edge.
const CALM: u32 = 16;
const LEAST_PART: u32 = 4;

/// Deals out samples of direct light.
pub(crate) struct Aiming<'a> {
    elements: &'a Elements,
    /// Made when a spread is first asked for.
    near: OnceCell<Cells>,
}

impl<'a> Aiming<'a> {
    pub fn new(elements: &'a Elements) -> Self {
        Self { elements, near: OnceCell::new() }
    }

    /// Samples that each half of each element should have. Most have `samples`; a standard error as in `tolerance`, lux,
    /// is good enough. Elements of infinite tolerance get none. Without tolerances all get `samples`.
    ///
    /// The other half decides, since deciding by one's own spread would prefer samples that happened to look calm, and
    /// bias the mean. Its neighbours count as one sample more: the first samples all miss a lamp of which an element
    /// sees a sliver, and look as calm as can be, but then its neighbours see the lamp's edge.
    pub fn deal(&self, halves: &[Accumulators; HALVES], samples: u32, tolerance: &[f32]) -> [Vec<u32>; HALVES] {
        if tolerance.is_empty() {
            return core::array::from_fn(|_| vec![samples; self.elements.len()]);
        }
        let near = self.near.get_or_init(|| Cells::new(self.elements, NEAR_TEXELS));
        core::array::from_fn(|half| {
            let other = &halves[1 - half].sums;
            let variances: Vec<f32> = other.par_iter().map(variance).collect();
            let cells = near.sums(&variances);
            let wanted = |(element, sums): (usize, &Sums)| {
                let (members, sum) = cells[near.of_element[element] as usize];
                let count = sums.aimed_count as f32;
                let variance = (variances[element] * count + sum / members as f32) / (count + 1.0);
                samples_for(variance, samples, tolerance[element])
            };
            other.par_iter().enumerate().map(wanted).collect()
        })
    }
}

/// The variance of one sample's luminance, lux squared.
fn variance(sums: &Sums) -> f32 {
    let count = sums.aimed_count.max(1) as f32;
    let mean = luminance(sums.aimed) / count;
    (sums.aimed_square / count - mean * mean).max(0.0)
}

fn samples_for(variance: f32, samples: u32, tolerance: f32) -> u32 {
    if tolerance == f32::INFINITY {
        return 0;
    }
    // The squared error of stratified points shrinks faster than with their number, by about its power of 1.5.
    let needed = (variance / (tolerance * tolerance)).powf(2.0 / 3.0).min(1e6) as u32;
    let least = if needed < samples / CALM { samples / LEAST_PART } else { samples };
    needed.next_power_of_two().clamp(least, samples * MOST_MORE)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::radiosity::test_scene::{TestScene, grey};

    #[test]
    fn what_looks_calm_among_noisy_neighbours_gets_more_samples_until_it_has_many() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], grey(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [4; 2], grey(0.5));
        let elements = test.elements();
        let aiming = Aiming::new(&elements);
        // Half of the first square's samples reach a lamp that brings 2 lux: the variance of one is 1. But its first
        // element has seen nothing, nor has the second square.
        let deal = |count: u32| {
            let lit = Sums {
                aimed: Vec3::splat(count as f32),
                aimed_square: 2.0 * count as f32,
                aimed_count: count,
                ..Sums::default()
            };
            let dark = Sums { aimed_count: count, ..Sums::default() };
            let sums = (0..32).map(|element| if (1..16).contains(&element) { lit } else { dark }).collect();
            let of = |sums| Accumulators { sums, ..Accumulators::new(32) };
            let mut tolerance = [0.01; 32];
            tolerance[31] = f32::INFINITY;
            let [mut first, mut second] = aiming.deal(&[of(vec![dark; 32]), of(sums)], 16, &tolerance);
            assert_eq!([&mut first, &mut second].map(|samples| samples.pop()), [Some(0); 2], "exact enough already");
            assert!(second.iter().all(|&samples| samples == 4), "by what the first half has seen: {second:?}");
            first
        };
        // One sample in nine speaks for the neighbours: (15 / 16 / 9 / 0.01^2)^(2/3) = 103.
        let few = deal(8);
        assert_eq!((few[0], few[1], few[16]), (128, 256, 4));
        // One in 4,097: (15 / 16 / 4097 / 0.01^2)^(2/3) = 1.7, and a sixteenth of the samples is one.
        let many = deal(4096);
        assert_eq!((many[0], many[16]), (16, 4));
    }
}
