//! Ray queries restricted to rays that pass near moved objects.

use glam::Vec3;

use crate::geometry::{Aabb, Escaped, Hit, Ray, RayQuery, Transmittance};

/// World that answers only rays that enter one of some boxes. All other rays bring nothing: objects in the boxes do not
/// affect them.
pub struct RestrictedQuery<'a> {
    pub world: &'a dyn RayQuery,
    pub boxes: &'a [Aabb],
}

impl RestrictedQuery<'_> {
    fn enters_a_box(&self, ray: &Ray) -> bool {
        self.boxes.iter().any(|bounds| bounds.entered_by(ray).is_some_and(|t| t <= ray.t_max))
    }
}

impl RayQuery for RestrictedQuery<'_> {
    fn trace(&self, ray: &Ray) -> Result<Hit, Escaped> {
        if self.enters_a_box(ray) { self.world.trace(ray) } else { Err(Escaped { filter: Vec3::ZERO }) }
    }

    fn blocked(&self, ray: &Ray) -> Transmittance {
        if self.enters_a_box(ray) { self.world.blocked(ray) } else { Transmittance::BLOCKED }
    }

    fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        if self.enters_a_box(ray) { self.world.all_hits(ray) } else { Vec::new() }
    }
}
