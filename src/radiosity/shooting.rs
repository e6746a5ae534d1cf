//! Monte Carlo radiosity by incremental stochastic Jacobi iteration (`000` S11).
//!
//! Each iteration shoots the power that the one before brought, one bounce further, with local lines and a constant
//! power a ray: rays are allotted to elements by one systematic sweep with one random number an iteration. A ray stands
//! for a constant sum over the three channels and carries the colour of the element that it leaves, so that one set of
//! rays serves all channels without bias. What arrives is added up in fixed point, the same in any order. Who traces the
//! rays of an iteration is left open.

use glam::{DVec3, Vec3};

use super::Accumulators;
use super::backend::{StepError, StepReport, UNSHOT};
use crate::geometry::sobol::{hash2, unit_float};
use crate::lightmap::Elements;

/// Iterations after which shooting gives up on losing its power.
pub(super) const MOST_ITERATIONS: u32 = 1_000;

/// Points that a ray tries to leave its element from before it gives up: some are buried.
pub(crate) const TRIES: u32 = 4;

/// Fixed-point one. A colour's channels add up to three, so 2^32 rays bring less than 2^60.
pub(crate) const ONE: f32 = (1u64 << 26) as f32;

/// One bounce: every element shoots what the bounce before brought it.
pub(crate) struct Bounce<'a> {
    /// Which random numbers, besides those of the element.
    pub seed: u32,
    /// Power of each element, lumens.
    pub unshot: &'a [Vec3],
    /// Rays of each element.
    pub allotment: Vec<u32>,
}

impl Bounce<'_> {
    /// What the rays of an element carry: the mean of the channels is one.
    pub fn colour(&self, element: usize) -> Vec3 {
        self.unshot[element] * (3.0 / self.unshot[element].element_sum())
    }
}

/// What the rays of a bounce brought.
pub(crate) struct Landed {
    /// How many rays' worth of power arrived at each element, per channel.
    pub arrived: Vec<DVec3>,
    /// Rays traced.
    pub rays: u64,
}

/// Shoots all power of one half until little is left. `shown` is the part of each element that rays meet, `seed` is another
/// each time.
pub(crate) fn shoot_half(
    elements: &Elements,
    shown: &[f32],
    accumulators: &mut Accumulators,
    bounces: Option<u32>,
    seed: u32,
    mut shoot: impl FnMut(&Bounce) -> Result<Landed, StepError>,
) -> Result<StepReport, StepError> {
    let area = |element: usize| elements.area[element] * accumulators.sums[element].visible_fraction() * shown[element];
    let sources: Vec<Vec3> = (0..elements.len()).map(|element| accumulators.source(elements, element)).collect();
    let mut unshot: Vec<Vec3> = sources.iter().enumerate().map(|(element, source)| source * area(element)).collect();
    let mut received = vec![Vec3::ZERO; elements.len()];
    let first_power = total(&unshot);
    let power_of_ray = first_power / first_rays(&elements.area, &elements.reflectance);
    let most = bounces.map_or(MOST_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let mut report = StepReport::default();
    let mut power = first_power;
    while power > UNSHOT * first_power && report.iterations < most {
        let allotment = allot(means(&unshot), power, power_of_ray, hash2(seed, report.iterations));
        let bounce = Bounce { seed: hash2(seed, !report.iterations), unshot: &unshot, allotment };
        let Landed { arrived, rays } = shoot(&bounce)?;
        report.rays += rays;
        report.iterations += 1;
        unshot = arrived
            .into_iter()
            .zip(&elements.reflectance)
            .map(|(share, reflectance)| *reflectance * (share * power_of_ray).as_vec3())
            .collect();
        received.iter_mut().zip(&unshot).for_each(|(received, unshot)| *received += *unshot);
        power = total(&unshot);
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

/// Mean of the channels, summed over elements: what rays are allotted by.
fn total(power: &[Vec3]) -> f64 {
    power.iter().map(|power| f64::from(power.element_sum())).sum::<f64>() / 3.0
}

fn means(power: &[Vec3]) -> impl Iterator<Item = f64> {
    power.iter().map(|power| f64::from(power.element_sum()) / 3.0)
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
        let power = total(&unshot);
        for seed in 0..20 {
            let allotment = allot(means(&unshot), power, power / 12_345.0, seed * 77_777_777);
            let sum: u32 = allotment.iter().sum();
            assert!((i64::from(sum) - 12_345).abs() <= 1, "{sum} rays");
            for (rays, unshot) in allotment.iter().zip(&unshot) {
                let exact = f64::from(unshot.element_sum()) / 3.0 / power * 12_345.0;
                assert!((f64::from(*rays) - exact).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn elements_without_power_get_no_rays() {
        let allotment = allot([0.0, 1.0, 0.0].into_iter(), 1.0, 0.01, u32::MAX);
        assert_eq!((allotment[0], allotment[2]), (0, 0));
    }
}
