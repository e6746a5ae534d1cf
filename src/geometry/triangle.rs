//! Triangles and the watertight intersection test that all structures share.

use glam::{DVec3, Vec2, Vec3};

use super::{Aabb, Ray};

/// Three corners in metres, counter-clockwise seen from the front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// The corners.
    pub corners: [Vec3; 3],
}

/// Where a ray met a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleHit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// Weights of the second and third corner.
    pub barycentric: Vec2,
    /// The ray came from the side where the corners turn clockwise.
    pub back: bool,
}

impl Triangle {
    /// A triangle from its corners.
    pub const fn new(a: Vec3, b: Vec3, c: Vec3) -> Self {
        Self { corners: [a, b, c] }
    }

    /// Twice the area times the unit normal; zero for a degenerate triangle.
    #[inline]
    pub fn scaled_normal(&self) -> Vec3 {
        let [a, b, c] = self.corners;
        (b - a).cross(c - a)
    }

    /// The unit normal of the front, or zero for a degenerate triangle.
    #[inline]
    pub fn normal(&self) -> Vec3 {
        // Double precision: the cross product of millimetre triangles far from the origin loses everything in single.
        let [a, b, c] = self.corners.map(Vec3::as_dvec3);
        (b - a).cross(c - a).try_normalize().unwrap_or(DVec3::ZERO).as_vec3()
    }

    /// Area in square metres.
    #[inline]
    pub fn area(&self) -> f32 {
        let [a, b, c] = self.corners.map(Vec3::as_dvec3);
        (0.5 * (b - a).cross(c - a).length()) as f32
    }

    /// The smallest box around the triangle.
    #[inline]
    pub fn bounds(&self) -> Aabb {
        let [a, b, c] = self.corners;
        Aabb { min: a.min(b).min(c), max: a.max(b).max(c) }
    }

    /// The point with the given weights of the second and third corner.
    #[inline]
    pub fn at(&self, barycentric: Vec2) -> Vec3 {
        let [a, b, c] = self.corners;
        a + (b - a) * barycentric.x + (c - a) * barycentric.y
    }

    /// Whether the triangle is the one that a ray through it counts, of all that share the edge or corner that it goes
    /// through. Of triangles that join without a gap a ray crosses one, as if it went by a little beside their edges: always
    /// to the same side of an edge, whichever triangle is asked.
    ///
    /// Asked only where [`Triangle::intersect`] finds a hit. Both are of the same mind, since rounding of singles does not
    /// turn the sign of the difference of two products: it makes it zero at most.
    pub fn counts_crossing(&self, ray: &WatertightRay) -> bool {
        let [a, b, c] = self.corners.map(|corner| ray.sheared(corner));
        let sides = [crossing_side(c, b), crossing_side(a, c), crossing_side(b, a)];
        sides.iter().all(|&side| side > 0.0) || sides.iter().all(|&side| side < 0.0)
    }

    /// Where the ray meets the triangle, edges and corners included.
    ///
    /// Watertight (Woop, Benthin and Wald 2013): a ray through an edge or corner that triangles share hits at least one
    /// of them. A ray in the triangle's plane misses. A degenerate triangle may be hit by rounding; structures leave
    /// such triangles out.
    #[inline(always)]
    pub fn intersect(&self, ray: &WatertightRay) -> Option<TriangleHit> {
        let [a, b, c] = self.corners;
        let (a, b, c) = (ray.sheared(a), ray.sheared(b), ray.sheared(c));
        let mut u = c.x * b.y - c.y * b.x;
        let mut v = a.x * c.y - a.y * c.x;
        let mut w = b.x * a.y - b.y * a.x;
        // Products of singles are exact in double, so an edge that is really hit is told from one that rounding hides.
        if u == 0.0 || v == 0.0 || w == 0.0 {
            u = exact_cross(c, b);
            v = exact_cross(a, c);
            w = exact_cross(b, a);
        }
        if (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0) {
            return None;
        }
        let determinant = u + v + w;
        if determinant == 0.0 {
            return None;
        }
        let t = (u * a.z + v * b.z + w * c.z) / determinant;
        if !(t >= ray.ray.t_min && t <= ray.ray.t_max) {
            return None;
        }
        Some(TriangleHit { t, barycentric: Vec2::new(v, w) / determinant, back: (determinant < 0.0) != ray.mirrored })
    }
}

#[inline]
fn exact_cross(p: Vec3, q: Vec3) -> f32 {
    (f64::from(p.x) * f64::from(q.y) - f64::from(p.y) * f64::from(q.x)) as f32
}

/// On which side of the origin the edge from p to q passes, never zero for an edge that is seen: a ray through the edge counts
/// as moved by an infinitely small step along x, and an infinitely smaller one along y.
#[inline]
fn crossing_side(p: Vec3, q: Vec3) -> f32 {
    let side = exact_cross(p, q);
    if side != 0.0 {
        side
    } else if p.y != q.y {
        p.y - q.y
    } else {
        q.x - p.x
    }
}

/// The axes of the world in turn, by which of them is the last.
static AXES: [[usize; 3]; 3] = [[1, 2, 0], [2, 0, 1], [0, 1, 2]];

/// A ray prepared for [`Triangle::intersect`]: axes permuted so that the direction is steepest along the last, and the
/// shear that makes it parallel to that axis.
#[derive(Clone, Copy, Debug)]
pub struct WatertightRay {
    ray: Ray,
    axes: [usize; 3],
    shear: Vec3,
    mirrored: bool,
}

impl WatertightRay {
    /// Prepares a ray. Its direction must not be zero.
    #[inline]
    pub fn new(ray: &Ray) -> Self {
        let d = ray.direction.abs();
        // No branches: which axis is steepest is anybody's guess.
        let z = usize::from(!((d.x >= d.y) & (d.x >= d.z))) * (1 + usize::from(d.y < d.z));
        let axes = AXES[z];
        let direction: &[f32; 3] = ray.direction.as_ref();
        let steepest = direction[z];
        Self {
            ray: *ray,
            axes,
            shear: Vec3::new(direction[axes[0]] / steepest, direction[axes[1]] / steepest, 1.0 / steepest),
            mirrored: steepest < 0.0,
        }
    }

    /// The ray itself.
    #[inline]
    pub fn ray(&self) -> &Ray {
        &self.ray
    }

    /// Which axes of the world became x, y and z of the sheared space, z being the steepest.
    #[inline]
    pub fn axes(&self) -> [usize; 3] {
        self.axes
    }

    /// Slopes of x and y over z, and the reciprocal of the direction's z.
    #[inline]
    pub fn shear(&self) -> Vec3 {
        self.shear
    }

    /// True when the direction's steepest component is negative, which turns the winding of what is seen.
    #[inline]
    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    /// A point in the space where the ray runs along the last axis from the origin.
    #[inline]
    pub(crate) fn sheared(&self, point: Vec3) -> Vec3 {
        let p = (point - self.ray.origin).to_array();
        let [x, y, z] = self.axes;
        let (x, y, z) = (p[x], p[y], p[z]);
        Vec3::new(x - self.shear.x * z, y - self.shear.y * z, self.shear.z * z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sampling::{uniform_sphere, uniform_triangle};
    use crate::geometry::sobol::OwenSobol;

    fn directions() -> impl Iterator<Item = (Vec3, Vec2)> {
        let points = OwenSobol::new(11);
        (0..2_000).map(move |index| {
            let [a, b, c, d] = points.point(index);
            (uniform_sphere(Vec2::new(a, b)), uniform_triangle(Vec2::new(c, d)))
        })
    }

    #[test]
    fn a_ray_aimed_at_a_point_hits_it_and_knows_the_side() {
        let triangle = Triangle::new(Vec3::new(1.0, 0.2, -3.0), Vec3::new(2.5, 0.0, -3.5), Vec3::new(1.2, 2.0, -2.0));
        let normal = triangle.normal();
        for (direction, weights) in directions() {
            let cosine = direction.dot(normal);
            if cosine.abs() < 0.01 {
                continue;
            }
            let target = triangle.at(weights);
            let ray = Ray::new(target - direction * 3.0, direction);
            let hit = triangle.intersect(&WatertightRay::new(&ray)).expect("aimed inside");
            assert!((hit.t - 3.0).abs() < 1e-4);
            assert!((hit.barycentric - weights).length() < 1e-4);
            assert_eq!(hit.back, cosine > 0.0);
        }
    }

    #[test]
    fn no_ray_slips_between_triangles_that_share_an_edge_or_a_corner() {
        // A fan around a corner far from the origin, where rounding is coarse.
        let centre = Vec3::new(100_000.3, -7.1, 33.7);
        let rim: Vec<Vec3> = (0..7)
            .map(|k| {
                let angle = k as f32 / 7.0 * core::f32::consts::TAU;
                centre + Vec3::new(angle.cos() * 0.7, 0.3 * (k % 2) as f32, angle.sin())
            })
            .collect();
        let fan: Vec<Triangle> = (0..7).map(|k| Triangle::new(centre, rim[(k + 1) % 7], rim[k])).collect();
        for (k, (direction, weights)) in directions().enumerate() {
            let direction = Vec3::new(direction.x * 0.2, -1.0, direction.z * 0.2);
            let target = if k % 2 == 0 { centre } else { centre.lerp(rim[k % 7], weights.x) };
            let ray = WatertightRay::new(&Ray::new(target - direction * 5.0, direction));
            assert!(fan.iter().any(|triangle| triangle.intersect(&ray).is_some()), "ray {k}");
        }
    }

    #[test]
    fn a_ray_through_an_edge_or_corner_that_triangles_share_counts_one_of_them() {
        for rim in [3, 4, 7, 24] {
            let center = Vec3::new(0.25, -0.5, 3.0);
            let spoke = |k: usize| {
                let angle = k as f32 / rim as f32 * core::f32::consts::TAU;
                center + Vec3::new(angle.cos(), angle.sin(), 0.0)
            };
            let fan: Vec<Triangle> = (0..rim).map(|k| Triangle::new(center, spoke(k), spoke((k + 1) % rim))).collect();
            for k in 0..64 {
                // Through the hub, and through points of spokes, straight and slanting, from both sides.
                let target = center.lerp(spoke(k % rim), (k / 8) as f32 / 8.0);
                let slant =
                    Vec3::new((k % 3) as f32 * 0.25, (k % 5) as f32 * 0.125, if k % 2 == 0 { -1.0 } else { 1.0 });
                let ray = WatertightRay::new(&Ray::new(target - slant * 2.0, slant));
                let crossed =
                    |triangle: &&Triangle| triangle.intersect(&ray).is_some() && triangle.counts_crossing(&ray);
                assert_eq!(fan.iter().filter(crossed).count(), 1, "{rim} triangles, ray {k}");
            }
        }
    }

    #[test]
    fn degenerate_triangles_have_no_area_and_no_normal() {
        let line = Triangle::new(Vec3::ZERO, Vec3::X, Vec3::X * 2.0);
        let point = Triangle::new(Vec3::ONE, Vec3::ONE, Vec3::ONE);
        for triangle in [line, point] {
            assert_eq!(triangle.normal(), Vec3::ZERO);
            assert_eq!(triangle.area(), 0.0);
        }
    }
}
