//! Rays of one shooting bounce.

use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::{DVec3, Vec2, Vec3};
use rayon::prelude::*;

use super::transport::{End, Source, Transport, Until};
use super::{StepReport, TILE};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::lights::LightPmf;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::backend::StepError;
use crate::radiosity::seeds::{Stage, seed_of_allocation};
use crate::radiosity::shooting::{Bounce, Deposits, ONE, TRIES, Weights, shoot_half};
use crate::radiosity::{Accumulators, HALVES};

/// Shoots the power of both halves. `shoot` traces the rays of a bounce.
pub(super) fn run(
    transport: &Transport,
    halves: &mut [Accumulators; HALVES],
    weights: Weights,
    bounces: Option<u32>,
    mut shoot: impl FnMut(&Iteration) -> Result<Arrivals, StepError>,
) -> Result<StepReport, StepError> {
    let mut report = StepReport::default();
    for (half, accumulators) in halves.iter_mut().enumerate() {
        let may_be_inside = accumulators.may_be_inside();
        let seed = seed_of_allocation(transport.seed, half, accumulators.shots);
        let one = shoot_half(transport.elements, weights, accumulators, bounces, seed, |bounce| {
            shoot(&Iteration { transport, half, may_be_inside: &may_be_inside, bounce }).map(deposits)
        })?;
        report.join(one);
    }
    Ok(report)
}

/// Rays of one bounce.
#[derive(Clone, Copy)]
pub(super) struct Iteration<'a> {
    pub transport: &'a Transport<'a>,
    pub half: usize,
    /// True for elements with points inside geometry.
    pub may_be_inside: &'a [bool],
    pub bounce: &'a Bounce<'a>,
}

/// Power that arrived at each element in fixed point, and the number of traced rays.
pub(super) type Arrivals = (Vec<[u64; 3]>, u64);

impl Iteration<'_> {
    /// Traces the rays of a range of elements.
    pub fn of(&self, elements: Range<usize>, monitor: &dyn Monitor) -> Result<Arrivals, Cancelled> {
        let Bounce { seed, unshot, ray_counts, .. } = self.bounce;
        let arrived: Vec<[AtomicU64; 3]> = (0..unshot.len()).map(|_| Default::default()).collect();
        let traced = AtomicU64::new(0);
        elements.into_par_iter().with_min_len(TILE).with_max_len(TILE).try_for_each(|element| {
            let rays = ray_counts[element];
            if rays == 0 {
                return Ok(());
            }
            monitor.check()?;
            let color = self.bounce.color(element);
            let seed = hash2(self.transport.seed_of(self.half, Stage::Shoot, element), *seed);
            // Shooting needs no direct light.
            let source = Source {
                element,
                may_be_inside: self.may_be_inside[element],
                light_pmf: LightPmf::All(0).into(),
                until: Until::Element,
                bright: &[],
            };
            let sampler = self.transport.elements.sampler(self.transport.scene, ElementId::from_index(element));
            for ray in 0..rays {
                let (hit, count) = self.shoot(&source, &sampler, seed, ray);
                traced.fetch_add(count, Ordering::Relaxed);
                let Some((hit, tint)) = hit else { continue };
                for (channel, sum) in arrived[hit.index()].iter().enumerate() {
                    let share = (color[channel] * tint[channel] * ONE).round() as u64;
                    sum.fetch_add(share, Ordering::Relaxed);
                }
            }
            Ok::<(), Cancelled>(())
        })?;
        Ok((arrived.into_iter().map(|sums| sums.map(AtomicU64::into_inner)).collect(), traced.into_inner()))
    }

    /// Traces a ray from a visible point of an element. Returns the hit element with the tint, and the number of traced
    /// rays.
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
                End::Inside => {}
            }
        }
        (None, rays)
    }
}

/// Converts arrived power from fixed point.
fn deposits((arrived, rays): Arrivals) -> Deposits {
    let share = |sum: u64| sum as f64 / f64::from(ONE);
    let arrived = arrived.into_iter().map(|sums| DVec3::from_array(sums.map(share))).collect();
    Deposits { arrived, rays }
}

/// Samples a start point, uniform in area, and a direction, cosine-weighted about the geometric normal.
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
    use crate::radiosity::test_scene::{TestScene, gray};
    use crate::scene::MeshData;

    #[test]
    fn rays_leave_a_triangle_evenly_and_by_the_cosine() {
        // One triangle lies within one texel. Division of its edges by four gives 16 congruent triangles. Squared sine
        // and azimuth of the direction are uniform, in 16 bins. The 256 bins have equal probability.
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
            gray(0.5),
        );
        let elements = test.elements();
        let sampler = elements.sampler(&test.scene, ElementId(0));
        let normal = elements.geometric_normal[0];
        let (tangent, bitangent) = orthonormal_basis(normal);
        let samples = 256 * 100;
        let mut counts = [0u32; 256];
        for number in 0..samples {
            // Each ray has a different seed, because the points of one seed are more uniform than random ones.
            let (point, direction) = departure(&sampler, hash2(77, number), number % 8);
            let fourths = (point.barycentric * 4.0).floor();
            let upper = (point.barycentric * 4.0 - fourths).element_sum() > 1.0;
            // The rows have 7, 5, 3 and 1 triangles.
            let [column, row] = [fourths.x as usize, fourths.y as usize];
            let triangle = [0, 7, 12, 15][row] + 2 * column + usize::from(upper);
            let across = Vec2::new(direction.dot(tangent), direction.dot(bitangent));
            let ring = ((across.length_squared() * 4.0) as usize).min(3);
            let quarter = usize::from(across.x > 0.0) + 2 * usize::from(across.y > 0.0);
            counts[triangle * 16 + ring * 4 + quarter] += 1;
        }
        let expected = 100.0;
        let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // With 255 degrees of freedom, 99.8 % of fair samples lie between 190 and 330.
        assert!((190.0..330.0).contains(&chi_square), "{chi_square}");
    }
}
