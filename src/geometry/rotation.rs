//! Rotations that are the same on every machine.
//!
//! glam's own functions use the platform's sine, and sum the squares of a quaternion in an order that depends on the
//! processor.

use glam::Quat;

/// Returns the right-handed rotation about the X axis by an angle in radians.
pub fn rotation_x(radians: f32) -> Quat {
    let (sine, cosine) = libm::sincosf(0.5 * radians);
    Quat::from_xyzw(sine, 0.0, 0.0, cosine)
}

/// Returns the right-handed rotation about the Y axis by an angle in radians.
pub fn rotation_y(radians: f32) -> Quat {
    let (sine, cosine) = libm::sincosf(0.5 * radians);
    Quat::from_xyzw(0.0, sine, 0.0, cosine)
}

/// Returns the right-handed rotation about the Z axis by an angle in radians.
pub fn rotation_z(radians: f32) -> Quat {
    let (sine, cosine) = libm::sincosf(0.5 * radians);
    Quat::from_xyzw(0.0, 0.0, sine, cosine)
}

/// Returns a quaternion scaled to unit length. Zero length gives the identity.
pub fn unit_rotation(rotation: Quat) -> Quat {
    let length = quaternion_length(rotation);
    if length > 0.0 { rotation / length } else { Quat::IDENTITY }
}

/// Returns the length of a quaternion.
pub fn quaternion_length(rotation: Quat) -> f32 {
    let [x, y, z, w] = rotation.to_array();
    ((x * x + z * z) + (y * y + w * w)).sqrt()
}

#[cfg(test)]
mod tests {
    use core::f32::consts::FRAC_PI_2;

    use glam::Vec3;

    use super::*;

    #[test]
    fn quarter_turns_take_each_axis_to_the_next() {
        for (turn, from, to) in [
            (rotation_x as fn(f32) -> Quat, Vec3::Y, Vec3::Z),
            (rotation_y, Vec3::Z, Vec3::X),
            (rotation_z, Vec3::X, Vec3::Y),
        ] {
            assert!((turn(FRAC_PI_2) * from).distance(to) < 1e-6, "{from} to {to}");
        }
    }

    #[test]
    fn lengths_are_those_of_four_components() {
        let rotation = Quat::from_xyzw(1.0, -2.0, 4.0, 10.0);
        assert_eq!(quaternion_length(rotation), 11.0);
        assert_eq!(unit_rotation(rotation), Quat::from_xyzw(1.0 / 11.0, -2.0 / 11.0, 4.0 / 11.0, 10.0 / 11.0));
        assert_eq!(unit_rotation(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)), Quat::IDENTITY);
    }
}
