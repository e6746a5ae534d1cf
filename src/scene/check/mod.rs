//! Checks of scenes: finds faults, repairs them where possible, and reports both.
//!
//! [`repair`] runs on every scene, whether from a file or from a Bevy world, and turns it into a [`CheckedScene`]. Bakes
//! take no other. [`darkness`] is called once sky and sun are set.
//! - `meshes.rs`, `materials.rs`, `surfaces.rs` and `lights.rs` repair one kind of data each.
//! - `lightmap_uv.rs` reports unusable lightmap coordinates.

mod checked;
mod lightmap_uv;
mod lights;
mod materials;
mod meshes;
mod surfaces;

use std::sync::Arc;

use glam::{Affine3A, Vec3};
use rayon::prelude::*;

pub use self::checked::CheckedScene;
pub(crate) use self::lights::{STRONGEST, fault as fault_of_light, fault_of_strength};
#[cfg(feature = "plugin")]
pub(crate) use self::surfaces::UniqueKeys;
use super::{MeshData, Problem, Role, Scene, Surface};
use crate::geometry::{Aabb, SurfaceId};

/// Diagonal in meters beyond which a scene is probably in centimeters or millimeters.
const LARGEST_SCENE: f32 = 10_000.0;
/// Diagonal and median triangle length in meters. A scene that exceeds both is probably in wrong units too.
const LARGE_AND_COARSE: [f32; 2] = [1_000.0, 10.0];
/// Smallest extent and median triangle length in meters. A scene that exceeds it in both is probably in wrong units
/// too.
const LARGEST_ROOM: f32 = 50.0;
/// Maximum number of triangles measured for the median length.
const MAX_TRIANGLES: usize = 10_000;
/// Distance from the origin, in multiples of the scene's size, beyond which coordinates are too coarse.
const FARTHEST_IN_SIZES: f32 = 2_000.0;
/// Diagonal in meters below which a scene is probably in kilometers or inches.
const SMALLEST_SCENE: f32 = 0.01;
/// Diagonal in meters below which a scene is too small for the gaps that rays keep to surfaces.
const TINIEST_SCENE: f32 = 0.001;

/// Repairs a scene. Returns it with the problems found. Meshes that other owners share stay as they are there.
///
/// | fault | repair |
/// | --- | --- |
/// | triangle with a NaN, infinite, implausibly far or missing vertex | dropped |
/// | triangle without area | kept, so that indices stay valid; acceleration structures omit it |
/// | normal that is zero or not finite | replaced by the mean normal of its faces |
/// | attribute of the wrong length | dropped |
/// | transform that is not finite, or leads beyond a billion meters | the surface is excluded |
/// | reflectance above one, alpha or metalness outside 0..1 | clamped |
/// | negative or non-finite material numbers | the default |
/// | emission beyond that of any light | clamped |
/// | light with unusable numbers | dropped |
/// | sky with unusable numbers | dark |
/// | two surfaces with one key | the later key gets a number |
pub fn repair(mut scene: Scene) -> (CheckedScene, Vec<Problem>) {
    let of_meshes: Vec<Vec<Problem>> = scene.meshes.par_iter_mut().map(repair_mesh).collect();
    let mut problems: Vec<Problem> = of_meshes.into_iter().flatten().collect();
    materials::repair(&mut scene, &mut problems);
    surfaces::repair(&mut scene, &mut problems);
    lights::repair(&mut scene, &mut problems);
    leave_out_too_far(&mut scene, &mut problems);
    lightmap_uv::inspect(&scene, &mut problems);
    let bounds = baked_bounds(&scene);
    let meters = bounds.diagonal();
    problems.extend(far_from_origin(&scene, meters));
    let is_below = |size| meters > 0.0 && meters < size;
    if is_below(TINIEST_SCENE) {
        problems.push(Problem::TooSmall { meters });
    } else if is_below(SMALLEST_SCENE) || is_too_large(&scene, &bounds) {
        problems.push(Problem::AbsurdSize { meters });
    }
    (CheckedScene::new(scene), problems)
}

/// Repairs a mesh. A sound mesh stays shared with its other owners.
fn repair_mesh(mesh: &mut Arc<MeshData>) -> Vec<Problem> {
    if let Some(unshared) = Arc::get_mut(mesh) {
        return meshes::repair(unshared);
    }
    let mut repaired = MeshData::clone(mesh);
    let problems = meshes::repair(&mut repaired);
    if repaired != **mesh {
        *mesh = Arc::new(repaired);
    }
    problems
}

/// Returns a problem if the scene has no light source, so that a bake would be black.
pub fn darkness(scene: &Scene) -> Option<Problem> {
    darkness_of(scene, Surface::is_in_bake)
}

/// Returns a problem if an image of the scene, which includes movers, has no light source.
pub fn darkness_of_picture(scene: &Scene) -> Option<Problem> {
    darkness_of(scene, |surface| surface.role != Role::Excluded)
}

fn darkness_of(scene: &Scene, takes_part: impl Fn(&Surface) -> bool) -> Option<Problem> {
    let glows = |id| takes_part(scene.surface(id)) && scene.material_of(id).is_emissive();
    let is_lit = !scene.sky.is_dark() || scene.lights.iter().any(lights::shines) || scene.surface_ids().any(glows);
    (!is_lit).then_some(Problem::NoLight)
}

/// Returns the bounds of all surfaces that are not excluded.
fn baked_bounds(scene: &Scene) -> Aabb {
    boxes(scene).fold(Aabb::EMPTY, |all, (_, bounds)| all.union(bounds))
}

/// Returns the bounds of each surface that is not excluded.
fn boxes(scene: &Scene) -> impl Iterator<Item = (SurfaceId, Aabb)> {
    let ids = scene.surface_ids().filter(|id| scene.surface(*id).role != Role::Excluded);
    ids.map(|id| (id, Aabb::around(corners(scene, id))))
}

/// Iterates over the corners of a surface's triangles in world space.
fn corners(scene: &Scene, id: SurfaceId) -> impl Iterator<Item = Vec3> {
    let (mesh, to_world) = (scene.mesh_of(id), scene.surface(id).to_world);
    mesh.triangles.iter().flatten().map(move |&vertex| to_world.transform_point3(mesh.positions[vertex as usize]))
}

/// Returns the largest absolute coordinate of a box.
fn reach(bounds: &Aabb) -> f32 {
    bounds.min.abs().max(bounds.max.abs()).max_element()
}

/// Excludes surfaces whose transforms move vertices beyond the usable range of coordinates. Such transforms are reset, so
/// that their areas and bounds are finite.
fn leave_out_too_far(scene: &mut Scene, problems: &mut Vec<Problem>) {
    let is_too_far =
        |id: &SurfaceId| scene.surface(*id).role != Role::Excluded && !corners(scene, *id).all(meshes::is_usable);
    let too_far: Vec<SurfaceId> = scene.surface_ids().filter(is_too_far).collect();
    for id in too_far {
        let surface = &mut scene.surfaces[id.index()];
        surface.role = Role::Excluded;
        surface.to_world = Affine3A::IDENTITY;
        problems.push(Problem::TooFar { surface: surface.key.clone() });
    }
}

/// Reports a scene so far from the origin that the spacing of floats is coarse relative to its size.
fn far_from_origin(scene: &Scene, size: f32) -> Option<Problem> {
    let farthest = boxes(scene).filter(|(_, bounds)| *bounds != Aabb::EMPTY).map(|(id, bounds)| (id, reach(&bounds)));
    let (id, meters) = farthest.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let surface = scene.surface(id).key.clone();
    (size > 0.0 && meters > FARTHEST_IN_SIZES * size).then_some(Problem::FarFromOrigin { surface, meters, size })
}

/// Returns true if the scene is probably not in meters: no landscape is so coarse, and no room so high.
fn is_too_large(scene: &Scene, bounds: &Aabb) -> bool {
    let meters = bounds.diagonal();
    if meters <= LARGEST_ROOM || meters > LARGEST_SCENE {
        return meters > LARGEST_SCENE;
    }
    let length = typical_length(scene);
    let [large, coarse] = LARGE_AND_COARSE;
    (meters > large && length > coarse)
        || ((bounds.max - bounds.min).min_element() > LARGEST_ROOM && length > LARGEST_ROOM)
}

/// Returns the median of the longest edges of triangles in surfaces that are not excluded, in meters.
fn typical_length(scene: &Scene) -> f32 {
    let step = scene.triangle_count().div_ceil(MAX_TRIANGLES).max(1);
    let taking_part = scene.surface_ids().filter(|id| scene.surface(*id).role != Role::Excluded);
    let triangles = taking_part.flat_map(|id| scene.mesh_of(id).triangles.iter().map(move |triangle| (id, triangle)));
    let mut lengths: Vec<f32> = triangles
        .step_by(step)
        .map(|(id, triangle)| {
            let (mesh, to_world) = (scene.mesh_of(id), scene.surface(id).to_world);
            let [a, b, c] = triangle.map(|vertex| to_world.transform_point3(mesh.positions[vertex as usize]));
            a.distance(b).max(b.distance(c)).max(c.distance(a))
        })
        .collect();
    lengths.sort_unstable_by(f32::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
