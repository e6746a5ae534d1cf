//! From places of a picture to rays.

use glam::{UVec2, Vec2};

use crate::geometry::{Ray, sin_cos_turns};
use crate::scene::Camera;

/// A camera, its lens, and the picture that it draws.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Where it stands and how much it sees from the bottom to the top.
    pub camera: Camera,
    /// Columns and rows of the picture.
    pub size: UVec2,
    /// A lens that blurs what is not in focus; none for a pinhole, which sees everything sharp.
    pub lens: Option<Lens>,
    /// How pixels weigh what is around their middle.
    pub filter: PixelFilter,
}

/// A thin lens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Metres; wider blurs more.
    pub radius: f32,
    /// Distance in metres, along the line of sight, of what is sharp.
    pub focus: f32,
}

/// How a pixel weighs what is around its middle. Samples are placed by weight, so each counts alike, in its pixel alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PixelFilter {
    /// The pixel's own square, all of it alike.
    Box,
    /// A pyramid that ends at the middles of the neighbours: smoother edges.
    #[default]
    Tent,
}

impl PixelFilter {
    /// Where in the pixel's surroundings a sample lies, from its top left corner in pixels.
    fn place(self, u: Vec2) -> Vec2 {
        let tent = |u: f32| if u < 0.5 { (2.0 * u).sqrt() - 1.0 } else { 1.0 - (2.0 - 2.0 * u).sqrt() };
        match self {
            Self::Box => u,
            Self::Tent => Vec2::new(tent(u.x), tent(u.y)) + 0.5,
        }
    }
}

impl View {
    /// The ray of a sample of a pixel, of unit length, chosen by four numbers in `[0, 1)`: place in the pixel, place on the
    /// lens.
    pub fn ray(&self, pixel: UVec2, [x, y, lens_x, lens_y]: [f32; 4]) -> Ray {
        let size = self.size.as_vec2();
        let place = (pixel.as_vec2() + self.filter.place(Vec2::new(x, y))) * 2.0 - size;
        let direction = self.camera.toward(Vec2::new(place.x, -place.y) / size.y);
        let Some(lens) = self.lens else {
            return Ray::new(self.camera.position, direction);
        };
        let sharp = self.camera.position + direction * (lens.focus / direction.dot(self.camera.forward));
        let (sine, cosine) = sin_cos_turns(lens_y);
        let across = (self.camera.right * cosine + self.camera.up * sine) * (lens.radius * lens_x.sqrt());
        let origin = self.camera.position + across;
        Ray::new(origin, (sharp - origin).normalize())
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

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
    fn the_tent_reaches_to_the_neighbours_and_is_twice_as_dense_in_the_middle() {
        let places: Vec<f32> =
            (0..1000).map(|step| PixelFilter::Tent.place(Vec2::splat((step as f32 + 0.5) / 1000.0)).x).collect();
        assert!(places[0] > -0.5 && places[999] < 1.5 && places[0] < -0.45);
        let within = |from: f32, to: f32| places.iter().filter(|&&place| place >= from && place < to).count();
        // The pyramid holds three quarters of its weight in the pixel itself.
        assert_eq!(within(0.0, 1.0), 750);
    }
}
