//! Sources: luminous polygons, sampled by viewpoints.

use glam::Vec3;

use super::Mask;
use crate::geometry::Aabb;

/// Sample point of a polygon, with its orientation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewpoint {
    /// Position in world space, in meters.
    pub position: Vec3,
    /// Unit normal of the emitting side. Points below the tangent plane receive nothing.
    pub normal: Vec3,
}

/// Luminous polygon, represented by sample points. All points should lie on one side of each plane of the partition.
/// For points slightly beyond, the nearest mask rectangle is read.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskSource {
    place: Vec3,
    viewpoints: Vec<Viewpoint>,
    bounds: Aabb,
}

impl MaskSource {
    /// Creates a source from its viewpoints. Only the first [`Mask::MAX_VIEWPOINTS`] are kept; without any, the source
    /// is invisible. `place` decides on which side of each plane the source counts, and thus its home subscene.
    pub fn new(place: Vec3, mut viewpoints: Vec<Viewpoint>) -> Self {
        viewpoints.truncate(Mask::MAX_VIEWPOINTS);
        let bounds = Aabb::around(viewpoints.iter().map(|viewpoint| viewpoint.position));
        Self { place, viewpoints, bounds }
    }

    /// Returns the viewpoints.
    pub fn viewpoints(&self) -> &[Viewpoint] {
        &self.viewpoints
    }

    /// Returns the bounding box of the viewpoints.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Returns the point that decides on which side of each plane the source lies.
    pub fn place(&self) -> Vec3 {
        self.place
    }

    /// Returns false if all points lie below all viewpoints' tangent planes.
    pub(super) fn may_face(&self, points: &[Vec3]) -> bool {
        self.viewpoints.iter().any(|viewpoint| viewpoint.may_face(points))
    }

    /// Returns true if all points lie above all viewpoints' tangent planes.
    pub(super) fn faces_all(&self, points: &[Vec3]) -> bool {
        self.viewpoints.iter().all(|viewpoint| points.iter().all(|point| viewpoint.is_above(*point)))
    }
}

impl Viewpoint {
    /// Returns false if all points lie below the viewpoint's tangent plane.
    pub(super) fn may_face(&self, points: &[Vec3]) -> bool {
        points.iter().any(|point| self.is_above(*point))
    }

    fn is_above(&self, point: Vec3) -> bool {
        (point - self.position).dot(self.normal) > 0.0
    }
}
