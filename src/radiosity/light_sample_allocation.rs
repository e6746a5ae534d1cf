//! Adaptive number of direct light samples for each element.

use std::cell::OnceCell;

use rayon::prelude::*;

use super::accumulators::{Accumulators, HALVES, Sums};
use super::cells::Cells;
use crate::lightmap::Elements;
use crate::scene::luminance;

/// Width of the neighborhoods that support the variance estimate of an element, in texels.
const NEAR_TEXELS: f32 = 4.0;

/// Maximum factor on the number of samples, for elements in penumbras.
const MAX_INCREASE: u32 = 16;

/// Reduction for elements that need less than `1 / LOW_VARIANCE` of the samples, fully lit or fully in shadow. They
/// still get `1 / MIN_PART` of them, because earlier samples may have missed a shadow edge.
const LOW_VARIANCE: u32 = 16;
const MIN_PART: u32 = 4;

/// Adaptive allocation of direct light samples.
pub(crate) struct LightSampleAllocator<'a> {
    elements: &'a Elements,
    /// Neighborhoods, created on first use.
    near: OnceCell<Cells>,
}

impl<'a> LightSampleAllocator<'a> {
    pub fn new(elements: &'a Elements) -> Self {
        Self { elements, near: OnceCell::new() }
    }

    /// Returns the number of samples that each half of each element should have. Most elements get `samples`.
    /// `tolerance` is the accepted standard error of each element, in lux. Elements of infinite tolerance get no
    /// samples. Without tolerances all elements get `samples`.
    ///
    /// The variance of the other half decides. The variance of the same half would prefer samples that happen to agree,
    /// and bias the mean. The mean variance of the neighborhood counts as one more sample. All first samples of an
    /// element may miss a lamp of which it sees only a sliver. Its neighbors then still see the lamp's edge.
    pub fn allocate(&self, halves: &[Accumulators; HALVES], samples: u32, tolerance: &[f32]) -> [Vec<u32>; HALVES] {
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
                let count = sums.light_samples as f32;
                let variance = (variances[element] * count + sum / members as f32) / (count + 1.0);
                samples_for(variance, samples, tolerance[element])
            };
            other.par_iter().enumerate().map(wanted).collect()
        })
    }
}

/// Returns the variance of one sample's luminance, in lux squared.
fn variance(sums: &Sums) -> f32 {
    let count = sums.light_samples.max(1) as f32;
    let mean = luminance(sums.light_sampled) / count;
    (sums.light_sampled_square / count - mean * mean).max(0.0)
}

fn samples_for(variance: f32, samples: u32, tolerance: f32) -> u32 {
    if tolerance == f32::INFINITY {
        return 0;
    }
    // The squared error of stratified points falls with about the power 1.5 of their number.
    let needed = libm::pow(f64::from(variance / (tolerance * tolerance)), 2.0 / 3.0).min(1e6) as u32;
    let min_samples = if needed < samples / LOW_VARIANCE { samples / MIN_PART } else { samples };
    needed.next_power_of_two().clamp(min_samples, samples * MAX_INCREASE)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn what_looks_calm_among_noisy_neighbors_gets_more_samples_until_it_has_many() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
        let elements = test.elements();
        let light_sample_allocator = LightSampleAllocator::new(&elements);
        // Half of the samples in the first square reach a lamp of 2 lux, with a variance of 1. The first element and
        // the second square have seen nothing.
        let allocate = |count: u32| {
            let lit = Sums {
                light_sampled: Vec3::splat(count as f32),
                light_sampled_square: 2.0 * count as f32,
                light_samples: count,
                ..Sums::default()
            };
            let dark = Sums { light_samples: count, ..Sums::default() };
            let sums = (0..32).map(|element| if (1..16).contains(&element) { lit } else { dark }).collect();
            let of = |sums| Accumulators { sums, ..Accumulators::new(32) };
            let mut tolerance = [0.01; 32];
            tolerance[31] = f32::INFINITY;
            let [mut first, mut second] =
                light_sample_allocator.allocate(&[of(vec![dark; 32]), of(sums)], 16, &tolerance);
            assert_eq!([&mut first, &mut second].map(|samples| samples.pop()), [Some(0); 2], "exact enough already");
            assert!(second.iter().all(|&samples| samples == 4), "by what the first half has seen: {second:?}");
            first
        };
        // The neighborhood counts as one sample in nine: (15 / 16 / 9 / 0.01^2)^(2/3) = 103.
        let few = allocate(8);
        assert_eq!((few[0], few[1], few[16]), (128, 256, 4));
        // The neighborhood counts as one sample in 4,097: (15 / 16 / 4097 / 0.01^2)^(2/3) = 1.7. A sixteenth of the
        // samples is one.
        let many = allocate(4096);
        assert_eq!((many[0], many[16]), (16, 4));
    }
}
