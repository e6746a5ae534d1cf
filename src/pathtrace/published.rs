//! Method of directions as published (Romano 2011, algorithms 4.1 and 4.2), kept to demonstrate its bias.

use core::f32::consts::{FRAC_PI_2, TAU};

use glam::{Vec2, Vec3};

use super::context::ScatteringContext;
use super::light::{follow_chunks, seed_of_pass};
use super::{Bsdf, Film, LightPicture, RenderSettings, View};
use crate::clock;
use crate::geometry::sampling::{cosine_hemisphere, orthonormal_basis};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, sin_cos_turns};
use crate::lights::{LightAreaSampler, LightSampler};
use crate::progress::Monitor;
use crate::scene::Scene;

/// Renderer that averages radiances, as published. Each visible point of a light path gives its pixel the path's
/// radiance there, whatever the density of paths. A pixel shows the mean.
///
/// The result is not physically correct. The mean depends on where paths end, but not on the size of lights. In an
/// integrating sphere the result is `a (1 - a^J) / (J (1 - a))` for paths of `J` points. Correct is `a f / (1 - a)` for
/// a lamp that covers the fraction `f` of the wall. [`LightTracer`](super::LightTracer) is the corrected method.
pub struct PublishedMeans<'a> {
    context: ScatteringContext<'a>,
    starts: LightAreaSampler<'a>,
    /// Relative radiance at which a path ends, compared with its initial radiance (condition 1). No less than the
    /// precision of `f32` counts, as published.
    pub tolerance: f32,
    /// Sampling of directions.
    pub directions: Directions,
}

/// Sampling of directions at lights and diffuse surfaces in the method of directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Uniform polar and azimuth angles, as published. Oversamples directions near the normal.
    #[default]
    UniformAngles,
    /// Cosine-weighted directions, without which the albedo is not the loss of a path.
    Cosine,
}

/// Event along the light paths, in their order.
#[derive(Clone, Copy)]
enum Event {
    /// A pixel sees a point of a path.
    Seen { pixel: usize, radiance: Vec3 },
    /// A path has ended.
    End,
}

/// Maximum number of points of a path, even between surfaces that absorb nothing.
const MAX_POINTS: u32 = 1000;
/// Number of paths that a thread follows per chunk.
const CHUNK: u32 = 256;
/// Number of paths between two looks at the clock, which bounds memory.
const BATCH: u32 = 64 * CHUNK;

impl<'a> PublishedMeans<'a> {
    /// Creates a renderer whose paths end at a relative radiance of `tolerance`. Angles are uniform.
    pub fn new(scene: &'a Scene, world: &'a dyn RayQuery, lights: &'a LightSampler<'a>, tolerance: f32) -> Self {
        Self {
            context: ScatteringContext::new(scene, world, lights),
            starts: LightAreaSampler::new(lights),
            tolerance,
            directions: Directions::default(),
        }
    }

    /// Renders a view. A pixel's samples are its contributions, and its radiance is their running mean.
    ///
    /// Rendering ends with the first path after which `1 / m` is no more than the tolerance of `settings` (condition
    /// 3, equation 3.4.9), where `m` is the mean number of contributions per pixel. It also ends after `samples` paths
    /// per pixel, and at the time limit. The error of `settings`, the lens and the pixel filter have no effect: a point
    /// contributes to the one pixel that contains it.
    ///
    /// The picture is a function of the scene, the view, the seed and the number of paths, not of threads.
    pub fn render(&self, view: &View, settings: &RenderSettings, monitor: &dyn Monitor) -> LightPicture {
        let started = clock::now();
        let pixels = view.size.x * view.size.y;
        let film = Film::new(view.size);
        let mut picture = LightPicture { film, light_paths: 0, eye_paths: 0, contributions: 0, unfinished: 0 };
        let max_paths = u64::from(settings.samples) * u64::from(pixels);
        while picture.light_paths < max_paths {
            let of_paths = (picture.light_paths as f64 / max_paths as f64) as f32;
            let of_time = settings.fraction_done(0, started.elapsed());
            let of_tolerance = settings.tolerance.map_or(0.0, |tolerance| tolerance * picture.mean_contributions());
            if monitor.is_cancelled() || (picture.light_paths > 0 && of_time >= 1.0) {
                break;
            }
            monitor.progress(of_paths.max(of_time).max(of_tolerance).min(1.0));
            // Points of Sobol sequences are numbered within a pass of one path per pixel.
            let (pass, first) = (picture.light_paths / u64::from(pixels), picture.light_paths % u64::from(pixels));
            let (seed, first) = (seed_of_pass(settings.seed, pass as u32), first as u32);
            let paths = first..first.saturating_add(BATCH).min(pixels);
            let events = follow_chunks(paths, CHUNK, |path, found| self.follow(view, path, seed, found));
            for event in events.into_iter().flatten() {
                match event {
                    // Published as (mean + radiance) / contributions, which tends to zero; a running mean is intended.
                    Event::Seen { pixel, radiance } => {
                        picture.film.add_to(pixel, radiance);
                        picture.contributions += 1;
                    }
                    Event::End => {
                        picture.light_paths += 1;
                        if settings.is_tolerated(picture.mean_contributions()) {
                            return picture;
                        }
                    }
                }
            }
        }
        picture
    }

    fn follow(&self, view: &View, path: u32, seed: u32, found: &mut Vec<Event>) {
        let see = |pixel, radiance| found.push(Event::Seen { pixel, radiance });
        self.follow_to_its_end(view, path, seed, see);
        found.push(Event::End);
    }

    /// Follows one path, and calls `see` for each of its points that a pixel sees.
    fn follow_to_its_end(&self, view: &View, path: u32, seed: u32, mut see: impl FnMut(usize, Vec3)) {
        let ScatteringContext { scene, world, .. } = self.context;
        let points = |dimension: u32| OwenSobol::new(hash2(seed, dimension)).point(path);
        let [x, y, polar, azimuth] = points(1);
        let Some(start) = self.starts.sample(points(0)[0], Vec2::new(x, y)) else { return };
        let end = self.tolerance.max(f32::EPSILON) * start.radiance.max_element();
        let mut ray = Ray::new(start.position, self.directions.about(start.normal, Vec2::new(polar, azimuth)));
        let mut radiance = start.radiance;
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
            if let Some(pixel) = visible.and_then(|sight| view.pixel_at(sight.place)) {
                see(pixel, radiance);
            }
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
        Some(self.directions.about(bsdf.normal(), u))
    }
}

impl Directions {
    /// Samples a direction about a unit normal by two numbers in `[0, 1)`.
    fn about(self, normal: Vec3, u: Vec2) -> Vec3 {
        match self {
            Self::Cosine => cosine_hemisphere(normal, u),
            Self::UniformAngles => {
                let (sine, cosine) = sin_cos_turns(u.x * FRAC_PI_2 / TAU);
                let (sin_around, cos_around) = sin_cos_turns(u.y);
                let (tangent, bitangent) = orthonormal_basis(normal);
                (tangent * cos_around + bitangent * sin_around) * sine + normal * cosine
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::UVec2;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::builtin_scenes;
    use crate::pathtrace::{Pixel, PixelFilter};
    use crate::progress::Unmonitored;
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
        let settings = RenderSettings { samples: 80, seed: 1, ..Default::default() };
        let picture = published.render(&view, &settings, &Unmonitored);
        let sum = |pixel: &Pixel| pixel.radiance.x * pixel.samples as f32;
        picture.film.pixels().iter().map(sum).sum::<f32>() / picture.contributions as f32
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

    #[test]
    fn polar_angles_are_uniform_as_published_and_cosines_are_those_of_lambert() {
        // Means of cos(theta): the integral of cos over (0, pi / 2) divided by pi / 2 is 2 / pi; with the density
        // 2 cos sin it is 2 / 3.
        let normal = Vec3::new(0.6, -0.48, 0.64);
        let points = OwenSobol::new(3);
        for (directions, expected) in
            [(Directions::UniformAngles, 2.0 / core::f32::consts::PI), (Directions::Cosine, 2.0 / 3.0)]
        {
            let cosine = |index| {
                let [x, y, ..] = points.point(index);
                directions.about(normal, Vec2::new(x, y)).dot(normal)
            };
            let mean = (0..4096).map(cosine).sum::<f32>() / 4096.0;
            assert!((mean - expected).abs() < 1e-3, "{directions:?}: {mean}, not {expected}");
        }
    }

    #[test]
    fn pixels_hold_the_means_of_a_plain_loop_and_the_last_path_is_the_first_that_satisfies_condition_3() {
        const TOLERANCE: f32 = 0.1;
        let scene = std::sync::Arc::new(builtin_scenes::build("cornell_box").unwrap());
        let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
        let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 0.75).unwrap();
        let pictures = [PixelFilter::Box, PixelFilter::Tent].map(|filter| {
            let view = View { camera: camera.clone(), size: UVec2::new(24, 16), lens: None, filter };
            let published = PublishedMeans::new(&scene, &world, &lights, TOLERANCE);
            let settings = RenderSettings { tolerance: Some(TOLERANCE), seed: 5, ..Default::default() };
            let picture = published.render(&view, &settings, &Unmonitored);

            let mut seen = vec![Vec::new(); 24 * 16];
            let (mut paths, mut contributions) = (0u32, 0);
            while contributions < 10 * 24 * 16 {
                let seed = seed_of_pass(5, paths / (24 * 16));
                published.follow_to_its_end(&view, paths % (24 * 16), seed, |pixel, radiance| {
                    seen[pixel].push(radiance.as_dvec3());
                    contributions += 1;
                });
                paths += 1;
            }
            assert_eq!((picture.light_paths, picture.contributions), (u64::from(paths), contributions));
            for (pixel, seen) in picture.film.pixels().iter().zip(&seen) {
                let mean = seen.iter().sum::<glam::DVec3>() / seen.len().max(1) as f64;
                assert_eq!(pixel.samples as usize, seen.len());
                assert!((pixel.radiance.as_dvec3() - mean).abs().max_element() <= 1e-5 * mean.max_element());
            }
            picture
        });
        // A point counts in one pixel, whatever the filter.
        assert_eq!(pictures[0], pictures[1]);
    }

    #[test]
    fn without_a_visible_point_rendering_ends_after_the_given_number_of_paths() {
        let scene = std::sync::Arc::new(builtin_scenes::build("cornell_box").unwrap());
        let (world, lights) = (World::build(scene.clone(), Preset::best()), LightSampler::new(&scene));
        let camera = Camera::looking_at(Vec3::Z * 3.9, Vec3::Z * 9.0, 0.75).unwrap();
        let view = View { camera, size: UVec2::splat(4), lens: None, filter: PixelFilter::Box };
        let settings = RenderSettings { samples: 3, tolerance: Some(0.1), ..Default::default() };
        let picture = PublishedMeans::new(&scene, &world, &lights, 0.1).render(&view, &settings, &Unmonitored);
        assert_eq!((picture.light_paths, picture.contributions), (48, 0));
        assert!(picture.film.pixels().iter().all(|pixel| pixel.variance() == Vec3::ZERO));
    }
}
