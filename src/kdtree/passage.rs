//! What materials let through.

use glam::Vec3;

use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Hit, Ray};
use crate::scene::{Passage, Scene};

fn passage(scene: &Scene, hit: &Hit) -> Passage {
    let (material, mesh) = (scene.material_of(hit.surface), scene.mesh_of(hit.surface));
    material.passage_at(scene, mesh, hit.triangle, hit.barycentric)
}

/// How much of the light crosses the surface at a hit, per channel.
pub(super) fn transmittance(scene: &Scene, hit: &Hit) -> Vec3 {
    passage(scene, hit).transmittance
}

/// Whether a ray passes the surface at a hit, and with what tint; `None` when it stops there.
///
/// A ray stops with the chance of meeting what reflects: coverage, less what panes let through. Those that pass share what
/// tint there is. Chance is a pure function of the ray's direction and of where it meets the triangle.
pub(super) fn passed(scene: &Scene, ray: &Ray, hit: &Hit) -> Option<Vec3> {
    let passage = passage(scene, hit);
    if passage.chance <= 0.0 {
        return None;
    }
    (unit_float(ray_hash(ray, hit)) < passage.chance).then(|| passage.tint())
}

/// Places on a triangle, in parts of its edges, and directions, in parts of their largest component, that differ by less
/// count as one: a shader, whose last bits differ, decides alike, and rays of a bake lie farther apart.
const ALIKE: f32 = 1.0 / 16384.0;

fn ray_hash(ray: &Ray, hit: &Hit) -> u32 {
    let direction = ray.direction / ray.direction.abs().max_element();
    let numbers = hit.barycentric.to_array().into_iter().chain(direction.to_array());
    let rounded = numbers.map(|number| (number / ALIKE + 0.5).floor() as i32 as u32);
    rounded.fold(hash2(hit.surface.0, hit.triangle), hash2)
}
