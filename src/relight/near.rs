//! Rays that what has moved may have to do with.

use glam::Vec3;

use crate::geometry::{Aabb, Escaped, Hit, Ray, RayQuery, Transmittance};

/// A world that answers rays which come by some boxes. Others bring nothing: what they meet is the same wherever that is
/// which the boxes are around.
pub struct Near<'a> {
    pub world: &'a dyn RayQuery,
    pub boxes: &'a [Aabb],
}

impl Near<'_> {
    fn comes_by(&self, ray: &Ray) -> bool {
        self.boxes.iter().any(|bounds| bounds.entered_by(ray).is_some_and(|t| t <= ray.t_max))
    }
}

impl RayQuery for Near<'_> {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        if self.comes_by(ray) { self.world.trace(ray) } else { Err(Escaped { filter: Vec3::ZERO }) }
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        if self.comes_by(ray) { self.world.blocked(ray) } else { Transmittance::BLOCKED }
    }

    fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        if self.comes_by(ray) { self.world.all_hits(ray) } else { Vec::new() }
    }
}
