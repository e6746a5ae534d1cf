//! Path tracing with next-event estimation.

use glam::{Vec2, Vec3};

use super::Bsdf;
use super::context::{Crossing, ScatteringContext, Vertex, roulette};
use super::integrator::{Integrator, Seen, SeenSurface};
use super::material_class::MaterialClass;
use crate::geometry::sobol::{hash2, points};
use crate::geometry::{Hit, Ray, RayQuery, exponential};
use crate::lights::LightSampler;
use crate::scene::{Glass, Scene};

/// Path tracer from the camera to lights.
///
/// Each path vertex samples one nearby and one distant light, and then a direction of its [`Bsdf`](super::Bsdf).
/// Multiple importance sampling divides light between both techniques. Russian roulette ends paths without bias, so
/// noise is the only error.
pub struct PathTracer<'a> {
    context: ScatteringContext<'a>,
    max_bounces: u32,
    ends_at_lightmaps: bool,
}

impl<'a> PathTracer<'a> {
    /// Creates a tracer of paths with at most `max_bounces` bounces; unlimited by default. One bounce gives direct
    /// light, zero gives emission only.
    pub fn new(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        max_bounces: Option<u32>,
    ) -> Self {
        Self::amid(ScatteringContext::new(scene, world, lights), max_bounces)
    }

    /// Creates a tracer from existing scattering context.
    pub(super) fn amid(context: ScatteringContext<'a>, max_bounces: Option<u32>) -> Self {
        Self { context, max_bounces: max_bounces.unwrap_or(u32::MAX / 4), ends_at_lightmaps: false }
    }

    /// Ends paths at lightmaps: a reflected ray that hits a surface with a lightmap takes its baked light. The surface
    /// counts as diffuse with its full albedo. Reduces noise, but includes the errors of the bake.
    #[must_use]
    pub fn ending_at_lightmaps(self) -> Self {
        Self { ends_at_lightmaps: true, ..self }
    }
}

impl Integrator for PathTracer<'_> {
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2, which the function is compiled for.
            return unsafe { self.follow_avx2(ray, sample, seed) };
        }
        self.follow(ray, sample, seed)
    }
}

impl PathTracer<'_> {
    /// Runs [`PathTracer::follow`] compiled for AVX2, with identical rounding.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn follow_avx2(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        self.follow(ray, sample, seed)
    }

    #[inline(always)]
    fn follow(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let context = &self.context;
        let mut seen = Seen::default();
        let mut path = Path {
            ray: *ray,
            weight: Vec3::ONE,
            absorption: Vec3::ZERO,
            pdf: None,
            normal: Vec3::ZERO,
            bounces: 0,
            sample,
            seed,
        };
        loop {
            let Path { ray, pdf, normal, .. } = path;
            let probability_of = |emitter| context.lights.probability_of(emitter, ray.origin, normal);
            let traced = context.world.trace(&ray);
            let hit = match &traced {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = context.eval_environment(ray.direction, pdf, probability_of);
                    seen.radiance += path.weight * escaped.filter * sky;
                    return seen;
                }
            };
            path.weight *= hit.filter;
            if path.absorption != Vec3::ZERO {
                path.weight *= exponential(-path.absorption * hit.t);
            }
            seen.radiance += path.weight * context.eval_emission(&ray, hit, pdf, probability_of);
            let vertex = context.vertex(hit);
            // Diffuse surfaces take a separate branch, where constants leave little to compute.
            let goes_on = match context.class(hit) {
                Some(&MaterialClass::Diffuse(reflectance)) => {
                    let bsdf = Bsdf::diffuse(reflectance, vertex.shading_normal, -ray.direction);
                    self.scatter(&mut path, &mut seen, hit, vertex.bent(&bsdf), &bsdf, None)
                }
                Some(class) => {
                    match context.crossing(hit, -ray.direction, hash2(hash2(seed, !path.bounces), sample)) {
                        Crossing::Goes { vertex, bsdf, .. } => {
                            // Baked light belongs to the near side, so the path must not end here.
                            path.pdf = None;
                            self.scatter(&mut path, &mut seen, hit, vertex, &bsdf, None)
                        }
                        Crossing::Stays(weight) => {
                            path.weight *= weight;
                            let bsdf = context.bsdf(class, hit, &vertex, -ray.direction);
                            let glass = context.scene.material_of(hit.surface).solid_glass();
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

    /// Samples lights at a path vertex, and continues the path. Returns false if the path ends.
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
        let context = &self.context;
        let Path { bounces, sample, seed, .. } = *path;
        if bounces == 0 {
            seen.surface = Some(SeenSurface::new(&vertex, Some(bsdf), hit.t));
        }
        if bounces >= self.max_bounces {
            return false;
        }
        let [[light_u, light_v, pick, end], [u, v, lobe, _]] =
            points([hash2(seed, 2 * bounces), hash2(seed, 2 * bounces + 1)], sample);
        // Inside glass, only BSDF sampling finds light, because the surface blocks all shadow rays.
        let is_within = hit.back && glass.is_some();
        // A PDF marks reflected rays, as opposed to camera rays and rays through glass.
        let may_end = self.ends_at_lightmaps && path.pdf.is_some() && glass.is_none();
        let baked = if may_end { context.scene.baked_light(hit) } else { None };
        let samples_lights = !is_within && !baked.is_some_and(|(_, is_direct_too)| is_direct_too);
        let draw = || context.lights.draw(vertex.position, vertex.shading_normal, pick);
        let [mut visit, mut later] = if samples_lights { draw() } else { [None; 2] };
        // An iterator over both would read them from memory before the stores complete.
        while let Some(emitter) = visit.take().or_else(|| later.take()) {
            let pdf = |direction| bsdf.pdf(direction);
            if let Some(light_sample) = context.sample_light(&vertex, emitter, [light_u, light_v], pdf) {
                seen.radiance += path.weight * bsdf.evaluate(light_sample.direction) * light_sample.irradiance;
            }
        }
        if let Some((light, _)) = baked {
            seen.radiance += path.weight * bsdf.albedo() * light;
            return false;
        }

        let Some(scattered) = bsdf.sample(Vec2::new(u, v), lobe) else {
            return false;
        };
        let goes_through = scattered.pdf.is_none();
        if goes_through != (scattered.direction.dot(vertex.geometric_normal) < 0.0) {
            return false;
        }
        match roulette(path.weight * scattered.weight, bounces, end) {
            Some(survived) => path.weight = survived,
            None => return false,
        }
        path.pdf = scattered.pdf.filter(|_| !is_within);
        path.normal = vertex.shading_normal;
        if goes_through {
            path.absorption = glass.filter(|_| !is_within).map_or(Vec3::ZERO, |glass| glass.absorption);
        }
        path.ray = Ray::new(if goes_through { vertex.behind } else { vertex.position }, scattered.direction);
        path.bounces += 1;
        true
    }
}

/// State of a path.
struct Path {
    ray: Ray,
    /// Weight of radiance along the ray at the camera.
    weight: Vec3,
    /// Absorption coefficient of the medium that the ray passes, per meter.
    absorption: Vec3,
    /// PDF of the ray's direction at the last vertex.
    pdf: Option<f32>,
    /// Shading normal at the last vertex.
    normal: Vec3,
    /// Number of vertices so far.
    bounces: u32,
    /// Index and seed of the path's random numbers.
    sample: u32,
    seed: u32,
}

#[cfg(test)]
mod tests;
