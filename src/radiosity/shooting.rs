//! Monte Carlo radiosity by incremental stochastic Jacobi iteration (`000` S11).
//!
//! Each iteration shoots the power that the one before brought, one bounce further, with local lines. The power of a ray
//! is in proportion to the adaptation level that it leaves, up to the mean, so that dim rooms get rays as well. Rays are
//! allotted to elements by one systematic sweep with one random number an iteration. A ray stands for the sum over the
//! three channels and carries the color of the element that it leaves, so that one set of rays serves all channels
//! without bias. Arrivals are added up in fixed point, the same in any order. Backends trace the rays of an iteration.

use glam::{DVec3, Vec3};

use super::Accumulators;
use super::backend::{StepError, StepReport, UNSHOT};
use crate::geometry::sobol::{hash2, unit_float};
use crate::lightmap::Elements;

/// Iterations after which shooting gives up on losing its power.
pub(super) const MOST_ITERATIONS: u32 = 1_000;

/// Points that a ray tries to leave its element from before it gives up: some are buried.
pub(crate) const TRIES: u32 = 4;

/// Fixed-point one. A color's channels add up to three, so a ray brings less than 2^32, and 2^32 rays less
/// than 2^64.
pub(crate) const ONE: f32 = (1u64 << 30) as f32;

/// The least power of a ray over that of the strongest: fixed-point sums tell it to within a ten-thousandth.
const LEAST_SHARE: f32 = 1e-5;

/// The weights of elements.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    /// The part of each element that rays meet.
    pub shown: &'a [f32],
    /// Adaptation level of each element, lux.
    pub adaptation: &'a [f32],
}

impl Weights<'_> {
    /// Power of a ray of each element over that of the strongest: as much less as its surroundings are dimmer than the
    /// mean.
    fn ray_shares(&self, areas: &[f32]) -> Vec<f32> {
        let (sum, area) = (areas.iter().zip(self.adaptation))
            .fold((0.0, 0.0), |(sum, all), (area, level)| (sum + f64::from(area * level), all + f64::from(*area)));
        let mean = (sum / area.max(f64::MIN_POSITIVE)).max(f64::from(f32::MIN_POSITIVE));
        self.adaptation.iter().map(|&level| ((f64::from(level) / mean) as f32).clamp(LEAST_SHARE, 1.0)).collect()
    }
}

/// One bounce: every element shoots what the bounce before brought it.
pub(crate) struct Bounce<'a> {
    /// Which random numbers, besides those of the element.
    pub seed: u32,
    /// Power of a ray of each element over that of the strongest.
    pub ray_shares: &'a [f32],
    /// Power of each element, lumens.
    pub unshot: &'a [Vec3],
    /// Rays of each element.
    pub allotment: Vec<u32>,
}

impl Bounce<'_> {
    /// The color of an element's rays: the mean of the channels is its share of the strongest ray.
    pub fn colour(&self, element: usize) -> Vec3 {
        self.unshot[element] * (3.0 * self.ray_shares[element] / self.unshot[element].element_sum())
    }
}

/// What the rays of a bounce brought.
pub(crate) struct Landed {
    /// How many rays' worth of power arrived at each element, per channel.
    pub arrived: Vec<DVec3>,
    /// Rays traced.
    pub rays: u64,
}

/// Shoots all power of one half until little is left, by what it counts for where it is. `seed` is another each time.
pub(crate) fn shoot_half(
    elements: &Elements,
    weights: Weights,
    accumulators: &mut Accumulators,
    bounces: Option<u32>,
    seed: u32,
    mut shoot: impl FnMut(&Bounce) -> Result<Landed, StepError>,
) -> Result<StepReport, StepError> {
    let area = |element: usize| {
        elements.area[element] * accumulators.sums[element].visible_fraction() * weights.shown[element]
    };
    let sources: Vec<Vec3> = (0..elements.len()).map(|element| accumulators.source(elements, element)).collect();
    let mut unshot: Vec<Vec3> = sources.iter().enumerate().map(|(element, source)| source * area(element)).collect();
    let mut received = vec![Vec3::ZERO; elements.len()];
    let ray_shares = weights.ray_shares(&elements.area);
    let first_power = total(&unshot, &ray_shares);
    let first_rays = first_rays(&elements.area, &elements.reflectance);
    let most = bounces.map_or(MOST_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let mut report = StepReport::default();
    let mut power = first_power;
    let mut left = Left::new(&ray_shares);
    left.shoot(&unshot, &ray_shares);
    let is_much =
        |power: f64, left: &Left| power > UNSHOT * first_power || left.is_much(power.max(first_power) / first_rays);
    while is_much(power, &left) && report.iterations < most {
        // Power that comes to dim surroundings counts for more than it did, which is no reason for ever more rays.
        let power_of_ray = power.max(first_power) / first_rays;
        let allotment = allot(means(&unshot, &ray_shares), power, power_of_ray, hash2(seed, report.iterations));
        let bounce =
            Bounce { seed: hash2(seed, !report.iterations), ray_shares: &ray_shares, unshot: &unshot, allotment };
        let Landed { arrived, rays } = shoot(&bounce)?;
        report.rays += rays;
        report.iterations += 1;
        unshot = arrived
            .into_iter()
            .zip(&elements.reflectance)
            .map(|(share, reflectance)| *reflectance * (share * power_of_ray).as_vec3())
            .collect();
        received.iter_mut().zip(&unshot).for_each(|(received, unshot)| *received += *unshot);
        power = total(&unshot, &ray_shares);
        left.shoot(&unshot, &ray_shares);
    }
    report.unshot = if first_power > 0.0 && bounces.is_none() { (power / first_power) as f32 } else { 0.0 };
    let brought: Vec<Vec3> = received
        .iter()
        .enumerate()
        .map(|(element, received)| {
            let area = area(element);
            if area > 0.0 { received / area } else { Vec3::ZERO }
        })
        .collect();
    accumulators.add_shot(&sources, &brought);
    Ok(report)
}

/// Power that is left, by rooms about as bright as each other: that of a dim room must not end because a bright one has
/// lost nearly all of its own.
struct Left {
    /// The group of each element: those whose rays carry about the same.
    of_element: Vec<u8>,
    /// Power of the last bounce, and of the strongest so far, over the shares of rays.
    powers: Vec<(f64, f64)>,
}

impl Left {
    fn new(ray_shares: &[f32]) -> Self {
        // Each stop is a group: the exponent of a floating-point number is its logarithm.
        let exponent = |share: f32| (share.to_bits() >> 23) as u8;
        let brightest = exponent(1.0);
        let of_element: Vec<u8> = ray_shares.iter().map(|&share| brightest - exponent(share)).collect();
        let groups = of_element.iter().max().map_or(0, |&last| usize::from(last) + 1);
        Self { of_element, powers: vec![(0.0, 0.0); groups] }
    }

    /// Notes the power of another bounce.
    fn shoot(&mut self, power: &[Vec3], ray_shares: &[f32]) {
        self.powers.iter_mut().for_each(|(last, _)| *last = 0.0);
        for (group, power) in self.of_element.iter().zip(means(power, ray_shares)) {
            self.powers[usize::from(*group)].0 += power;
        }
        self.powers.iter_mut().for_each(|(last, most)| *most = most.max(*last));
    }

    /// True where a group has more than a thousandth of its power left, and more than that of a ray.
    fn is_much(&self, power_of_ray: f64) -> bool {
        self.powers.iter().any(|&(last, most)| last > UNSHOT * most && last > power_of_ray)
    }
}

/// The sum of the weights that rays are allotted by.
fn total(power: &[Vec3], ray_shares: &[f32]) -> f64 {
    means(power, ray_shares).sum()
}

/// The weights that rays are allotted by: the mean of the channels of each element's power, over the share of its rays.
fn means(power: &[Vec3], ray_shares: &[f32]) -> impl Iterator<Item = f64> {
    power.iter().zip(ray_shares).map(|(power, share)| f64::from(power.element_sum()) / (3.0 * f64::from(*share)))
}

/// Rays of the first iteration (`000` equation 4.8), leaving out elements much smaller than the mean.
pub(super) fn first_rays(area: &[f32], reflectance: &[Vec3]) -> f64 {
    let all: f64 = area.iter().map(|&area| f64::from(area)).sum();
    let smallest = 0.5 * all / area.len().max(1) as f64;
    let most = area
        .iter()
        .zip(reflectance)
        .filter(|(area, _)| f64::from(**area) >= smallest)
        .map(|(area, reflectance)| f64::from(reflectance.max_element()) * all / f64::from(*area))
        .fold(1.0, f64::max);
    9.0 * most
}

/// Rays for each share of the power: systematic sampling with one random number, never negative, their sum right to within
/// one.
pub(super) fn allot(shares: impl Iterator<Item = f64>, power: f64, power_of_ray: f64, seed: u32) -> Vec<u32> {
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

    #[test]
    fn rays_are_allotted_in_proportion_to_power_and_add_up() {
        let unshot: Vec<Vec3> = (0..1000).map(|k| Vec3::new((k % 7) as f32, (k % 3) as f32, 0.5)).collect();
        let shares = vec![1.0; 1000];
        let power = total(&unshot, &shares);
        for seed in 0..20 {
            let allotment = allot(means(&unshot, &shares), power, power / 12_345.0, seed * 77_777_777);
            let sum: u32 = allotment.iter().sum();
            assert!((i64::from(sum) - 12_345).abs() <= 1, "{sum} rays");
            for (rays, unshot) in allotment.iter().zip(&unshot) {
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
        assert_eq!(shares[3], LEAST_SHARE);
        let unshot = [150.0, 150.0, 1.5, 0.0].map(Vec3::splat);
        let power = total(&unshot, &shares);
        let allotment = allot(means(&unshot, &shares), power, 0.1, 0);
        let bounce = Bounce { seed: 0, ray_shares: &shares, unshot: &unshot, allotment };
        let carried =
            |element: usize| bounce.colour(element).element_sum() / 3.0 * 0.1 * bounce.allotment[element] as f32;
        for (element, expected) in [(0, 150.0), (1, 150.0), (2, 1.5)] {
            assert!((carried(element) / expected - 1.0).abs() < 2e-3, "{}", carried(element));
        }
        assert!(bounce.allotment[2] > 700, "{:?}", bounce.allotment);
    }

    #[test]
    fn elements_without_power_get_no_rays() {
        let allotment = allot([0.0, 1.0, 0.0].into_iter(), 1.0, 0.01, u32::MAX);
        assert_eq!((allotment[0], allotment[2]), (0, 0));
    }
}
