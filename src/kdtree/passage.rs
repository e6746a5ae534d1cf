//! What materials let through.

use glam::Vec3;

use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Hit, Ray};
use crate::scene::Scene;

/// How much of the light crosses the surface at a hit, per channel.
pub(super) fn transmittance(scene: &Scene, hit: &Hit) -> Vec3 {
    let (material, mesh) = (scene.material_of(hit.surface), scene.mesh_of(hit.surface));
    material.transmittance_at(scene, mesh, hit.triangle, hit.barycentric)
}

/// Whether a ray passes the surface at a hit, and with what tint; `None` when it stops there.
///
/// A ray passes with the chance of the largest channel, so the tint that is left has a largest channel of one. Chance
/// is a pure function of the ray and the triangle.
pub(super) fn passed(scene: &Scene, ray: &Ray, hit: &Hit) -> Option<Vec3> {
    let through = transmittance(scene, hit);
    let chance = through.max_element();
    if chance <= 0.0 {
        return None;
    }
    (unit_float(ray_hash(ray, hit)) < chance).then(|| through / chance)
}

fn ray_hash(ray: &Ray, hit: &Hit) -> u32 {
    let numbers = ray.origin.to_array().into_iter().chain(ray.direction.to_array());
    numbers.map(f32::to_bits).fold(hash2(hit.surface.0, hit.triangle), hash2)
}
