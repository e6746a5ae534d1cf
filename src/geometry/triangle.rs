//! Triangles, and the watertight intersection test that all structures share.

use glam::{DVec3, Vec2, Vec3};

use super::{Aabb, Ray};

/// Triangle with corners in meters, counter-clockwise seen from the front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Corners.
    pub corners: [Vec3; 3],
}

/// Hit of a ray on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleHit {
    /// Distance along the ray, in units of its direction.
    pub t: f32,
    /// Weights of the second and third corner.
    pub barycentric: Vec2,
    /// True if the ray hit the back, where the corners are clockwise.
    pub back: bool,
}

impl Triangle {
    /// Creates a triangle from its corners.
    pub const fn new(a: Vec3, b: Vec3, c: Vec3) -> Self {
        Self { corners: [a, b, c] }
    }

    /// Returns twice the area times the unit normal; zero for a degenerate triangle.
    #[inline]
    pub fn scaled_normal(&self) -> Vec3 {
        let [a, b, c] = self.corners;
        (b - a).cross(c - a)
    }

    /// Returns the unit normal of the front, or zero for a degenerate triangle.
    #[inline]
    pub fn normal(&self) -> Vec3 {
        // Double precision, because cross products of millimeter-sized triangles far from the origin lose all digits in
        // single.
        let [a, b, c] = self.corners.map(Vec3::as_dvec3);
        (b - a).cross(c - a).try_normalize().unwrap_or(DVec3::ZERO).as_vec3()
    }

    /// Returns the area, in square meters.
    #[inline]
    pub fn area(&self) -> f32 {
        let [a, b, c] = self.corners.map(Vec3::as_dvec3);
        (0.5 * (b - a).cross(c - a).length()) as f32
    }

    /// Returns the bounding box.
    #[inline]
    pub fn bounds(&self) -> Aabb {
        let [a, b, c] = self.corners;
        Aabb { min: a.min(b).min(c), max: a.max(b).max(c) }
    }

    /// Returns the point with the given weights of the second and third corner.
    #[inline]
    pub fn at(&self, barycentric: Vec2) -> Vec3 {
        let [a, b, c] = self.corners;
        a + (b - a) * barycentric.x + (c - a) * barycentric.y
    }

    /// Decides whether a ray through a shared edge or corner counts this triangle. Of triangles that join without gaps,
    /// exactly one counts the crossing. The ray counts as moved infinitesimally beside their edges, always in the same
    /// direction, whichever triangle is asked.
    ///
    /// Valid only where [`Triangle::intersect`] finds a hit. Both predicates agree, because single-precision rounding
    /// never flips the sign of a difference of products. At most, rounding makes the difference zero.
    pub fn counts_crossing(&self, ray: &WatertightRay) -> bool {
        let [a, b, c] = self.corners.map(|corner| ray.sheared(corner));
        let sides = [crossing_side(c, b), crossing_side(a, c), crossing_side(b, a)];
        sides.iter().all(|&side| side > 0.0) || sides.iter().all(|&side| side < 0.0)
    }

    /// Intersects the ray with the triangle, edges and corners included.
    ///
    /// Watertight (Woop, Benthin and Wald 2013): a ray through a shared edge or corner hits at least one of the
    /// triangles. A ray in the triangle's plane misses. Rounding may produce hits on degenerate triangles, so
    /// structures leave them out.
    #[inline(always)]
    pub fn intersect(&self, ray: &WatertightRay) -> Option<TriangleHit> {
        let [a, b, c] = self.corners;
        let (a, b, c) = (ray.sheared(a), ray.sheared(b), ray.sheared(c));
        let mut u = c.x * b.y - c.y * b.x;
        let mut v = a.x * c.y - a.y * c.x;
        let mut w = b.x * a.y - b.y * a.x;
        // Products of singles are exact in double, which separates real edge hits from zeros due to rounding.
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

/// Returns the side on which the edge from p to q passes the origin, never zero for a visible edge. A ray through the
/// edge counts as moved by an infinitesimal step along x, and a smaller one along y.
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

/// Cyclic permutations of the world axes, indexed by the last axis.
static AXES: [[usize; 3]; 3] = [[1, 2, 0], [2, 0, 1], [0, 1, 2]];

/// Ray prepared for [`Triangle::intersect`]. Axes are permuted so that the direction is steepest along the last, and
/// the shear makes the ray parallel to that axis.
#[derive(Clone, Copy, Debug)]
pub struct WatertightRay {
    ray: Ray,
    axes: [usize; 3],
    shear: Vec3,
    mirrored: bool,
}

impl WatertightRay {
    /// Prepares a ray, whose direction must not be zero.
    #[inline]
    pub fn new(ray: &Ray) -> Self {
        let d = ray.direction.abs();
        // No branches, because the steepest axis is unpredictable.
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

    /// Returns the original ray.
    #[inline]
    pub fn ray(&self) -> &Ray {
        &self.ray
    }

    /// Returns the world axes that become x, y and z of the sheared space, with z the steepest.
    #[inline]
    pub fn axes(&self) -> [usize; 3] {
        self.axes
    }

    /// Returns the slopes of x and y over z, and the reciprocal of the direction's z.
    #[inline]
    pub fn shear(&self) -> Vec3 {
        self.shear
    }

    /// Returns true if the direction's steepest component is negative, which reverses the apparent winding.
    #[inline]
    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    /// Transforms a point to the space where the ray runs from the origin along the last axis.
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
        let center = Vec3::new(100_000.3, -7.1, 33.7);
        let rim: Vec<Vec3> = (0..7)
            .map(|k| {
                let angle = k as f32 / 7.0 * core::f32::consts::TAU;
                center + Vec3::new(angle.cos() * 0.7, 0.3 * (k % 2) as f32, angle.sin())
            })
            .collect();
        let fan: Vec<Triangle> = (0..7).map(|k| Triangle::new(center, rim[(k + 1) % 7], rim[k])).collect();
        for (k, (direction, weights)) in directions().enumerate() {
            let direction = Vec3::new(direction.x * 0.2, -1.0, direction.z * 0.2);
            let target = if k % 2 == 0 { center } else { center.lerp(rim[k % 7], weights.x) };
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
                // Rays through the hub and through points of spokes, straight and slanted, from both sides.
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
