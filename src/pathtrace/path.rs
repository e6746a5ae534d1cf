//! Radiance along rays, by paths with next-event estimation.

use glam::{Vec2, Vec3};

use super::Bsdf;
use super::surroundings::{Surroundings, Vertex, roulette};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::scene::{LightSampler, Scene};

/// Follows paths from rays to lights.
///
/// Each vertex of a path aims at one light and goes on in a direction that its [`Bsdf`] chooses; light that both ways may
/// find is divided between them (multiple importance sampling). Paths end by Russian roulette, which keeps the mean, so
/// the only error is noise.
pub struct PathTracer<'a> {
    surroundings: Surroundings<'a>,
    most_bounces: u32,
}

/// What a ray brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Radiance in cd/m2: the estimate of one path.
    pub radiance: Vec3,
    /// The surface that was seen; `None` where the sky was.
    pub surface: Option<SeenSurface>,
}

/// The surface that a ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenSurface {
    /// The share of light from all around that it reflects.
    pub albedo: Vec3,
    /// Its unit shading normal.
    pub normal: Vec3,
    /// How far along the ray it is, metres.
    pub distance: f32,
}

impl<'a> PathTracer<'a> {
    /// Of paths with any number of bounces, unless told to stop: one leaves direct light alone, zero what shines itself.
    pub fn new(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        most_bounces: Option<u32>,
    ) -> Self {
        Self { surroundings: Surroundings { scene, world, lights }, most_bounces: most_bounces.unwrap_or(u32::MAX / 4) }
    }

    /// What one path brings along a ray, whose direction has unit length. A function of the scene, the ray, `sample` and
    /// `seed`; the samples of one seed are stratified.
    pub fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let surroundings = &self.surroundings;
        let mut seen = Seen::default();
        let mut ray = *ray;
        // What radiance along the current ray counts at the eye.
        let mut weight = Vec3::ONE;
        // With what density the last vertex chose its direction.
        let mut density = None;
        let chance_of = |emitter| surroundings.lights.chance_of(emitter);
        for bounces in 0.. {
            let hit = match surroundings.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = surroundings.met_sky(ray.direction, density, chance_of);
                    seen.radiance += weight * escaped.filter * sky;
                    return seen;
                }
            };
            weight *= hit.filter;
            seen.radiance += weight * surroundings.met_emission(&ray, &hit, density, chance_of);
            let (vertex, bsdf) = self.scatterer(&hit, -ray.direction);
            if bounces == 0 {
                let albedo = bsdf.as_ref().map_or(Vec3::ZERO, Bsdf::albedo);
                seen.surface = Some(SeenSurface { albedo, normal: vertex.shading_normal, distance: hit.t });
            }
            let Some(bsdf) = bsdf.filter(|_| bounces < self.most_bounces) else {
                return seen;
            };

            let [light_u, light_v, pick, end] = OwenSobol::new(hash2(seed, 2 * bounces)).point(sample);
            let [u, v, lobe, _] = OwenSobol::new(hash2(seed, 2 * bounces + 1)).point(sample);
            if let Some(visit) = surroundings.lights.draw(pick) {
                let density = |direction| bsdf.density(direction);
                if let Some(aimed) = surroundings.aim_at_light(&vertex, visit, [light_u, light_v], density) {
                    seen.radiance += weight * bsdf.evaluate(aimed.direction) * aimed.irradiance;
                }
            }

            let direction = bsdf.sample(Vec2::new(u, v), lobe);
            let Some(direction) = direction.filter(|direction| direction.dot(vertex.geometric_normal) > 0.0) else {
                return seen;
            };
            let chosen = bsdf.density(direction);
            if chosen <= 0.0 {
                return seen;
            }
            weight *= bsdf.evaluate(direction) * (direction.dot(vertex.shading_normal) / chosen);
            match roulette(weight, bounces, end) {
                Some(survived) => weight = survived,
                None => return seen,
            }
            ray = Ray::new(vertex.position, direction);
            density = Some(chosen);
        }
        seen
    }

    /// The point that a ray met and how it scatters light toward the ray's origin; not at all where it is the back of a
    /// surface that has none.
    fn scatterer(&self, hit: &Hit, outgoing: Vec3) -> (Vertex, Option<Bsdf>) {
        let scene = self.surroundings.scene;
        let vertex = self.surroundings.vertex(hit);
        if scene.absorbs(hit) {
            return (vertex, None);
        }
        let mesh = scene.mesh_of(hit.surface);
        let appearance = scene.material_of(hit.surface).appearance_at(scene, mesh, hit.triangle, hit.barycentric);
        let bsdf = Bsdf::new(&appearance, vertex.shading_normal, outgoing);
        (Vertex { shading_normal: bsdf.normal(), ..vertex }, Some(bsdf))
    }
}

#[cfg(test)]
mod tests;
