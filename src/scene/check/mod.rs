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

use rayon::prelude::*;

pub(crate) use self::lights::{STRONGEST, fault as fault_of_light, fault_of_strength};
#[cfg(feature = "plugin")]
pub(crate) use self::surfaces::UniqueKeys;
use super::{Problem, Role, Scene, Surface};

/// Scenes beyond this are probably in centimetres or millimetres, metres.
const LARGEST_SCENE: f32 = 10_000.0;
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
/// | transform that is not finite | the surface is excluded |
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
    lightmap_uv::inspect(scene, &mut problems);
    let metres = baked_diagonal(scene);
    let is_below = |size| metres > 0.0 && metres < size;
    if is_below(TINIEST_SCENE) {
        problems.push(Problem::TooSmall { metres });
    } else if is_below(SMALLEST_SCENE) || metres > LARGEST_SCENE {
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

/// Size of what takes part in the bake, metres.
fn baked_diagonal(scene: &Scene) -> f32 {
    use crate::geometry::Aabb;
    let boxes = scene.surface_ids().filter(|id| scene.surface(*id).role != Role::Excluded).map(|id| {
        let used = scene.mesh_of(id).triangles.iter().flatten();
        let to_world = scene.surface(id).to_world;
        Aabb::around(used.map(|&vertex| to_world.transform_point3(scene.mesh_of(id).positions[vertex as usize])))
    });
    boxes.fold(Aabb::EMPTY, Aabb::union).diagonal()
}

#[cfg(test)]
mod tests;
