//! Radiance along rays, by paths with next-event estimation.

use glam::{Vec2, Vec3};

use super::Bsdf;
use super::integrator::{Integrator, Seen, SeenSurface};
use super::looks::Look;
use super::surroundings::{Crossing, Surroundings, Vertex, roulette};
use crate::geometry::sobol::{hash2, points};
use crate::geometry::{Hit, Ray, RayQuery, exponential};
use crate::scene::{Glass, LightSampler, Scene};

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
        let mut path = Path {
            ray: *ray,
            weight: Vec3::ONE,
            absorption: Vec3::ZERO,
            density: None,
            normal: Vec3::ZERO,
            bounces: 0,
            sample,
            seed,
        };
        loop {
            let Path { ray, density, normal, .. } = path;
            let chance_of = |emitter| surroundings.lights.chance_of(emitter, ray.origin, normal);
            let traced = surroundings.world.trace(&ray);
            let hit = match &traced {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = surroundings.met_sky(ray.direction, density, chance_of);
                    seen.radiance += path.weight * escaped.filter * sky;
                    return seen;
                }
            };
            path.weight *= hit.filter;
            if path.absorption != Vec3::ZERO {
                path.weight *= exponential(-path.absorption * hit.t);
            }
            seen.radiance += path.weight * surroundings.met_emission(&ray, hit, density, chance_of);
            let vertex = surroundings.vertex(hit);
            // Matt surfaces apart: what is known of them leaves no more than a few numbers to work with.
            let goes_on = match surroundings.look(hit) {
                Some(&Look::Matt(reflectance)) => {
                    let bsdf = Bsdf::matt(reflectance, vertex.shading_normal, -ray.direction);
                    self.scatter(&mut path, &mut seen, hit, vertex.bent(&bsdf), &bsdf, None)
                }
                Some(look) => {
                    match surroundings.crossing(hit, -ray.direction, hash2(hash2(seed, !path.bounces), sample)) {
                        Crossing::Goes { vertex, bsdf, .. } => {
                            // What is baked is light of the near side.
                            path.density = None;
                            self.scatter(&mut path, &mut seen, hit, vertex, &bsdf, None)
                        }
                        Crossing::Stays(weight) => {
                            path.weight *= weight;
                            let bsdf = surroundings.bsdf(look, hit, &vertex, -ray.direction);
                            let glass = surroundings.scene.material_of(hit.surface).solid_glass();
                            self.scatter(&mut path, &mut seen, hit, vertex.bent(&bsdf), &bsdf, glass)
                        }
                    }
                }
                None => {
                    if path.bounces == 0 {
                        seen.surface = Some(SeenSurface::new(&vertex, None, hit.t));
                    }
                    false
                }
            };
            if !goes_on {
                return seen;
            }
        }
    }

    /// Aims at lights from where a path met a surface, and sends it on; false where it ends.
    #[inline(always)]
    fn scatter(
        &self,
        path: &mut Path,
        seen: &mut Seen,
        hit: &Hit,
        vertex: Vertex,
        bsdf: &Bsdf,
        glass: Option<&Glass>,
    ) -> bool {
        let surroundings = &self.surroundings;
        let Path { bounces, sample, seed, .. } = *path;
        if bounces == 0 {
            seen.surface = Some(SeenSurface::new(&vertex, Some(bsdf), hit.t));
        }
        if bounces >= self.most_bounces {
            return false;
        }
        let [[light_u, light_v, pick, end], [u, v, lobe, _]] =
            points([hash2(seed, 2 * bounces), hash2(seed, 2 * bounces + 1)], sample);
        // Within glass, light is found by chance alone: its walls hide all lamps.
        let is_within = hit.back && glass.is_some();
        // A density tells a reflected ray from those of the eye, and from what glass lets through.
        let may_end = self.ends_at_lightmaps && path.density.is_some() && glass.is_none();
        let baked = if may_end { surroundings.scene.baked_light(hit) } else { None };
        let aims = !is_within && !baked.is_some_and(|(_, is_direct_too)| is_direct_too);
        let draw = || surroundings.lights.draw(vertex.position, vertex.shading_normal, pick);
        let [mut visit, mut later] = if aims { draw() } else { [None; 2] };
        // An iterator over both would read them from memory, before they have got there.
        while let Some(emitter) = visit.take().or_else(|| later.take()) {
            let density = |direction| bsdf.density(direction);
            if let Some(aimed) = surroundings.aim_at_light(&vertex, emitter, [light_u, light_v], density) {
                seen.radiance += path.weight * bsdf.evaluate(aimed.direction) * aimed.irradiance;
            }
        }
        if let Some((light, _)) = baked {
            seen.radiance += path.weight * bsdf.albedo() * light;
            return false;
        }

        let Some(scattered) = bsdf.sample(Vec2::new(u, v), lobe) else {
            return false;
        };
        let goes_through = scattered.density.is_none();
        if goes_through != (scattered.direction.dot(vertex.geometric_normal) < 0.0) {
            return false;
        }
        match roulette(path.weight * scattered.weight, bounces, end) {
            Some(survived) => path.weight = survived,
            None => return false,
        }
        path.density = scattered.density.filter(|_| !is_within);
        path.normal = vertex.shading_normal;
        if goes_through {
            path.absorption = glass.filter(|_| !is_within).map_or(Vec3::ZERO, |glass| glass.absorption);
        }
        path.ray = Ray::new(if goes_through { vertex.behind } else { vertex.position }, scattered.direction);
        path.bounces += 1;
        true
    }
}

/// Where a path has come to.
struct Path {
    ray: Ray,
    /// What radiance along the ray counts at the eye.
    weight: Vec3,
    /// What the ray runs through takes this much of it, per metre.
    absorption: Vec3,
    /// With what density the last vertex chose the ray's direction.
    density: Option<f32>,
    /// The normal there.
    normal: Vec3,
    /// How many vertices there were.
    bounces: u32,
    /// Which random numbers it takes.
    sample: u32,
    seed: u32,
}

#[cfg(test)]
mod tests;
