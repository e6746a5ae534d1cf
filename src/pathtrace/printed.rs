//! The method of directions as it was printed (Romano 2011, algorithm 4.2), kept to show what it does.

use core::f32::consts::FRAC_PI_2;

use glam::{Vec2, Vec3};

use super::light::in_order;
use super::surroundings::Surroundings;
use super::{Bsdf, View};
use crate::geometry::sampling::{cosine_hemisphere, orthonormal_basis};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, sin_cos_turns};
use crate::scene::{EmissionSampler, LightSampler, Scene};

/// Draws by means of radiances: each point of a path from a light that the camera sees gives its pixel the radiance that
/// the path has there, whatever the density of paths, and a pixel shows the mean.
///
/// This is not what a camera sees. The mean depends on where paths are ended and not on the size of lights; in an
/// integrating sphere it is `a (1 - a^J) / (J (1 - a))` for paths of `J` points, where `a f / (1 - a)` is right for a lamp
/// that covers the part `f` of the wall. [`LightTracer`](super::LightTracer) is the method put right.
pub struct PrintedMeans<'a> {
    surroundings: Surroundings<'a>,
    emission: EmissionSampler<'a>,
    /// A path ends where its radiance is this or less, in parts of what it began with.
    pub tolerance: f32,
    /// How directions are drawn.
    pub directions: Directions,
}

/// How the method of directions draws the directions that light goes on in from a matt surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// The angle to the normal and the one about it are uniform, as printed: too many go straight up.
    UniformAngles,
    /// By the cosine to the normal, without which the albedo is not what a path loses.
    #[default]
    Cosine,
}

/// What a pixel got.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PrintedPixel {
    /// Mean of the radiances, cd/m2.
    pub mean: Vec3,
    /// How many there were.
    pub contributions: u32,
}

/// Points of a path after which it ends even between surfaces that take nothing.
const MOST_POINTS: u32 = 1000;

impl<'a> PrintedMeans<'a> {
    /// With paths that end at a tolerance, and directions by the cosine.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>, tolerance: f32) -> Self {
        Self {
            surroundings: Surroundings::new(scene, world, lights),
            emission: EmissionSampler::new(lights),
            tolerance,
            directions: Directions::default(),
        }
    }

    /// What each pixel gets from so many paths. Lights without a surface have no radiance to begin with and are left out.
    pub fn draw(&self, view: &View, paths: u32, seed: u32) -> Vec<PrintedPixel> {
        let mut pixels = vec![PrintedPixel::default(); view.size.x as usize * view.size.y as usize];
        in_order(
            paths,
            |path, found| self.follow(view, path, seed, found),
            |(pixel, radiance): (usize, Vec3)| {
                let pixel = &mut pixels[pixel];
                pixel.contributions += 1;
                // Printed as (mean + radiance) / contributions, which tends to nothing; meant is the mean.
                pixel.mean += (radiance - pixel.mean) / pixel.contributions as f32;
            },
        );
        pixels
    }

    fn follow(&self, view: &View, path: u32, seed: u32, found: &mut Vec<(usize, Vec3)>) {
        let Surroundings { scene, world, .. } = self.surroundings;
        let points = |dimension: u32| OwenSobol::new(hash2(seed, dimension)).point(path);
        let Some(emission) = self.emission.sample(points(0)[0], points(1)) else { return };
        let Some(emitted) = emission.radiance else { return };
        let end = self.tolerance * emitted.max_element();
        let (mut ray, mut radiance) = (emission.ray, emitted);
        for point in 0..MOST_POINTS {
            let Ok(hit) = world.trace(&ray) else { return };
            let (vertex, Some(bsdf)) = self.surroundings.scatterer(&hit, -ray.direction) else { return };
            let own = self.surroundings.met_emission(&ray, &hit, None, |_| 0.0);
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
    use crate::kdtree::{Preset, World};
    use crate::pathtrace::PixelFilter;
    use crate::scene::{Camera, Light, LightKind, builtin};

    /// The mean over all contributions to a picture of the inside of a ball with a lamp of some half edge.
    fn mean_in_a_ball(reflectance: f32, half_edge: f32, tolerance: f32, directions: Directions) -> f32 {
        let mut scene = builtin::sphere(3, reflectance, 0.0);
        let kind = LightKind::Rectangle {
            centre: Vec3::new(0.0, 0.95, 0.0),
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
        let printed = PrintedMeans { directions, ..PrintedMeans::new(&scene, &world, &lights, tolerance) };
        let pixels = printed.draw(&view, 5_000, 1);
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
            // The formula that the method follows. Right would be 0.8 / 0.2 = 4 times the part of the wall that shines.
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
