//! Context for tracing the direct light of receivers.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::input::RelightInput;
use super::order::Order;
use crate::geometry::RayQuery;
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::lights::{OneLight, power_heuristic};
use crate::scene::Scene;

/// Seeds of the sample sequences. No stage of a bake uses them.
const SEED: u32 = 0x11f3_0a75;
const BSDF_SEED: u32 = 0x5b0e_93c1;

/// Lower bound of the unoccluded fraction in divisions. Samples of a smaller fraction are too noisy.
const MIN_VISIBILITY: f32 = 1.0 / 8.0;

/// Context for tracing the direct light of receivers.
#[derive(Clone, Copy)]
pub struct Receiving<'a> {
    pub level: &'a RelightInput,
    /// Ray tracing structure that replaces the level's own.
    pub world: &'a dyn RayQuery,
    pub order: &'a Order,
    /// Scene with unit emission, for sampling lights.
    pub lit: &'a Scene,
}

/// Returns the random numbers of a sample: two for the point on the receiver, two for the point on the light.
fn numbers(row: u32, round: u32) -> [f32; 4] {
    OwenSobol::new(hash2(SEED, row)).point(round)
}

/// Sampler of points over the footprint of a receiver.
pub struct Spread<'a> {
    receiving: &'a Receiving<'a>,
    row: u32,
    sampler: ElementSampler,
}

impl Spread<'_> {
    /// Returns the direct irradiance at one point from one point of a light, and the number of rays. Points inside
    /// other geometry receive nothing.
    pub fn sample(&self, light: &OneLight, round: u32) -> (Vec3, u64) {
        let [x, y, u, v] = numbers(self.row, round);
        let point = self.sampler.sample(Vec2::new(x, y));
        self.receiving.sample(light, &point, [u, v], (self.row, round))
    }
}

impl Receiving<'_> {
    /// Returns true when no light reaches a receiver.
    pub fn is_dark(&self, row: u32) -> bool {
        self.level.precomputed.receivers.visible[row as usize] == 0.0
    }

    /// Returns the unoccluded fraction of a receiver, at least [`MIN_VISIBILITY`].
    pub fn visible(&self, row: u32) -> f32 {
        self.level.precomputed.receivers.visible[row as usize].abs().max(MIN_VISIBILITY)
    }

    /// Returns the area of a receiver, in m2.
    pub fn area(&self, row: u32) -> f32 {
        self.level.elements.area[self.id(row).index()]
    }

    /// Returns the unoccluded area of a receiver, in m2.
    pub fn reached_area(&self, row: u32) -> f32 {
        self.area(row) * self.level.precomputed.receivers.visible[row as usize].abs()
    }

    /// Returns a sampler over the footprint of a receiver.
    pub fn spread(&self, row: u32) -> Spread<'_> {
        Spread { receiving: self, row, sampler: self.sampler(row) }
    }

    /// Returns a sampler of surface points of a receiver.
    pub fn sampler(&self, row: u32) -> ElementSampler {
        self.level.elements.sampler(&self.level.scene, self.id(row))
    }

    fn id(&self, row: u32) -> ElementId {
        ElementId(self.level.precomputed.transport.patches.order[row as usize])
    }

    /// Returns the center of a receiver.
    pub fn middle(&self, row: u32) -> SurfacePoint {
        let receivers = &self.level.precomputed.receivers;
        SurfacePoint {
            position: receivers.center[row as usize],
            geometric_normal: receivers.geometric_normal[row as usize],
            shading_normal: receivers.shading_normal[row as usize],
            triangle: 0,
            barycentric: Vec2::ZERO,
            clearance: self.level.elements.clearance[self.id(row).index()],
        }
    }

    /// Returns the direct irradiance at a receiver's center from one point of a light, and the number of rays.
    pub fn sample_center(&self, light: &OneLight, row: u32, round: u32) -> (Vec3, u64) {
        let [.., u, v] = numbers(row, round);
        self.sample(light, &self.middle(row), [u, v], (row, round))
    }

    /// Returns the direct irradiance at a point, and the number of rays. `u` selects the point on the light.
    ///
    /// `seed` seeds the BSDF-sampled ray: the row of the receiver and the round. Both estimates are combined by
    /// multiple importance sampling.
    fn sample(&self, light: &OneLight, point: &SurfacePoint, u: [f32; 2], seed: (u32, u32)) -> (Vec3, u64) {
        let (mut found, mut rays) = (Vec3::ZERO, 0);
        if let Some(sample) = light.sample(point.origin(), point.shading_normal, u)
            && sample.direction.dot(point.geometric_normal) > 0.0
        {
            let cosine_pdf = point.shading_normal.dot(sample.direction).max(0.0) * FRAC_1_PI;
            let weight = sample.pdf.map_or(1.0, |pdf| power_heuristic(pdf, cosine_pdf));
            found = self.world.blocked(&sample.ray).0 * sample.irradiance * weight;
            rays = 1;
        }
        if light.can_be_hit() {
            let (row, round) = seed;
            let [x, y, ..] = OwenSobol::new(hash2(BSDF_SEED, row)).point(round);
            found += self.meet(light, point, Vec2::new(x, y));
            rays += 1;
        }
        (found, rays)
    }

    /// Returns the irradiance from a BSDF-sampled ray that hits the light. It complements light sampling for surfaces
    /// close by.
    fn meet(&self, light: &OneLight, point: &SurfacePoint, u: Vec2) -> Vec3 {
        let direction = cosine_hemisphere(point.shading_normal, u);
        if direction.dot(point.geometric_normal) <= 0.0 {
            return Vec3::ZERO;
        }
        let ray = point.ray(direction);
        let hit = self.world.closest(&ray);
        let emission = hit.and_then(|hit| Some((light.eval_hit(&ray, &hit)?, hit.filter)));
        emission.map_or(Vec3::ZERO, |((radiance, pdf), filter)| {
            let cosine_pdf = point.shading_normal.dot(direction) * FRAC_1_PI;
            radiance * filter * (PI * power_heuristic(cosine_pdf, pdf))
        })
    }
}
