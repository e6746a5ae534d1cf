//! Irradiance at points, by diffuse paths with next-event estimation.

use std::f32::consts::PI;
use std::sync::atomic::{AtomicUsize, Ordering};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::progress::{Cancelled, Monitor};
use crate::scene::{Chances, LightSampler, Place, Scene};

/// A point and the direction that it faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// Where it is, metres.
    pub position: Vec3,
    /// Unit normal of the side that receives light.
    pub normal: Vec3,
}

/// What arrives at a [`Receiver`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointIrradiance {
    /// Irradiance per channel in lux.
    pub irradiance: Vec3,
    /// Standard error of its noisiest channel, lux.
    pub standard_error: f32,
}

/// Independent randomisations of the points of a sequence: their spread is the error of their mean, which the spread
/// of single samples would overstate.
const BATCHES: u32 = 16;

/// Irradiance at each of some receivers, all bounces, from at least `samples` paths each.
///
/// Each vertex of a path aims at one light and goes on in a random direction. Light that both may find is divided
/// between them by the balance heuristic (Veach and Guibas 1995), so none counts twice: without the first, small lamps
/// would be missed; without the second, light from a nearby wall would be noisy. Paths end by Russian roulette, which
/// keeps the mean. The result is a function of the scene, the receivers, `samples` and `seed`, whatever the number of
/// threads.
///
/// # Errors
/// When the monitor asks to stop.
pub fn irradiance_at(
    scene: &Scene,
    world: &dyn RayQuery,
    lights: &LightSampler,
    receivers: &[Receiver],
    samples: u32,
    seed: u32,
    monitor: &dyn Monitor,
) -> Result<Vec<PointIrradiance>, Cancelled> {
    let gatherer = Gatherer { scene, world, lights };
    let samples_per_batch = samples.div_ceil(BATCHES).next_power_of_two();
    let batches = receivers.len() * BATCHES as usize;
    let done = AtomicUsize::new(0);
    let means = (0..batches)
        .into_par_iter()
        .map(|index| {
            monitor.check()?;
            let receiver = receivers[index / BATCHES as usize];
            let mean = gatherer.mean(receiver, samples_per_batch, hash2(seed, index as u32));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(64) || done == batches {
                monitor.progress(done as f32 / batches as f32);
            }
            Ok(mean)
        })
        .collect::<Result<Vec<Vec3>, Cancelled>>()?;
    Ok(means.chunks_exact(BATCHES as usize).map(summarise).collect())
}

/// The mean of independent means, and its standard error.
fn summarise(means: &[Vec3]) -> PointIrradiance {
    let count = means.len() as f32;
    let irradiance = means.iter().sum::<Vec3>() / count;
    let squares = means.iter().map(|mean| (*mean - irradiance) * (*mean - irradiance)).sum::<Vec3>();
    let variance = squares.max_element() / ((count - 1.0).max(1.0) * count);
    PointIrradiance { irradiance, standard_error: variance.sqrt() }
}

struct Gatherer<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    lights: &'a LightSampler<'a>,
}

/// A point that light reaches: on a surface, or the receiver itself.
struct Vertex {
    /// Lifted off its surface.
    position: Vec3,
    geometric_normal: Vec3,
    shading_normal: Vec3,
}

impl Vertex {
    fn new(on_surface: Vec3, geometric_normal: Vec3, shading_normal: Vec3) -> Self {
        // A hundred times what rounding moves a point of the surface by.
        let lift = 1e-5 * on_surface.abs().max_element().max(1.0);
        Self { position: on_surface + geometric_normal * lift, geometric_normal, shading_normal }
    }
}

/// Reflections that no path is ended before.
const CERTAIN_REFLECTIONS: u32 = 3;
/// Most of the paths that roulette lets live, so that paths end between perfect reflectors too.
const HIGHEST_SURVIVAL: f32 = 0.95;

impl Gatherer<'_> {
    fn mean(&self, receiver: Receiver, samples: u32, seed: u32) -> Vec3 {
        (0..samples).map(|sample| self.path(receiver, sample, seed)).sum::<Vec3>() / samples as f32
    }

    /// Irradiance that one path finds.
    fn path(&self, receiver: Receiver, sample: u32, seed: u32) -> Vec3 {
        let mut vertex = Vertex::new(receiver.position, receiver.normal, receiver.normal);
        let mut found = Vec3::ZERO;
        // What the irradiance of the current vertex counts at the receiver.
        let mut weight = Vec3::ONE;
        for reflections in 0.. {
            let [light_u, light_v, pick, roulette] = OwenSobol::new(hash2(seed, 2 * reflections)).point(sample);
            let [direction_u, direction_v, ..] = OwenSobol::new(hash2(seed, 2 * reflections + 1)).point(sample);

            let place = Place { at: vertex.position, normal: vertex.geometric_normal, radius: 0.0 };
            let chances = self.lights.chances(&place, 1);
            for (emitter, chance) in chances.visited(pick) {
                found += weight * self.aim_at_light(&vertex, emitter, chance, [light_u, light_v]);
            }

            let direction = cosine_hemisphere(vertex.shading_normal, Vec2::new(direction_u, direction_v));
            if direction.dot(vertex.geometric_normal) <= 0.0 {
                return found;
            }
            let ray = Ray::new(vertex.position, direction);
            let density = direction.dot(vertex.shading_normal) / PI;
            let hit = match self.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    return found + weight * escaped.filter * PI * self.met_sky(direction, density, &chances);
                }
            };
            weight *= hit.filter;
            found += weight * PI * self.met_emission(&ray, &hit, density, &chances);
            let Some(reflectance) = self.reflectance(&hit) else {
                return found;
            };
            // Radiance is irradiance * reflectance / pi, and a cosine-distributed direction counts pi times radiance.
            weight *= reflectance;
            if reflections >= CERTAIN_REFLECTIONS {
                let survival = weight.max_element().min(HIGHEST_SURVIVAL);
                if roulette >= survival {
                    return found;
                }
                weight /= survival;
            }
            vertex = self.vertex(&hit);
        }
        found
    }

    /// Irradiance that comes straight from one emitter, which is visited with some chance; its share where chance may
    /// find it too.
    fn aim_at_light(&self, vertex: &Vertex, emitter: usize, chance: f32, u: [f32; 2]) -> Vec3 {
        let Some(sample) = self.lights.sample_emitter(emitter, vertex.position, vertex.shading_normal, u) else {
            return Vec3::ZERO;
        };
        if sample.direction.dot(vertex.geometric_normal) <= 0.0 {
            return Vec3::ZERO;
        }
        let by_chance = sample.direction.dot(vertex.shading_normal).max(0.0) / PI;
        let share = sample.density.map_or(1.0, |density| share(chance * density, by_chance));
        share * sample.irradiance * self.world.blocked(&sample.ray).0 / chance
    }

    /// Radiance of the sky that a ray escaped to, or its share.
    fn met_sky(&self, direction: Vec3, density: f32, chances: &Chances) -> Vec3 {
        let aimed =
            self.lights.sky_emitter().map_or(0.0, |emitter| chances.of(emitter) * self.lights.sky_density(direction));
        self.scene.sky.radiance(direction) * share(density, aimed)
    }

    /// The share of the radiance of an emissive surface that a ray met.
    fn met_emission(&self, ray: &Ray, hit: &Hit, density: f32, chances: &Chances) -> Vec3 {
        let aimed = self
            .lights
            .emitter_of(hit.surface)
            .map_or(0.0, |emitter| chances.of(emitter) * self.lights.hit_density(ray, hit));
        self.lights.hit_radiance(hit) * share(density, aimed)
    }

    /// What the surface reflects; `None` where its back absorbs everything.
    fn reflectance(&self, hit: &Hit) -> Option<Vec3> {
        if self.scene.absorbs(hit) {
            return None;
        }
        let material = self.scene.material_of(hit.surface);
        let mesh = self.scene.mesh_of(hit.surface);
        let reflectance = material.reflectance_at(self.scene, mesh, hit.triangle, hit.barycentric);
        Some(reflectance.clamp(Vec3::ZERO, Vec3::ONE))
    }

    fn vertex(&self, hit: &Hit) -> Vertex {
        let side = if hit.back { -1.0 } else { 1.0 };
        Vertex::new(
            self.scene.triangle(hit.surface, hit.triangle).at(hit.barycentric),
            self.scene.geometric_normal(hit.surface, hit.triangle) * side,
            self.scene.shading_normal(hit.surface, hit.triangle, hit.barycentric) * side,
        )
    }
}

/// What part of the light in a direction counts for the way of choosing directions whose density is `own`, when another
/// way with density `other` could have chosen it too.
fn share(own: f32, other: f32) -> f32 {
    if own > 0.0 { own / (own + other) } else { 0.0 }
}

#[cfg(test)]
mod tests;
