//! Monte Carlo radiosity by incremental stochastic Jacobi iteration (`000` S11).
//!
//! Each iteration shoots the power that the one before brought, one bounce further, with local lines and a constant
//! power a ray: rays are allotted to elements by one systematic sweep with one random number an iteration. A ray stands
//! for a constant sum over the three channels and carries the colour of the element that it leaves, so that one set of
//! rays serves all channels without bias. What arrives is added up in fixed point, the same in any order.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{DVec3, Vec2, Vec3};
use rayon::prelude::*;

use super::transport::{End, Source, Stage, Transport};
use super::{StepReport, TILE};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::backend::UNSHOT;
use crate::radiosity::{Accumulators, HALVES};
use crate::scene::Chances;

/// Iterations after which shooting gives up on losing its power.
const MOST_ITERATIONS: u32 = 1_000;

/// Points that a ray tries to leave its element from before it gives up: some are buried.
const TRIES: u32 = 4;

/// Fixed-point one. A colour's channels add up to three, so 2^32 rays bring less than 2^60.
const ONE: f32 = (1u64 << 26) as f32;

pub(super) fn run(
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    bounces: Option<u32>,
    monitor: &dyn Monitor,
) -> Result<StepReport, Cancelled> {
    let mut report = StepReport::default();
    for (half, accumulators) in halves.iter_mut().enumerate() {
        let one = shoot_half(transport, half, accumulators, bounces, monitor)?;
        report.rays += one.rays;
        report.iterations = report.iterations.max(one.iterations);
        report.unshot = report.unshot.max(one.unshot);
    }
    Ok(report)
}

fn shoot_half(
    transport: &Transport,
    half: usize,
    accumulators: &mut Accumulators,
    bounces: Option<u32>,
    monitor: &dyn Monitor,
) -> Result<StepReport, Cancelled> {
    let elements = transport.elements;
    let visible_area = |element: usize| elements.area[element] * accumulators.sums[element].visible_fraction();
    let sources: Vec<Vec3> = (0..elements.len()).map(|element| accumulators.source(elements, element)).collect();
    let mut unshot: Vec<Vec3> =
        sources.iter().enumerate().map(|(element, source)| source * visible_area(element)).collect();
    let suspect: Vec<bool> = accumulators.sums.iter().map(|sums| sums.buried > 0).collect();
    let mut received = vec![Vec3::ZERO; elements.len()];
    let first_power = total(&unshot);
    let power_of_ray = first_power / first_rays(transport);
    let most = bounces.map_or(MOST_ITERATIONS, |bounces| bounces.saturating_sub(1));
    // Each time that all power is shot, other rays do it.
    let seed = transport.seed(half, Stage::Allocate, accumulators.shots as usize);
    let mut report = StepReport::default();
    let mut power = first_power;
    while power > UNSHOT * first_power && report.iterations < most {
        let allotment = allot(&unshot, power, power_of_ray, hash2(seed, report.iterations));
        let seed = hash2(seed, !report.iterations);
        let shot = Iteration { transport, half, seed, unshot: &unshot, suspect: &suspect, allotment };
        let (arrived, rays) = shot.run(monitor)?;
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
            let area = visible_area(element);
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

/// Rays of the first iteration (`000` equation 4.8), leaving out elements much smaller than the mean.
fn first_rays(transport: &Transport) -> f64 {
    let elements = transport.elements;
    let all: f64 = elements.area.iter().map(|&area| f64::from(area)).sum();
    let smallest = 0.5 * all / elements.len().max(1) as f64;
    let most = elements
        .area
        .iter()
        .zip(&elements.reflectance)
        .filter(|(area, _)| f64::from(**area) >= smallest)
        .map(|(area, reflectance)| f64::from(reflectance.max_element()) * all / f64::from(*area))
        .fold(1.0, f64::max);
    9.0 * most
}

/// Rays of each element: systematic sampling with one random number, never negative, their sum right to within one.
fn allot(unshot: &[Vec3], power: f64, power_of_ray: f64, seed: u32) -> Vec<u32> {
    let rays = power / power_of_ray;
    let offset = f64::from(unit_float(seed));
    let mut share = 0.0;
    let mut before = 0.0;
    unshot
        .iter()
        .map(|unshot| {
            share += f64::from(unshot.element_sum()) / 3.0 / power;
            let until = (rays * share + offset).floor();
            let count = until - before;
            before = until;
            count as u32
        })
        .collect()
}

/// One bounce: every element shoots what the bounce before brought it.
struct Iteration<'a> {
    transport: &'a Transport<'a>,
    half: usize,
    seed: u32,
    unshot: &'a [Vec3],
    /// Which elements have buried points.
    suspect: &'a [bool],
    allotment: Vec<u32>,
}

impl Iteration<'_> {
    /// How many rays' worth of power arrived at each element, per channel, and how many rays were traced.
    fn run(&self, monitor: &dyn Monitor) -> Result<(Vec<DVec3>, u64), Cancelled> {
        let arrived: Vec<[AtomicU64; 3]> = (0..self.unshot.len()).map(|_| Default::default()).collect();
        let traced = AtomicU64::new(0);
        (0..self.unshot.len()).into_par_iter().with_min_len(TILE).try_for_each(|element| {
            let rays = self.allotment[element];
            if rays == 0 {
                return Ok(());
            }
            monitor.check()?;
            let colour = self.unshot[element] * (3.0 / self.unshot[element].element_sum());
            let seed = hash2(self.transport.seed(self.half, Stage::Shoot, element), self.seed);
            // Direct light is not asked for.
            let source = Source { element, suspect: self.suspect[element], chances: Chances::All(0) };
            let sampler = self.transport.elements.sampler(self.transport.scene, ElementId::from_index(element));
            for ray in 0..rays {
                let (hit, count) = self.shoot(&source, &sampler, seed, ray);
                traced.fetch_add(count, Ordering::Relaxed);
                let Some((hit, tint)) = hit else { continue };
                for (channel, sum) in arrived[hit.index()].iter().enumerate() {
                    let share = (colour[channel] * tint[channel] * ONE).round() as u64;
                    sum.fetch_add(share, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        let share = |sum: AtomicU64| sum.into_inner() as f64 / f64::from(ONE);
        let arrived = arrived.into_iter().map(|sums| DVec3::from_array(sums.map(share))).collect();
        Ok((arrived, traced.into_inner()))
    }

    /// Where a ray lands that leaves an element from a point that is not buried.
    fn shoot(
        &self,
        source: &Source,
        sampler: &ElementSampler,
        seed: u32,
        ray: u32,
    ) -> (Option<(ElementId, Vec3)>, u64) {
        let mut rays = 0;
        for attempt in 0..TRIES {
            let (point, direction) = departure(sampler, seed.wrapping_add(attempt), ray);
            let arrival = self.transport.gather(source, &point, direction, hash2(seed, ray));
            rays += u64::from(arrival.rays);
            match arrival.end {
                End::Element(hit) => return (Some((hit, arrival.tint)), rays),
                End::Lost => return (None, rays),
                End::Buried => {}
            }
        }
        (None, rays)
    }
}

/// Where a ray leaves an element and in which direction: uniform in area, by the cosine about the face's normal.
fn departure(sampler: &ElementSampler, seed: u32, ray: u32) -> (SurfacePoint, Vec3) {
    let [x, y, u, v] = OwenSobol::new(seed).point(ray);
    let point = sampler.sample(Vec2::new(x, y));
    let direction = cosine_hemisphere(point.geometric_normal, Vec2::new(u, v));
    (point, direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sampling::orthonormal_basis;
    use crate::radiosity::test_scene::{TestScene, grey};
    use crate::scene::MeshData;

    #[test]
    fn rays_leave_a_triangle_evenly_and_by_the_cosine() {
        // One triangle within one texel. A fourth of its edge makes 16 alike triangles, and the direction's squared sine
        // and azimuth are even: 256 boxes of equal chance.
        let mut test = TestScene::default();
        let corners = [Vec2::new(0.1, 0.1), Vec2::new(0.9, 0.1), Vec2::new(0.2, 0.9)];
        test.mesh(
            MeshData {
                positions: vec![Vec3::new(1.0, 2.0, 3.0), Vec3::new(3.0, 2.5, 3.5), Vec3::new(1.5, 1.0, 4.0)],
                uv1: corners.to_vec(),
                triangles: vec![[0, 1, 2]],
                ..MeshData::default()
            },
            [1; 2],
            grey(0.5),
        );
        let elements = test.elements();
        let sampler = elements.sampler(&test.scene, ElementId(0));
        let normal = elements.geometric_normal[0];
        let (tangent, bitangent) = orthonormal_basis(normal);
        let samples = 256 * 100;
        let mut counts = [0u32; 256];
        for number in 0..samples {
            // Every ray by another seed: the points of one seed are more even than chance.
            let (point, direction) = departure(&sampler, hash2(77, number), number % 8);
            let fourths = (point.barycentric * 4.0).floor();
            let upper = (point.barycentric * 4.0 - fourths).element_sum() > 1.0;
            // Rows of 7, 5, 3 and 1 triangles.
            let [column, row] = [fourths.x as usize, fourths.y as usize];
            let triangle = [0, 7, 12, 15][row] + 2 * column + usize::from(upper);
            let across = Vec2::new(direction.dot(tangent), direction.dot(bitangent));
            let ring = ((across.length_squared() * 4.0) as usize).min(3);
            let quarter = usize::from(across.x > 0.0) + 2 * usize::from(across.y > 0.0);
            counts[triangle * 16 + ring * 4 + quarter] += 1;
        }
        let expected = 100.0;
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: 99.8 % of fair samples lie between 190 and 330.
        assert!((190.0..330.0).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn rays_are_allotted_in_proportion_to_power_and_add_up() {
        let unshot: Vec<Vec3> = (0..1000).map(|k| Vec3::new((k % 7) as f32, (k % 3) as f32, 0.5)).collect();
        let power = total(&unshot);
        for seed in 0..20 {
            let allotment = allot(&unshot, power, power / 12_345.0, seed * 77_777_777);
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
        let allotment = allot(&[Vec3::ZERO, Vec3::ONE, Vec3::ZERO], 1.0, 0.01, u32::MAX);
        assert_eq!((allotment[0], allotment[2]), (0, 0));
    }
}
