//! Mappings from the unit square to points and directions.

use glam::{Vec2, Vec3};

use super::sin_cos_turns;

/// Returns two unit vectors that complete a unit vector to a right-handed frame (Duff et al. 2017, "Building an
/// orthonormal basis, revisited"). The method has no branches and no singular direction.
#[inline]
pub fn orthonormal_basis(normal: Vec3) -> (Vec3, Vec3) {
    let sign = 1.0f32.copysign(normal.z);
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    (
        Vec3::new(1.0 + sign * normal.x * normal.x * a, sign * b, -sign * normal.x),
        Vec3::new(b, sign + normal.y * normal.y * a, -normal.y),
    )
}

/// Samples a direction about `normal` with PDF `cos / pi`, per steradian.
#[inline]
pub fn cosine_hemisphere(normal: Vec3, u: Vec2) -> Vec3 {
    let local = cosine_about_z(u);
    let (tangent, bitangent) = orthonormal_basis(normal);
    tangent * local.x + bitangent * local.y + normal * local.z
}

/// Samples a direction about the z axis; see [`cosine_hemisphere`].
#[inline]
pub fn cosine_about_z(u: Vec2) -> Vec3 {
    let radius = u.x.sqrt();
    let (sine, cosine) = sin_cos_turns(u.y);
    Vec3::new(radius * cosine, radius * sine, (1.0 - u.x).max(0.0).sqrt())
}

/// Samples a direction with uniform PDF `1 / (4 pi)` over the sphere.
#[inline]
pub fn uniform_sphere(u: Vec2) -> Vec3 {
    let z = 1.0 - 2.0 * u.x;
    let radius = (1.0 - z * z).max(0.0).sqrt();
    let (sine, cosine) = sin_cos_turns(u.y);
    Vec3::new(radius * cosine, radius * sine, z)
}

/// Samples a direction uniformly within a cone around the unit vector `axis`. The half angle is in radians, at most pi.
#[inline]
pub fn uniform_cone(axis: Vec3, half_angle: f32, u: Vec2) -> Vec3 {
    // One minus cosine, from the sine of the half angle, stays precise for narrow cones.
    let (sine, _) = sin_cos_turns(half_angle / (2.0 * core::f32::consts::TAU));
    let depth = u.x * 2.0 * sine * sine;
    let radius = (depth * (2.0 - depth)).max(0.0).sqrt();
    let (sin_phi, cos_phi) = sin_cos_turns(u.y);
    let (tangent, bitangent) = orthonormal_basis(axis);
    tangent * (radius * cos_phi) + bitangent * (radius * sin_phi) + axis * (1.0 - depth)
}

/// Samples weights of a triangle's second and third corner, uniformly in area.
///
/// Folds the square along its diagonal by Heitz's low-distortion mapping, which keeps stratified points stratified.
#[inline]
pub fn uniform_triangle(u: Vec2) -> Vec2 {
    u - 0.5 * u.min_element()
}

/// Selects one of several weights in proportion, by a number in the unit interval. Returns the index, and the remapped
/// number.
pub fn choose(weights: impl ExactSizeIterator<Item = f32> + Clone, number: f32) -> (usize, f32) {
    let last = weights.len() - 1;
    if last == 0 {
        return (0, number);
    }
    let mut rest = number * weights.clone().sum::<f32>();
    for (index, weight) in weights.enumerate() {
        if rest < weight || index == last {
            // Upper limit below one: rounding may raise the product to the whole sum.
            return (index, (rest / weight.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0 - f32::EPSILON));
        }
        rest -= weight;
    }
    (last, number)
}

#[cfg(test)]
mod tests {
    use glam::Vec3Swizzles;

    use super::*;
    use crate::geometry::chi_squared::{bin, deviations_from_even, turn};
    use crate::geometry::sobol::OwenSobol;

    #[test]
    fn every_map_of_the_square_is_as_even_as_its_density_says() {
        // Each mapping is inverted by the cumulative distribution of its density.
        let of_cosines = |u| {
            let direction = cosine_about_z(u);
            bin(10, 12, [direction.z * direction.z, turn(direction.x, direction.y)])
        };
        let of_sphere = |u| {
            let direction = uniform_sphere(u);
            bin(10, 12, [0.5 * direction.z + 0.5, turn(direction.x, direction.y)])
        };
        let of_cone = |half_angle: f32| {
            move |u| {
                let direction = uniform_cone(Vec3::Z, half_angle, u);
                bin(10, 12, [(1.0 - direction.z) / (1.0 - half_angle.cos()), turn(direction.x, direction.y)])
            }
        };
        // Squares along both edges. The half beyond the third edge is folded back.
        let of_triangle = |u| {
            let weights = uniform_triangle(u);
            let [across, along] = [weights.x, weights.y].map(|weight| ((weight * 10.0) as usize).min(9));
            let is_beyond = weights.x * 10.0 - across as f32 + weights.y * 10.0 - along as f32 > 1.0;
            // Triangles of a row; each further row has two fewer.
            let before: usize = (0..along).map(|row| 19 - 2 * row).sum();
            (before + 2 * across + usize::from(is_beyond)).min(99)
        };
        let found = [
            deviations_from_even(120, of_cosines),
            deviations_from_even(120, of_sphere),
            deviations_from_even(120, of_cone(0.5)),
            deviations_from_even(120, of_cone(2.0)),
            deviations_from_even(100, of_triangle),
        ];
        assert!(found.iter().all(|&deviations| deviations < 4.0), "{found:?}");
    }

    #[test]
    fn frames_are_orthonormal_and_right_handed_in_every_direction() {
        let points = OwenSobol::new(3);
        for index in 0..1_000 {
            let [x, y, ..] = points.point(index);
            let normal = uniform_sphere(Vec2::new(x, y));
            let (tangent, bitangent) = orthonormal_basis(normal);
            assert!(tangent.dot(bitangent).abs() < 1e-5 && tangent.dot(normal).abs() < 1e-5);
            assert!((tangent.cross(bitangent) - normal).length() < 1e-5);
        }
    }

    #[test]
    fn directions_of_a_cone_as_narrow_as_the_sun_fill_its_disc() {
        let half_angle = 0.004_625f32;
        let points = OwenSobol::new(2);
        let count = 4096;
        let mean_square = (0..count)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                let direction = uniform_cone(Vec3::X, half_angle, Vec2::new(x, y));
                let off_axis = direction.yz().length() / half_angle;
                assert!(off_axis < 1.0 + 1e-4);
                off_axis * off_axis
            })
            .sum::<f32>()
            / count as f32;
        assert!((mean_square - 0.5).abs() < 1e-3, "{mean_square}");
    }

    #[test]
    fn cosine_directions_have_a_mean_cosine_of_two_thirds() {
        let points = OwenSobol::new(9);
        let normal = Vec3::new(0.6, -0.8, 0.0);
        let mean: f32 = (0..4096)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                cosine_hemisphere(normal, Vec2::new(x, y)).dot(normal)
            })
            .sum::<f32>()
            / 4096.0;
        assert!((mean - 2.0 / 3.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn triangle_points_average_to_the_centroid() {
        let points = OwenSobol::new(1);
        let mean = (0..4096)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                let weights = uniform_triangle(Vec2::new(x, y));
                assert!(weights.x >= 0.0 && weights.y >= 0.0 && weights.x + weights.y <= 1.0 + 1e-6);
                weights
            })
            .sum::<Vec2>()
            / 4096.0;
        assert!((mean - Vec2::splat(1.0 / 3.0)).length() < 1e-3, "{mean}");
    }

    #[test]
    fn numbers_fall_on_weights_in_proportion_and_are_spread_within_them() {
        let fall = |number| choose([1.0, 0.0, 3.0].into_iter(), number);
        assert_eq!([fall(0.125), fall(0.25), fall(0.625)], [(0, 0.5), (2, 0.0), (2, 0.5)]);
        assert_eq!(choose([2.0, 0.0].into_iter(), 1.0), (1, 0.0), "a weight of nothing");
    }
}
