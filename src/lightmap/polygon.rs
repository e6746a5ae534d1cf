//! Small convex polygons in texture space, with clipping against texels.

use glam::{DVec2, Vec2};

use crate::geometry::clip::split;
use crate::geometry::sampling::uniform_triangle;

/// Maximum number of corners. A triangle clipped by the four sides of a square has at most seven. Three more lines may
/// each add one.
const MAX_CORNERS: usize = 10;

/// Oriented line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    /// Unit normal, which points to the side above the line.
    pub normal: DVec2,
    /// Signed height of the origin above the line.
    pub height: f64,
}

impl Line {
    /// Returns the signed height of a point above the line.
    pub fn height_of(&self, point: DVec2) -> f64 {
        self.normal.dot(point) + self.height
    }
}

/// Convex polygon with up to ten corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Polygon {
    corners: [DVec2; MAX_CORNERS],
    count: u8,
}

impl Polygon {
    const EMPTY: Self = Self { corners: [DVec2::ZERO; MAX_CORNERS], count: 0 };

    /// Creates a triangle of either orientation.
    pub fn from_triangle(corners: [DVec2; 3]) -> Self {
        let mut polygon = Self::EMPTY;
        corners.iter().for_each(|&corner| polygon.push(corner));
        polygon
    }

    /// Creates the square of one texel.
    pub fn from_corner(corner: DVec2) -> Self {
        let mut polygon = Self::EMPTY;
        [DVec2::ZERO, DVec2::X, DVec2::ONE, DVec2::Y].iter().for_each(|&offset| polygon.push(corner + offset));
        polygon
    }

    /// Creates a polygon from corners in 1/65535ths of a texel.
    pub fn from_texel(corners: &[[u16; 2]]) -> Self {
        let mut polygon = Self::EMPTY;
        corners.iter().for_each(|&[x, y]| polygon.push(DVec2::new(f64::from(x), f64::from(y)) / 65_535.0));
        polygon
    }

    /// Returns the corners in order.
    pub fn corners(&self) -> &[DVec2] {
        &self.corners[..usize::from(self.count)]
    }

    /// Returns true if the polygon is empty.
    pub fn is_empty(&self) -> bool {
        self.count < 3
    }

    fn push(&mut self, corner: DVec2) {
        // Rounding may cut a corner off twice. A surplus corner would add no area.
        if usize::from(self.count) < MAX_CORNERS {
            self.corners[usize::from(self.count)] = corner;
            self.count += 1;
        }
    }

    /// Splits the polygon at `value` on an axis, into the parts below and above.
    pub fn split(&self, axis: usize, value: f64) -> (Self, Self) {
        self.split_where(|corner| corner[axis] - value, |crossing| crossing[axis] = value)
    }

    /// Splits the polygon along a line, into the parts below and above.
    pub fn split_along(&self, line: &Line) -> (Self, Self) {
        self.split_where(|corner| line.height_of(corner), |_| ())
    }

    /// Splits the polygon by the sign of a linear function. `settle` rounds a crossing point to where the function is
    /// exactly zero.
    fn split_where(&self, height: impl Fn(DVec2) -> f64, settle: impl Fn(&mut DVec2)) -> (Self, Self) {
        let (mut below, mut above) = (Self::EMPTY, Self::EMPTY);
        let cross = |from: &DVec2, to: &DVec2, t: f64| {
            let mut crossing = from.lerp(*to, t);
            settle(&mut crossing);
            crossing
        };
        split(
            self.corners(),
            |corner| height(*corner),
            cross,
            |corner| below.push(corner),
            |corner| above.push(corner),
        );
        (below, above)
    }

    /// Scales the polygon about its centroid so that every edge moves in by at least `distance`. The scale is at least
    /// one half.
    pub fn shrunk(mut self, distance: f64) -> Self {
        let center = self.centroid();
        let corners = self.corners();
        let narrowest = (0..corners.len())
            .filter_map(|index| {
                let (from, to) = (corners[index], corners[(index + 1) % corners.len()]);
                let along = (to - from).try_normalize()?;
                Some(along.perp_dot(center - from).abs())
            })
            .fold(f64::INFINITY, f64::min);
        let scale = (1.0 - distance / narrowest).max(0.5);
        let count = usize::from(self.count);
        self.corners[..count].iter_mut().for_each(|corner| *corner = center.lerp(*corner, scale));
        self
    }

    /// Returns the smallest and largest coordinate on an axis.
    pub fn extent(&self, axis: usize) -> (f64, f64) {
        self.corners().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), corner| {
            (min.min(corner[axis]), max.max(corner[axis]))
        })
    }

    /// Iterates over the triangles of the fan around the first corner.
    fn fan(&self) -> impl Iterator<Item = [DVec2; 3]> + '_ {
        let first = self.corners[0];
        self.corners().windows(2).skip(1).map(move |pair| [first, pair[0], pair[1]])
    }

    /// Returns the area, for either orientation.
    pub fn area(&self) -> f64 {
        self.fan().map(signed_area).sum::<f64>().abs()
    }

    /// Returns the centroid; the first corner if the area is zero.
    pub fn centroid(&self) -> DVec2 {
        let total: f64 = self.fan().map(signed_area).sum();
        if total == 0.0 {
            return self.corners[0];
        }
        self.fan()
            .map(|triangle| (triangle[0] + triangle[1] + triangle[2]) / 3.0 * signed_area(triangle))
            .sum::<DVec2>()
            / total
    }

    /// Samples a point of the polygon, uniformly in area for a uniform `u`.
    pub fn sample(&self, u: Vec2) -> DVec2 {
        let mut rest = f64::from(u.x) * self.area();
        let mut sampled = self.corners[0];
        for triangle in self.fan() {
            let area = signed_area(triangle).abs();
            let [a, b, c] = triangle;
            let weights = uniform_triangle(Vec2::new((rest / area).min(1.0) as f32, u.y)).as_dvec2();
            if area > 0.0 {
                sampled = a + (b - a) * weights.x + (c - a) * weights.y;
            }
            if rest < area {
                break;
            }
            rest -= area;
        }
        sampled
    }
}

fn signed_area([a, b, c]: [DVec2; 3]) -> f64 {
    0.5 * (b - a).perp_dot(c - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::OwenSobol;

    fn triangle() -> Polygon {
        Polygon::from_triangle([DVec2::new(0.25, 0.5), DVec2::new(9.5, 2.0), DVec2::new(3.0, 7.75)])
    }

    #[test]
    fn parts_of_a_split_polygon_add_up_to_it() {
        for axis in 0..2 {
            for value in [-1.0, 0.5, 2.0, 3.0, 7.75, 20.0] {
                let (below, above) = triangle().split(axis, value);
                assert!((below.area() + above.area() - triangle().area()).abs() < 1e-12);
                assert!(below.is_empty() || below.extent(axis).1 <= value);
                assert!(above.is_empty() || above.extent(axis).0 >= value);
            }
        }
    }

    #[test]
    fn a_line_splits_a_square_into_what_lies_below_and_above() {
        let square = Polygon::from_corner(DVec2::new(3.0, 5.0));
        let normal = DVec2::new(0.6, 0.8);
        // Through (3.25, 5), a quarter from the corner: cuts off a triangle with legs of 1/4 and 3/16.
        let line = Line { normal, height: -normal.dot(DVec2::new(3.25, 5.0)) };
        let (below, above) = square.split_along(&line);
        assert!((below.area() - 0.5 * 0.25 * 0.1875).abs() < 1e-12, "{}", below.area());
        assert!((below.area() + above.area() - 1.0).abs() < 1e-12);
        assert!(above.corners().iter().all(|&corner| line.height_of(corner) > -1e-12));
    }

    #[test]
    fn a_shrunk_square_keeps_its_center_and_loses_a_rim() {
        let shrunk = Polygon::from_corner(DVec2::ZERO).shrunk(0.1);
        assert!((shrunk.area() - 0.64).abs() < 1e-12 && (shrunk.centroid() - 0.5).length() < 1e-12);
    }

    #[test]
    fn samples_average_to_the_centroid() {
        let (polygon, _) = triangle().split(0, 5.0);
        let points = OwenSobol::new(1);
        let mean = (0..4096)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                polygon.sample(Vec2::new(x, y))
            })
            .sum::<DVec2>()
            / 4096.0;
        assert!((mean - polygon.centroid()).length() < 0.01, "{mean} {}", polygon.centroid());
    }
}
