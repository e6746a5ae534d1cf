//! Paths from lights, which a camera looks at wherever they meet a surface.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::integrator::{Integrator, Seen, SeenSurface};
use super::surroundings::{Crossing, Surroundings, Vertex, roulette};
use super::{Bsdf, PathTracer, View};
use crate::geometry::sobol::{hash2, points};
use crate::geometry::{Ray, RayQuery, exponential};
use crate::scene::{EmissionSampler, LightSampler, Scene};

/// Follows light from where it shines, as the method of directions does (Romano 2011), but with the power that each path
/// carries, so that pixels get the radiance that is there: caustics and all.
///
/// Every point of a path that the camera sees brings its pixel light. Mirrors and clear glass never send light just to the
/// camera, so what they show is left out, or found by paths from the eye in a [hybrid](LightTracer::hybrid). Shining
/// surfaces that are not in the bake light nothing here.
pub struct LightTracer<'a> {
    surroundings: Surroundings<'a>,
    emission: EmissionSampler<'a>,
    mirrors: Option<PathTracer<'a>>,
    most_bounces: u32,
}

/// Light that reached a pixel.
struct Splat {
    pixel: usize,
    radiance: Vec3,
}

/// Light that arrives at a point of a path.
struct Arrival<'a> {
    vertex: &'a Vertex,
    bsdf: &'a Bsdf,
    toward_light: Vec3,
    /// Lumens.
    power: Vec3,
}

/// What as many light paths as there are pixels brought.
pub(super) struct LightPass {
    /// Radiance in cd/m2 of each pixel.
    pub radiance: Vec<Vec3>,
    /// How often the camera saw a point of a path.
    pub contributions: u64,
}

/// Follows paths on all threads and takes what they found in the order of the paths.
pub(super) fn in_order<T: Send>(paths: u32, follow: impl Fn(u32, &mut Vec<T>) + Sync, mut take: impl FnMut(T)) {
    for wave in 0..paths.div_ceil(CHUNK * WAVE) {
        let chunks: Vec<Vec<T>> = (wave * WAVE..(wave + 1) * WAVE)
            .into_par_iter()
            .map(|chunk| {
                let mut found = Vec::new();
                (chunk * CHUNK..((chunk + 1) * CHUNK).min(paths)).for_each(|path| follow(path, &mut found));
                found
            })
            .collect();
        chunks.into_iter().flatten().for_each(&mut take);
    }
}

/// Paths that one thread follows before it gives away what they found.
const CHUNK: u32 = 1024;
/// Chunks that are followed before what they found is taken, which bounds the memory that it takes.
const WAVE: u32 = 64;

impl<'a> LightTracer<'a> {
    /// Light paths alone, for a scene whose glass is [solid](Scene::with_solid_glass), of any number of bounces unless
    /// told to stop.
    pub fn new(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        most_bounces: Option<u32>,
    ) -> Self {
        Self {
            surroundings: Surroundings::new(scene, world, lights),
            emission: EmissionSampler::new(lights),
            mirrors: None,
            most_bounces: most_bounces.unwrap_or(u32::MAX / 4),
        }
    }

    /// The same, with paths from the eye for mirrors and glass.
    pub fn hybrid(
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        lights: &'a LightSampler<'a>,
        most_bounces: Option<u32>,
    ) -> Self {
        let alone = Self::new(scene, world, lights, most_bounces);
        Self { mirrors: Some(PathTracer::amid(alone.surroundings.clone(), most_bounces)), ..alone }
    }

    /// Follows as many paths as there are pixels. A function of the scene, the view, `pass` and `seed`: splats are added
    /// in the order of their paths, whichever threads followed them.
    pub(super) fn light_pass(&self, view: &View, pass: u32, seed: u32) -> LightPass {
        let paths = view.size.x * view.size.y;
        let mut found = LightPass { radiance: vec![Vec3::ZERO; paths as usize], contributions: 0 };
        let seed = seed_of_pass(seed, pass);
        in_order(
            paths,
            |path, splats| self.follow(view, path, seed, splats),
            |splat: Splat| {
                found.radiance[splat.pixel] += splat.radiance / paths as f32;
                found.contributions += 1;
            },
        );
        found
    }

    /// One path, from an emitter until it ends.
    fn follow(&self, view: &View, path: u32, seed: u32, splats: &mut Vec<Splat>) {
        let surroundings = &self.surroundings;
        let [[choice, ..], on_emitter] = points([hash2(seed, 0), hash2(seed, 1)], path);
        let Some(emission) = self.emission.sample(choice, on_emitter) else { return };
        let mut ray = emission.ray;
        let mut power = emission.power;
        // What is left of the power.
        let mut left = Vec3::ONE;
        let mut absorption = Vec3::ZERO;
        for bounces in 0..self.most_bounces {
            let Ok(hit) = surroundings.world.trace(&ray) else { return };
            if bounces == 0 {
                power = emission.power_at(hit.t);
            }
            left *= hit.filter * exponential(-absorption * hit.t);
            let crossing = surroundings.crossing(&hit, -ray.direction, hash2(hash2(seed, !bounces), path));
            let (vertex, bsdf, toward_light) = match crossing {
                Crossing::Goes { vertex, bsdf, outgoing } => (vertex, bsdf, outgoing),
                Crossing::Stays(weight) => {
                    left *= weight;
                    let (vertex, Some(bsdf)) = surroundings.scatterer(&hit, -ray.direction) else { return };
                    (vertex, bsdf, -ray.direction)
                }
            };
            let glass = surroundings.scene.material_of(hit.surface).solid_glass();
            let is_within = hit.back && glass.is_some();
            let [[u, v, lobe, end], [lens_x, lens_y, ..]] =
                points([hash2(seed, 2 * bounces + 2), hash2(seed, 2 * bounces + 3)], path);
            if !is_within {
                let arrival = Arrival { vertex: &vertex, bsdf: &bsdf, toward_light, power: power * left };
                self.splat(view, [lens_x, lens_y], &arrival, splats);
            }

            let Some(scattered) = bsdf.sample(Vec2::new(u, v), lobe) else { return };
            let goes_through = scattered.density.is_none();
            let outward = scattered.direction.dot(vertex.geometric_normal);
            if goes_through != (outward < 0.0) {
                return;
            }
            // Power spreads by the geometric normal where scattering is told by the shading normal (Veach 1997, 5.3).
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

    /// Brings what a surface makes of the power that arrives at a point to the pixels that see it.
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
        let scattered = if bsdf.is_smooth() { bsdf.evaluate_matt(direction) } else { bsdf.evaluate(direction) };
        let seen = scattered * (irradiance_correction(vertex, toward_light) * cosine / offset.length_squared());
        if seen.max_element() <= 0.0 {
            return;
        }
        let through = self.surroundings.world.blocked(&Ray::between(vertex.position, sight.origin)).0;
        let radiance = power * seen * sight.importance * through;
        if radiance.is_finite() && radiance.max_element() > 0.0 {
            let splat = |(pixel, share): (usize, f32)| Splat { pixel, radiance: radiance * share };
            splats.extend(view.shares(sight.place).map(splat));
        }
    }
}

/// Which random numbers the light paths of a pass take.
pub(crate) fn seed_of_pass(seed: u32, pass: u32) -> u32 {
    hash2(hash2(seed, LIGHT), pass)
}

/// Keeps the random numbers of light paths apart from those of paths from the eye.
const LIGHT: u32 = 0x4c49_4748;

/// The cosine that irradiance is told by over the one that it has.
fn irradiance_correction(vertex: &Vertex, toward_light: Vec3) -> f32 {
    let cosine = toward_light.dot(vertex.geometric_normal).abs().max(f32::MIN_POSITIVE);
    toward_light.dot(vertex.shading_normal).abs() / cosine
}

impl Integrator for LightTracer<'_> {
    /// What light paths cannot bring: what shines itself, the sky, and in a hybrid what mirrors and glass show.
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let surroundings = &self.surroundings;
        let hit = match surroundings.world.trace(ray) {
            Ok(hit) => hit,
            Err(escaped) => {
                let radiance = escaped.filter * surroundings.scene.sky.radiance(ray.direction);
                return Seen { radiance, surface: None };
            }
        };
        let (vertex, bsdf) = surroundings.scatterer(&hit, -ray.direction);
        if let Some(mirrors) = self.mirrors.as_ref().filter(|_| bsdf.as_ref().is_some_and(Bsdf::is_for_eye_paths)) {
            return mirrors.trace(ray, sample, seed);
        }
        let radiance = hit.filter * surroundings.met_emission(ray, &hit, None, |_| 0.0);
        Seen { radiance, surface: Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t)) }
    }
}

#[cfg(test)]
mod tests;
