//! Shafts: the volume between two boxes.

use glam::Vec3;

use crate::geometry::{Aabb, Triangle};

/// Shaft (Haines and Wallace 1991; `000` S1): the convex hull of two boxes, or slightly more. The shaft contains every
/// segment between the interiors of both boxes. Geometry that only touches the shaft is outside, such as a wall that
/// both boxes adjoin.
#[derive(Clone, Debug)]
pub struct Shaft {
    /// Bounding box of both boxes.
    bounds: Aabb,
    planes: [Plane; MAX_PLANES],
    count: usize,
}

/// Maximum number of planes: eight that join the boxes, and two for the front sides of both ends.
const MAX_PLANES: usize = 10;

/// Plane with its outside in the direction of the normal, beyond the distance.
#[derive(Clone, Copy, Debug, Default)]
struct Plane {
    normal: Vec3,
    distance: f32,
}

impl Shaft {
    /// Creates the shaft between two boxes.
    pub fn between(a: Aabb, b: Aabb) -> Self {
        let bounds = a.union(b);
        // The margin covers rounding errors of the planes.
        let margin = 1e-6 * (1.0 + bounds.min.abs().max(bounds.max.abs()).max_element());
        let bounds = Aabb { min: bounds.min + margin, max: bounds.max - margin };
        let mut shaft = Self { bounds, planes: [Plane::default(); MAX_PLANES], count: 0 };
        for (u, v) in [(0, 1), (1, 2), (2, 0)] {
            for (sign_u, sign_v) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                shaft.join_edges(&a, &b, [(u, sign_u), (v, sign_v)], margin);
            }
        }
        shaft
    }

    /// Adds the plane through an edge of each box. There is none unless one box reaches further towards one face, and
    /// the other towards the second face.
    fn join_edges(&mut self, a: &Aabb, b: &Aabb, faces: [(usize, f32); 2], margin: f32) {
        let reach =
            |aabb: &Aabb, (axis, sign): (usize, f32)| sign * if sign > 0.0 { aabb.max[axis] } else { aabb.min[axis] };
        let [ahead_u, ahead_v] = faces.map(|face| reach(a, face) - reach(b, face));
        if ahead_u * ahead_v >= 0.0 {
            return;
        }
        let mut normal = Vec3::ZERO;
        normal[faces[0].0] = faces[0].1 * ahead_v.abs();
        normal[faces[1].0] = faces[1].1 * ahead_u.abs();
        let normal = normal.normalize_or_zero();
        let corner = |aabb: &Aabb| faces.iter().map(|face| normal[face.0] * face.1 * reach(aabb, *face)).sum::<f32>();
        self.add(normal, corner(a).max(corner(b)) - margin);
    }

    /// Excludes the half-space below a plane through a point, which cannot occlude receivers above.
    pub fn keep_above(&mut self, point: Vec3, normal: Vec3) {
        let margin = 1e-7 * (1.0 + point.abs().max_element());
        self.add(-normal, -normal.dot(point) - margin);
    }

    fn add(&mut self, normal: Vec3, distance: f32) {
        if self.count < MAX_PLANES {
            self.planes[self.count] = Plane { normal, distance };
            self.count += 1;
        }
    }

    /// Returns false if no part of the box lies in the shaft.
    pub fn touches_box(&self, aabb: &Aabb) -> bool {
        !self.bounds.intersection(*aabb).is_empty()
            && self.planes[..self.count].iter().all(|plane| {
                let nearest = Vec3::select(plane.normal.cmpgt(Vec3::ZERO), aabb.min, aabb.max);
                plane.normal.dot(nearest) <= plane.distance
            })
    }

    /// Returns false if the triangle lies completely outside a plane, or outside the bounding box.
    pub fn touches(&self, triangle: &Triangle) -> bool {
        !self.bounds.intersection(triangle.bounds()).is_empty()
            && self.planes[..self.count]
                .iter()
                .all(|plane| triangle.corners.iter().any(|corner| plane.normal.dot(*corner) <= plane.distance))
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;
    use crate::geometry::sampling::uniform_sphere;
    use crate::geometry::sobol::OwenSobol;

    fn cube(center: Vec3, half: f32) -> Aabb {
        Aabb { min: center - half, max: center + half }
    }

    fn small_triangle(at: Vec3) -> Triangle {
        Triangle::new(at, at + Vec3::X * 0.1, at + Vec3::Y * 0.1)
    }

    #[test]
    fn the_coarse_box_rejects_c_the_shaft_rejects_d_and_e_and_f_remain() {
        // Figure 2.2 of the thesis, with A low on the left and B high on the right.
        let shaft = Shaft::between(cube(Vec3::ZERO, 0.5), cube(Vec3::new(8.0, 6.0, 0.0), 0.5));
        let [c, d] = [Vec3::new(4.0, 9.0, 0.0), Vec3::new(7.5, 0.5, 0.0)].map(small_triangle);
        let [e, f] = [Vec3::new(4.0, 3.0, 0.0), Vec3::new(3.0, 3.1, 0.2)].map(small_triangle);
        assert!(shaft.bounds.intersection(c.bounds()).is_empty() && !shaft.touches(&c));
        assert!(!shaft.bounds.intersection(d.bounds()).is_empty() && !shaft.touches(&d));
        assert!(shaft.touches(&e) && shaft.touches(&f));
    }

    #[test]
    fn every_segment_between_two_boxes_lies_in_their_shaft() {
        let numbers = OwenSobol::new(9);
        let inner = |u: Vec3| Vec3::splat(1e-3) + u * 0.998;
        for pair in 0..200 {
            let [x, y, z, w] = numbers.point(pair);
            let a = cube(Vec3::ZERO, 0.2 + w);
            let b = Aabb { min: Vec3::new(x, y, z) * 6.0 - 3.0, max: Vec3::new(x + w, y + 0.1, z + x * y) * 6.0 - 3.0 };
            let shaft = Shaft::between(a, b);
            for point in 0..50 {
                let [s, t, u, v] = OwenSobol::new(pair).point(point);
                let from = a.min + a.extent() * inner(Vec3::new(s, t, u));
                let to = b.min + b.extent() * inner(Vec3::new(v, s, t));
                let at = from.lerp(to, u);
                let speck = uniform_sphere(Vec2::new(v, t)) * 0.05;
                assert!(
                    shaft.touches(&Triangle::new(at, at + speck, at + Vec3::new(speck.z, speck.x, speck.y))),
                    "{pair} {point}"
                );
                assert!(shaft.touches_box(&Aabb { min: at, max: at + 0.1 }));
            }
        }
    }

    #[test]
    fn a_wall_that_both_ends_stand_at_is_outside() {
        let ends = [0.0, 2.0].map(|y| Aabb { min: Vec3::new(0.0, y, 0.0), max: Vec3::new(1.0, y, 1.0) });
        let shaft = Shaft::between(ends[0], ends[1]);
        let wall = Triangle::new(Vec3::new(0.0, -1.0, -5.0), Vec3::new(0.0, 9.0, 0.0), Vec3::new(0.0, -1.0, 5.0));
        assert!(!shaft.touches(&wall));
        let inside = Triangle { corners: wall.corners.map(|corner| corner + Vec3::X * 0.001) };
        assert!(shaft.touches(&inside));
    }

    #[test]
    fn the_plane_of_an_end_and_what_lies_behind_it_hide_nothing() {
        // A ramp with a box as high as wide.
        let ramp = Aabb { min: Vec3::ZERO, max: Vec3::ONE };
        let mut shaft = Shaft::between(ramp, cube(Vec3::new(0.0, 5.0, 0.5), 0.5));
        let in_ramp = Triangle::new(Vec3::new(0.1, 0.1, 0.1), Vec3::new(0.9, 0.9, 0.2), Vec3::new(0.5, 0.5, 0.9));
        assert!(shaft.touches(&in_ramp));
        shaft.keep_above(Vec3::ZERO, Vec3::new(-1.0, 1.0, 0.0).normalize());
        assert!(!shaft.touches(&in_ramp));
        let above = Triangle { corners: in_ramp.corners.map(|corner| corner + Vec3::Y * 0.01) };
        assert!(shaft.touches(&above));
    }
}
