//! Where a scene is looked at from.

use glam::{Vec2, Vec3};

use crate::geometry::sin_cos_turns;

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

impl Camera {
    /// A camera that looks from one point at another, upright; `None` when they are one point, or not finite.
    pub fn looking_at(eye: Vec3, target: Vec3, vertical_fov: f32) -> Option<Self> {
        let forward = (target - eye).try_normalize()?;
        let right = forward.cross(Vec3::Y).try_normalize().unwrap_or(Vec3::X);
        let up = right.cross(forward);
        Some(Self { name: String::new(), position: eye, forward, right, up, vertical_fov })
    }

    /// The unit vector toward a place of the picture, measured from its middle in half heights: `(0, 1)` is the middle
    /// of the top edge.
    pub fn toward(&self, place: Vec2) -> Vec3 {
        (self.forward + (self.right * place.x + self.up * place.y) * self.half_height()).normalize()
    }

    /// Half of the picture's height where it is one metre away.
    pub fn half_height(&self) -> f32 {
        let (sine, cosine) = sin_cos_turns(0.5 * self.vertical_fov / core::f32::consts::TAU);
        sine / cosine
    }
}
