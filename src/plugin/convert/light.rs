//! Conversion of Bevy's lights to the scene's units.
//!
//! Bevy divides the lumens of point and spot lights by 4 pi, whatever the cone, and so does this crate.

use bevy::color::{Color, ColorToComponents};
use bevy::light::{DirectionalLight, PointLight, RectLight, SpotLight};
use bevy::prelude::GlobalTransform;
use glam::{Affine3A, Vec3};

use crate::scene::LightKind;

/// Returns the linear RGB components of a color.
pub fn linear_rgb(color: Color) -> Vec3 {
    color.to_linear().to_vec3()
}

fn candela(color: Color, lumens: f32) -> Vec3 {
    linear_rgb(color) * (lumens / (4.0 * core::f32::consts::PI))
}

/// Converts a point light to candela.
pub fn point_light(light: &PointLight, transform: &GlobalTransform) -> LightKind {
    LightKind::Point {
        position: transform.translation(),
        intensity: candela(light.color, light.intensity),
        radius: light.radius,
        range: light.range,
    }
}

/// Converts a spot light to candela.
///
/// `bevy_gltf` sets the radius of a spot light to its range. Such a radius counts as zero.
pub fn spot_light(light: &SpotLight, transform: &GlobalTransform) -> LightKind {
    // Bevy draws no cone of a right angle or more, and none whose inner angle exceeds the outer one.
    let outer_angle = light.outer_angle.min(core::f32::consts::FRAC_PI_2 - 1e-4);
    LightKind::Spot {
        position: transform.translation(),
        direction: transform.forward().as_vec3(),
        intensity: candela(light.color, light.intensity),
        radius: if light.radius >= light.range { 0.0 } else { light.radius },
        range: light.range,
        inner_angle: light.inner_angle.min(outer_angle),
        outer_angle,
    }
}

/// Converts a directional light. `angular_diameter` is that of its disk, in radians.
pub fn directional_light(light: &DirectionalLight, transform: &GlobalTransform, angular_diameter: f32) -> LightKind {
    LightKind::Directional {
        direction: transform.forward().as_vec3(),
        illuminance: linear_rgb(light.color) * light.illuminance,
        angular_diameter,
    }
}

/// Converts a rectangular light to cd/m2. Bevy divides its lumens by the area and pi.
pub fn rect_light(light: &RectLight, transform: &GlobalTransform) -> LightKind {
    let to_world: Affine3A = transform.affine();
    let area = light.width * light.height;
    LightKind::Rectangle {
        center: transform.translation(),
        half_width: to_world.transform_vector3(Vec3::X).normalize_or_zero() * (light.width * 0.5),
        half_height: to_world.transform_vector3(Vec3::Y).normalize_or_zero() * (light.height * 0.5),
        normal: transform.forward().as_vec3(),
        radiance: linear_rgb(light.color) * (light.intensity / (area * core::f32::consts::PI)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulb_of_four_pi_lumens_has_one_candela() {
        let light = PointLight { intensity: 4.0 * core::f32::consts::PI, color: Color::WHITE, ..Default::default() };
        let LightKind::Point { intensity, .. } = point_light(&light, &GlobalTransform::IDENTITY) else {
            panic!("not a point light");
        };
        assert!((intensity - Vec3::ONE).length() < 1e-6);
    }

    #[test]
    fn a_spot_as_large_as_its_range_is_a_point() {
        let spot = |radius| {
            let light = SpotLight { radius, range: 20.0, ..Default::default() };
            match spot_light(&light, &GlobalTransform::IDENTITY) {
                LightKind::Spot { radius, .. } => radius,
                _ => panic!("not a spot light"),
            }
        };
        assert_eq!((spot(20.0), spot(0.1)), (0.0, 0.1));
    }

    #[test]
    fn a_rectangle_of_pi_lumens_and_one_square_meter_has_one_nit() {
        let light = RectLight { intensity: core::f32::consts::PI, width: 2.0, height: 0.5, ..Default::default() };
        let LightKind::Rectangle { radiance, normal, .. } = rect_light(&light, &GlobalTransform::IDENTITY) else {
            panic!("not a rectangle");
        };
        assert!((radiance - Vec3::ONE).length() < 1e-6);
        assert_eq!(normal, Vec3::NEG_Z);
    }
}
