//! Cameras of a scene.

use glam::{Vec2, Vec3};

use crate::geometry::{Ray, sin_cos_turns};

/// Camera as described by a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Name in the file.
    pub name: String,
    /// Position, in meters.
    pub position: Vec3,
    /// Unit vector of the viewing direction.
    pub forward: Vec3,
    /// Unit vector to the right.
    pub right: Vec3,
    /// Unit vector to the top of the image.
    pub up: Vec3,
    /// Projection of the image.
    pub projection: Projection,
}

/// Projection of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Perspective projection: distant objects appear smaller.
    Perspective {
        /// Vertical field of view, in radians.
        vertical_fov: f32,
    },
    /// Orthographic projection: all rays are parallel.
    Orthographic {
        /// Height of the image, in meters.
        height: f32,
    },
}

impl Camera {
    /// Returns an upright perspective camera at `eye` that looks at `target`; `None` if the points coincide or are not
    /// finite.
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

    /// Returns the ray of unit length through a point of the image. Coordinates are measured from the center in half
    /// heights: `(0, 1)` is the middle of the top edge.
    pub fn sight_line(&self, place: Vec2) -> Ray {
        self.sights().line(place)
    }

    /// Returns all rays of the camera.
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

    /// Returns half of the image's height in meters; for a perspective camera, at a distance of one meter.
    pub fn half_height(&self) -> f32 {
        match self.projection {
            Projection::Orthographic { height } => 0.5 * height,
            Projection::Perspective { vertical_fov } => {
                let (sine, cosine) = sin_cos_turns(0.5 * vertical_fov / core::f32::consts::TAU);
                sine / cosine
            }
        }
    }

    /// Returns true if the projection is orthographic.
    pub fn is_orthographic(&self) -> bool {
        matches!(self.projection, Projection::Orthographic { .. })
    }
}

/// Rays of a camera, with shared terms precomputed.
#[derive(Clone, Copy, Debug)]
pub struct Sights {
    pub(crate) position: Vec3,
    pub(crate) forward: Vec3,
    /// Vector of half the image's height to the right.
    pub(crate) right: Vec3,
    /// Vector of half the image's height upwards.
    pub(crate) up: Vec3,
    pub(crate) is_orthographic: bool,
}

impl Sights {
    /// Returns a ray as [`Camera::sight_line`] does.
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
