//! Checks of lights and of the sky.

use glam::Vec3;

use crate::geometry::{quaternion_length, unit_rotation};
use crate::scene::{EnvironmentMap, Light, LightKind, Problem, Scene, Sky};

/// Maximum plausible strength in cd, lux or cd/m2: a hundred times the sun's surface. Far beyond it, sums of light
/// overflow.
pub const STRONGEST: f32 = 1e11;

/// Drops unusable lights, and darkens an unusable sky.
pub fn repair(scene: &mut Scene, problems: &mut Vec<Problem>) {
    scene.lights.retain(|light| match fault(&light.kind) {
        Some(reason) => {
            problems.push(Problem::UnusableLight { light: light.name.clone(), reason: reason.to_owned() });
            false
        }
        None => true,
    });
    if let Some(reason) = repair_sky(&mut scene.sky) {
        problems.push(Problem::UnusableSky { reason });
        scene.sky = Sky::Dark;
    }
}

/// Gives a map's rotation unit length. Returns the reason why a sky is unusable, if any.
fn repair_sky(sky: &mut Sky) -> Option<&'static str> {
    match sky {
        Sky::Dark => None,
        Sky::Uniform(radiance) => fault_of_strength(*radiance),
        Sky::Map(EnvironmentMap { scale, rotation, .. }) => {
            let length = quaternion_length(*rotation);
            if !(length > 0.0 && length.is_finite()) {
                return Some("its rotation is no rotation");
            }
            if !rotation.is_normalized() {
                *rotation = unit_rotation(*rotation);
            }
            fault_of_strength(Vec3::splat(*scale))
        }
    }
}

/// Returns true if the light emits anything.
pub fn shines(light: &Light) -> bool {
    strength(&light.kind).max_element() > 0.0
}

fn strength(kind: &LightKind) -> Vec3 {
    match *kind {
        LightKind::Point { intensity, .. } | LightKind::Spot { intensity, .. } => intensity,
        LightKind::Directional { illuminance, .. } => illuminance,
        LightKind::Rectangle { radiance, .. } => radiance,
    }
}

/// Returns the reason why a strength is implausible, if any.
pub fn fault_of_strength(strength: Vec3) -> Option<&'static str> {
    let is_sound = strength.is_finite() && strength.min_element() >= 0.0 && strength.max_element() <= STRONGEST;
    (!is_sound).then_some("its strength is negative, not finite, or beyond that of any light (1e11)")
}

/// Returns the reason why a light is unusable, if any.
pub fn fault(kind: &LightKind) -> Option<&'static str> {
    if let Some(reason) = fault_of_strength(strength(kind)) {
        return Some(reason);
    }
    let is_length = |value: f32| value.is_finite() && value >= 0.0;
    match *kind {
        LightKind::Point { position, radius, range, .. } | LightKind::Spot { position, radius, range, .. }
            if !position.is_finite() || !is_length(radius) || range.is_nan() || range <= 0.0 =>
        {
            Some("its position, radius or range is no length")
        }
        LightKind::Spot { direction, inner_angle, outer_angle, .. }
            if !direction.is_normalized() || !is_length(inner_angle) || !is_length(outer_angle) =>
        {
            Some("its direction or cone is not finite")
        }
        LightKind::Directional { direction, angular_diameter, .. }
            if !direction.is_normalized() || !is_length(angular_diameter) =>
        {
            Some("its direction or angular diameter is not finite")
        }
        LightKind::Rectangle { center, half_width, half_height, normal, .. }
            if !(center.is_finite() && half_width.is_finite() && half_height.is_finite() && normal.is_normalized()) =>
        {
            Some("its position, size or direction is not finite")
        }
        _ => None,
    }
}
