//! Trees of rays: shadows, mirrors and glass, and no other light that surfaces pass on.

use core::f32::consts::PI;

use glam::{Vec2, Vec3};

use super::Bsdf;
use super::integrator::{Integrator, Seen, SeenSurface};
use super::surroundings::{Surroundings, Vertex};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, exponential};
use crate::scene::{LightSampler, Scene, Sky};

/// Follows rays from the eye as Whitted did (1980): a shadow ray to every light at each hit, and where the surface is
/// smooth a mirrored ray and, in glass, a refracted one, until what they count is not worth following.
///
/// Light that matt or rough surfaces send to each other is left out, and so is what mirrors and glass throw on them.
pub struct WhittedTracer<'a> {
    surroundings: Surroundings<'a>,
}

/// What a ray must count at the eye to be followed: below the steps of an eight-bit picture.
const LEAST_WEIGHT: f32 = 1.0 / 256.0;
/// Mirrors and refractions that one ray of the picture may go through, however little they take.
const MOST_BOUNCES: u32 = 30;

/// A ray of the tree.
#[derive(Clone, Copy)]
struct Branch {
    ray: Ray,
    /// What radiance along it counts at the eye.
    weight: Vec3,
    /// What it runs through takes this much of it, per metre.
    absorption: Vec3,
    bounces: u32,
}

/// The branches that are still to be followed, the latest on top. Each that is followed grows at most two, one bounce
/// further, so there are never more than this many.
struct Pending {
    branches: [Option<Branch>; MOST_BOUNCES as usize + 2],
    count: usize,
}

impl Pending {
    fn push(&mut self, branch: Branch) {
        if branch.weight.max_element() >= LEAST_WEIGHT && branch.bounces <= MOST_BOUNCES {
            self.branches[self.count] = Some(branch);
            self.count += 1;
        }
    }

    fn pop(&mut self) -> Option<Branch> {
        self.count = self.count.checked_sub(1)?;
        self.branches[self.count]
    }
}

impl<'a> WhittedTracer<'a> {
    /// For a scene whose glass is [solid](Scene::with_solid_glass).
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>) -> Self {
        Self { surroundings: Surroundings::new(scene, world, lights) }
    }

    /// Light that comes straight from lamps, shining surfaces and the sky.
    fn direct(&self, vertex: &Vertex, bsdf: &Bsdf, points: impl Fn(u32) -> [f32; 2]) -> Vec3 {
        let Surroundings { scene, world, lights, .. } = self.surroundings;
        let is_smooth = bsdf.is_smooth();
        // What rays can meet, a smooth surface shows in its mirror.
        let scattered = |direction: Vec3, can_be_met: bool| {
            if is_smooth && can_be_met { bsdf.evaluate_matt(direction) } else { bsdf.evaluate(direction) }
        };
        let mut sum = Vec3::ZERO;
        for emitter in 0..lights.emitters() {
            let aimed = self.surroundings.aim_at_light(vertex, (emitter, 1.0), points(emitter as u32), |_| 0.0);
            sum += aimed.map_or(Vec3::ZERO, |aimed| scattered(aimed.direction, aimed.can_be_met) * aimed.irradiance);
        }
        if let Sky::Uniform(radiance) = scene.sky {
            let u = Vec2::from_array(points(lights.emitters() as u32));
            let direction = cosine_hemisphere(vertex.shading_normal, u);
            if direction.dot(vertex.geometric_normal) > 0.0 {
                let seen = radiance * world.blocked(&Ray::new(vertex.position, direction)).0;
                sum += scattered(direction, true) * seen * PI;
            }
        }
        sum
    }
}

impl Integrator for WhittedTracer<'_> {
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let surroundings = &self.surroundings;
        let mut seen = Seen::default();
        let mut pending = Pending { branches: [None; MOST_BOUNCES as usize + 2], count: 0 };
        pending.push(Branch { ray: *ray, weight: Vec3::ONE, absorption: Vec3::ZERO, bounces: 0 });
        let mut followed = 0;
        while let Some(Branch { ray, weight, absorption, bounces }) = pending.pop() {
            followed += 1;
            let hit = match surroundings.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    seen.radiance += weight * escaped.filter * surroundings.scene.sky.radiance(ray.direction);
                    continue;
                }
            };
            let weight = weight * hit.filter * exponential(-absorption * hit.t);
            seen.radiance += weight * surroundings.met_emission(&ray, &hit, None, |_| 0.0);
            let (vertex, bsdf) = surroundings.scatterer(&hit, -ray.direction);
            if bounces == 0 {
                seen.surface = Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t));
            }
            let Some(bsdf) = bsdf else { continue };
            let glass = surroundings.scene.material_of(hit.surface).solid_glass();
            let is_within = hit.back && glass.is_some();
            if !is_within {
                let points = |light: u32| {
                    let [x, y, ..] = OwenSobol::new(hash2(hash2(seed, followed), light)).point(sample);
                    [x, y]
                };
                seen.radiance += weight * self.direct(&vertex, &bsdf, points);
            }
            if !bsdf.is_smooth() {
                continue;
            }
            let bounces = bounces + 1;
            let mirror = bsdf.mirror().filter(|(direction, _)| direction.dot(vertex.geometric_normal) > 0.0);
            if let Some((direction, share)) = mirror {
                let ray = Ray::new(vertex.position, direction);
                pending.push(Branch { ray, weight: weight * share, absorption, bounces });
            }
            let refraction = bsdf.refraction().filter(|(direction, _)| direction.dot(vertex.geometric_normal) < 0.0);
            if let Some((direction, share)) = refraction {
                let absorption = glass.filter(|_| !is_within).map_or(Vec3::ZERO, |glass| glass.absorption);
                let ray = Ray::new(vertex.behind, direction);
                pending.push(Branch { ray, weight: weight * share, absorption, bounces });
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests;
