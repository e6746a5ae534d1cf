//! Light tracing: paths from lights, connected to the camera at every surface.

use core::ops::Range;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::context::{Crossing, ScatteringContext, Vertex, roulette};
use super::integrator::{Integrator, Seen, SeenSurface};
use super::{Bsdf, PathTracer, View};
use crate::geometry::sobol::{hash2, points};
use crate::geometry::{Ray, RayQuery, exponential};
use crate::lights::{EmissionSampler, LightSampler};
use crate::scene::Scene;

/// Light tracer. Follows paths from lights as the method of directions does (Romano 2011). Each path carries power, so
/// that pixels receive correct radiance, caustics included.
///
/// Every visible vertex of a path contributes to a pixel. Mirrors and clear glass almost never send light exactly to
/// the camera. Their appearance is left out, or found by camera paths in a [hybrid](LightTracer::hybrid). Luminous
/// surfaces that are not in the bake emit no light paths.
pub struct LightTracer<'a> {
    context: ScatteringContext<'a>,
    emission: EmissionSampler<'a>,
    mirrors: Option<PathTracer<'a>>,
    max_bounces: u32,
}

/// Contribution of a light path to a pixel.
struct Splat {
    pixel: usize,
    radiance: Vec3,
    /// True for the first of the pixels that share a vertex.
    is_first: bool,
}

/// Incident light at a path vertex.
struct Arrival<'a> {
    vertex: &'a Vertex,
    bsdf: &'a Bsdf,
    toward_light: Vec3,
    /// Power, in lumens.
    power: Vec3,
}

/// Result of one light path per pixel.
pub(super) struct LightPass {
    /// Radiance of each pixel, in cd/m2.
    pub radiance: Vec<Vec3>,
    /// Number of path vertices visible to the camera.
    pub contributions: u64,
}

/// Follows paths on all threads, and passes their results to `take` in path order.
pub(super) fn in_order<T: Send>(paths: u32, follow: impl Fn(u32, &mut Vec<T>) + Sync, mut take: impl FnMut(T)) {
    for wave in 0..paths.div_ceil(CHUNK * WAVE) {
        let first = wave * CHUNK * WAVE;
        let chunks = follow_chunks(first..first.saturating_add(CHUNK * WAVE).min(paths), CHUNK, &follow);
        chunks.into_iter().flatten().for_each(&mut take);
    }
}

/// Follows paths on all threads, and returns their results in path order, for each chunk of paths.
pub(super) fn follow_chunks<T: Send>(
    paths: Range<u32>,
    chunk: u32,
    follow: impl Fn(u32, &mut Vec<T>) + Sync,
) -> Vec<Vec<T>> {
    let chunks = (0..(paths.end - paths.start).div_ceil(chunk)).into_par_iter().with_max_len(1).map(|index| {
        let first = paths.start + index * chunk;
        let mut found = Vec::new();
        (first..first.saturating_add(chunk).min(paths.end)).for_each(|path| follow(path, &mut found));
        found
    });
    chunks.collect()
}

/// Number of paths that a thread follows per chunk.
const CHUNK: u32 = 1024;
/// Number of chunks followed before their results are consumed, which bounds memory.
const WAVE: u32 = 64;

impl<'a> LightTracer<'a> {
    /// Creates a tracer of light paths only, for a scene with [solid](Scene::with_solid_glass) glass. Paths have at
    /// most `max_bounces` bounces; unlimited by default.
    pub fn new(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        max_bounces: Option<u32>,
    ) -> Self {
        Self {
            context: ScatteringContext::new(scene, world, lights),
            emission: EmissionSampler::new(lights),
            mirrors: None,
            max_bounces: max_bounces.unwrap_or(u32::MAX / 4),
        }
    }

    /// Creates a tracer of light paths, with camera paths for mirrors and glass.
    pub fn hybrid(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        max_bounces: Option<u32>,
    ) -> Self {
        let alone = Self::new(scene, world, lights, max_bounces);
        Self { mirrors: Some(PathTracer::amid(alone.context.clone(), max_bounces)), ..alone }
    }

    /// Follows one path per pixel. The result is a function of the scene, the view, `pass` and `seed`. Contributions
    /// are added in path order, independent of threads.
    pub(super) fn light_pass(&self, view: &View, pass: u32, seed: u32) -> LightPass {
        let paths = view.size.x * view.size.y;
        let mut found = LightPass { radiance: vec![Vec3::ZERO; paths as usize], contributions: 0 };
        let seed = seed_of_pass(seed, pass);
        in_order(
            paths,
            |path, splats| self.follow(view, path, seed, splats),
            |splat: Splat| {
                found.radiance[splat.pixel] += splat.radiance / paths as f32;
                found.contributions += u64::from(splat.is_first);
            },
        );
        found
    }

    /// Follows one path from an emitter to its end.
    fn follow(&self, view: &View, path: u32, seed: u32, splats: &mut Vec<Splat>) {
        let context = &self.context;
        let [[choice, ..], on_emitter] = points([hash2(seed, 0), hash2(seed, 1)], path);
        let Some(emission) = self.emission.sample(choice, on_emitter) else { return };
        let mut ray = emission.ray;
        let mut power = emission.power;
        // Remaining fraction of the power.
        let mut left = Vec3::ONE;
        let mut absorption = Vec3::ZERO;
        for bounces in 0..self.max_bounces {
            let Ok(hit) = context.world.trace(&ray) else { return };
            if bounces == 0 {
                power = emission.power_at(hit.t);
            }
            left *= hit.filter * exponential(-absorption * hit.t);
            let crossing = context.crossing(&hit, -ray.direction, hash2(hash2(seed, !bounces), path));
            let (vertex, bsdf, toward_light) = match crossing {
                Crossing::Goes { vertex, bsdf, outgoing } => (vertex, bsdf, outgoing),
                Crossing::Stays(weight) => {
                    left *= weight;
                    let (vertex, Some(bsdf)) = context.scatterer(&hit, -ray.direction) else { return };
                    (vertex, bsdf, -ray.direction)
                }
            };
            let glass = context.scene.material_of(hit.surface).solid_glass();
            let is_within = hit.back && glass.is_some();
            let [[u, v, lobe, end], [lens_x, lens_y, ..]] =
                points([hash2(seed, 2 * bounces + 2), hash2(seed, 2 * bounces + 3)], path);
            if !is_within {
                let arrival = Arrival { vertex: &vertex, bsdf: &bsdf, toward_light, power: power * left };
                self.splat(view, [lens_x, lens_y], &arrival, splats);
            }

            let Some(scattered) = bsdf.sample(Vec2::new(u, v), lobe) else { return };
            let goes_through = scattered.pdf.is_none();
            let outward = scattered.direction.dot(vertex.geometric_normal);
            if goes_through != (outward < 0.0) {
                return;
            }
            // Power spreads by the geometric normal, while the BSDF uses the shading normal (Veach 1997, 5.3).
            let correction = irradiance_correction(&vertex, toward_light) * outward.abs()
                / scattered.direction.dot(vertex.shading_normal).abs();
            let Some(survived) = roulette(left * scattered.weight * correction, bounces, end) else { return };
            left = survived;
            if !left.is_finite() {
                return;
            }
            if goes_through {
                absorption = glass.filter(|_| !is_within).map_or(Vec3::ZERO, |glass| glass.absorption);
            }
            ray = Ray::new(if goes_through { vertex.behind } else { vertex.position }, scattered.direction);
        }
    }

    /// Adds the contribution of a vertex to the pixels that see the vertex.
    fn splat(&self, view: &View, lens: [f32; 2], arrival: &Arrival, splats: &mut Vec<Splat>) {
        let Arrival { vertex, bsdf, toward_light, power } = *arrival;
        if bsdf.is_for_eye_paths() && self.mirrors.is_some() {
            return;
        }
        let Some(sight) = view.sight(vertex.position, lens) else { return };
        if view.shares(sight.place).next().is_none() {
            return;
        }
        let offset = sight.origin - vertex.position;
        let direction = offset.normalize();
        let cosine = direction.dot(vertex.geometric_normal);
        if cosine <= 0.0 {
            return;
        }
        let scattered = if bsdf.is_smooth() { bsdf.evaluate_diffuse(direction) } else { bsdf.evaluate(direction) };
        let seen = scattered * (irradiance_correction(vertex, toward_light) * cosine / offset.length_squared());
        if seen.max_element() <= 0.0 {
            return;
        }
        let through = self.context.world.blocked(&Ray::between(vertex.position, sight.origin)).0;
        let radiance = power * seen * sight.importance * through;
        if radiance.is_finite() && radiance.max_element() > 0.0 {
            let shares = view.shares(sight.place).enumerate();
            splats.extend(shares.map(|(index, (pixel, share))| Splat {
                pixel,
                radiance: radiance * share,
                is_first: index == 0,
            }));
        }
    }
}

/// Returns the random seed of the light paths of a pass.
pub(crate) fn seed_of_pass(seed: u32, pass: u32) -> u32 {
    hash2(hash2(seed, LIGHT), pass)
}

/// Hash constant that separates random numbers of light paths from those of camera paths.
const LIGHT: u32 = 0x4c49_4748;

/// Returns the ratio of the shading cosine to the geometric cosine of incident light.
fn irradiance_correction(vertex: &Vertex, toward_light: Vec3) -> f32 {
    let cosine = toward_light.dot(vertex.geometric_normal).abs().max(f32::MIN_POSITIVE);
    toward_light.dot(vertex.shading_normal).abs() / cosine
}

impl Integrator for LightTracer<'_> {
    /// Returns the radiance that light paths cannot find: emission, the sky, and in a hybrid mirrors and glass.
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let context = &self.context;
        let hit = match context.world.trace(ray) {
            Ok(hit) => hit,
            Err(escaped) => {
                let radiance = escaped.filter * context.scene.sky.radiance(ray.direction);
                return Seen { radiance, surface: None };
            }
        };
        let (vertex, bsdf) = context.scatterer(&hit, -ray.direction);
        if let Some(mirrors) = self.mirrors.as_ref().filter(|_| bsdf.as_ref().is_some_and(Bsdf::is_for_eye_paths)) {
            return mirrors.trace(ray, sample, seed);
        }
        let radiance = hit.filter * context.eval_emission(ray, &hit, None, |_| 0.0);
        Seen { radiance, surface: Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t)) }
    }
}

#[cfg(test)]
mod tests;
