//! Camera of the level.

use bevy::prelude::Vec3;

/// Position of the file's camera `camera_hall`, and a point that it looks at, in world space.
pub const EYE: Vec3 = Vec3::new(11.3, 1.75, 0.9);
pub const TARGET: Vec3 = Vec3::new(4.4, 1.6, 5.6);
/// Its vertical field of view, in degrees.
pub const VERTICAL_FOV: f32 = 62.0;
/// Exposure of a room by day.
pub const EV100: f32 = 9.0;
