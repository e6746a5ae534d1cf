//! Baked surfaces among the entities of the app.

use std::sync::Arc;
use std::time::Duration;

use bevy::ecs::system::SystemParam;
use bevy::math::Affine3A;
use bevy::prelude::*;

use super::files::Place;
use super::lights;
use super::shown::{Shown, ShownLevel};
use crate::clock;
use crate::lightmap::Unwrap;
use crate::plugin::components::{BakeRole, Roles};
use crate::plugin::convert::mesh_from_bevy;
use crate::plugin::state::{Baked, LevelFrame, are_near};
use crate::plugin::sync::Names;
use crate::plugin::write_back::{Batch, Batches, Target, set_volume_frame};
use crate::scene::SurfaceKey;

/// Main thread time per frame for matching surfaces.
const MATCHING_BUDGET: Duration = Duration::from_micros(1000);

/// Number of surfaces that tell where the level stood at the time of the bake.
const VOTES: usize = 15;

/// World state that the matching reads.
#[derive(SystemParam)]
pub struct MatchedWorld<'w, 's> {
    surfaces: Query<'w, 's, (&'static Mesh3d, &'static GlobalTransform, Option<&'static Baked>)>,
    transforms: Query<'w, 's, &'static GlobalTransform>,
    roles: Roles<'w, 's>,
    names: Names<'w, 's>,
    assets: Res<'w, AssetServer>,
    meshes: Res<'w, Assets<Mesh>>,
}

/// Matches waiting surfaces within the frame's budget.
pub fn match_surfaces(
    mut commands: Commands,
    mut shown: ResMut<Shown>,
    mut batches: ResMut<Batches>,
    world: MatchedWorld,
) {
    if shown.waiting.is_empty() {
        return;
    }
    let shown = &mut *shown;
    let Some(level) = &mut shown.level else {
        return;
    };
    let started = clock::now();
    let of_entity = world.transforms.get(level.entity).map_or(Affine3A::IDENTITY, GlobalTransform::affine);
    let before = level.frame();
    let mut frame = before;
    let mut targets = Vec::new();
    for _ in 0..shown.waiting.len() {
        if started.elapsed() > MATCHING_BUDGET {
            break;
        }
        let Some(entity) = shown.waiting.pop_front() else {
            break;
        };
        let Ok((mesh, transform, baked)) = world.surfaces.get(entity) else {
            continue;
        };
        if world.roles.of(entity) == Some(BakeRole::Excluded) {
            continue;
        }
        let original = match baked {
            Some(baked) if baked.mesh == mesh.0 => &baked.original,
            _ => &mesh.0,
        };
        let Some(asset) = world.meshes.get(original) else {
            shown.waiting.push_back(entity);
            continue;
        };
        let path = world.assets.get_path(original.id());
        let key = world.names.surface_key(entity, path.as_ref(), transform.translation());
        let places = places(transform.translation(), of_entity, frame);
        let surface = AppSurface { entity, key: &key, handle: original, mesh: asset, places };
        let target = level.target(&surface, |owner| world.surfaces.contains(owner));
        let Some((target, baked_place)) = target else {
            continue;
        };
        targets.push(target);
        if level.votes.len() < VOTES
            && let Some(baked_place) = baked_place
        {
            level.votes.extend(vote(baked_place, transform.affine(), of_entity));
            frame = level.frame();
        }
    }
    if !targets.is_empty() {
        batches.push(Batch::more(targets));
    }
    if shown.waiting.is_empty() {
        // Assets that were loaded again have other ids.
        level.unwraps.retain(|(mesh, _), _| world.meshes.contains(*mesh));
    }
    if frame != before && level.lights.is_attached {
        let of_bake = frame.unwrap_or_default();
        commands.queue(move |world: &mut World| {
            world.resource_mut::<LevelFrame>().of_bake = of_bake;
            set_volume_frame(world, of_bake);
        });
        commands.run_system_cached(lights::mark);
    }
}

/// Returns the transform of the level's entity at the time of the bake, if a surface has kept its place in the level.
fn vote(baked: Affine3A, now: Affine3A, of_entity: Affine3A) -> Option<Affine3A> {
    let of_bake = baked * now.inverse() * of_entity;
    let likely = [Affine3A::IDENTITY, of_entity].into_iter().find(|likely| are_near(likely, &of_bake));
    Some(likely.unwrap_or(of_bake)).filter(Affine3A::is_finite)
}

/// Returns the possible positions of a surface in the bake. Before the frame is known, the level may have stood in the
/// bake as in its file, or as it stands now.
fn places(now: Vec3, of_entity: Affine3A, frame: Option<Affine3A>) -> [Vec3; 2] {
    let in_entity = of_entity.inverse().transform_point3(now);
    match frame {
        Some(frame) => [frame.transform_point3(in_entity); 2],
        None => [in_entity, now],
    }
}

impl ShownLevel {
    /// Returns the write-back target of a surface, and its transform in the bake. `None` if the level has no free
    /// surface of that key. Of surfaces with keys that differ in their numbers alone, the nearest is chosen.
    fn target(
        &mut self,
        surface: &AppSurface<'_>,
        is_alive: impl Fn(Entity) -> bool,
    ) -> Option<(Target, Option<Affine3A>)> {
        let &AppSurface { entity, key, handle, mesh, places } = surface;
        let is_free = |key: &SurfaceKey| self.owners.get(key).is_none_or(|&owner| owner == entity || !is_alive(owner));
        let candidates: Vec<&SurfaceKey> = self.index.candidates(key).into_iter().filter(|key| is_free(key)).collect();
        let mut found: Option<(f32, &SurfaceKey, Arc<Unwrap>)> = None;
        for &candidate in &candidates {
            if found.as_ref().is_some_and(|(_, first, _)| first.without_number() != candidate.without_number()) {
                break;
            }
            let Some(place) = self.surfaces.get(candidate) else { continue };
            let unwrap = self
                .unwraps
                .entry((handle.id(), place.mesh))
                .or_insert_with(|| self.meshes[place.mesh].unwrap(&mesh_from_bevy(&key.0, mesh).ok()?).map(Arc::new));
            let Some(unwrap) = unwrap.clone() else { continue };
            let apart = |baked: Affine3A| {
                places.map(|place| place.distance(baked.translation.into())).into_iter().fold(f32::INFINITY, f32::min)
            };
            let apart = place.to_world.map_or(0.0, apart);
            if found.as_ref().is_none_or(|(nearest, ..)| apart < *nearest) {
                found = Some((apart, candidate, unwrap));
            }
        }
        if let Some((_, chosen, unwrap)) = found {
            let chosen = chosen.clone();
            let &Place { page, uv_rect, to_world, .. } = &self.surfaces[&chosen];
            self.owners.insert(chosen, entity);
            return Some((Target { entity, original: handle.clone(), unwrap, page, uv_rect }, to_world));
        }
        if !candidates.is_empty() && !core::mem::replace(&mut self.has_warned, true) {
            warn!("'{key}' is not the mesh that was baked: the level's lightmaps are out of date; bake it again");
        }
        None
    }
}

/// Surface of the app that is to be matched.
struct AppSurface<'a> {
    entity: Entity,
    key: &'a SurfaceKey,
    handle: &'a Handle<Mesh>,
    mesh: &'a Mesh,
    /// Possible positions in the bake, in meters.
    places: [Vec3; 2],
}

#[cfg(test)]
mod tests {
    use bevy::math::Quat;

    use super::*;

    #[test]
    fn a_surface_tells_where_its_level_stood() {
        let place = Affine3A::from_scale_rotation_translation(
            Vec3::splat(0.5),
            Quat::from_rotation_y(1.0),
            Vec3::new(7.0, -2.0, 3.0),
        );
        let part = Affine3A::from_translation(Vec3::new(1.0, 2.0, 3.0));
        // A file is baked without the transform of the entity, and a world of an app with it.
        assert_eq!(vote(part, place * part, place), Some(Affine3A::IDENTITY));
        assert_eq!(vote(place * part, place * part, place), Some(place));
        let before = Affine3A::from_translation(Vec3::X);
        assert!(are_near(&vote(before * part, place * part, place).unwrap(), &before));
        assert_eq!(vote(part, Affine3A::ZERO, place), None);
    }
}
