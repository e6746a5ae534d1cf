//! Analytic form factor from a point to a polygon.

use core::f64::consts::FRAC_1_PI;

use glam::{DVec3, Vec3};

use crate::geometry::clip::split;

/// Maximum number of corners. The intersection of a triangle and a rectangle has seven, and each of two clips may add
/// one.
pub(super) const MAX_CORNERS: usize = 16;

/// Returns the form factor from a surface point to an unoccluded convex polygon.
///
/// The polygon covers this fraction of the cosine-weighted hemisphere about `normal` (Lambert's formula, Cohen and
/// Wallace 1993; `000` S1). `corners` turn counter-clockwise, seen from the emitting side. A point behind that side
/// receives nothing. The polygon is clipped by the planes of `normal` and `horizon`, the geometric normal of the
/// surface. Both are unit vectors. Corners beyond the first fourteen are ignored.
pub fn point_to_polygon(point: Vec3, normal: Vec3, horizon: Vec3, corners: &[Vec3]) -> f32 {
    let mut outline = Outline::new(point, corners);
    outline.clip(normal.as_dvec3());
    if horizon != normal {
        outline.clip(horizon.as_dvec3());
    }
    outline.share_of_hemisphere(normal.as_dvec3()).max(0.0) as f32
}

/// Polygon corners relative to a point.
struct Outline {
    corners: [DVec3; MAX_CORNERS],
    count: usize,
}

impl Outline {
    fn new(point: Vec3, corners: &[Vec3]) -> Self {
        let mut outline = Self { corners: [DVec3::ZERO; MAX_CORNERS], count: corners.len().min(MAX_CORNERS - 2) };
        let point = point.as_dvec3();
        for (seen, corner) in outline.corners[..outline.count].iter_mut().zip(corners) {
            *seen = corner.as_dvec3() - point;
        }
        outline
    }

    /// Clips the polygon to the half-space above the plane through the point.
    fn clip(&mut self, normal: DVec3) {
        let before = self.corners;
        let corners = &before[..self.count];
        if corners.iter().all(|corner| normal.dot(*corner) >= 0.0) {
            return;
        }
        self.count = 0;
        let cross = |from: &DVec3, to: &DVec3, t: f64| from.lerp(*to, t);
        split(corners, |corner| normal.dot(*corner), cross, |_| (), |corner| self.push(corner));
    }

    fn push(&mut self, corner: DVec3) {
        // Each clip of a convex polygon adds at most one corner, and the array has room for two clips.
        if self.count < MAX_CORNERS {
            self.corners[self.count] = corner;
            self.count += 1;
        }
    }

    fn share_of_hemisphere(&self, normal: DVec3) -> f64 {
        let corners = &self.corners[..self.count];
        let edges = corners.iter().zip(corners.iter().cycle().skip(1));
        let sum: f64 = edges.map(|(from, to)| normal.dot(arc(*from, *to))).sum();
        // The corners turn clockwise as seen from the point, so the sign is negative.
        -0.5 * FRAC_1_PI * sum
    }
}

/// Returns the vector along `from x to` with the angle between both as its length.
fn arc(from: DVec3, to: DVec3) -> DVec3 {
    let across = from.cross(to);
    let sine = across.length();
    if sine == 0.0 { DVec3::ZERO } else { across * (libm::atan2(sine, from.dot(to)) / sine) }
}

#[cfg(test)]
mod tests {
    use core::f32::consts::PI;

    use glam::Vec2;

    use super::*;
    use crate::geometry::sampling::{cosine_hemisphere, orthonormal_basis};
    use crate::geometry::sobol::OwenSobol;
    use crate::geometry::{Ray, Triangle, WatertightRay};

    /// Returns a rectangle in the plane y = `height` that emits downwards.
    fn ceiling(min: Vec2, max: Vec2, height: f32) -> [Vec3; 4] {
        [(min.x, min.y), (max.x, min.y), (max.x, max.y), (min.x, max.y)].map(|(x, z)| Vec3::new(x, height, z))
    }

    #[test]
    fn a_parallel_rectangle_above_one_of_its_corners_matches_the_table() {
        // Howell B-3: a rectangle `a` by `b` at a distance of `c`, with the point below a corner.
        for (a, b, c) in [(1.0f32, 1.0f32, 1.0f32), (2.0, 0.5, 1.0), (0.1, 3.0, 0.7), (20.0, 20.0, 0.5)] {
            let (x, y) = (a / c, b / c);
            let (rx, ry) = ((1.0 + x * x).sqrt(), (1.0 + y * y).sqrt());
            let expected = (x / rx * (y / rx).atan() + y / ry * (x / ry).atan()) / (2.0 * PI);
            let found = point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &ceiling(Vec2::ZERO, Vec2::new(a, b), c));
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} instead of {expected}");
        }
    }

    #[test]
    fn a_perpendicular_rectangle_that_touches_the_plane_matches_the_table() {
        // Howell B-4: a wall `a` wide and `c` high at a distance of `b`. The point is before a lower corner.
        for (a, b, c) in [(1.0f32, 1.0f32, 1.0f32), (3.0, 0.25, 2.0), (0.5, 2.0, 8.0)] {
            let (x, y) = (a / b, c / b);
            let root = (1.0 + y * y).sqrt();
            let expected = (x.atan() - (x / root).atan() / root) / (2.0 * PI);
            let wall = [Vec3::new(0.0, 0.0, b), Vec3::new(0.0, c, b), Vec3::new(a, c, b), Vec3::new(a, 0.0, b)];
            let found = point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &wall);
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} instead of {expected}");
            let from_behind = [wall[3], wall[2], wall[1], wall[0]];
            assert_eq!(point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &from_behind), 0.0);
        }
    }

    #[test]
    fn what_lies_below_the_horizon_does_not_count() {
        let wall = |foot: f32| {
            [Vec3::new(-1.0, foot, 1.0), Vec3::new(-1.0, 2.0, 1.0), Vec3::new(1.0, 2.0, 1.0), Vec3::new(1.0, foot, 1.0)]
        };
        let whole = point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &wall(0.0));
        let sunk = point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &wall(-3.0));
        assert!((whole - sunk).abs() < 1e-7, "{whole} {sunk}");
        let below = ceiling(Vec2::splat(-1.0), Vec2::splat(1.0), -1.0);
        assert_eq!(point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &below), 0.0);
    }

    #[test]
    fn the_walls_of_a_closed_box_fill_the_hemisphere() {
        let (min, max) = (Vec3::new(-0.3, 0.0, -2.0), Vec3::new(4.0, 1.5, 0.1));
        let corner = |x: usize, y: usize, z: usize| {
            let pick = |side: usize, axis: usize| if side == 1 { max[axis] } else { min[axis] };
            Vec3::new(pick(x, 0), pick(y, 1), pick(z, 2))
        };
        let faces = [
            [corner(0, 0, 0), corner(0, 0, 1), corner(1, 0, 1), corner(1, 0, 0)],
            [corner(0, 1, 0), corner(1, 1, 0), corner(1, 1, 1), corner(0, 1, 1)],
            [corner(0, 0, 0), corner(1, 0, 0), corner(1, 1, 0), corner(0, 1, 0)],
            [corner(0, 0, 1), corner(0, 1, 1), corner(1, 1, 1), corner(1, 0, 1)],
            [corner(0, 0, 0), corner(0, 1, 0), corner(0, 1, 1), corner(0, 0, 1)],
            [corner(1, 0, 0), corner(1, 0, 1), corner(1, 1, 1), corner(1, 1, 0)],
        ];
        for normal in [Vec3::Y, Vec3::new(0.6, 0.8, 0.0), Vec3::new(-0.3, 0.5, 0.7).normalize()] {
            let sum: f32 =
                faces.iter().map(|face| point_to_polygon(Vec3::new(1.0, 0.7, -1.0), normal, normal, face)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        }
    }

    #[test]
    fn cosine_weighted_rays_meet_a_triangle_as_often_as_the_form_factor_says() {
        let triangle = Triangle::new(Vec3::new(-0.4, 0.8, 1.0), Vec3::new(0.9, 1.4, 0.7), Vec3::new(0.1, 0.3, 1.2));
        let triangle = if triangle.normal().dot(triangle.corners[0]) > 0.0 {
            Triangle::new(triangle.corners[0], triangle.corners[2], triangle.corners[1])
        } else {
            triangle
        };
        // The shading normal is tilted, and the geometric horizon cuts off part of its hemisphere.
        let (normal, horizon) = (Vec3::new(0.3, 0.9, 0.3).normalize(), Vec3::new(0.0, 0.8, -0.6));
        let expected = point_to_polygon(Vec3::ZERO, normal, horizon, &triangle.corners);
        let rays = 1 << 18;
        let numbers = OwenSobol::new(5);
        let hits = (0..rays).filter(|&ray| {
            let [x, y, ..] = numbers.point(ray);
            let direction = cosine_hemisphere(normal, Vec2::new(x, y));
            let seen = triangle.intersect(&WatertightRay::new(&Ray::new(Vec3::ZERO, direction))).is_some();
            seen && direction.dot(horizon) > 0.0
        });
        let found = hits.count() as f32 / rays as f32;
        assert!(expected > 0.005 && (found / expected - 1.0).abs() < 0.01, "{found} by rays, {expected} by formula");
    }

    #[test]
    fn small_and_distant_polygons_become_the_solid_angle_formula() {
        let (tangent, bitangent) = orthonormal_basis(Vec3::new(0.0, -0.6, 0.8));
        let center = Vec3::new(0.0, 30.0, -40.0);
        let edge = 1e-3;
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
            .map(|(x, y)| center + (tangent * x + bitangent * y) * (0.5 * edge));
        let cosine = 0.6;
        let expected = edge * edge * cosine / (PI * 2500.0);
        let found = point_to_polygon(Vec3::ZERO, Vec3::Y, Vec3::Y, &corners);
        // Corners are rounded to single precision: four micrometers relative to a millimeter.
        assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
    }

    #[test]
    fn patches_exchange_light_in_proportion_to_their_areas() {
        // Reciprocity: A F of one to the other is the same either way.
        let floor = [Vec3::ZERO, 2.0 * Vec3::X, Vec3::Z];
        let tilted = [Vec3::new(0.5, 1.0, 0.2), Vec3::new(0.1, 0.2, 0.8), Vec3::new(1.0, 0.3, 0.0)];
        // Corner and edges a and b of parallelograms, which face b x a.
        let corners = |[corner, a, b]: [Vec3; 3]| [corner, corner + b, corner + a + b, corner + a];
        let exchange = |[corner, a, b]: [Vec3; 3], to: [Vec3; 3]| {
            let (points, cross) = (OwenSobol::new(3), b.cross(a));
            let factor = |index| {
                let [u, v, ..] = points.point(index);
                point_to_polygon(corner + a * u + b * v, cross.normalize(), cross.normalize(), &corners(to))
            };
            cross.length() * (0..4096).map(factor).sum::<f32>() / 4096.0
        };
        let [there, back] = [exchange(floor, tilted), exchange(tilted, floor)];
        assert!(there > 0.1 && (there / back - 1.0).abs() < 1e-3, "{there} {back}");
    }
}
