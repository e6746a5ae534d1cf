//! Rectangular lights, sampled by solid angle.

use glam::{Vec2, Vec3};

use super::{Emission, LightNode, LightSample, Place, expected_of_diffuse};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::{Aabb, Ray, arc_tangent, sin_cos_turns};
use crate::scene::LightKind;
use crate::scene::luminance;

/// Rectangle that emits from one side.
pub(super) struct RectangleLight {
    pub(super) corner: Vec3,
    pub(super) width: Vec3,
    pub(super) height: Vec3,
    pub(super) normal: Vec3,
    pub(super) radiance: Vec3,
}

impl RectangleLight {
    /// Creates the light; `None` for a rectangle without area, and for other kinds of light.
    pub fn new(kind: &LightKind) -> Option<Self> {
        let &LightKind::Rectangle { center, half_width, half_height, normal, radiance } = kind else {
            return None;
        };
        (half_width != Vec3::ZERO && half_height != Vec3::ZERO).then(|| Self {
            corner: center - half_width - half_height,
            width: half_width * 2.0,
            height: half_height * 2.0,
            normal,
            radiance,
        })
    }

    /// Returns the emitted luminous flux in lumens.
    pub fn power(&self) -> f32 {
        core::f32::consts::PI * luminance(self.radiance) * self.area()
    }

    /// Returns the area in square meters.
    pub fn area(&self) -> f32 {
        self.width.length() * self.height.length()
    }

    /// Returns the approximate unoccluded illuminance in lux at a receiver.
    pub fn expected(&self, place: &Place) -> f32 {
        let offset = place.at - self.corner;
        let along = |edge: Vec3| (offset.dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
        let nearest = self.corner + self.width * along(self.width) + self.height * along(self.height);
        expected_of_diffuse(self.power(), self.area(), place.view_of(nearest))
    }

    /// Returns the leaf for the light tree.
    pub fn node(&self) -> LightNode {
        let corners = [Vec3::ZERO, self.width, self.height, self.width + self.height].map(|edge| self.corner + edge);
        let bounds =
            corners.into_iter().fold(Aabb::EMPTY, |bounds, corner| bounds.union(Aabb { min: corner, max: corner }));
        LightNode::near(bounds, luminance(self.radiance) * self.area(), self.normal, [1.0, 0.0])
    }

    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        if (at - self.corner).dot(self.normal) <= 0.0 {
            return None;
        }
        let (point, solid_angle) = self.point(at, u)?;
        let direction = (point - at).try_normalize()?;
        let irradiance = self.radiance * (normal.dot(direction).max(0.0) * solid_angle);
        Some(LightSample { ray: Ray::between(at, point), direction, irradiance, pdf: None })
    }

    /// Samples an emitted ray by four numbers in `[0, 1)`.
    pub fn emit(&self, u: [f32; 4]) -> Emission {
        let origin = self.corner + self.width * u[0] + self.height * u[1];
        let ray = Ray::new(origin, cosine_hemisphere(self.normal, Vec2::new(u[2], u[3])));
        let power = self.radiance * (core::f32::consts::PI * self.area());
        Emission { ray, power, radiance: Some(self.radiance), range: f32::INFINITY }
    }

    /// Samples a point uniformly in solid angle seen from `at`. Returns the point and the rectangle's solid angle in
    /// steradians. Source: Urena, Fajardo and King 2013, "An Area-Preserving Parametrization for Spherical Rectangles".
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
        let solid_angle = solid_angle([x0, x1], [y0, y1], z0);
        if solid_angle < MINIMUM_SOLID_ANGLE {
            return self.far_point(at, u);
        }
        // Normals of the planes through the receiver and three edges: their z components, each with its complement
        // sqrt(1 - z^2).
        let plane = |across: f32| {
            let distance = (z0 * z0 + across * across).sqrt();
            (across / distance, z0 / distance)
        };
        let (bottom, top, left) = (plane(-y0), plane(y1), plane(-x0));
        // The angle between two planes, computed from a tangent, because the cosine is imprecise for small angles.
        let angle = |(a, rest_a): (f32, f32), (b, rest_b): (f32, f32)| {
            arc_tangent((rest_a * rest_a + a * a * rest_b * rest_b).sqrt(), -a * b)
        };
        let azimuth = u[0] * solid_angle + core::f32::consts::TAU - angle(top, left) - angle(left, bottom);
        let (sine, cosine) = sin_cos_turns(azimuth / core::f32::consts::TAU);
        let f = (cosine * bottom.0 - top.0) / sine;
        let cu = (1.0f32.copysign(f) / (f * f + bottom.0 * bottom.0).sqrt()).clamp(-1.0, 1.0);
        let x = (-(cu * z0) / ((1.0 - cu) * (1.0 + cu)).max(1e-12).sqrt()).clamp(x0, x1);
        let distance = (x * x + z0 * z0).sqrt();
        let h0 = y0 / (distance * distance + y0 * y0).sqrt();
        let h1 = y1 / (distance * distance + y1 * y1).sqrt();
        let h = h0 + u[1] * (h1 - h0);
        let rest = 1.0 - h * h;
        let y = if rest > 1e-6 { (h * distance / rest.sqrt()).clamp(y0, y1) } else { y1 };
        Some((at + x_axis * x + y_axis * y + z_axis * z0, solid_angle))
    }

    /// Samples a point uniformly in area. Returns the point and the solid angle extrapolated from the point to the
    /// whole rectangle. The result is unbiased, and precise where spherical rectangles are not.
    fn far_point(&self, at: Vec3, u: [f32; 2]) -> Option<(Vec3, f32)> {
        let point = self.corner + self.width * u[0] + self.height * u[1];
        let offset = at - point;
        let distance_squared = offset.length_squared();
        let cosine = offset.dot(self.normal) / distance_squared.sqrt();
        (cosine > 0.0).then(|| (point, self.area() * cosine / distance_squared))
    }
}

/// Solid angle in steradians below which the azimuth in single precision no longer resolves the rectangle.
const MINIMUM_SOLID_ANGLE: f32 = 3e-3;

/// Returns the solid angle in steradians of a rectangle seen from the origin. Sums two triangles (van Oosterom and
/// Strackee 1983), whose terms do not cancel for small rectangles. The relative error is below 2e-5 if the distance is
/// at least a four-hundredth of the width.
fn solid_angle([x0, x1]: [f32; 2], [y0, y1]: [f32; 2], z: f32) -> f32 {
    let [a, b, c, d] = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(|[x, y]| Vec3::new(x, y, z));
    let volume = z.abs() * (x1 - x0) * (y1 - y0);
    let triangle = |a: Vec3, b: Vec3, c: Vec3| {
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        2.0 * arc_tangent(volume, la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
    };
    triangle(a, b, c) + triangle(a, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::{OwenSobol, hash, unit_float};

    /// Returns Lambert's formula for the vector irradiance of a polygon of radiance one, in double precision.
    fn irradiance(corners: [[f64; 3]; 4], normal: [f64; 3]) -> f64 {
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let cross = |a: [f64; 3], b: [f64; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        (0..4)
            .map(|edge| {
                let (a, b) = (corners[edge], corners[(edge + 1) % 4]);
                let product = cross(a, b);
                let length = dot(product, product).sqrt();
                0.5 * length.atan2(dot(a, b)) * dot(product, normal) / length
            })
            .sum::<f64>()
            .abs()
    }

    /// Returns the solid angle, from angles between planes in double precision.
    fn true_solid_angle([x0, x1]: [f64; 2], [y0, y1]: [f64; 2], z: f64) -> f64 {
        let quadrant = |x: f64, y: f64| (x * y / (z * (x * x + y * y + z * z).sqrt())).atan();
        (quadrant(x1, y1) - quadrant(x0, y1) - quadrant(x1, y0) + quadrant(x0, y0)).abs()
    }

    #[test]
    fn solid_angles_are_precise_for_rectangles_of_any_size_and_place() {
        let points = OwenSobol::new(1);
        for index in 0..4096 {
            let [x, y, width, height] = points.point(index);
            let span = |start: f32, length: f32| [start * 8.0 - 4.0, start * 8.0 - 4.0 + 0.1 + 4.0 * length];
            let (across, up) = (span(x, width), span(y, height));
            let z = -0.01 - 3.0 * unit_float(hash(index));
            let expected = true_solid_angle(across.map(f64::from), up.map(f64::from), f64::from(-z));
            let found = f64::from(solid_angle(across, up, z));
            assert!((found / expected - 1.0).abs() < 2e-5, "{across:?} {up:?} {z}: {found}, not {expected}");
        }
    }

    #[test]
    fn receivers_anywhere_find_the_exact_irradiance() {
        const COUNT: u32 = 4096;
        let points = OwenSobol::new(5);
        // In front of the center, near an edge, far to the side, at a grazing angle, and a long tube from nearby.
        for (half_width, half_height, x, y, distance, tolerance) in [
            (0.5, 0.5, 0.0, 0.0, 0.01, 2e-3),
            (0.5, 0.3, 0.49, 0.0, 0.05, 2e-3),
            (0.5, 0.3, 4.0, -2.0, 1.0, 5e-4),
            (0.5, 0.5, 3.0, 0.0, 0.05, 5e-3),
            (2.0, 0.01, 0.3, 0.2, 0.3, 2e-3),
            (0.05, 0.05, 0.0, 1.0, 1.0, 5e-4),
        ] {
            let rectangle = RectangleLight::new(&LightKind::Rectangle {
                center: Vec3::new(-x, -y, -distance),
                half_width: Vec3::X * half_width,
                half_height: Vec3::Y * half_height,
                normal: Vec3::Z,
                radiance: Vec3::ONE,
            });
            let rectangle = rectangle.unwrap();
            let mean = (0..COUNT)
                .filter_map(|index| {
                    let [u, v, ..] = points.point(index);
                    rectangle.sample(Vec3::ZERO, Vec3::NEG_Z, [u, v])
                })
                .map(|sample| f64::from(sample.irradiance.x))
                .sum::<f64>()
                / f64::from(COUNT);
            let corner = |dx: f32, dy: f32| {
                [f64::from(dx * half_width - x), f64::from(dy * half_height - y), -f64::from(distance)]
            };
            let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
            let expected = irradiance(corners, [0.0, 0.0, -1.0]);
            assert!((mean / expected - 1.0).abs() < tolerance, "{x} {y} {distance}: {mean}, not {expected}");
        }
    }
}
