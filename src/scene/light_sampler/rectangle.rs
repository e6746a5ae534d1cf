//! Rectangular lights, sampled by the solid angle that they cover.

use glam::Vec3;

use super::{LightSample, Place, expected_of_matt, luminance};
use crate::geometry::Ray;
use crate::scene::LightKind;

/// A rectangle that shines from one side.
pub(super) struct RectangleLight {
    corner: Vec3,
    width: Vec3,
    height: Vec3,
    normal: Vec3,
    radiance: Vec3,
}

impl RectangleLight {
    /// `None` for a rectangle without area, and for lights of other kinds.
    pub fn new(kind: &LightKind) -> Option<Self> {
        let &LightKind::Rectangle { centre, half_width, half_height, normal, radiance } = kind else {
            return None;
        };
        (half_width != Vec3::ZERO && half_height != Vec3::ZERO).then(|| Self {
            corner: centre - half_width - half_height,
            width: half_width * 2.0,
            height: half_height * 2.0,
            normal,
            radiance,
        })
    }

    /// Emitted luminous flux in lumens.
    pub fn power(&self) -> f32 {
        core::f32::consts::PI * luminance(self.radiance) * self.area()
    }

    fn area(&self) -> f32 {
        self.width.length() * self.height.length()
    }

    /// About what illuminance in lux it brings to a place if nothing stands in the way.
    pub fn expected(&self, place: &Place) -> f32 {
        let offset = place.at - self.corner;
        let along = |edge: Vec3| (offset.dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        let nearest = self.corner + self.width * along(self.width) + self.height * along(self.height);
        expected_of_matt(self.power(), self.area(), place.view_of(nearest))
    }

    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        if (at - self.corner).dot(self.normal) <= 0.0 {
            return None;
        }
        let (point, solid_angle) = self.point(at, u)?;
        let direction = (point - at).try_normalize()?;
        let irradiance = self.radiance * (normal.dot(direction).max(0.0) * solid_angle);
        Some(LightSample { ray: Ray::between(at, point), direction, irradiance, density: None })
    }

    /// A point of the rectangle, uniform in solid angle seen from `at`, and that solid angle in steradians (Urena,
    /// Fajardo and King 2013, "An Area-Preserving Parametrization for Spherical Rectangles").
    fn point(&self, at: Vec3, u: [f32; 2]) -> Option<(Vec3, f32)> {
        let (x_axis, y_axis) = (self.width.normalize(), self.height.normalize());
        let mut z_axis = x_axis.cross(y_axis);
        let offset = self.corner - at;
        let mut z0 = offset.dot(z_axis);
        if z0 > 0.0 {
            z_axis = -z_axis;
            z0 = -z0;
        }
        let (x0, y0) = (offset.dot(x_axis), offset.dot(y_axis));
        let (x1, y1) = (x0 + self.width.length(), y0 + self.height.length());
        // The z components of the normals of the four planes through the receiver and an edge. Double precision, because
        // the four angles nearly cancel.
        let slope = |across: f32| -f64::from(across) / f64::from(z0).hypot(f64::from(across));
        let planes = [slope(y0), -slope(x1), -slope(y1), slope(x0)];
        let angle = |edge: usize| (-planes[edge] * planes[(edge + 1) % 4]).clamp(-1.0, 1.0).acos();
        let angles: [f64; 4] = core::array::from_fn(angle);
        let solid_angle = angles.iter().sum::<f64>() - core::f64::consts::TAU;
        if solid_angle < MINIMUM_SOLID_ANGLE {
            return self.far_point(at, u);
        }
        let azimuth = f64::from(u[0]) * solid_angle + core::f64::consts::TAU - angles[2] - angles[3];
        let (sine, cosine) = azimuth.sin_cos();
        let f = (cosine * planes[0] - planes[2]) / sine;
        let cu = (1.0f64.copysign(f) / f.hypot(planes[0])).clamp(-1.0, 1.0);
        let x = (-(cu * f64::from(z0)) / (1.0 - cu * cu).max(1e-24).sqrt()) as f32;
        let x = x.clamp(x0, x1);
        let distance = (x * x + z0 * z0).sqrt();
        let h0 = y0 / (distance * distance + y0 * y0).sqrt();
        let h1 = y1 / (distance * distance + y1 * y1).sqrt();
        let h = h0 + u[1] * (h1 - h0);
        let rest = 1.0 - h * h;
        let y = if rest > 1e-6 { (h * distance / rest.sqrt()).clamp(y0, y1) } else { y1 };
        Some((at + x_axis * x + y_axis * y + z_axis * z0, solid_angle as f32))
    }

    /// A point uniform in area, and the solid angle that the whole rectangle would cover if it all looked like the
    /// surroundings of that point: exact in the mean, and precise where the spherical rectangle's angles cancel.
    fn far_point(&self, at: Vec3, u: [f32; 2]) -> Option<(Vec3, f32)> {
        let point = self.corner + self.width * u[0] + self.height * u[1];
        let offset = at - point;
        let distance_squared = offset.length_squared();
        let cosine = offset.dot(self.normal) / distance_squared.sqrt();
        (cosine > 0.0).then(|| (point, self.area() * cosine / distance_squared))
    }
}

/// Steradians below which the difference of the four angles is no longer precise.
const MINIMUM_SOLID_ANGLE: f64 = 1e-4;
