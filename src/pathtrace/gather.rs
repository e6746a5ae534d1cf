//! Irradiance at points, by diffuse paths with next-event estimation.

use std::f32::consts::PI;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::context::{ScatteringContext, Vertex, roulette};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{hash2, points, unit_float};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::lights::LightSampler;
use crate::progress::{Cancelled, Monitor, PieceProgress};
use crate::scene::Scene;

/// Point with the direction that it faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// Position in world space, in meters.
    pub position: Vec3,
    /// Unit normal of the receiving side.
    pub normal: Vec3,
}

/// Irradiance at a [`Receiver`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointIrradiance {
    /// Irradiance per color channel, in lux.
    pub irradiance: Vec3,
    /// Standard error of the noisiest channel, in lux.
    pub standard_error: f32,
}

/// Number of independent randomizations of the sample sequence. Their spread estimates the error of the mean, which the
/// spread of single stratified samples would overestimate.
const BATCHES: u32 = 16;

/// Returns the number of paths of each receiver for a requested number. Each batch has a power of two.
pub(super) fn samples_taken(samples: u32) -> u32 {
    BATCHES * samples.div_ceil(BATCHES).next_power_of_two()
}

/// Computes the irradiance at each receiver, with all bounces, from at least `samples` paths each.
///
/// Each path vertex samples one nearby and one distant light, and then a random direction. Multiple importance sampling
/// divides light between both techniques. Light sampling finds small lamps, while direction sampling handles nearby
/// walls with little noise. Russian roulette ends paths without bias.
///
/// The result is a function of the scene, the receivers, `samples` and `seed`, independent of the number of threads.
///
/// # Errors
/// Returns [`Cancelled`] if the monitor asks to stop.
pub fn irradiance_at(
    scene: &Scene,
    world: &dyn RayQuery,
    lights: &LightSampler,
    receivers: &[Receiver],
    samples: u32,
    seed: u32,
    monitor: &dyn Monitor,
) -> Result<Vec<PointIrradiance>, Cancelled> {
    irradiance_from(0, ScatteringContext::new(scene, world, lights), receivers, samples, seed, monitor)
}

/// Computes the irradiance at some of many receivers, as [`irradiance_at`] does for all. They begin at index `first`.
pub(super) fn irradiance_from(
    first: usize,
    context: ScatteringContext,
    receivers: &[Receiver],
    samples: u32,
    seed: u32,
    monitor: &dyn Monitor,
) -> Result<Vec<PointIrradiance>, Cancelled> {
    let gatherer = Gatherer(context);
    let samples_per_batch = samples_taken(samples) / BATCHES;
    let batches = receivers.len() * BATCHES as usize;
    let finished = PieceProgress::new(monitor, batches);
    let means = (0..batches)
        .into_par_iter()
        .with_max_len(1)
        .map(|index| {
            monitor.check()?;
            let receiver = receivers[index / BATCHES as usize];
            let number = first * BATCHES as usize + index;
            let mean = gatherer.mean(receiver, samples_per_batch, hash2(seed, number as u32));
            finished.finish_piece();
            Ok(mean)
        })
        .collect::<Result<Vec<Vec3>, Cancelled>>()?;
    Ok(means.chunks_exact(BATCHES as usize).map(summarize).collect())
}

/// Returns the mean of independent means, and its standard error.
fn summarize(means: &[Vec3]) -> PointIrradiance {
    let count = means.len() as f32;
    let irradiance = means.iter().sum::<Vec3>() / count;
    let squares = means.iter().map(|mean| (*mean - irradiance) * (*mean - irradiance)).sum::<Vec3>();
    let variance = squares.max_element() / ((count - 1.0).max(1.0) * count);
    PointIrradiance { irradiance, standard_error: variance.sqrt() }
}

struct Gatherer<'a>(ScatteringContext<'a>);

impl Gatherer<'_> {
    fn mean(&self, receiver: Receiver, samples: u32, seed: u32) -> Vec3 {
        (0..samples).map(|sample| self.path(receiver, sample, seed)).sum::<Vec3>() / samples as f32
    }

    /// Returns the irradiance found by one path.
    fn path(&self, receiver: Receiver, sample: u32, seed: u32) -> Vec3 {
        let Self(context) = self;
        let mut vertex = Vertex::new(receiver.position, receiver.normal, receiver.normal);
        let mut found = Vec3::ZERO;
        // Weight of the current vertex's irradiance at the receiver.
        let mut weight = Vec3::ONE;
        for reflections in 0.. {
            let [[light_u, light_v, pick, end], [direction_u, direction_v, ..]] =
                points([hash2(seed, 2 * reflections), hash2(seed, 2 * reflections + 1)], sample);

            let pdf = |direction: Vec3| direction.dot(vertex.shading_normal).max(0.0) / PI;
            let (at, normal) = (vertex.position, vertex.shading_normal);
            for visit in context.lights.draw(at, normal, pick).into_iter().flatten() {
                let light_sample = context.sample_light(&vertex, visit, [light_u, light_v], pdf);
                found += weight * light_sample.map_or(Vec3::ZERO, |light_sample| light_sample.irradiance);
            }

            let direction = cosine_hemisphere(vertex.shading_normal, Vec2::new(direction_u, direction_v));
            if direction.dot(vertex.geometric_normal) <= 0.0 {
                return found;
            }
            let ray = Ray::new(vertex.position, direction);
            let pdf = Some(direction.dot(vertex.shading_normal) / PI);
            let probability_of = |emitter| context.lights.probability_of(emitter, at, normal);
            let hit = match context.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = context.eval_environment(direction, pdf, probability_of);
                    return found + weight * escaped.filter * PI * sky;
                }
            };
            weight *= hit.filter;
            found += weight * PI * context.eval_emission(&ray, &hit, pdf, probability_of);
            let mut hit = hit;
            let Some(reflectance) = self.scattered(&mut hit, hash2(hash2(seed, 2 * reflections), sample)) else {
                return found;
            };
            // Radiance is irradiance * reflectance / pi. A cosine-weighted direction contributes pi times its radiance.
            match roulette(weight * reflectance, reflections, end) {
                Some(survived) => weight = survived,
                None => return found,
            }
            vertex = context.vertex(&hit);
        }
        found
    }

    /// Returns the albedo of the surface. With the probability of diffuse transmission, moves the hit to the other side
    /// and returns the tint instead. Returns `None` if the back absorbs everything.
    fn scattered(&self, hit: &mut Hit, random: u32) -> Option<Vec3> {
        let scene = self.0.scene;
        if scene.absorbs(hit) {
            return None;
        }
        let material = scene.material_of(hit.surface);
        let mesh = scene.mesh_of(hit.surface);
        if let Some(crossing) = material.crossing_at(scene, mesh, hit.triangle, hit.barycentric)
            && unit_float(random) < crossing.probability
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
