//! Light samples on bright elements, which are sampled as lights.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};

use super::transport::Transport;
use crate::geometry::Ray;
use crate::geometry::sampling::choose;
use crate::geometry::sobol::OwenSobol;
use crate::lightmap::{ElementId, ElementSampler, SurfacePoint};
use crate::lights::power_heuristic;
use crate::radiosity::bright::BrightElement;

/// Hash constant that separates points on bright elements from the other random numbers of a ray.
const OTHER_POINTS: u32 = 0x5bd1_e995;

/// Sampler of points on bright elements.
pub(super) struct BrightSampler<'a> {
    transport: &'a Transport<'a>,
    pub elements: &'a [BrightElement],
    samplers: Vec<ElementSampler>,
}

impl<'a> BrightSampler<'a> {
    pub fn new(transport: &'a Transport<'a>, elements: &'a [BrightElement]) -> Self {
        let sampler = |bright: &BrightElement| transport.elements.sampler(transport.scene, ElementId(bright.element));
        Self { transport, elements, samplers: elements.iter().map(sampler).collect() }
    }

    /// Samples one point on one bright element. Returns its irradiance in lux, with shadows and the MIS weight, and the
    /// number of traced rays. `seed` is that of the accompanying gather ray.
    pub fn sample(&self, point: &SurfacePoint, seed: u32) -> (Vec3, u32) {
        let [choice, x, y, _] = OwenSobol::new(seed ^ OTHER_POINTS).point(0);
        let (chosen, _) = choose(self.elements.iter().map(|bright| bright.probability), choice);
        let bright = &self.elements[chosen];
        let lit = self.samplers[chosen].sample(Vec2::new(x, y));
        let ray = Ray::between(point.origin(), lit.origin());
        let distance_squared = ray.direction.length_squared();
        let Some(direction) = ray.direction.try_normalize() else { return (Vec3::ZERO, 0) };
        let (cosine, leaving) = (point.shading_normal.dot(direction), -lit.geometric_normal.dot(direction));
        if cosine <= 0.0 || leaving <= 0.0 || direction.dot(point.geometric_normal) <= 0.0 {
            return (Vec3::ZERO, 0);
        }
        let cosine_pdf = cosine * FRAC_1_PI;
        let pdf = bright.pdf(distance_squared, leaving);
        let light = bright.radiosity * (cosine_pdf * power_heuristic(pdf, cosine_pdf) / pdf);
        (self.transport.world.blocked(&ray).0 * light, 1)
    }
}
