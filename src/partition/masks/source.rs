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
/// beyond: the first says which, and masks are read where they are nearest.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    viewpoints: Vec<Viewpoint>,
    bounds: Aabb,
}

impl Source {
    /// A polygon by its points, [`Mask::MOST_VIEWPOINTS`] at most; those beyond are left out. `None` without any.
    pub fn new(mut viewpoints: Vec<Viewpoint>) -> Option<Self> {
        viewpoints.truncate(Mask::MOST_VIEWPOINTS);
        let bounds = Aabb::around(viewpoints.iter().map(|viewpoint| viewpoint.position));
        (!viewpoints.is_empty()).then_some(Self { viewpoints, bounds })
    }

    /// Its points.
    pub fn viewpoints(&self) -> &[Viewpoint] {
        &self.viewpoints
    }

    /// The smallest box around its points.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// One of its points, to tell the sides of planes by.
    pub fn place(&self) -> Vec3 {
        self.viewpoints[0].position
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
