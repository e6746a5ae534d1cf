//! Path tracing as `002` prints it, without any technique against noise: a reference for the other integrators.

use glam::{Vec2, Vec3};

use super::context::ScatteringContext;
use super::integrator::{Integrator, Seen, SeenSurface};
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery};
use crate::lights::LightSampler;
use crate::scene::Scene;

/// Plain path tracer: algorithm `TracePath` of `002` 4.1.2.
///
/// Every hit adds its emission. The next direction is uniform over the hemisphere, and its weight is `2 rho cos(theta)`.
/// All surfaces count as diffuse, with the albedo of all their lobes. A ray that leaves the scene finds the sky, where
/// the document has black. Only lights with a surface are found, by chance.
pub struct PlainTracer<'a> {
    context: ScatteringContext<'a>,
    max_bounces: u32,
}

impl<'a> PlainTracer<'a> {
    /// Number of bounces by default, `b = 8` of `002` 5.3.
    pub const USUAL_BOUNCES: u32 = 8;

    /// Creates a tracer of paths with at most `max_bounces` bounces, and thus `max_bounces + 1` hits.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>, max_bounces: u32) -> Self {
        Self { context: ScatteringContext::new(scene, world, lights), max_bounces }
    }
}

impl Integrator for PlainTracer<'_> {
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen {
        let context = &self.context;
        let mut seen = Seen::default();
        let (mut ray, mut weight) = (*ray, Vec3::ONE);
        for bounce in 0..=self.max_bounces {
            let hit = match context.world.trace(&ray) {
                Ok(hit) => hit,
                Err(escaped) => {
                    let sky = context.eval_environment(ray.direction, None, |_| 0.0);
                    seen.radiance += weight * escaped.filter * sky;
                    break;
                }
            };
            weight *= hit.filter;
            seen.radiance += weight * context.eval_emission(&ray, &hit, None, |_| 0.0);
            let (vertex, bsdf) = context.scatterer(&hit, -ray.direction);
            if bounce == 0 {
                seen.surface = Some(SeenSurface::new(&vertex, bsdf.as_ref(), hit.t));
            }
            let Some(bsdf) = bsdf else { break };
            let [u, v, ..] = OwenSobol::new(hash2(seed, bounce)).point(sample);
            let direction = uniform_sphere(Vec2::new(u, v));
            let cosine = direction.dot(vertex.shading_normal);
            let (direction, cosine) = if cosine < 0.0 { (-direction, -cosine) } else { (direction, cosine) };
            if direction.dot(vertex.geometric_normal) <= 0.0 {
                break;
            }
            weight *= 2.0 * cosine * bsdf.albedo();
            ray = Ray::new(vertex.position, direction);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::UVec2;

    use super::*;
    use crate::accel::{BruteForce, Preset, World};
    use crate::builtin_scenes;
    use crate::pathtrace::fixtures::*;
    use crate::pathtrace::{Film, PathTracer, PixelFilter, RenderSettings, View, render};
    use crate::progress::Unmonitored;
    use crate::scene::{Camera, Material, Sky, shapes};

    #[test]
    fn in_a_closed_room_that_glows_the_sum_of_a_geometric_series_is_found() {
        let scene = builtin_scenes::build("furnace").unwrap();
        let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
        let (reflectance, emission) = (Vec3::new(0.2, 0.5, 0.8), Vec3::new(0.8, 0.5, 0.2));
        let mut expected = Vec3::ZERO;
        let mut power = Vec3::ONE;
        for max_bounces in 0..6 {
            expected += emission * power;
            power *= reflectance;
            let tracer = PlainTracer::new(&scene, &world, &lights, max_bounces);
            let found = mean_radiance(&tracer, &toward(Vec3::ZERO, Vec3::new(0.3, -1.0, 0.2)), 1 << 15);
            assert_close(found, expected, 0.01, &format!("{max_bounces} bounces"));
        }
    }

    #[test]
    fn a_white_floor_under_a_white_sky_is_as_white_as_it() {
        let mut scene = scene_of([(shapes::floor("floor", 2.0), Material::diffuse("white", Vec3::ONE))]);
        scene.sky = Sky::Uniform(Vec3::splat(3.0));
        let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
        let tracer = PlainTracer::new(&scene, &world, &lights, 1);
        assert_close(mean_radiance(&tracer, &toward(Vec3::Y, Vec3::ZERO), 1 << 14), Vec3::splat(3.0), 0.005, "floor");
    }

    #[test]
    fn the_plain_and_the_usual_tracer_agree_on_diffuse_surfaces_and_the_usual_one_has_less_noise() {
        let scene = Arc::new(builtin_scenes::build("cornell_box").unwrap());
        let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
        // The lamp is out of view: the noise of its edges would be that of both.
        let camera = Camera::looking_at(Vec3::new(0.0, -0.2, 0.95), Vec3::new(0.0, -0.6, -1.0), 0.6).unwrap();
        let view = View { camera, size: UVec2::splat(12), lens: None, filter: PixelFilter::Box };
        let drawn = |tracer: &dyn Integrator, samples| {
            render(tracer, &view, &RenderSettings { samples, ..Default::default() }, &Unmonitored)
        };
        let usual = drawn(&PathTracer::new(&scene, &world, &lights, Some(3)), 1024);
        let plain = drawn(&PlainTracer::new(&scene, &world, &lights, 3), 4096);
        assert!((plain.mean() / usual.mean() - 1.0).abs() < 0.04, "{} {}", plain.mean(), usual.mean());
        // Even with four times as many samples.
        let noise = [&plain, &usual].map(Film::relative_error);
        assert!(noise[0] > noise[1], "{noise:?}");
    }
}
