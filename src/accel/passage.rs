//! Transmission of rays through materials.

use glam::Vec3;

use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Hit, Ray};
use crate::scene::{Passage, Scene};

fn passage(scene: &Scene, hit: &Hit) -> Passage {
    let (material, mesh) = (scene.material_of(hit.surface), scene.mesh_of(hit.surface));
    material.passage_at(scene, mesh, hit.triangle, hit.barycentric)
}

/// Returns the transmittance of the surface at a hit, per color channel.
pub(super) fn transmittance(scene: &Scene, hit: &Hit) -> Vec3 {
    passage(scene, hit).transmittance
}

/// Decides whether a ray passes the surface at a hit. Returns the tint of a ray that passes, or `None` if the ray
/// stops.
///
/// The probability of stopping is the probability of meeting a reflecting part: coverage minus the transmittance of
/// panes. Rays that pass share the remaining tint. The decision is a pure function of the ray's direction and the hit
/// point on the triangle.
pub(super) fn passed(scene: &Scene, ray: &Ray, hit: &Hit) -> Option<Vec3> {
    let passage = passage(scene, hit);
    if passage.probability <= 0.0 {
        return None;
    }
    (unit_float(ray_hash(ray, hit)) < passage.probability).then(|| passage.tint())
}

/// Quantization step of the decision's hash, in barycentric coordinates and in parts of the largest direction
/// component. Values closer than this count as equal, so that a shader decides alike although its last bits differ.
/// Rays of a bake lie farther apart.
const ALIKE: f32 = 1.0 / 16384.0;

fn ray_hash(ray: &Ray, hit: &Hit) -> u32 {
    let direction = ray.direction / ray.direction.abs().max_element();
    let numbers = hit.barycentric.to_array().into_iter().chain(direction.to_array());
    let rounded = numbers.map(|number| (number / ALIKE + 0.5).floor() as i32 as u32);
    rounded.fold(hash2(hit.surface.0, hit.triangle), hash2)
}
