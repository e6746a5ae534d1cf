//! Lights and cameras of nodes.

use core::f32::consts::FRAC_PI_2;

use glam::{Affine3A, Vec3};
use gltf::json::camera::Camera as JsonCamera;
use gltf::json::extensions::scene::khr_lights_punctual::{Light as JsonLight, Type};
use gltf::json::validation::Checked;

use super::extras::Overrides;
use crate::scene::{Camera, Light, LightKind, Projection};

/// Converts a KHR_lights_punctual light of a node. Candela and lux are kept.
///
/// # Errors
/// The fault of the light, as a sentence.
pub fn light(light: &JsonLight, name: String, to_world: &Affine3A, extras: Overrides) -> Result<Light, String> {
    let strength = Vec3::from_array(light.color) * light.intensity;
    if !strength.is_finite() || strength.min_element() < 0.0 {
        return Err("its color or intensity is negative or not finite".to_owned());
    }
    let position = Vec3::from(to_world.translation);
    let direction = || forward(to_world).ok_or_else(|| "its node has a scale of zero".to_owned());
    let radius = extras.radius.unwrap_or(0.0);
    let range = light.range.filter(|range| *range > 0.0).unwrap_or(f32::INFINITY);
    let kind = match light.type_ {
        Checked::Valid(Type::Point) => LightKind::Point { position, intensity: strength, radius, range },
        Checked::Valid(Type::Spot) => {
            let spot = light.spot.as_ref().ok_or("it has no cone")?;
            let outer_angle = spot.outer_cone_angle.clamp(0.0, FRAC_PI_2);
            let inner_angle = spot.inner_cone_angle.clamp(0.0, outer_angle);
            if outer_angle.is_nan() || inner_angle.is_nan() || outer_angle == 0.0 {
                return Err("its cone has no angle".to_owned());
            }
            let direction = direction()?;
            LightKind::Spot { position, direction, intensity: strength, radius, range, inner_angle, outer_angle }
        }
        Checked::Valid(Type::Directional) => LightKind::Directional {
            direction: direction()?,
            illuminance: strength,
            angular_diameter: extras.angular_diameter_degrees.unwrap_or(0.0).to_radians(),
        },
        Checked::Invalid => return Err("it is neither point, spot nor directional".to_owned()),
    };
    Ok(Light { name, kind })
}

/// Converts a camera of a node.
///
/// # Errors
/// The fault of the camera, as a sentence.
pub fn camera(camera: &JsonCamera, name: String, to_world: &Affine3A) -> Result<Camera, String> {
    let (projection, near) = match (&camera.perspective, &camera.orthographic) {
        (Some(perspective), _) => {
            let vertical_fov = perspective.yfov;
            if !(vertical_fov > 0.0 && vertical_fov < core::f32::consts::PI) {
                return Err("its field of view is not between 0 and 180 degrees".to_owned());
            }
            (Projection::Perspective { vertical_fov }, 0.0)
        }
        (None, Some(orthographic)) => {
            let height = 2.0 * orthographic.ymag;
            if !(height > 0.0 && height.is_finite()) {
                return Err("its picture has no height".to_owned());
            }
            (Projection::Orthographic { height }, orthographic.znear)
        }
        (None, None) => return Err("it is neither perspective nor orthographic".to_owned()),
    };
    let flat = "its node has a scale of zero";
    let forward = forward(to_world).ok_or(flat)?;
    // A sheared or mirrored node would distort the picture. Only its forward direction and its up direction are used.
    let right = forward.cross(to_world.transform_vector3(Vec3::Y)).try_normalize().ok_or(flat)?;
    let up = right.cross(forward);
    let position = Vec3::from(to_world.translation) + forward * near;
    Ok(Camera { name, position, forward, right, up, projection })
}

/// Returns a node's -Z axis in world space, the direction of glTF's lights and cameras. `None` if it has no length.
fn forward(to_world: &Affine3A) -> Option<Vec3> {
    to_world.transform_vector3(Vec3::NEG_Z).try_normalize()
}
