//! Small convex polygons in texture space, and clipping them against texels.

use glam::{DVec2, Vec2};

use crate::geometry::sampling::uniform_triangle;

/// A triangle clipped by the four sides of a square has at most this many corners.
const MOST_CORNERS: usize = 7;

/// A convex polygon with up to seven corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Polygon {
    corners: [DVec2; MOST_CORNERS],
    count: u8,
}

impl Polygon {
    const EMPTY: Self = Self { corners: [DVec2::ZERO; MOST_CORNERS], count: 0 };

    /// A triangle, whichever way it turns.
    pub fn from_triangle(corners: [DVec2; 3]) -> Self {
        let mut polygon = Self::EMPTY;
        corners.iter().for_each(|&corner| polygon.push(corner));
        polygon
    }

    /// A polygon from corners in 65535ths of a texel.
    pub fn from_texel(corners: &[[u16; 2]]) -> Self {
        let mut polygon = Self::EMPTY;
        corners.iter().for_each(|&[x, y]| polygon.push(DVec2::new(f64::from(x), f64::from(y)) / 65_535.0));
        polygon
    }

    /// The corners in order.
    pub fn corners(&self) -> &[DVec2] {
        &self.corners[..usize::from(self.count)]
    }

    /// True when nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.count < 3
    }

    fn push(&mut self, corner: DVec2) {
        // Rounding may cut a corner off twice; what an eighth corner would add has no area.
        if usize::from(self.count) < MOST_CORNERS {
            self.corners[usize::from(self.count)] = corner;
            self.count += 1;
        }
    }

    /// The parts below and above `value` on an axis (Sutherland and Hodgman 1974).
    pub fn split(&self, axis: usize, value: f64) -> (Self, Self) {
        let (mut below, mut above) = (Self::EMPTY, Self::EMPTY);
        let corners = self.corners();
        for (index, &corner) in corners.iter().enumerate() {
            let previous = corners[(index + corners.len() - 1) % corners.len()];
            if (previous[axis] < value && corner[axis] > value) || (previous[axis] > value && corner[axis] < value) {
                let mut crossing = previous.lerp(corner, (value - previous[axis]) / (corner[axis] - previous[axis]));
                crossing[axis] = value;
                below.push(crossing);
                above.push(crossing);
            }
            if corner[axis] <= value {
                below.push(corner);
            }
            if corner[axis] >= value {
                above.push(corner);
            }
        }
        (below, above)
    }

    /// Smallest and largest coordinate on an axis.
    pub fn extent(&self, axis: usize) -> (f64, f64) {
        self.corners().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), corner| {
            (least.min(corner[axis]), most.max(corner[axis]))
        })
    }

    /// The triangles that fan out from the first corner.
    fn fan(&self) -> impl Iterator<Item = [DVec2; 3]> + '_ {
        let first = self.corners[0];
        self.corners().windows(2).skip(1).map(move |pair| [first, pair[0], pair[1]])
    }

    /// The area, whichever way the corners turn.
    pub fn area(&self) -> f64 {
        self.fan().map(signed_area).sum::<f64>().abs()
    }

    /// The centre of gravity; the first corner where there is no area.
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

    /// A point of the polygon, uniform in area for a uniform `u`.
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
