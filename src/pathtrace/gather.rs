//! Irradiance at points, by diffuse paths with next-event estimation.

use std::f32::consts::PI;
use std::sync::atomic::{AtomicUsize, Ordering};

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::surroundings::{Surroundings, Vertex, roulette};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{hash2, points, unit_float};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::progress::{Cancelled, Monitor};
use crate::scene::{LightSampler, Scene};

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
/// Each vertex of a path aims at a light that is near and one far away, and goes on in a random direction. Light that both
/// ways may find is divided between them, so none counts twice: without the first, small lamps would be missed; without
/// the second, light from a nearby wall would be noisy. Paths end by Russian roulette, which keeps the mean. The result is
/// a function of the scene, the receivers, `samples` and `seed`, whatever the number of threads.
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
    let gatherer = Gatherer(Surroundings::new(scene, world, lights));
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

struct Gatherer<'a>(Surroundings<'a>);

impl Gatherer<'_> {
    fn mean(&self, receiver: Receiver, samples: u32, seed: u32) -> Vec3 {
        (0..samples).map(|sample| self.path(receiver, sample, seed)).sum::<Vec3>() / samples as f32
    }

    /// Irradiance that one path finds.
    fn path(&self, receiver: Receiver, sample: u32, seed: u32) -> Vec3 {
        let Self(surroundings) = self;
        let mut vertex = Vertex::new(receiver.position, receiver.normal, receiver.normal);
        let mut found = Vec3::ZERO;
        // What the irradiance of the current vertex counts at the receiver.
        let mut weight = Vec3::ONE;
        for reflections in 0.. {
            let [[light_u, light_v, pick, end], [direction_u, direction_v, ..]] =
                points([hash2(seed, 2 * reflections), hash2(seed, 2 * reflections + 1)], sample);

            let density = |direction: Vec3| direction.dot(vertex.shading_normal).max(0.0) / PI;
            let (at, normal) = (vertex.position, vertex.shading_normal);
            for visit in surroundings.lights.draw(at, normal, pick).into_iter().flatten() {
                let aimed = surroundings.aim_at_light(&vertex, visit, [light_u, light_v], density);
                found += weight * aimed.map_or(Vec3::ZERO, |aimed| aimed.irradiance);
            }

            let direction = cosine_hemisphere(vertex.shading_normal, Vec2::new(direction_u, direction_v));
            if direction.dot(vertex.geometric_normal) <= 0.0 {
                return found;
            }
            let ray = Ray::new(vertex.position, direction);
            let density = Some(direction.dot(vertex.shading_normal) / PI);
            let chance_of = |emitter| surroundings.lights.chance_of(emitter, at, normal);
            let hit = match surroundings.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = surroundings.met_sky(direction, density, chance_of);
                    return found + weight * escaped.filter * PI * sky;
                }
            };
            weight *= hit.filter;
            found += weight * PI * surroundings.met_emission(&ray, &hit, density, chance_of);
            let mut hit = hit;
            let Some(reflectance) = self.scattered(&mut hit, hash2(hash2(seed, 2 * reflections), sample)) else {
                return found;
            };
            // Radiance is irradiance * reflectance / pi, and a cosine-distributed direction counts pi times radiance.
            match roulette(weight * reflectance, reflections, end) {
                Some(survived) => weight = survived,
                None => return found,
            }
            vertex = surroundings.vertex(&hit);
        }
        found
    }

    /// What the surface reflects, or, by chance, lets through as scattered light, and then the hit is turned to its other
    /// side; `None` where its back absorbs everything.
    fn scattered(&self, hit: &mut Hit, random: u32) -> Option<Vec3> {
        let scene = self.0.scene;
        if scene.absorbs(hit) {
            return None;
        }
        let material = scene.material_of(hit.surface);
        let mesh = scene.mesh_of(hit.surface);
        if let Some(crossing) = material.crossing_at(scene, mesh, hit.triangle, hit.barycentric)
            && unit_float(random) < crossing.chance
        {
            hit.back = !hit.back;
            return Some(crossing.tint());
        }
        let reflectance = material.reflectance_at(scene, mesh, hit.triangle, hit.barycentric);
        Some(reflectance.clamp(Vec3::ZERO, Vec3::ONE))
    }
}

#[cfg(test)]
mod tests;
