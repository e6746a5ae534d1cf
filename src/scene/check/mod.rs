//! Finds what is wrong with a scene, repairs what can be repaired, and says both.
//!
//! [`repair`] is run on every scene, whether it comes from a file or from a Bevy world, so that the rooms below may
//! trust what they are given: finite numbers, indices that exist, unit normals, reflectances of at most one, keys that
//! differ. [`darkness`] is asked once sky and sun have been set.

mod lightmap_uv;
mod lights;
mod materials;
mod meshes;
mod surfaces;

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

pub(crate) use self::lights::{STRONGEST, fault as fault_of_light, fault_of_strength};
#[cfg(feature = "plugin")]
pub(crate) use self::surfaces::UniqueKeys;
use super::{Problem, Role, Scene, Surface};
use crate::geometry::{Aabb, SurfaceId};

/// Scenes beyond this are probably in centimetres or millimetres, metres.
const LARGEST_SCENE: f32 = 10_000.0;
/// Scenes beyond this are so if most of their triangles are longer than the second number, metres.
const LARGE_AND_COARSE: [f32; 2] = [1_000.0, 10.0];
/// So are scenes beyond this, in their least extent too, if most of their triangles are as long, metres.
const LARGEST_ROOM: f32 = 50.0;
/// Of so many triangles the length is looked at.
const MOST_TRIANGLES: usize = 10_000;
/// Scenes farther from the origin than so many times their size are coarse.
const FARTHEST_IN_SIZES: f32 = 2_000.0;
/// Scenes below this are probably in kilometres or inches, metres.
const SMALLEST_SCENE: f32 = 0.01;
/// Scenes below this are no larger than the gaps that rays keep to surfaces allow for, metres.
const TINIEST_SCENE: f32 = 0.001;

/// Repairs a scene and says what was wrong with it.
///
/// | fault | repair |
/// | --- | --- |
/// | triangle with a NaN, infinite, absurdly far or missing vertex | dropped |
/// | triangle without area | kept, so that the others keep their numbers; structures leave it out |
/// | normal that is zero or not finite | that of its faces |
/// | attribute of the wrong length | dropped |
/// | transform that is not finite, or leads beyond a billion meters | the surface is excluded |
/// | reflectance above one, alpha or metalness outside 0..1 | clamped |
/// | negative or non-finite material numbers | the default |
/// | emission beyond that of any light | as much as that |
/// | light with unusable numbers | dropped |
/// | two surfaces of one key | the later one gets a number |
pub fn repair(scene: &mut Scene) -> Vec<Problem> {
    let of_meshes: Vec<Vec<Problem>> =
        scene.meshes.par_iter_mut().map(|mesh| meshes::repair(Arc::make_mut(mesh))).collect();
    let mut problems: Vec<Problem> = of_meshes.into_iter().flatten().collect();
    materials::repair(scene, &mut problems);
    surfaces::repair(scene, &mut problems);
    lights::repair(scene, &mut problems);
    leave_out_too_far(scene, &mut problems);
    lightmap_uv::inspect(scene, &mut problems);
    let bounds = baked_bounds(scene);
    let metres = bounds.diagonal();
    problems.extend(far_from_origin(scene, metres));
    let is_below = |size| metres > 0.0 && metres < size;
    if is_below(TINIEST_SCENE) {
        problems.push(Problem::TooSmall { metres });
    } else if is_below(SMALLEST_SCENE) || is_too_large(scene, &bounds) {
        problems.push(Problem::AbsurdSize { metres });
    }
    problems
}

/// Says when nothing in a scene gives off light, so that a bake of it would be black.
pub fn darkness(scene: &Scene) -> Option<Problem> {
    darkness_of(scene, Surface::is_in_bake)
}

/// The same for a picture of it, which shows what moves too.
pub fn darkness_of_picture(scene: &Scene) -> Option<Problem> {
    darkness_of(scene, |surface| surface.role != Role::Excluded)
}

fn darkness_of(scene: &Scene, takes_part: impl Fn(&Surface) -> bool) -> Option<Problem> {
    let glows = |id| takes_part(scene.surface(id)) && scene.material_of(id).is_emissive();
    let is_lit = !scene.sky.is_dark() || scene.lights.iter().any(lights::shines) || scene.surface_ids().any(glows);
    (!is_lit).then_some(Problem::NoLight)
}

/// Bounds of what takes part in the bake.
fn baked_bounds(scene: &Scene) -> Aabb {
    boxes(scene).fold(Aabb::EMPTY, |all, (_, bounds)| all.union(bounds))
}

/// The bounds of each surface that takes part in the bake.
fn boxes(scene: &Scene) -> impl Iterator<Item = (SurfaceId, Aabb)> {
    let ids = scene.surface_ids().filter(|id| scene.surface(*id).role != Role::Excluded);
    ids.map(|id| (id, Aabb::around(corners(scene, id))))
}

/// The corners of a surface's triangles in the world.
fn corners(scene: &Scene, id: SurfaceId) -> impl Iterator<Item = Vec3> {
    let (mesh, to_world) = (scene.mesh_of(id), scene.surface(id).to_world);
    mesh.triangles.iter().flatten().map(move |&vertex| to_world.transform_point3(mesh.positions[vertex as usize]))
}

/// Distance of the farthest point of a box from the origin, along an axis.
fn reach(bounds: &Aabb) -> f32 {
    bounds.min.abs().max(bounds.max.abs()).max_element()
}

/// Excludes surfaces that their nodes enlarge or move beyond what vertices of meshes may be.
fn leave_out_too_far(scene: &mut Scene, problems: &mut Vec<Problem>) {
    let is_too_far =
        |id: &SurfaceId| scene.surface(*id).role != Role::Excluded && !corners(scene, *id).all(meshes::is_usable);
    let too_far: Vec<SurfaceId> = scene.surface_ids().filter(is_too_far).collect();
    for id in too_far {
        let surface = &mut scene.surfaces[id.index()];
        surface.role = Role::Excluded;
        problems.push(Problem::TooFar { surface: surface.key.clone() });
    }
}

/// Says when a scene of this size lies where the steps between numbers are large beside it.
fn far_from_origin(scene: &Scene, size: f32) -> Option<Problem> {
    let farthest = boxes(scene).filter(|(_, bounds)| *bounds != Aabb::EMPTY).map(|(id, bounds)| (id, reach(&bounds)));
    let (id, metres) = farthest.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let surface = scene.surface(id).key.clone();
    (size > 0.0 && metres > FARTHEST_IN_SIZES * size).then_some(Problem::FarFromOrigin { surface, metres, size })
}

/// True when a scene of this size is not in metres: no landscape is so coarse, and no room so high.
fn is_too_large(scene: &Scene, bounds: &Aabb) -> bool {
    let metres = bounds.diagonal();
    if metres <= LARGEST_ROOM || metres > LARGEST_SCENE {
        return metres > LARGEST_SCENE;
    }
    let length = typical_length(scene);
    let [large, coarse] = LARGE_AND_COARSE;
    (metres > large && length > coarse)
        || ((bounds.max - bounds.min).min_element() > LARGEST_ROOM && length > LARGEST_ROOM)
}

/// The median of the longest edges of triangles that take part in the bake, metres.
fn typical_length(scene: &Scene) -> f32 {
    let step = scene.triangle_count().div_ceil(MOST_TRIANGLES).max(1);
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
