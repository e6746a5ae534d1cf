//! Clips a triangle to both halves of a cell (Havran and Bittner 2002: "split clipping").

use glam::DVec3;

use crate::geometry::{Aabb, Triangle};

/// Returns the bounding boxes of the triangle's parts below and above a plane of a cell; `None` for an empty part.
///
/// The cell is closed. Boxes are computed in double precision and rounded outwards, so that they are conservative.
pub(super) fn clip_halves(triangle: &Triangle, cell: Aabb, axis: usize, position: f32) -> [Option<Aabb>; 2] {
    let polygon = Polygon::in_cell(triangle, cell);
    let mut below = Extent::EMPTY;
    let mut above = Extent::EMPTY;
    let plane = f64::from(position);
    for (from, to) in polygon.edges() {
        if from[axis] <= plane {
            below.include(from);
        }
        if from[axis] >= plane {
            above.include(from);
        }
        if let Some(crossing) = crossing(from, to, axis, plane) {
            below.include(crossing);
            above.include(crossing);
        }
    }
    // A part that only touches the plane is dropped from that side, unless the whole triangle lies in the plane.
    let touches_below = below.min[axis] == plane && above.max[axis] > plane;
    let touches_above = above.max[axis] == plane && below.min[axis] < plane;
    let (mut lower, mut upper) = (cell, cell);
    lower.max[axis] = position;
    upper.min[axis] = position;
    [below.rounded(lower).filter(|_| !touches_below), above.rounded(upper).filter(|_| !touches_above)]
}

/// Returns the intersection of an edge with a plane if its end points lie strictly on opposite sides.
#[inline(always)]
fn crossing(from: DVec3, to: DVec3, axis: usize, plane: f64) -> Option<DVec3> {
    let (a, b) = (from[axis] - plane, to[axis] - plane);
    (a * b < 0.0).then(|| {
        let mut point = from + (to - from) * (a / (a - b));
        point[axis] = plane;
        point
    })
}

/// Bounding box in double precision.
struct Extent {
    min: DVec3,
    max: DVec3,
}

impl Extent {
    const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    #[inline(always)]
    fn include(&mut self, point: DVec3) {
        self.min = self.min.min(point);
        self.max = self.max.max(point);
    }

    /// Returns the smallest enclosing single-precision box, clipped to a cell; `None` if empty.
    #[inline(always)]
    fn rounded(&self, cell: Aabb) -> Option<Aabb> {
        let (mut min, mut max) = (self.min.as_vec3(), self.max.as_vec3());
        for axis in 0..3 {
            if f64::from(min[axis]) > self.min[axis] {
                min[axis] = min[axis].next_down();
            }
            if f64::from(max[axis]) < self.max[axis] {
                max[axis] = max[axis].next_up();
            }
        }
        Some(Aabb { min, max }.intersection(cell)).filter(|bounds| !bounds.is_empty())
    }
}

/// Convex polygon of up to nine corners: three of the triangle, plus at most one for each face of a cell.
struct Polygon {
    corners: [DVec3; 9],
    len: usize,
}

impl Polygon {
    /// Clips a triangle to a cell (Sutherland and Hodgman 1974).
    fn in_cell(triangle: &Triangle, cell: Aabb) -> Self {
        let mut polygon = Self { corners: [DVec3::ZERO; 9], len: 3 };
        for (corner, point) in polygon.corners.iter_mut().zip(triangle.corners) {
            *corner = point.as_dvec3();
        }
        let bounds = triangle.bounds();
        for axis in 0..3 {
            if bounds.min[axis] < cell.min[axis] {
                polygon.cut(axis, f64::from(cell.min[axis]), 1.0);
            }
            if bounds.max[axis] > cell.max[axis] {
                polygon.cut(axis, f64::from(cell.max[axis]), -1.0);
            }
        }
        polygon
    }

    /// Keeps the part above (`side` 1) or below (`side` -1) a plane, including the plane itself.
    fn cut(&mut self, axis: usize, plane: f64, side: f64) {
        let mut kept = Self { corners: [DVec3::ZERO; 9], len: 0 };
        for (from, to) in self.edges() {
            if (from[axis] - plane) * side >= 0.0 {
                kept.push(from);
            }
            if let Some(point) = crossing(from, to, axis, plane) {
                kept.push(point);
            }
        }
        *self = kept;
    }

    #[inline(always)]
    fn push(&mut self, point: DVec3) {
        // Rounding may let a nearly flat polygon cross a plane more than twice. Only then is a surplus corner dropped.
        if let Some(corner) = self.corners.get_mut(self.len) {
            *corner = point;
            self.len += 1;
        }
    }

    #[inline(always)]
    fn edges(&self) -> impl Iterator<Item = (DVec3, DVec3)> + '_ {
        let corners = &self.corners[..self.len];
        corners.iter().enumerate().map(|(index, &from)| {
            let next = if index + 1 == corners.len() { 0 } else { index + 1 };
            (from, corners[next])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sampling::uniform_triangle;
    use crate::geometry::sobol::OwenSobol;
    use glam::{Vec2, Vec3};

    #[test]
    fn a_right_triangle_is_cut_where_geometry_says() {
        let triangle = Triangle::new(Vec3::ZERO, Vec3::X * 4.0, Vec3::Y * 4.0);
        let cell = Aabb { min: Vec3::splat(-1.0), max: Vec3::new(5.0, 3.0, 1.0) };
        let [below, above] = clip_halves(&triangle, cell, 0, 3.0);
        assert_eq!(below, Some(Aabb { min: Vec3::ZERO, max: Vec3::new(3.0, 3.0, 0.0) }));
        assert_eq!(above, Some(Aabb { min: Vec3::new(3.0, 0.0, 0.0), max: Vec3::new(4.0, 1.0, 0.0) }));
    }

    #[test]
    fn what_only_touches_the_plane_stays_on_its_own_side() {
        let triangle = Triangle::new(Vec3::ZERO, Vec3::X, Vec3::Y);
        let cell = Aabb { min: Vec3::splat(-1.0), max: Vec3::ONE };
        let [below, above] = clip_halves(&triangle, cell, 0, 0.0);
        assert!(below.is_none() && above.is_some());
        // A triangle in the plane belongs to both sides.
        let [below, above] = clip_halves(&triangle, cell, 2, 0.0);
        assert!(below.is_some() && above.is_some());
    }

    #[test]
    fn boxes_hold_every_point_of_the_triangle_in_their_half() {
        let (shapes, weights) = (OwenSobol::new(3), OwenSobol::new(4));
        let corner = |index| Vec3::from_slice(&shapes.point(index)) * 4.0 - 2.0;
        let cell = Aabb { min: Vec3::new(-0.7, -0.9, -1.1), max: Vec3::new(0.8, 0.33, 0.71) };
        let mut seen = 0;
        for index in 0..300 {
            let triangle = Triangle::new(corner(3 * index), corner(3 * index + 1), corner(3 * index + 2));
            let axis = index as usize % 3;
            let halves = clip_halves(&triangle, cell, axis, 0.1);
            for k in 0..100 {
                let [x, y, ..] = weights.point(k);
                let point = triangle.at(uniform_triangle(Vec2::new(x, y)));
                // The sample itself is rounded, so points exactly on the border prove nothing.
                let inside = point.cmpgt(cell.min + 1e-6).all() && point.cmplt(cell.max - 1e-6).all();
                if inside && (point[axis] - 0.1).abs() > 1e-6 {
                    let half = halves[usize::from(point[axis] > 0.1)].expect("a point of the triangle lies here");
                    assert!(point.cmpge(half.min - 1e-6).all() && point.cmple(half.max + 1e-6).all());
                    seen += 1;
                }
            }
        }
        assert!(seen > 1_000);
    }
}
