//! What is looked at.

use glam::Vec3;

use super::Mask;
use crate::geometry::Aabb;

/// A point of a polygon, and the way it faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Metres.
    pub position: Vec3,
    /// Unit normal of the side that shines: what lies below its plane is not seen.
    pub normal: Vec3,
}

/// A polygon that shines, by some of its points. All lie on one side of each plane that cuts the partition, or hardly
/// beyond; for those that do not, masks are read where they are nearest.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    place: Vec3,
    viewpoints: Vec<Viewpoint>,
    bounds: Aabb,
}

impl Source {
    /// A polygon by its points, [`Mask::MOST_VIEWPOINTS`] at most; those beyond are left out. Without any, nothing of
    /// it is seen. `place` tells on which side of planes it counts, and with that the subscene that it is in.
    pub fn new(place: Vec3, mut viewpoints: Vec<Viewpoint>) -> Self {
        viewpoints.truncate(Mask::MOST_VIEWPOINTS);
        let bounds = Aabb::around(viewpoints.iter().map(|viewpoint| viewpoint.position));
        Self { place, viewpoints, bounds }
    }

    /// Its points.
    pub fn viewpoints(&self) -> &[Viewpoint] {
        &self.viewpoints
    }

    /// The smallest box around its points.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// What tells the sides of planes that it is on.
    pub fn place(&self) -> Vec3 {
        self.place
    }

    /// False when no viewpoint has any of some points above it.
    pub(super) fn may_face(&self, points: &[Vec3]) -> bool {
        self.viewpoints.iter().any(|viewpoint| viewpoint.may_face(points))
    }

    /// True when all viewpoints have all of some points above them.
    pub(super) fn faces_all(&self, points: &[Vec3]) -> bool {
        self.viewpoints.iter().all(|viewpoint| points.iter().all(|point| viewpoint.is_above(*point)))
    }
}

impl Viewpoint {
    /// False when all points lie below its plane.
    pub(super) fn may_face(&self, points: &[Vec3]) -> bool {
        points.iter().any(|point| self.is_above(*point))
    }

    fn is_above(&self, point: Vec3) -> bool {
        (point - self.position).dot(self.normal) > 0.0
    }
}
