//! Monte Carlo radiosity by incremental stochastic Jacobi iteration (`000` S11).
//!
//! Each iteration shoots the power received in the previous one, with local lines. The power of a ray is in proportion
//! to the adaptation level at its start, up to the mean level. Dim rooms therefore get enough rays. Systematic sampling
//! allocates rays to elements, with one random number for each iteration. A ray represents the sum over three channels,
//! and carries the color of its element's power. One set of rays is thus unbiased for all channels. Fixed-point sums of
//! arrivals do not depend on their order. Backends trace the rays of an iteration.

use glam::{DVec3, Vec3};

use super::Accumulators;
use super::backend::{StepError, StepReport, UNSHOT};
use crate::geometry::sobol::{hash2, unit_float};
use crate::lightmap::Elements;

/// Maximum number of iterations.
pub(super) const MAX_ITERATIONS: u32 = 1_000;

/// Maximum number of points tried as the start of a ray, because some lie inside geometry.
pub(crate) const TRIES: u32 = 4;

/// One in fixed point. The channels of a color add up to three. A ray thus adds less than 2^32, and 2^32 rays less than
/// 2^64.
pub(crate) const ONE: f32 = (1u64 << 30) as f32;

/// Maximum number of rays of an element in one bounce. A bright ray that strays into a dark corner would become up to
/// 100,000 rays there, and they bring nothing: noise is that of the one ray.
const MAX_RAYS: f64 = 4096.0;

/// Minimum power of a ray relative to the strongest. Fixed-point sums resolve it to one part in ten thousand.
const MIN_SHARE: f32 = 1e-5;

/// Weights of the elements.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    /// Exposed area fraction of each element.
    pub shown: &'a [f32],
    /// Adaptation level of each element, in lux.
    pub adaptation: &'a [f32],
}

impl Weights<'_> {
    /// Returns the relative power of each element's rays: the ratio of its adaptation level to the mean, at most 1.
    fn ray_shares(&self, areas: &[f32]) -> Vec<f32> {
        let (sum, area) = (areas.iter().zip(self.adaptation))
            .fold((0.0, 0.0), |(sum, all), (area, level)| (sum + f64::from(area * level), all + f64::from(*area)));
        let mean = (sum / area.max(f64::MIN_POSITIVE)).max(f64::from(f32::MIN_POSITIVE));
        self.adaptation.iter().map(|&level| ((f64::from(level) / mean) as f32).clamp(MIN_SHARE, 1.0)).collect()
    }
}

/// Input of one bounce: every element shoots the power that it received in the previous one.
pub(crate) struct Bounce<'a> {
    /// Seed of the bounce, hashed with that of the element.
    pub seed: u32,
    /// Power of each element's rays, relative to the strongest.
    pub ray_shares: &'a [f32],
    /// Unshot power of each element, in lumens.
    pub unshot: &'a [Vec3],
    /// Number of rays of each element.
    pub ray_counts: &'a [u32],
}

impl Bounce<'_> {
    /// Returns the color of an element's rays. The mean of its channels is the relative power of a ray.
    pub fn color(&self, element: usize) -> Vec3 {
        self.unshot[element] * (3.0 * self.ray_shares[element] / self.unshot[element].element_sum())
    }
}

/// Result of the rays of a bounce.
pub(crate) struct Deposits {
    /// Power that arrived at each element, in rays, per channel.
    pub arrived: Vec<DVec3>,
    /// Number of traced rays.
    pub rays: u64,
}

/// Shoots the power of one half until little is left, weighted by ray power. `seed` must differ between calls.
pub(crate) fn shoot_half(
    elements: &Elements,
    weights: Weights,
    accumulators: &mut Accumulators,
    bounces: Option<u32>,
    seed: u32,
    mut shoot: impl FnMut(&Bounce) -> Result<Deposits, StepError>,
) -> Result<StepReport, StepError> {
    let areas: Vec<f32> = (0..elements.len())
        .map(|element| elements.area[element] * accumulators.sums[element].visible_fraction() * weights.shown[element])
        .collect();
    let sources: Vec<Vec3> = (0..elements.len()).map(|element| accumulators.source(elements, element)).collect();
    let mut unshot: Vec<Vec3> = sources.iter().zip(&areas).map(|(source, area)| source * area).collect();
    let mut received = vec![Vec3::ZERO; elements.len()];
    let ray_shares = weights.ray_shares(&elements.area);
    let first_power = total(&unshot, &ray_shares);
    let first_rays = first_rays(&elements.area, &elements.reflectance, None);
    let max = bounces.map_or(MAX_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let mut report = StepReport::default();
    let mut power = first_power;
    let mut left = Left::new(&ray_shares);
    left.shoot(&unshot, &ray_shares);
    let is_much =
        |power: f64, left: &Left| power > UNSHOT * first_power || left.is_much(power.max(first_power) / first_rays);
    while is_much(power, &left) && report.iterations < max {
        // Power that reaches dim surroundings gains weight. This must not increase the number of rays.
        let power_of_ray = power.max(first_power) / first_rays;
        let shares = limit_rays(&unshot, &ray_shares, power_of_ray);
        let means = means(&unshot, &shares);
        let ray_counts = allocate_rays(means, total(&unshot, &shares), power_of_ray, hash2(seed, report.iterations));
        let bounce = Bounce {
            seed: hash2(seed, !report.iterations),
            ray_shares: &shares,
            unshot: &unshot,
            ray_counts: &ray_counts,
        };
        let Deposits { arrived, rays } = shoot(&bounce)?;
        report.rays += rays;
        report.iterations += 1;
        // Power that slips through a crack to an element inside geometry ends there. Rays of such an element would be
        // many, since its adaptation level is low, and none would leave.
        let reflected = |((share, reflectance), &area): ((DVec3, &Vec3), &f32)| {
            if area > 0.0 { reflectance * (share * power_of_ray).as_vec3() } else { Vec3::ZERO }
        };
        unshot = arrived.into_iter().zip(&elements.reflectance).zip(&areas).map(reflected).collect();
        received.iter_mut().zip(&unshot).for_each(|(received, unshot)| *received += *unshot);
        power = total(&unshot, &ray_shares);
        left.shoot(&unshot, &ray_shares);
    }
    report.unshot = if first_power > 0.0 && bounces.is_none() { (power / first_power) as f32 } else { 0.0 };
    let received_power: Vec<Vec3> = (received.iter().zip(&areas))
        .map(|(received, &area)| if area > 0.0 { received / area } else { Vec3::ZERO })
        .collect();
    accumulators.add_shot(&sources, &received_power);
    Ok(report)
}

/// Remaining power, grouped by brightness. Shooting in a dim room must not end because a bright room has lost its
/// power.
struct Left {
    /// Group of each element. Rays of a group carry about the same power.
    of_element: Vec<u8>,
    /// Weighted power of the last bounce, and of the strongest bounce so far, for each group.
    powers: Vec<(f64, f64)>,
}

impl Left {
    fn new(ray_shares: &[f32]) -> Self {
        // Each photographic stop is a group: the exponent of a floating-point number is its integer logarithm.
        let exponent = |share: f32| (share.to_bits() >> 23) as u8;
        let brightest = exponent(1.0);
        let of_element: Vec<u8> = ray_shares.iter().map(|&share| brightest - exponent(share)).collect();
        let groups = of_element.iter().max().map_or(0, |&last| usize::from(last) + 1);
        Self { of_element, powers: vec![(0.0, 0.0); groups] }
    }

    /// Records the power of another bounce.
    fn shoot(&mut self, power: &[Vec3], ray_shares: &[f32]) {
        self.powers.iter_mut().for_each(|(last, _)| *last = 0.0);
        for (group, power) in self.of_element.iter().zip(means(power, ray_shares)) {
            self.powers[usize::from(*group)].0 += power;
        }
        self.powers.iter_mut().for_each(|(last, max)| *max = max.max(*last));
    }

    /// Returns true if a group has more than [`UNSHOT`] of its maximum power left, and more than one ray's.
    fn is_much(&self, power_of_ray: f64) -> bool {
        self.powers.iter().any(|&(last, max)| last > UNSHOT * max && last > power_of_ray)
    }
}

/// Returns the relative power of each element's rays, increased where an element would shoot more than [`MAX_RAYS`].
fn limit_rays(unshot: &[Vec3], ray_shares: &[f32], power_of_ray: f64) -> Vec<f32> {
    let max = MAX_RAYS * power_of_ray;
    (ray_shares.iter().zip(means(unshot, ray_shares)))
        .map(|(&share, mean)| if mean > max { (f64::from(share) * mean / max) as f32 } else { share })
        .collect()
}

/// Returns the sum of the allocation weights.
fn total(power: &[Vec3], ray_shares: &[f32]) -> f64 {
    means(power, ray_shares).sum()
}

/// Returns the allocation weight of each element: its mean power over the channels, divided by its relative ray power.
fn means(power: &[Vec3], ray_shares: &[f32]) -> impl Iterator<Item = f64> {
    power.iter().zip(ray_shares).map(|(power, share)| f64::from(power.element_sum()) / (3.0 * f64::from(*share)))
}

/// Returns the number of rays in the first iteration (`000` equation 4.8), without elements much smaller than the mean.
pub(super) fn first_rays(area: &[f32], reflectance: &[Vec3], min_area: Option<f32>) -> f64 {
    let all: f64 = area.iter().map(|&area| f64::from(area)).sum();
    let smallest = min_area.map_or(0.5 * all / area.len().max(1) as f64, f64::from);
    let max = area
        .iter()
        .zip(reflectance)
        .filter(|(area, _)| f64::from(**area) >= smallest)
        .map(|(area, reflectance)| f64::from(reflectance.max_element()) * all / f64::from(*area))
        .fold(1.0, f64::max);
    9.0 * max
}

/// Returns the number of rays for each share of the power, by systematic sampling with one random number. The sum is
/// exact to within one.
pub(super) fn allocate_rays(shares: impl Iterator<Item = f64>, power: f64, power_of_ray: f64, seed: u32) -> Vec<u32> {
    let rays = power / power_of_ray;
    let offset = f64::from(unit_float(seed));
    let mut share = 0.0;
    let mut before = 0.0;
    shares
        .map(|unshot| {
            share += unshot / power;
            let until = (rays * share + offset).floor();
            let count = until - before;
            before = until;
            count as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn rays_are_allotted_in_proportion_to_power_and_add_up() {
        let unshot: Vec<Vec3> = (0..1000).map(|k| Vec3::new((k % 7) as f32, (k % 3) as f32, 0.5)).collect();
        let shares = vec![1.0; 1000];
        let power = total(&unshot, &shares);
        for seed in 0..20 {
            let ray_counts = allocate_rays(means(&unshot, &shares), power, power / 12_345.0, seed * 77_777_777);
            let sum: u32 = ray_counts.iter().sum();
            assert!((i64::from(sum) - 12_345).abs() <= 1, "{sum} rays");
            for (rays, unshot) in ray_counts.iter().zip(&unshot) {
                let exact = f64::from(unshot.element_sum()) / 3.0 / power * 12_345.0;
                assert!((f64::from(*rays) - exact).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn rays_from_dim_surroundings_carry_less_and_are_as_many() {
        let weights = Weights { shown: &[1.0; 4], adaptation: &[150.0, 150.0, 1.5, 1e-5] };
        // The mean level is 75.75 lux.
        let shares = weights.ray_shares(&[0.5, 0.5, 1.0, 0.0]);
        assert!((shares[0] - 1.0).abs() < 1e-6 && (shares[2] - 1.5 / 75.75).abs() < 1e-6, "{shares:?}");
        assert_eq!(shares[3], MIN_SHARE);
        let unshot = [150.0, 150.0, 1.5, 0.0].map(Vec3::splat);
        let power = total(&unshot, &shares);
        let ray_counts = allocate_rays(means(&unshot, &shares), power, 0.1, 0);
        let bounce = Bounce { seed: 0, ray_shares: &shares, unshot: &unshot, ray_counts: &ray_counts };
        let carried =
            |element: usize| bounce.color(element).element_sum() / 3.0 * 0.1 * bounce.ray_counts[element] as f32;
        for (element, expected) in [(0, 150.0), (1, 150.0), (2, 1.5)] {
            assert!((carried(element) / expected - 1.0).abs() < 2e-3, "{}", carried(element));
        }
        assert!(bounce.ray_counts[2] > 700, "{:?}", bounce.ray_counts);
    }

    #[test]
    fn a_bright_ray_in_a_dark_corner_becomes_4096_rays_with_its_power() {
        // One ray of 1 lumen arrives where rays carry a hundred-thousandth. Elsewhere 50 rays leave.
        let (unshot, shares) = ([Vec3::ONE, Vec3::splat(50.0)], [1e-5, 1.0]);
        let limited = limit_rays(&unshot, &shares, 1.0);
        let ray_counts = allocate_rays(means(&unshot, &limited), total(&unshot, &limited), 1.0, 0);
        assert!((4095..=4097).contains(&ray_counts[0]) && ray_counts[1] == 50, "{ray_counts:?}");
        let bounce = Bounce { seed: 0, ray_shares: &limited, unshot: &unshot, ray_counts: &ray_counts };
        let carried = bounce.color(0).x * ray_counts[0] as f32;
        assert!((carried - 1.0).abs() < 1e-3, "{carried}");
    }

    #[test]
    fn light_that_slips_to_an_element_inside_geometry_ends_there() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X * 2.0, [1, 2], gray(0.5));
        let elements = test.elements();
        let mut accumulators = Accumulators::new(elements.len());
        let [open, hidden] = &mut accumulators.sums[..] else { panic!("{} elements", elements.len()) };
        (open.gathered, open.valid, open.continuation) = (8, 8, Vec3::splat(8.0));
        (hidden.gathered, hidden.inside) = (8, 8);
        let weights = Weights { shown: &[1.0; 2], adaptation: &[1.0, 1e-6] };
        let onto_hidden = |bounce: &Bounce| {
            let rays = u64::from(bounce.ray_counts[0]);
            Ok(Deposits { arrived: vec![DVec3::ZERO, DVec3::splat(rays as f64)], rays })
        };
        let report = shoot_half(&elements, weights, &mut accumulators, None, 0, onto_hidden).unwrap();
        assert_eq!((report.iterations, report.unshot), (1, 0.0));
    }

    #[test]
    fn elements_without_power_get_no_rays() {
        let ray_counts = allocate_rays([0.0, 1.0, 0.0].into_iter(), 1.0, 0.01, u32::MAX);
        assert_eq!((ray_counts[0], ray_counts[2]), (0, 0));
    }
}
