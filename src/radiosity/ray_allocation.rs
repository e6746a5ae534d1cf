//! Adaptive allocation of gather rays to elements.

use rayon::prelude::*;

use super::HALVES;
use super::backend::ElementEstimate;
use super::cells::Cells;
use super::settings::Content;
use crate::lightmap::Elements;
use crate::scene::luminance;

/// Widths in texels of the neighborhoods for noise estimates. The wide one serves elements without near neighbors.
const NEAR_TEXELS: f32 = 4.0;
const WIDE_TEXELS: f32 = 16.0;

/// Maximum growth of an element's rays in one step, because few rays give an uncertain variance.
const MAX_GROWTH: u32 = 8;

/// Maximum number of rays of an element.
const MAX_RAYS: u32 = 1 << 22;

/// Number of rays allocated together. Sample sequences fill space evenly after a few points.
pub(super) const BUNDLE: u32 = 8;

/// Minimum number of rays of a participating element, as a fraction of the mean. Small differences may be chance, and
/// no texel may be left behind.
const MIN_SHARE: f32 = 0.5;

/// Number of rays of an element without a known visible point, as a fraction of the mean, and its maximum. By then rays
/// have almost certainly found an element of which 1 % is visible. Rays of points inside geometry are short and cheap.
const INVISIBLE_SHARE: f32 = 0.125;
const MAX_INVISIBLE_RAYS: u32 = 256;

/// Adaptive allocation of gather rays.
pub(super) struct RayAllocator {
    near: Cells,
    wide: Cells,
}

impl RayAllocator {
    pub fn new(elements: &Elements) -> Self {
        Self { near: Cells::new(elements, NEAR_TEXELS), wide: Cells::new(elements, WIDE_TEXELS) }
    }

    /// Returns the number of additional rays for each half of each element. The allocation minimizes the squared error
    /// over all area. Rays converge to the proportions of one ray's standard deviation (Neyman 1934).
    pub fn allocate(
        &self,
        elements: &Elements,
        halves: &[Vec<ElementEstimate>; HALVES],
        content: Content,
        of: &RayBudget,
    ) -> Vec<u32> {
        let [first, second] = halves;
        let open: Vec<f32> =
            first.iter().zip(second).map(|(a, b)| 0.5 * (a.visible_fraction + b.visible_fraction)).collect();
        let wanted: Vec<f32> = (self.variances(halves, content, of.adaptation).iter().enumerate())
            .map(|(element, variance)| (elements.area[element] * open[element] * variance).sqrt())
            .collect();
        let have = |element: usize| first[element].gathered;
        let takes_part = |element: &usize| (of.takes_part)(*element) && open[*element] > 0.0;
        let (count, all_rays) = (0..wanted.len())
            .filter(takes_part)
            .fold((0u64, 0u64), |(count, rays), element| (count + 1, rays + u64::from(have(element))));
        let min_rays = (all_rays + of.rays) as f32 / count.max(1) as f32 * MIN_SHARE;
        let more = |scale: f32, element: usize| {
            if !takes_part(&element) {
                return 0;
            }
            let max_rays = have(element).saturating_mul(MAX_GROWTH).min(MAX_RAYS);
            let goal = (wanted[element] * scale).max(min_rays).min(max_rays as f32) as u32;
            goal.saturating_sub(have(element)) / BUNDLE * BUNDLE
        };
        let total =
            |scale: f32| (0..wanted.len()).into_par_iter().map(|element| u64::from(more(scale, element))).sum::<u64>();
        // Bisect the exponent of the scale.
        let (mut low, mut high) = (-60.0f32, 60.0f32);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if total(libm::exp2f(middle)) > of.rays { high = middle } else { low = middle }
        }
        let scale = libm::exp2f(low);
        (0..wanted.len()).map(|element| more(scale, element)).collect()
    }

    /// Returns the variance of one ray at each element, relative to the squared adaptation level. The estimate uses the
    /// differences of the neighbors' halves. The element's own difference is left out. It would prefer samples that
    /// happen to agree, and bias the mean. The adaptation level still contains the element's own light, as one of about
    /// sixteen elements.
    fn variances(
        &self,
        [first, second]: &[Vec<ElementEstimate>; HALVES],
        content: Content,
        adaptation: &[f32],
    ) -> Vec<f32> {
        let gathered = |element_estimate: &ElementEstimate| match content {
            Content::Full => element_estimate.bsdf_sampled + element_estimate.indirect,
            Content::Indirect => element_estimate.indirect,
        };
        let squares: Vec<f32> = (first.par_iter().zip(second).zip(adaptation))
            .map(|((a, b), level)| (luminance(gathered(a) - gathered(b)) / level).powi(2) * a.gathered as f32)
            .collect();
        let (near, wide) = (self.near.sums(&squares), self.wide.sums(&squares));
        let everywhere = squares.iter().map(|&square| f64::from(square)).sum::<f64>() / squares.len().max(1) as f64;
        (0..squares.len())
            .map(|element| {
                let ((near_count, near_sum), (wide_count, wide_sum)) =
                    (near[self.near.of_element[element] as usize], wide[self.wide.of_element[element] as usize]);
                // The wide neighborhood counts as one more neighbor.
                let beyond = match wide_count - near_count {
                    0 => everywhere as f32,
                    others => (wide_sum - near_sum).max(0.0) / others as f32,
                };
                ((near_sum - squares[element]).max(0.0) + beyond) / near_count as f32
            })
            .collect()
    }
}

/// Parameters of an allocation of rays.
pub(super) struct RayBudget<'a> {
    /// Adaptation level of each element, in lux. Errors are relative to this level.
    pub adaptation: &'a [f32],
    /// Returns true for elements that may get rays.
    pub takes_part: &'a (dyn Fn(usize) -> bool + Sync),
    /// Approximate number of rays of each half, over all elements.
    pub rays: u64,
}

/// Allocates rays to elements without a visible point in either half. `mean` is the number of rays that other elements
/// will have. The first rays may all have missed the visible part of such an element.
pub(super) fn add_rays_to_invisible(rays: &mut [u32], [first, second]: &[Vec<ElementEstimate>; HALVES], mean: u32) {
    let goal = ((mean as f32 * INVISIBLE_SHARE) as u32).min(MAX_INVISIBLE_RAYS);
    for (rays, (a, b)) in rays.iter_mut().zip(first.iter().zip(second)) {
        if a.visible_fraction + b.visible_fraction == 0.0 {
            *rays = goal.saturating_sub(a.gathered) / BUNDLE * BUNDLE;
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn rays_go_where_neighbors_are_noisy_and_leave_none_behind() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [16; 2], gray(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [16; 2], gray(0.5));
        let elements = test.elements();
        let count = elements.len() / 2;
        let element_estimate = |difference: f32| ElementEstimate {
            indirect: Vec3::splat(10.0 + difference),
            visible_fraction: 1.0,
            gathered: 64,
            ..ElementEstimate::default()
        };
        // The standard deviation of rays in the second square is nine times that of the first. One of its elements is
        // invalid.
        let spread = |element: usize| if element < count { 0.1 } else { 0.9 };
        let half = |sign: f32| {
            let mut half: Vec<ElementEstimate> =
                (0..elements.len()).map(|element| element_estimate(sign * spread(element))).collect();
            half[count].visible_fraction = 0.0;
            half
        };
        let halves = [half(1.0), half(-1.0)];
        let allocate = |takes_part: &(dyn Fn(usize) -> bool + Sync), adaptation: &[f32]| {
            let of = RayBudget { adaptation, takes_part, rays: 64 * elements.len() as u64 };
            RayAllocator::new(&elements).allocate(&elements, &halves, Content::Full, &of)
        };
        let level = vec![10.0; elements.len()];
        let rays = allocate(&|_| true, &level);
        assert_eq!(rays[count], 0);
        // The minimum is half of the mean of 128. The ideal is nine times as many for the second square, minus existing
        // rays.
        assert!(rays[..count].iter().all(|&rays| rays == 0), "{:?}", &rays[..4]);
        assert!(rays[count + 1..].iter().all(|&rays| (120..=128).contains(&rays)), "{:?}", &rays[count..count + 4]);
        assert!(rays.iter().map(|&rays| u64::from(rays)).sum::<u64>() <= 64 * elements.len() as u64);

        // The first square is equally noisy, relative to an adaptation level of a ninth.
        let dim: Vec<f32> =
            (0..elements.len()).map(|element| if element < count { 10.0 / 9.0 } else { 10.0 }).collect();
        let rays = allocate(&|_| true, &dim);
        assert!(
            (56..=64).contains(&rays[0]) && (56..=64).contains(&rays[count + 1]),
            "{} {}",
            rays[0],
            rays[count + 1]
        );
        let rays = allocate(&|element| element < count, &level);
        assert!(rays[..count].iter().all(|&rays| rays > 100) && rays[count..].iter().all(|&rays| rays == 0));
    }

    #[test]
    fn what_no_ray_has_found_in_the_open_is_asked_again_by_an_eighth_of_the_rays_but_not_for_ever() {
        let element_estimate =
            |visible_fraction, gathered| ElementEstimate { visible_fraction, gathered, ..ElementEstimate::default() };
        // Visible to one half, to the other half, and to none.
        let halves =
            [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]].map(|half| half.map(|part| element_estimate(part, 32)).to_vec());
        for (mean, expected) in [(128, 0), (256, 0), (512, 32), (4096, 224), (1 << 17, 224)] {
            let mut rays = vec![8, 16, 0];
            add_rays_to_invisible(&mut rays, &halves, mean);
            assert_eq!(rays, [8, 16, expected], "of {mean}");
        }
    }
}
