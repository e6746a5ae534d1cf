//! Fresnel's and Snell's laws at the border of a clear solid.

use glam::Vec3;

/// Nearest to one that a relative index of refraction comes: a border that bends nothing has no facets to speak of.
const LEAST_BEND: f32 = 1e-3;

/// A relative index of refraction that is not quite one.
pub(super) fn bending(relative_ior: f32) -> f32 {
    if (relative_ior - 1.0).abs() >= LEAST_BEND { relative_ior } else { 1.0 + LEAST_BEND.copysign(relative_ior - 1.0) }
}

/// The part of unpolarised light that is mirrored, given the cosine of the angle to the border and the index of refraction
/// beyond over that before; one under total reflection.
pub(crate) fn mirrored(cosine: f32, relative_ior: f32) -> f32 {
    let cosine = cosine.clamp(0.0, 1.0);
    let Some(beyond) = refracted_cosine(cosine, relative_ior) else {
        return 1.0;
    };
    let parallel = (relative_ior * cosine - beyond) / (relative_ior * cosine + beyond);
    let perpendicular = (cosine - relative_ior * beyond) / (cosine + relative_ior * beyond);
    0.5 * (parallel * parallel + perpendicular * perpendicular)
}

/// Where light goes on behind the border that came, or is seen, from a direction (a unit vector away from the border,
/// as `normal` is, on its side); `None` under total reflection.
pub(crate) fn refracted(outgoing: Vec3, normal: Vec3, relative_ior: f32) -> Option<Vec3> {
    let cosine = outgoing.dot(normal);
    let beyond = refracted_cosine(cosine, relative_ior)?;
    Some((normal * cosine - outgoing) / relative_ior - normal * beyond)
}

fn refracted_cosine(cosine: f32, relative_ior: f32) -> Option<f32> {
    let square = 1.0 - (1.0 - cosine * cosine) / (relative_ior * relative_ior);
    (square > 0.0).then(|| square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_on_four_percent_of_light_are_mirrored_by_glass_and_none_at_brewsters_angle_if_parallel() {
        assert!((mirrored(1.0, 1.5) - 0.04).abs() < 1e-6 && (mirrored(1.0, 1.0 / 1.5) - 0.04).abs() < 1e-6);
        assert_eq!(mirrored(0.0, 1.5), 1.0);
        // At Brewster's angle only the perpendicular half is mirrored: ((1 - n^2) / (1 + n^2))^2 of it.
        let brewster = 1.5f32.atan();
        assert!((mirrored(brewster.cos(), 1.5) - 0.5 * (1.25f32 / 3.25).powi(2)).abs() < 1e-6);
    }

    #[test]
    fn light_is_mirrored_alike_from_both_sides_and_wholly_beyond_the_critical_angle() {
        for degrees in [5.0f32, 30.0, 60.0, 85.0] {
            let outside = degrees.to_radians();
            let inside = (outside.sin() / 1.5).asin();
            let difference = mirrored(outside.cos(), 1.5) - mirrored(inside.cos(), 1.0 / 1.5);
            assert!(difference.abs() < 1e-5, "{degrees}");
        }
        let critical = (1.0f32 / 1.5).asin();
        assert_eq!(mirrored((critical + 0.01).cos(), 1.0 / 1.5), 1.0);
        assert!(mirrored((critical - 0.01).cos(), 1.0 / 1.5) < 1.0);
        assert_eq!(refracted(Vec3::new(0.8, 0.0, 0.6), Vec3::Z, 1.0 / 1.5), None);
    }

    #[test]
    fn light_bends_by_snells_law_and_back_again() {
        let outgoing = Vec3::new(0.6, 0.0, 0.8);
        let within = refracted(outgoing, Vec3::Z, 1.5).unwrap();
        assert!((within - Vec3::new(-0.4, 0.0, -(1.0f32 - 0.16).sqrt())).length() < 1e-6, "{within}");
        let again = refracted(within, Vec3::NEG_Z, 1.0 / 1.5).unwrap();
        assert!((again - outgoing).length() < 1e-6, "{again}");
    }
}
