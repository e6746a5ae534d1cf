//! Where a scene is looked at from.

use glam::{Vec2, Vec3};

use crate::geometry::{Ray, sin_cos_turns};

/// A camera as a file describes it.
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
    /// How far its lines of sight diverge.
    pub projection: Projection,
}

/// What a camera makes of distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// What is farther away is smaller.
    Perspective {
        /// Angle in radians from the bottom to the top of the picture.
        vertical_fov: f32,
    },
    /// All lines of sight run along each other, as in plans.
    Orthographic {
        /// Metres from the bottom to the top of the picture.
        height: f32,
    },
}

impl Camera {
    /// A perspective camera that looks from one point at another, upright; `None` when they are one point, or not finite.
    pub fn looking_at(eye: Vec3, target: Vec3, vertical_fov: f32) -> Option<Self> {
        let forward = (target - eye).try_normalize()?;
        let right = forward.cross(Vec3::Y).try_normalize().unwrap_or(Vec3::X);
        let up = right.cross(forward);
        Some(Self {
            name: String::new(),
            position: eye,
            forward,
            right,
            up,
            projection: Projection::Perspective { vertical_fov },
        })
    }

    /// The ray, of unit length, to what is seen at a place of the picture, measured from its middle in half heights:
    /// `(0, 1)` is the middle of the top edge.
    pub fn sight_line(&self, place: Vec2) -> Ray {
        self.sights().line(place)
    }

    /// All its lines of sight.
    pub fn sights(&self) -> Sights {
        let half_height = self.half_height();
        Sights {
            position: self.position,
            forward: self.forward,
            right: self.right * half_height,
            up: self.up * half_height,
            is_orthographic: self.is_orthographic(),
        }
    }

    /// Half of the picture's height in metres; of a perspective camera, where it is one metre away.
    pub fn half_height(&self) -> f32 {
        match self.projection {
            Projection::Orthographic { height } => 0.5 * height,
            Projection::Perspective { vertical_fov } => {
                let (sine, cosine) = sin_cos_turns(0.5 * vertical_fov / core::f32::consts::TAU);
                sine / cosine
            }
        }
    }

    /// True when all lines of sight run along each other.
    pub fn is_orthographic(&self) -> bool {
        matches!(self.projection, Projection::Orthographic { .. })
    }
}

/// The lines of sight of a camera, with what they have in common worked out once.
#[derive(Clone, Copy, Debug)]
pub struct Sights {
    pub(crate) position: Vec3,
    pub(crate) forward: Vec3,
    /// Half a picture's height to the right.
    pub(crate) right: Vec3,
    /// As far up.
    pub(crate) up: Vec3,
    pub(crate) is_orthographic: bool,
}

impl Sights {
    /// As [`Camera::sight_line`].
    #[inline]
    pub fn line(&self, place: Vec2) -> Ray {
        let across = self.right * place.x + self.up * place.y;
        if self.is_orthographic {
            Ray::new(self.position + across, self.forward)
        } else {
            Ray::new(self.position, (self.forward + across).normalize())
        }
    }
}
