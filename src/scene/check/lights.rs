//! Lights that are not surfaces.

use glam::Vec3;

use crate::scene::{Light, LightKind, Problem, Scene};

/// Strengths beyond this, in cd, lux or cd/m2, are nobody's wish: a hundred times the surface of the sun. Far beyond it, sums
/// of light overflow.
pub const STRONGEST: f32 = 1e11;

/// Drops lights that cannot be used.
pub fn repair(scene: &mut Scene, problems: &mut Vec<Problem>) {
    scene.lights.retain(|light| match fault(&light.kind) {
        Some(reason) => {
            problems.push(Problem::UnusableLight { light: light.name.clone(), reason: reason.to_owned() });
            false
        }
        None => true,
    });
}

/// True when the light gives off any light.
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

/// Why no light can be as strong.
pub fn fault_of_strength(strength: Vec3) -> Option<&'static str> {
    let is_sound = strength.is_finite() && strength.min_element() >= 0.0 && strength.max_element() <= STRONGEST;
    (!is_sound).then_some("its strength is negative, not finite, or beyond that of any light (1e11)")
}

/// Why a light cannot be used.
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
        LightKind::Rectangle { centre, half_width, half_height, normal, .. }
            if !(centre.is_finite() && half_width.is_finite() && half_height.is_finite() && normal.is_normalized()) =>
        {
            Some("its position, size or direction is not finite")
        }
        _ => None,
    }
}
