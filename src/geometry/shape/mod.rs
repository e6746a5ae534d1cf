//! Curved shapes, which rays meet exactly (`004` item 22).
//!
//! `polynomial.rs` finds the roots of the torus, and `bezier.rs` the crossings of patches.

mod bezier;
mod polynomial;

use core::array::from_fn;

use glam::{DAffine3, DVec3, Vec3};

use super::{Aabb, Ray};

/// Control points of a bicubic Bezier patch. Seen from the front, each row runs to the right, and the rows follow each
/// other upwards.
pub type BezierPatch = [[Vec3; 4]; 4];

/// Shape in its own space, in meters.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Sphere around the origin.
    Sphere {
        /// Radius, above zero.
        radius: f32,
    },
    /// Torus around the Y axis.
    Torus {
        /// Radius of the circle in the middle of the tube.
        radius: f32,
        /// Radius of the tube, below `radius`.
        tube: f32,
    },
    /// Bicubic Bezier patches.
    Bezier(Vec<BezierPatch>),
}

impl Shape {
    /// Returns a box around the shape. The box of a patch is that of its control points.
    pub fn bounds(&self) -> Aabb {
        let half = match self {
            Self::Sphere { radius } => Vec3::splat(*radius),
            Self::Torus { radius, tube } => Vec3::new(radius + tube, *tube, radius + tube),
            Self::Bezier(patches) => return Aabb::around(patches.iter().flatten().flatten().copied()),
        };
        Aabb { min: -half, max: half }
    }

    /// Returns the distance to the closest hit within the ray's interval, in units of its direction. `to_shape` leads from
    /// the ray's space to that of the shape. Both sides stop rays.
    ///
    /// The computation is in double precision. A ray that only touches the shape may miss it.
    pub fn intersect(&self, ray: &Ray, to_shape: &DAffine3) -> Option<f32> {
        let direction = to_shape.transform_vector3(ray.direction.as_dvec3());
        let origin = to_shape.transform_point3(ray.origin.as_dvec3());
        let length = direction.length();
        let unit = direction / length;
        if !unit.is_finite() || !origin.is_finite() {
            return None;
        }
        // Lengths from the point of the ray that is closest to the middle: a far origin costs no precision there.
        let middle = -origin.dot(unit);
        let closest = origin + unit * middle;
        let range = [ray.t_min, ray.t_max].map(|t| f64::from(t) * length - middle);
        let is_within = |place: &f64| (range[0]..=range[1]).contains(place);
        let place = match self {
            Self::Sphere { radius } => {
                let half = (f64::from(*radius).powi(2) - closest.length_squared()).sqrt();
                [-half, half].into_iter().find(is_within)
            }
            Self::Torus { radius, tube } => {
                let places = torus_crossings(f64::from(*radius), f64::from(*tube), closest, unit);
                places.into_iter().find(is_within)
            }
            Self::Bezier(patches) => {
                let across = unit.any_orthonormal_vector();
                let upward = unit.cross(across);
                patches.iter().fold(None, |nearest: Option<f64>, patch| {
                    // Coordinates in which the ray is the last axis.
                    let seen = from_fn(|row| {
                        from_fn(|column| {
                            let point = patch[row][column].as_dvec3() - closest;
                            DVec3::new(across.dot(point), upward.dot(point), unit.dot(point))
                        })
                    });
                    bezier::first_crossing(&seen, [range[0], nearest.unwrap_or(range[1])]).or(nearest)
                })
            }
        };
        place.map(|place| ((place + middle) / length) as f32)
    }
}

/// Returns the ascending distances from `closest` at which a line crosses a torus around the Y axis. `closest` is the
/// line's point closest to the origin, and `unit` its direction.
fn torus_crossings(radius: f64, tube: f64, closest: DVec3, unit: DVec3) -> Vec<f64> {
    // In units of the outer radius, all coefficients are of the order of one.
    let outer = radius + tube;
    let (radius, tube, closest) = (radius / outer, tube / outer, closest / outer);
    let square = closest.length_squared();
    if square >= 1.0 {
        return Vec::new();
    }
    // (|p|^2 + R^2 - r^2)^2 = 4 R^2 (x^2 + z^2), where |p|^2 is the sum of `square` and the square of the distance.
    let constant = square + radius * radius - tube * tube;
    let level = |a: DVec3, b: DVec3| 4.0 * radius * radius * (a.x * b.x + a.z * b.z);
    let coefficients = [
        constant * constant - level(closest, closest),
        -2.0 * level(closest, unit),
        2.0 * constant - level(unit, unit),
        0.0,
        1.0,
    ];
    polynomial::roots(&coefficients, [-2.0, 2.0]).into_iter().map(|root| root * outer).collect()
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, DVec2};
    use proptest::prelude::*;

    use super::*;

    fn hit(shape: &Shape, origin: Vec3, direction: Vec3) -> Option<f32> {
        shape.intersect(&Ray::new(origin, direction), &DAffine3::IDENTITY)
    }

    const BALL: Shape = Shape::Sphere { radius: 2.0 };
    const RING: Shape = Shape::Torus { radius: 2.0, tube: 0.5 };

    #[test]
    fn a_ray_through_the_middle_meets_a_ball_at_its_radius() {
        assert_eq!(hit(&BALL, Vec3::X * 5.0, Vec3::NEG_X), Some(3.0));
        assert_eq!(hit(&BALL, Vec3::X * 5.0, Vec3::NEG_X * 2.0), Some(1.5));
        assert_eq!(hit(&BALL, Vec3::ZERO, Vec3::Y), Some(2.0), "from inside");
        assert_eq!(hit(&BALL, Vec3::X * 5.0, Vec3::X), None);
        assert_eq!(hit(&BALL, Vec3::new(5.0, 2.1, 0.0), Vec3::NEG_X), None);
        let short = Ray { t_max: 2.9, ..Ray::new(Vec3::X * 5.0, Vec3::NEG_X) };
        assert_eq!(BALL.intersect(&short, &DAffine3::IDENTITY), None);
        let late = Ray { t_min: 3.1, ..short };
        assert_eq!(BALL.intersect(&Ray { t_max: 9.0, ..late }, &DAffine3::IDENTITY), Some(7.0));
    }

    #[test]
    fn a_ray_along_the_middle_of_a_ring_meets_it_four_times_and_one_along_its_axis_never() {
        let mut from = 0.0;
        for expected in [2.5, 3.5, 6.5, 7.5] {
            let ray = Ray { t_min: from, ..Ray::new(Vec3::X * 5.0, Vec3::NEG_X) };
            let met = RING.intersect(&ray, &DAffine3::IDENTITY).unwrap();
            assert!((met - expected).abs() < 1e-6, "{met}");
            from = met + 1e-3;
        }
        assert_eq!(hit(&RING, Vec3::Y * 5.0, Vec3::NEG_Y), None);
        assert_eq!(hit(&RING, Vec3::new(2.0, 5.0, 0.0), Vec3::NEG_Y), Some(4.5));
    }

    #[test]
    fn a_ball_that_is_stretched_is_an_ellipsoid() {
        let placed = Affine3A::from_scale_rotation_translation(
            Vec3::new(1.0, 2.0, 3.0),
            glam::Quat::IDENTITY,
            Vec3::new(0.0, 7.0, 0.0),
        );
        let to_shape = DAffine3::from_cols_array(&placed.to_cols_array().map(f64::from)).inverse();
        let ray = Ray::new(Vec3::new(0.0, 20.0, 0.0), Vec3::NEG_Y);
        assert_eq!(BALL.intersect(&ray, &to_shape), Some(9.0));
    }

    #[test]
    fn rays_from_a_kilometer_away_meet_a_ring_to_a_tenth_of_a_millimeter() {
        let origin = Vec3::new(1000.0, 0.0, 0.0);
        let met = hit(&RING, origin, Vec3::NEG_X).unwrap();
        assert!((met - 997.5).abs() < 1e-4, "{met}");
    }

    /// Returns the signed distance from a torus around the Y axis.
    fn distance_from_ring(radius: f64, tube: f64, place: DVec3) -> f64 {
        DVec2::new(DVec2::new(place.x, place.z).length() - radius, place.y).length() - tube
    }

    proptest! {
        #[test]
        fn no_ray_meets_a_ring_later_than_small_steps_along_it_do(
            from in prop::array::uniform3(-3.0f32..3.0),
            to in prop::array::uniform3(-1.0f32..1.0),
            tube in 0.05f32..0.95,
        ) {
            let shape = Shape::Torus { radius: 1.0, tube };
            let (origin, target) = (Vec3::from_array(from), Vec3::from_array(to));
            prop_assume!(origin.distance(target) > 0.1);
            let ray = Ray::new(origin, (target - origin).normalize());
            let signed = |t: f64| {
                distance_from_ring(1.0, tube.into(), origin.as_dvec3() + ray.direction.as_dvec3() * t)
            };
            let met = shape.intersect(&ray, &DAffine3::IDENTITY);
            if let Some(met) = met {
                prop_assert!(signed(met.into()).abs() < 1e-5, "{}", signed(met.into()));
            }
            let is_inside = signed(0.0) < 0.0;
            let crossed = (1..1200).map(|step| f64::from(step) * 0.01).find(|t| (signed(*t) < 0.0) != is_inside);
            if let Some(crossed) = crossed {
                prop_assert!(met.is_some_and(|met| f64::from(met) <= crossed + 1e-5), "{met:?} {crossed}");
            }
        }
    }
}
