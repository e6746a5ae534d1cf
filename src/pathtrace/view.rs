//! View: mapping between picture positions and camera rays.

use glam::{UVec2, Vec2, Vec3};

use crate::geometry::{Ray, sin_cos_turns};
use crate::scene::{Camera, Sights};

/// Camera, lens and picture size.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Position, orientation and field of view.
    pub camera: Camera,
    /// Columns and rows of the picture.
    pub size: UVec2,
    /// Thin lens with depth of field; `None` for a pinhole, which is sharp everywhere. Orthographic cameras ignore the
    /// lens.
    pub lens: Option<Lens>,
    /// Reconstruction filter of the pixels.
    pub filter: PixelFilter,
}

/// Thin lens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Radius, in meters. Larger radii blur more.
    pub radius: f32,
    /// Distance of the plane in focus along the viewing direction, in meters.
    pub focus: f32,
}

/// Projection of a point into a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectedPoint {
    /// Position in pixels from the top left; may lie outside the picture.
    pub place: Vec2,
    /// Point of the lens.
    pub origin: Vec3,
    /// Pixels per steradian at the lens point, in the direction of the projected point.
    pub importance: f32,
}

/// Pixel reconstruction filter. Samples are distributed by the filter, so each has equal weight, in a single pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PixelFilter {
    /// Uniform over the pixel's square.
    Box,
    /// Pyramid that extends to the centers of the neighboring pixels: smoother edges.
    #[default]
    Tent,
}

impl PixelFilter {
    /// Returns the sample position, in pixels from the pixel's top left corner.
    fn place(self, u: Vec2) -> Vec2 {
        let tent = |u: f32| if u < 0.5 { (2.0 * u).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * u).sqrt() };
        match self {
            Self::Box => u,
            Self::Tent => Vec2::new(tent(u.x), tent(u.y)) + 0.5,
        }
    }

    /// Returns the pixels that receive light at a picture position (in pixels from the top left), with weights.
    fn shares(self, place: Vec2) -> [(Vec2, f32); 4] {
        match self {
            Self::Box => [(place.floor(), 1.0), (Vec2::ZERO, 0.0), (Vec2::ZERO, 0.0), (Vec2::ZERO, 0.0)],
            Self::Tent => {
                let first = (place - 0.5).floor();
                let near = place - 0.5 - first;
                [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::ONE].map(|step| {
                    let share = (1.0 - step) * (1.0 - near) + step * near;
                    (first + step, share.x * share.y)
                })
            }
        }
    }
}

impl View {
    /// Returns the camera ray of a sample, with unit direction. The four numbers in `[0, 1)` select the position in the
    /// pixel and on the lens.
    pub fn ray(&self, pixel: UVec2, u: [f32; 4]) -> Ray {
        self.ray_of(&self.camera.sights(), pixel, u)
    }

    /// Returns the camera ray of a sample, given precomputed viewing directions.
    #[inline]
    pub(crate) fn ray_of(&self, sights: &Sights, pixel: UVec2, [x, y, lens_x, lens_y]: [f32; 4]) -> Ray {
        let size = self.size.as_vec2();
        let place = (pixel.as_vec2() + self.filter.place(Vec2::new(x, y))) * 2.0 - size;
        let sight = sights.line(Vec2::new(place.x, -place.y) / size.y);
        let Some(lens) = self.lens.filter(|_| !self.camera.is_orthographic()) else {
            return sight;
        };
        let direction = sight.direction;
        let sharp = self.camera.position + direction * (lens.focus / direction.dot(self.camera.forward));
        let origin = self.lens_point(&lens, [lens_x, lens_y]);
        Ray::new(origin, (sharp - origin).normalize())
    }

    /// Returns a point of the lens, selected by two numbers in `[0, 1)`.
    fn lens_point(&self, lens: &Lens, [x, y]: [f32; 2]) -> Vec3 {
        let (sine, cosine) = sin_cos_turns(y);
        let across = (self.camera.right * cosine + self.camera.up * sine) * (lens.radius * x.sqrt());
        self.camera.position + across
    }

    /// Projects a point through a lens point, which two numbers in `[0, 1)` select as in [`View::ray`]. Returns `None`
    /// for points behind the camera.
    pub fn sight(&self, point: Vec3, on_lens: [f32; 2]) -> Option<ProjectedPoint> {
        let camera = &self.camera;
        let size = self.size.as_vec2();
        let half_height = camera.half_height();
        let pixel = 2.0 * half_height / size.y;
        let in_picture = |place: Vec2| (place * size.y + size) * 0.5;
        if camera.is_orthographic() {
            let offset = point - camera.position;
            let depth = offset.dot(camera.forward);
            let place = Vec2::new(offset.dot(camera.right), -offset.dot(camera.up)) / half_height;
            return (depth > 0.0).then(|| ProjectedPoint {
                place: in_picture(place),
                origin: point - camera.forward * depth,
                importance: (depth / pixel) * (depth / pixel),
            });
        }
        let through_lens = |lens: Lens| (self.lens_point(&lens, on_lens), lens.focus);
        let (origin, focus) = self.lens.map_or((camera.position, 1.0), through_lens);
        let offset = point - origin;
        let depth = offset.dot(camera.forward);
        if depth <= 0.0 {
            return None;
        }
        // Intersection with the plane in focus, in half heights from the picture's center.
        let sharp = origin + offset * (focus / depth) - camera.position;
        let place = Vec2::new(sharp.dot(camera.right), -sharp.dot(camera.up)) / (focus * half_height);
        let cosine = depth / offset.length();
        Some(ProjectedPoint {
            place: in_picture(place),
            origin,
            importance: 1.0 / (pixel * pixel * cosine * cosine * cosine),
        })
    }

    /// Returns the index of the pixel at a picture position, or `None` outside the picture.
    pub fn pixel_at(&self, place: Vec2) -> Option<usize> {
        let inside = place.cmpge(Vec2::ZERO).all() && place.cmplt(self.size.as_vec2()).all();
        inside.then(|| place.y as usize * self.size.x as usize + place.x as usize)
    }

    /// Returns the indices and weights of the pixels that receive light at a picture position.
    pub fn shares(&self, place: Vec2) -> impl Iterator<Item = (usize, f32)> + use<> {
        let size = self.size;
        self.filter.shares(place).into_iter().filter_map(move |(pixel, share)| {
            let is_inside = pixel.cmpge(Vec2::ZERO).all() && pixel.cmplt(size.as_vec2()).all() && share > 0.0;
            is_inside.then(|| (pixel.y as usize * size.x as usize + pixel.x as usize, share))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Projection;

    fn view(lens: Option<Lens>) -> View {
        let camera = Camera::looking_at(Vec3::ZERO, Vec3::NEG_Z, core::f32::consts::FRAC_PI_2).unwrap();
        View { camera, size: UVec2::new(200, 100), lens, filter: PixelFilter::Box }
    }

    #[test]
    fn a_right_angle_from_bottom_to_top_reaches_as_far_up_as_ahead() {
        let corner = view(None).ray(UVec2::ZERO, [0.0; 4]).direction;
        assert!((corner - Vec3::new(-2.0, 1.0, -1.0).normalize()).length() < 1e-6, "{corner}");
        let middle = view(None).ray(UVec2::new(100, 50), [0.0; 4]).direction;
        assert!((middle - Vec3::NEG_Z).length() < 1e-6, "{middle}");
    }

    #[test]
    fn all_rays_through_a_lens_meet_where_it_is_focused() {
        let lens = Lens { radius: 0.1, focus: 3.0 };
        let pixel = UVec2::new(150, 10);
        let straight = view(None).ray(pixel, [0.5; 4]).direction;
        let sharp = straight * (3.0 / -straight.z);
        for u in [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.9, 0.3], [0.5, 0.5, 0.5, 0.8]] {
            let ray = view(Some(lens)).ray(pixel, u);
            let t = (sharp - ray.origin).dot(ray.direction);
            assert!((ray.at(t) - sharp).length() < 1e-5 && ray.origin.length() <= 0.1);
        }
    }

    #[test]
    fn what_a_ray_sees_is_seen_where_the_ray_began() {
        for lens in [None, Some(Lens { radius: 0.2, focus: 3.0 })] {
            let view = view(lens);
            for (pixel, u) in [(UVec2::new(150, 10), [0.3, 0.8, 0.5, 0.2]), (UVec2::new(0, 99), [0.9, 0.1, 0.1, 0.7])] {
                let ray = view.ray(pixel, u);
                for distance in [0.5, 3.0, 40.0] {
                    let sight = view.sight(ray.at(distance), [u[2], u[3]]).unwrap();
                    let expected = pixel.as_vec2() + Vec2::new(u[0], u[1]);
                    assert!((sight.place - expected).length() < 2e-3, "{} {expected}", sight.place);
                    assert!((sight.origin - ray.origin).length() < 1e-6);
                }
                assert_eq!(view.sight(ray.at(-1.0), [u[2], u[3]]), None, "behind the lens");
            }
        }
    }

    #[test]
    fn an_orthographic_camera_sees_a_square_as_large_near_as_far() {
        let mut view = View { lens: Some(Lens { radius: 1.0, focus: 1.0 }), ..view(None) };
        view.camera.projection = Projection::Orthographic { height: 10.0 };
        // A hundred rows show ten meters, so a square of two meters covers twenty rows at any distance.
        for distance in [0.1, 5.0, 1000.0] {
            let corner = view.sight(Vec3::new(-1.0, 1.0, -distance), [0.3, 0.7]).unwrap();
            assert!((corner.place - Vec2::new(90.0, 40.0)).length() < 1e-3, "{}", corner.place);
            let opposite = view.sight(Vec3::new(1.0, -1.0, -distance), [0.3, 0.7]).unwrap();
            assert!((opposite.place - Vec2::new(110.0, 60.0)).length() < 1e-3, "{}", opposite.place);
            // Solid angle of a pixel of a tenth of a meter, seen from there.
            assert!((corner.importance * 0.01 / (distance * distance) - 1.0).abs() < 1e-5);
            let ray = view.ray(UVec2::new(90, 40), [0.0, 0.0, 0.3, 0.7]);
            assert!((ray.at(distance) - Vec3::new(-1.0, 1.0, -distance)).length() < 1e-4);
            assert!((ray.origin - corner.origin).length() < 1e-4);
        }
        assert_eq!(view.sight(Vec3::Z, [0.0; 2]), None, "behind");
    }

    #[test]
    fn a_pixel_covers_as_many_steradians_as_its_importance_says() {
        let pixel = UVec2::new(20, 80);
        let corner = |x: f32, y: f32| view(None).ray(pixel, [x, y, 0.0, 0.0]).direction;
        let (along, down) = (corner(0.501, 0.5) - corner(0.499, 0.5), corner(0.5, 0.501) - corner(0.5, 0.499));
        let steradians = along.cross(down).length() / (0.002f32 * 0.002);
        let importance = view(None).sight(corner(0.5, 0.5) * 7.0, [0.0; 2]).unwrap().importance;
        assert!((importance * steradians - 1.0).abs() < 2e-3, "{importance} {steradians}");
    }

    #[test]
    fn filters_divide_light_among_the_pixels_whose_samples_reach_it() {
        let mut view = view(None);
        let place = Vec2::new(10.25, 7.5);
        assert_eq!(view.shares(place).collect::<Vec<_>>(), [(7 * 200 + 10, 1.0)]);
        view.filter = PixelFilter::Tent;
        let shares: Vec<_> = view.shares(place).collect();
        assert_eq!(shares, [(7 * 200 + 9, 0.25), (7 * 200 + 10, 0.75)]);
        assert_eq!(view.shares(Vec2::new(-3.0, 2.0)).count(), 0);
    }

    #[test]
    fn the_tent_reaches_to_the_neighbors_and_is_twice_as_dense_in_the_middle() {
        let places: Vec<f32> =
            (0..1000).map(|step| PixelFilter::Tent.place(Vec2::splat((step as f32 + 0.5) / 1000.0)).x).collect();
        assert!(places[0] > -0.5 && places[999] < 1.5 && places[0] < -0.45);
        let within = |from: f32, to: f32| places.iter().filter(|&&place| place >= from && place < to).count();
        // The pyramid has three quarters of its weight in the pixel itself.
        assert_eq!(within(0.0, 1.0), 750);
    }
}
