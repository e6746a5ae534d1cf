//! Where a scene is looked at from.

use glam::Vec3;

/// A perspective camera as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// What the file calls it.
    pub name: String,
    /// Where it stands, metres.
    pub position: Vec3,
    /// Unit vector that it looks along.
    pub forward: Vec3,
    /// Unit vector to its right.
    pub right: Vec3,
    /// Unit vector to the top of its picture.
    pub up: Vec3,
    /// Angle in radians from the bottom to the top of its picture.
    pub vertical_fov: f32,
}
