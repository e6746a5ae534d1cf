//! Method of directions as published (Romano 2011, algorithm 4.2), kept to demonstrate its bias.

use core::f32::consts::FRAC_PI_2;

use glam::{Vec2, Vec3};

use super::context::ScatteringContext;
use super::light::in_order;
use super::{Bsdf, View};
use crate::geometry::sampling::{cosine_hemisphere, orthonormal_basis};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, sin_cos_turns};
use crate::lights::{EmissionSampler, LightSampler};
use crate::scene::Scene;

/// Renderer that averages radiances, as published. Each visible point of a light path gives its pixel the path's
/// radiance there, whatever the density of paths. A pixel shows the mean.
///
/// The result is not physically correct. The mean depends on where paths end, but not on the size of lights. In an
/// integrating sphere the result is `a (1 - a^J) / (J (1 - a))` for paths of `J` points. Correct is `a f / (1 - a)` for
/// a lamp that covers the fraction `f` of the wall. [`LightTracer`](super::LightTracer) is the corrected method.
pub struct PublishedMeans<'a> {
    context: ScatteringContext<'a>,
    emission: EmissionSampler<'a>,
    /// Relative radiance at which a path ends, compared with its initial radiance.
    pub tolerance: f32,
    /// Sampling of directions.
    pub directions: Directions,
}

/// Sampling of directions at diffuse surfaces in the method of directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Uniform polar and azimuth angles, as published. Oversamples directions near the normal.
    UniformAngles,
    /// Cosine-weighted directions, without which the albedo is not the loss of a path.
    #[default]
    Cosine,
}

/// Pixel of a [`PublishedMeans`] picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PublishedPixel {
    /// Mean of the radiances, in cd/m2.
    pub mean: Vec3,
    /// Number of contributions.
    pub contributions: u32,
}

/// Maximum number of points of a path, even between surfaces that absorb nothing.
const MAX_POINTS: u32 = 1000;

impl<'a> PublishedMeans<'a> {
    /// Creates a renderer whose paths end at a relative radiance of `tolerance`, with cosine-weighted directions.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>, tolerance: f32) -> Self {
        Self {
            context: ScatteringContext::new(scene, world, lights),
            emission: EmissionSampler::new(lights),
            tolerance,
            directions: Directions::default(),
        }
    }

    /// Renders a view with the given number of paths. Lights without a surface have no initial radiance and are left
    /// out.
    pub fn draw(&self, view: &View, paths: u32, seed: u32) -> Vec<PublishedPixel> {
        let mut pixels = vec![PublishedPixel::default(); view.size.x as usize * view.size.y as usize];
        in_order(
            paths,
            |path, found| self.follow(view, path, seed, found),
            |(pixel, radiance): (usize, Vec3)| {
                let pixel = &mut pixels[pixel];
                pixel.contributions += 1;
                // Published as (mean + radiance) / contributions, which tends to zero; the running mean is intended.
                pixel.mean += (radiance - pixel.mean) / pixel.contributions as f32;
            },
        );
        pixels
    }

    fn follow(&self, view: &View, path: u32, seed: u32, found: &mut Vec<(usize, Vec3)>) {
        let ScatteringContext { scene, world, .. } = self.context;
        let points = |dimension: u32| OwenSobol::new(hash2(seed, dimension)).point(path);
        let Some(emission) = self.emission.sample(points(0)[0], points(1)) else { return };
        let Some(emitted) = emission.radiance else { return };
        let end = self.tolerance * emitted.max_element();
        let (mut ray, mut radiance) = (emission.ray, emitted);
        for point in 0..MAX_POINTS {
            let Ok(hit) = world.trace(&ray) else { return };
            let (vertex, Some(bsdf)) = self.context.scatterer(&hit, -ray.direction) else { return };
            let own = self.context.eval_emission(&ray, &hit, None, |_| 0.0);
            radiance = own + bsdf.albedo() * radiance;
            let sight = view.sight(vertex.position, [0.0; 2]);
            let visible = sight.filter(|sight| {
                (sight.origin - vertex.position).dot(vertex.geometric_normal) > 0.0
                    && !world.blocked(&Ray::between(vertex.position, sight.origin)).is_blocked()
            });
            found.extend(visible.and_then(|sight| view.pixel_at(sight.place)).map(|pixel| (pixel, radiance)));
            if radiance.max_element() <= end {
                return;
            }
            let [u, v, lobe, _] = points(point + 2);
            let Some(direction) = self.next_direction(&bsdf, Vec2::new(u, v), lobe) else { return };
            let goes_through = direction.dot(vertex.geometric_normal) < 0.0;
            let is_clear = scene.material_of(hit.surface).solid_glass().is_some();
            if goes_through && !is_clear {
                return;
            }
            ray = Ray::new(if goes_through { vertex.behind } else { vertex.position }, direction);
        }
    }

    fn next_direction(&self, bsdf: &Bsdf, u: Vec2, lobe: f32) -> Option<Vec3> {
        if bsdf.is_smooth() {
            return bsdf.sample(u, lobe).map(|scattered| scattered.direction);
        }
        let normal = bsdf.normal();
        Some(match self.directions {
            Directions::Cosine => cosine_hemisphere(normal, u),
            Directions::UniformAngles => {
                let (sine, cosine) = sin_cos_turns(u.x * FRAC_PI_2 / core::f32::consts::TAU);
                let (sin_around, cos_around) = sin_cos_turns(u.y);
                let (tangent, bitangent) = orthonormal_basis(normal);
                (tangent * cos_around + bitangent * sin_around) * sine + normal * cosine
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use glam::UVec2;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::builtin_scenes;
    use crate::pathtrace::PixelFilter;
    use crate::scene::{Camera, Light, LightKind};

    /// Returns the mean over all contributions, inside a ball with a square lamp of half edge `half_edge`.
    fn mean_in_a_ball(reflectance: f32, half_edge: f32, tolerance: f32, directions: Directions) -> f32 {
        let mut scene = builtin_scenes::sphere(3, reflectance, 0.0);
        let kind = LightKind::Rectangle {
            center: Vec3::new(0.0, 0.95, 0.0),
            half_width: Vec3::X * half_edge,
            half_height: Vec3::Z * half_edge,
            normal: Vec3::NEG_Y,
            radiance: Vec3::ONE,
        };
        scene.lights.push(Light { name: "lamp".into(), kind });
        let scene = std::sync::Arc::new(scene);
        let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
        let camera = Camera::looking_at(Vec3::new(0.1, 0.0, 0.0), Vec3::new(0.3, -0.2, -1.0), 1.5).unwrap();
        let view = View { camera, size: UVec2::splat(8), lens: None, filter: PixelFilter::Box };
        let published = PublishedMeans { directions, ..PublishedMeans::new(&scene, &world, &lights, tolerance) };
        let pixels = published.draw(&view, 5_000, 1);
        let contributions: u32 = pixels.iter().map(|pixel| pixel.contributions).sum();
        pixels.iter().map(|pixel| pixel.mean.x * pixel.contributions as f32).sum::<f32>() / contributions as f32
    }

    #[test]
    fn means_of_radiances_depend_on_where_paths_end_and_not_on_the_size_of_the_lamp() {
        for (reflectance, tolerance, expected) in [
            (0.5, 0.1, 0.234),
            (0.5, 0.01, 0.142),
            (0.5, 0.001, 0.100),
            (0.8, 0.1, 0.332),
            (0.8, 0.01, 0.189),
            (0.8, 0.001, 0.129),
        ] {
            // Formula that the method follows. Correct would be 0.8 / 0.2 = 4 times the luminous fraction of the wall.
            let points = (f32::ln(tolerance) / f32::ln(reflectance)).ceil();
            let formula = reflectance * (1.0 - reflectance.powf(points)) / (points * (1.0 - reflectance));
            assert!((formula - expected).abs() < 6e-4, "{formula}");
            for half_edge in [0.1, 0.2] {
                let found = mean_in_a_ball(reflectance, half_edge, tolerance, Directions::Cosine);
                assert!((found / expected - 1.0).abs() < 0.03, "{reflectance} {tolerance}: {found}, not {expected}");
            }
        }
    }
}
