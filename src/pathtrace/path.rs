//! Radiance along rays, by paths with next-event estimation.

use glam::{Vec2, Vec3};

use super::integrator::{Integrator, Seen, SeenSurface};
use super::surroundings::{Surroundings, roulette};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, exponential};
use crate::scene::{LightSampler, Scene};

/// Follows paths from rays to lights.
///
/// Each vertex of a path aims at a light that is near and one far away, and goes on in a direction that its [`Bsdf`](super::Bsdf) chooses; light that both ways may
/// find is divided between them (multiple importance sampling). Paths end by Russian roulette, which keeps the mean, so
/// the only error is noise.
pub struct PathTracer<'a> {
    surroundings: Surroundings<'a>,
    most_bounces: u32,
    ends_at_lightmaps: bool,
}

impl<'a> PathTracer<'a> {
    /// Of paths with any number of bounces, unless told to stop: one leaves direct light alone, zero what shines itself.
    pub fn new(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        most_bounces: Option<u32>,
    ) -> Self {
        Self::amid(Surroundings::new(scene, world, lights), most_bounces)
    }

    /// The same, of what another solver has gathered of a scene.
    pub(super) fn amid(surroundings: Surroundings<'a>, most_bounces: Option<u32>) -> Self {
        Self { surroundings, most_bounces: most_bounces.unwrap_or(u32::MAX / 4), ends_at_lightmaps: false }
    }

    /// The same, but where a reflected ray meets a surface with a lightmap, the light is taken from that, as if all that
    /// the surface reflects were matt: less noise, and the errors of the bake.
    #[must_use]
    pub fn ending_at_lightmaps(self) -> Self {
        Self { ends_at_lightmaps: true, ..self }
    }
}

impl Integrator for PathTracer<'_> {
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has what the function is compiled for.
            return unsafe { self.follow_avx2(ray, sample, seed) };
        }
        self.follow(ray, sample, seed)
    }
}

impl PathTracer<'_> {
    /// [`PathTracer::follow`] in other instructions, of which none rounds otherwise.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn follow_avx2(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        self.follow(ray, sample, seed)
    }

    #[inline(always)]
    fn follow(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let surroundings = &self.surroundings;
        let mut seen = Seen::default();
        let mut ray = *ray;
        // What radiance along the current ray counts at the eye.
        let mut weight = Vec3::ONE;
        // What it runs through takes this much of it, per metre.
        let mut absorption = Vec3::ZERO;
        // With what density the last vertex chose its direction.
        let mut density = None;
        // The normal there.
        let mut normal = Vec3::ZERO;
        for bounces in 0.. {
            let chance_of = |emitter| surroundings.lights.chance_of(emitter, ray.origin, normal);
            let hit = match surroundings.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = surroundings.met_sky(ray.direction, density, chance_of);
                    seen.radiance += weight * escaped.filter * sky;
                    return seen;
                }
            };
            weight *= hit.filter;
            if absorption != Vec3::ZERO {
                weight *= exponential(-absorption * hit.t);
            }
            seen.radiance += weight * surroundings.met_emission(&ray, &hit, density, chance_of);
            let (vertex, bsdf) = surroundings.scatterer(&hit, -ray.direction);
            if bounces == 0 {
                seen.surface = Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t));
            }
            let Some(bsdf) = bsdf.as_ref().filter(|_| bounces < self.most_bounces) else {
                return seen;
            };

            let [light_u, light_v, pick, end] = OwenSobol::new(hash2(seed, 2 * bounces)).point(sample);
            let [u, v, lobe, _] = OwenSobol::new(hash2(seed, 2 * bounces + 1)).point(sample);
            // Within glass, light is found by chance alone: its walls hide all lamps.
            let glass = surroundings.scene.material_of(hit.surface).solid_glass();
            let is_within = hit.back && glass.is_some();
            // A density tells a reflected ray from those of the eye, and from what glass lets through.
            let may_end = self.ends_at_lightmaps && density.is_some() && glass.is_none();
            let baked = if may_end { surroundings.scene.baked_light(&hit) } else { None };
            let aims = !is_within && !baked.is_some_and(|(_, is_direct_too)| is_direct_too);
            let draw = || surroundings.lights.draw(vertex.position, vertex.shading_normal, pick);
            let visits = if aims { draw() } else { [None; 2] };
            for &visit in visits.iter().flatten() {
                let density = |direction| bsdf.density(direction);
                if let Some(aimed) = surroundings.aim_at_light(&vertex, visit, [light_u, light_v], density) {
                    seen.radiance += weight * bsdf.evaluate(aimed.direction) * aimed.irradiance;
                }
            }
            if let Some((light, _)) = baked {
                seen.radiance += weight * bsdf.albedo() * light;
                return seen;
            }

            let Some(scattered) = bsdf.sample(Vec2::new(u, v), lobe) else {
                return seen;
            };
            let goes_through = scattered.density.is_none();
            if goes_through != (scattered.direction.dot(vertex.geometric_normal) < 0.0) {
                return seen;
            }
            weight *= scattered.weight;
            match roulette(weight, bounces, end) {
                Some(survived) => weight = survived,
                None => return seen,
            }
            density = scattered.density.filter(|_| !is_within);
            normal = vertex.shading_normal;
            if goes_through {
                absorption = glass.filter(|_| !is_within).map_or(Vec3::ZERO, |glass| glass.absorption);
            }
            ray = Ray::new(if goes_through { vertex.behind } else { vertex.position }, scattered.direction);
        }
        seen
    }
}

#[cfg(test)]
mod tests;
