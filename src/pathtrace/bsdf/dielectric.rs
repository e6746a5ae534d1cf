//! Fresnel equations and Snell's law at a dielectric interface.

use glam::Vec3;

/// Minimum difference of the relative index of refraction from 1. Microfacets are undefined without refraction.
const MIN_BEND: f32 = 1e-3;

/// Returns the relative index of refraction, moved away from 1.
pub(super) fn bending(relative_ior: f32) -> f32 {
    if (relative_ior - 1.0).abs() >= MIN_BEND { relative_ior } else { 1.0 + MIN_BEND.copysign(relative_ior - 1.0) }
}

/// Returns the Fresnel reflectance of unpolarized light; 1 under total internal reflection. `cosine` is that of the
/// angle to the normal. `relative_ior` is the index of refraction beyond the surface divided by the index before.
pub(crate) fn mirrored(cosine: f32, relative_ior: f32) -> f32 {
    let cosine = cosine.clamp(0.0, 1.0);
    let Some(beyond) = refracted_cosine(cosine, relative_ior) else {
        return 1.0;
    };
    let parallel = (relative_ior * cosine - beyond) / (relative_ior * cosine + beyond);
    let perpendicular = (cosine - relative_ior * beyond) / (cosine + relative_ior * beyond);
    0.5 * (parallel * parallel + perpendicular * perpendicular)
}

/// Refracts a unit direction that points away from the surface on the normal's side. Returns the direction on the other
/// side, or `None` under total internal reflection.
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
        // At Brewster's angle only perpendicular polarization is reflected: ((1 - n^2) / (1 + n^2))^2 of its half.
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
