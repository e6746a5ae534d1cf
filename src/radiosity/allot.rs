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

/// Most rays of an element, however noisy it is.
const MOST_RAYS: u32 = 1 << 22;

/// Rays are dealt in such bundles, for sequences of points fill space evenly a few at a time.
pub(super) const BUNDLE: u32 = 8;

/// The share of the mean number of rays that every element that takes part gets, however calm its neighbors look: a few
/// differences may happen to be small, and no texel is to be left behind.
const LEAST_SHARE: f32 = 0.5;

/// The share of the mean number of rays that an element has while none has found a point of it in the open, and the most
/// of them: by then an element of which a hundredth is open has been found out. A buried point takes some short rays.
const BURIED_SHARE: f32 = 0.125;
const MOST_BURIED_RAYS: u32 = 256;

/// Deals out gather rays.
pub(super) struct Allotment {
    near: Cells,
    wide: Cells,
}

impl Allotment {
    pub fn new(elements: &Elements) -> Self {
        Self { near: Cells::new(elements, NEAR_TEXELS), wide: Cells::new(elements, WIDE_TEXELS) }
    }

    /// Deals more rays to each half of each element, such that the squared error over all area becomes least: in the
    /// end, rays in proportion to the spread that one ray has there (Neyman 1934).
    pub fn deal(&self, elements: &Elements, halves: &[Vec<Reading>; HALVES], content: Content, of: &Deal) -> Vec<u32> {
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
        let least = (all_rays + of.rays) as f32 / count.max(1) as f32 * LEAST_SHARE;
        let more = |scale: f32, element: usize| {
            if !takes_part(&element) {
                return 0;
            }
            let most = have(element).saturating_mul(MOST_GROWTH).min(MOST_RAYS);
            let goal = (wanted[element] * scale).max(least).min(most as f32) as u32;
            goal.saturating_sub(have(element)) / BUNDLE * BUNDLE
        };
        let total =
            |scale: f32| (0..wanted.len()).into_par_iter().map(|element| u64::from(more(scale, element))).sum::<u64>();
        // Bisection on the exponent of the scale.
        let (mut low, mut high) = (-60.0f32, 60.0f32);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if total(middle.exp2()) > of.rays { high = middle } else { low = middle }
        }
        (0..wanted.len()).map(|element| more(low.exp2(), element)).collect()
    }

    /// The variance of one ray's light at each element, relative to its adaptation level, by what the halves of its
    /// neighbors differ in. Its own difference is left out: deciding by it would prefer samples that happen to look calm,
    /// and bias the mean. The level holds its own light as well, as one of some sixteen elements.
    fn variances(&self, [first, second]: &[Vec<Reading>; HALVES], content: Content, adaptation: &[f32]) -> Vec<f32> {
        let gathered = |reading: &Reading| match content {
            Content::Full => reading.met + reading.indirect,
            Content::Indirect => reading.indirect,
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
                // Counts as one neighbour more.
                let beyond = match wide_count - near_count {
                    0 => everywhere as f32,
                    others => (wide_sum - near_sum).max(0.0) / others as f32,
                };
                ((near_sum - squares[element]).max(0.0) + beyond) / near_count as f32
            })
            .collect()
    }
}

/// Rays that are to be dealt out.
pub(super) struct Deal<'a> {
    /// Adaptation level of each element, lux: errors count relative to it.
    pub adaptation: &'a [f32],
    /// True for elements that may get some.
    pub takes_part: &'a (dyn Fn(usize) -> bool + Sync),
    /// Rays of either half of all elements together, about.
    pub rays: u64,
}

/// Deals rays to elements that are buried as far as either half has found, where others will have `mean` of them: the first
/// few may all have missed what is open of an element, which must not stay dark for that.
pub(super) fn ask_the_buried_again(rays: &mut [u32], [first, second]: &[Vec<Reading>; HALVES], mean: u32) {
    let goal = ((mean as f32 * BURIED_SHARE) as u32).min(MOST_BURIED_RAYS);
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
    use crate::radiosity::test_scene::{TestScene, grey};

    #[test]
    fn rays_go_where_neighbours_are_noisy_and_leave_none_behind() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [16; 2], grey(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [16; 2], grey(0.5));
        let elements = test.elements();
        let count = elements.len() / 2;
        let reading = |difference: f32| Reading {
            indirect: Vec3::splat(10.0 + difference),
            visible_fraction: 1.0,
            gathered: 64,
            ..Reading::default()
        };
        // The second square's rays spread nine times as much as the first's, and one element of it is buried.
        let spread = |element: usize| if element < count { 0.1 } else { 0.9 };
        let half = |sign: f32| {
            let mut half: Vec<Reading> = (0..elements.len()).map(|element| reading(sign * spread(element))).collect();
            half[count].visible_fraction = 0.0;
            half
        };
        let halves = [half(1.0), half(-1.0)];
        let deal = |takes_part: &(dyn Fn(usize) -> bool + Sync), adaptation: &[f32]| {
            let of = Deal { adaptation, takes_part, rays: 64 * elements.len() as u64 };
            Allotment::new(&elements).deal(&elements, &halves, Content::Full, &of)
        };
        let level = vec![10.0; elements.len()];
        let rays = deal(&|_| true, &level);
        assert_eq!(rays[count], 0);
        // At least half of the mean of 128, and nine times as many by their spread but for what the first have already.
        assert!(rays[..count].iter().all(|&rays| rays == 0), "{:?}", &rays[..4]);
        assert!(rays[count + 1..].iter().all(|&rays| (120..=128).contains(&rays)), "{:?}", &rays[count..count + 4]);
        assert!(rays.iter().map(|&rays| u64::from(rays)).sum::<u64>() <= 64 * elements.len() as u64);

        // The first square is as noisy for an eye that is adapted to a ninth of the light.
        let dim: Vec<f32> =
            (0..elements.len()).map(|element| if element < count { 10.0 / 9.0 } else { 10.0 }).collect();
        let rays = deal(&|_| true, &dim);
        assert!(
            (56..=64).contains(&rays[0]) && (56..=64).contains(&rays[count + 1]),
            "{} {}",
            rays[0],
            rays[count + 1]
        );
        let rays = deal(&|element| element < count, &level);
        assert!(rays[..count].iter().all(|&rays| rays > 100) && rays[count..].iter().all(|&rays| rays == 0));
    }

    #[test]
    fn what_no_ray_has_found_in_the_open_is_asked_again_by_an_eighth_of_the_rays_but_not_for_ever() {
        let reading = |visible_fraction, gathered| Reading { visible_fraction, gathered, ..Reading::default() };
        // Open to one half, open to the other, and to none.
        let halves = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]].map(|half| half.map(|part| reading(part, 32)).to_vec());
        for (mean, expected) in [(128, 0), (256, 0), (512, 32), (4096, 224), (1 << 17, 224)] {
            let mut rays = vec![8, 16, 0];
            ask_the_buried_again(&mut rays, &halves, mean);
            assert_eq!(rays, [8, 16, expected], "of {mean}");
        }
    }
}
