//! Whitted ray tracing: shadows, mirrors and glass. Indirect diffuse light comes from a bake, or is left out.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::baked_irradiance::Missing;
use super::context::{DirectSample, ScatteringContext, Vertex};
use super::integrator::{Integrator, Seen, SeenSurface};
use super::{BakedIrradiance, Bsdf};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Hit, Ray, RayQuery, exponential};
use crate::lights::LightSampler;
use crate::scene::{Scene, Sky};

/// Recursive ray tracer (Whitted 1980). Each hit sends a shadow ray to every light. Smooth surfaces also send a
/// mirrored ray and, for glass, a refracted ray, until the weight becomes negligible.
///
/// Indirect light between diffuse or rough surfaces is read from a [bake](Self::with_baked_irradiance), or left out. Caustics
/// are left out.
pub struct WhittedTracer<'a> {
    context: ScatteringContext<'a>,
    baked: Option<BakedIrradiance<'a>>,
}

/// Minimum weight of a ray, below the steps of an 8-bit picture.
const MIN_WEIGHT: f32 = 1.0 / 256.0;
/// Maximum number of reflections and refractions on a path, however little they absorb.
const MAX_BOUNCES: u32 = 30;

/// One ray of the tree.
#[derive(Clone, Copy)]
struct Branch {
    ray: Ray,
    /// Weight of radiance along the ray at the camera.
    weight: Vec3,
    /// Absorption coefficient of the medium that the ray passes, per meter.
    absorption: Vec3,
    bounces: u32,
}

/// Stack of rays to follow. Its top is stored apart, since most rays add none or one.
#[derive(Default)]
struct Pending {
    top: Option<Branch>,
    others: Vec<Branch>,
}

impl Pending {
    fn push(&mut self, branch: Branch) {
        if branch.weight.max_element() >= MIN_WEIGHT && branch.bounces <= MAX_BOUNCES {
            self.others.extend(self.top.replace(branch));
        }
    }

    fn pop(&mut self) -> Option<Branch> {
        self.top.take().or_else(|| self.others.pop())
    }
}

impl<'a> WhittedTracer<'a> {
    /// Creates a tracer for a scene with [solid](Scene::with_solid_glass) glass.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>) -> Self {
        Self { context: ScatteringContext::new(scene, world, lights), baked: None }
    }

    /// Adds the irradiance of a bake of the scene. Direct light that it contains is not sampled. Of other emitters, each hit
    /// samples two.
    pub fn with_baked_irradiance(self, baked: BakedIrradiance<'a>) -> Self {
        Self { baked: Some(baked), ..self }
    }

    /// Returns the reflected baked radiance of a hit, in cd/m2, and the direct light that is not in it.
    fn baked(&self, hit: &Hit, vertex: &Vertex, bsdf: &Bsdf) -> (Vec3, Missing) {
        let Some(baked) = self.baked else {
            return (Vec3::ZERO, Missing::Direct);
        };
        let (irradiance, missing) = baked.at(hit, vertex.position, vertex.shading_normal);
        // Smooth surfaces show their mirror image beside it.
        let brdf = if bsdf.is_smooth() { bsdf.evaluate_diffuse(bsdf.normal()) } else { bsdf.albedo() * FRAC_1_PI };
        (brdf * irradiance, missing)
    }

    /// Returns the reflected direct light from lamps, and unless only they are missing, from luminous surfaces and the sky.
    fn direct(&self, vertex: &Vertex, bsdf: &Bsdf, missing: Missing, points: impl Fn(u32) -> [f32; 2]) -> Vec3 {
        let ScatteringContext { scene, world, lights, .. } = self.context;
        let is_smooth = bsdf.is_smooth();
        // A smooth surface shows emitters that rays can hit in its mirror reflection.
        let scattered = |direction: Vec3, can_be_hit: bool| {
            if is_smooth && can_be_hit { bsdf.evaluate_diffuse(direction) } else { bsdf.evaluate(direction) }
        };
        let mut sum = Vec3::ZERO;
        let mut add = |(emitter, probability): (usize, f32)| {
            let light_sample =
                self.context.sample_light(vertex, (emitter, probability), points(emitter as u32), |_| 0.0);
            let counts = |light_sample: &DirectSample| missing != Missing::Lamps || !light_sample.can_be_hit;
            if let Some(light_sample) = light_sample.filter(counts) {
                sum += scattered(light_sample.direction, light_sample.can_be_hit) * light_sample.irradiance;
            }
        };
        if self.baked.is_some() {
            let [pick, _] = points(lights.emitters() as u32 + 1);
            let drawn = lights.draw(vertex.position, vertex.shading_normal, pick);
            drawn.into_iter().flatten().for_each(&mut add);
        } else {
            (0..lights.emitters()).for_each(|emitter| add((emitter, 1.0)));
        }
        if let Sky::Uniform(radiance) = scene.sky
            && missing != Missing::Lamps
        {
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
        let context = &self.context;
        let mut seen = Seen::default();
        let mut pending = Pending::default();
        pending.push(Branch { ray: *ray, weight: Vec3::ONE, absorption: Vec3::ZERO, bounces: 0 });
        let mut followed = 0;
        while let Some(Branch { ray, weight, absorption, bounces }) = pending.pop() {
            followed += 1;
            let hit = match context.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    seen.radiance += weight * escaped.filter * context.scene.sky.radiance(ray.direction);
                    continue;
                }
            };
            let weight = weight * hit.filter * exponential(-absorption * hit.t);
            seen.radiance += weight * context.eval_emission(&ray, &hit, None, |_| 0.0);
            let (vertex, bsdf) = context.scatterer(&hit, -ray.direction);
            if bounces == 0 {
                seen.surface = Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t));
            }
            let Some(bsdf) = bsdf else { continue };
            let glass = context.scene.material_of(hit.surface).solid_glass();
            let is_within = hit.back && glass.is_some();
            if !is_within {
                let points = |light: u32| {
                    let [x, y, ..] = OwenSobol::new(hash2(hash2(seed, followed), light)).point(sample);
                    [x, y]
                };
                let (baked, missing) = self.baked(&hit, &vertex, &bsdf);
                seen.radiance += weight * baked;
                if missing != Missing::Nothing {
                    seen.radiance += weight * self.direct(&vertex, &bsdf, missing, points);
                }
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
