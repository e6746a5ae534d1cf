//! Baked surfaces among the entities of the app.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bevy::ecs::system::SystemParam;
use bevy::math::Affine3A;
use bevy::prelude::*;

use super::files::Place;
use super::lights::{self, NEAR};
use super::shown::{Shown, ShownLevel};
use crate::clock;
use crate::lightmap::Unwrap;
use crate::plugin::components::{BakeRole, BakedLevel, Roles};
use crate::plugin::convert::mesh_from_bevy;
use crate::plugin::state::{Baked, LevelFrame, are_near};
use crate::plugin::sync::Names;
use crate::plugin::write_back::{Batch, Batches, Owner, Target, set_volume_frame};
use crate::scene::SurfaceKey;

/// Main thread time per frame for matching surfaces.
const MATCHING_BUDGET: Duration = Duration::from_micros(1000);

/// World state that the matching reads.
#[derive(SystemParam)]
pub struct MatchedWorld<'w, 's> {
    surfaces: Query<'w, 's, (&'static Mesh3d, &'static GlobalTransform, Option<&'static Baked>)>,
    transforms: Query<'w, 's, &'static GlobalTransform>,
    parents: Query<'w, 's, &'static ChildOf>,
    levels: Query<'w, 's, (), With<BakedLevel>>,
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
    mut levels: Query<(Entity, &mut ShownLevel)>,
    world: MatchedWorld,
) {
    if shown.waiting.is_empty() || levels.is_empty() {
        return;
    }
    let started = clock::now();
    let mut latest_first: Vec<(u32, Entity)> = levels.iter().map(|(entity, level)| (level.number, entity)).collect();
    latest_first.sort_unstable_by(|a, b| b.cmp(a));
    let mut targets: HashMap<Entity, Vec<Target>> = HashMap::new();
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
        let surface = AppSurface { entity, key: &key, handle: original, mesh: asset, transform };
        let Some((chosen, fit)) = choose(&surface, &latest_first, &mut levels, &world) else {
            continue;
        };
        let before = baked.map(|baked| baked.level).filter(|&before| before != chosen);
        if let Some((_, mut other)) = before.and_then(|before| levels.get_mut(before).ok()) {
            other.owners.retain(|_, owner| *owner != entity);
            other.taken_by = Some(chosen);
        }
        let Ok((_, mut level)) = levels.get_mut(chosen) else {
            continue;
        };
        let is_lit = baked.is_some_and(|baked| baked.level == chosen && baked.mesh == mesh.0);
        if is_lit && level.owners.get(&fit.key) == Some(&entity) {
            continue;
        }
        let (target, baked_place) = level.take(fit, &surface);
        targets.entry(chosen).or_default().push(target);
        if level.wants_votes()
            && let Some(vote) =
                baked_place.and_then(|place| vote(place, transform.affine(), place_of(chosen, &world.transforms)))
        {
            level.count_vote(vote);
        }
    }
    let mut has_new_frames = false;
    for (entity, mut level) in &mut levels {
        if let Some(targets) = targets.remove(&entity) {
            level.is_announced = false;
            batches.push(Batch::more(Owner::Level(entity), targets));
        }
        if shown.waiting.is_empty() {
            // Assets that were loaded again have other ids.
            level.bypass_change_detection().unwraps.retain(|(mesh, _), _| world.meshes.contains(*mesh));
        }
        if level.lights.is_attached && level.has_new_frame {
            level.has_new_frame = false;
            let of_bake = level.frame.unwrap_or_default();
            commands.queue(move |world: &mut World| {
                if let Some(mut frame) = world.get_mut::<LevelFrame>(entity) {
                    frame.of_bake = of_bake;
                    set_volume_frame(world, entity, of_bake);
                }
            });
            has_new_frames = true;
        }
    }
    if has_new_frames {
        commands.run_system_cached(lights::mark);
    }
}

/// Chooses the level of a surface: the nearest one above it that knows it. If there is none above it, the level of the
/// nearest baked surface, and of equals the latest.
fn choose(
    surface: &AppSurface<'_>,
    latest_first: &[(u32, Entity)],
    levels: &mut Query<(Entity, &mut ShownLevel)>,
    world: &MatchedWorld,
) -> Option<(Entity, Fit)> {
    let lineage = core::iter::once(surface.entity).chain(world.parents.iter_ancestors(surface.entity));
    let above: Vec<Entity> = lineage.filter(|&ancestor| world.levels.contains(ancestor)).collect();
    let is_above = !above.is_empty();
    let asked = if is_above { above } else { latest_first.iter().map(|(_, level)| *level).collect() };
    let mut chosen: Option<(Entity, Fit)> = None;
    let mut others: Vec<(Entity, f32)> = Vec::new();
    let mut unfit = None;
    for entity in asked {
        // A level that has yet to be read asks for all surfaces then.
        let Ok((_, mut level)) = levels.get_mut(entity) else {
            continue;
        };
        let level = level.bypass_change_detection();
        match level.fit(surface, place_of(entity, &world.transforms), |owner| world.surfaces.contains(owner)) {
            Ok(fit) if chosen.as_ref().is_none_or(|(_, best)| fit.apart + NEAR < best.apart) => {
                chosen = Some((entity, fit));
                if is_above {
                    break;
                }
            }
            Ok(fit) => others.push((entity, fit.apart)),
            Err(Misfit::OtherMesh) => unfit = unfit.or(Some(entity)),
            Err(Misfit::Unknown) => {}
        }
    }
    if let Some((by, best)) = &chosen {
        for (other, _) in others.into_iter().filter(|(_, apart)| *apart <= best.apart + NEAR) {
            if let Ok((_, mut other)) = levels.get_mut(other) {
                other.taken_by = Some(*by);
            }
        }
    }
    if chosen.is_none()
        && let Some((_, mut level)) = unfit.and_then(|unfit| levels.get_mut(unfit).ok())
        && !core::mem::replace(&mut level.has_warned, true)
    {
        let key = surface.key;
        warn!(
            "'{key}' is not the mesh that was baked: the level's lightmaps are out of date; bake it again, or give a node with radiosity_shape its mesh instead"
        );
    }
    chosen
}

/// Returns the present transform of a level's entity.
fn place_of(level: Entity, transforms: &Query<&GlobalTransform>) -> Affine3A {
    transforms.get(level).map_or(Affine3A::IDENTITY, GlobalTransform::affine)
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

/// Baked surface that fits a surface of the app.
struct Fit {
    key: SurfaceKey,
    unwrap: Arc<Unwrap>,
    /// Distance of their places, in meters.
    apart: f32,
}

/// Reason why a level has no lightmap for a surface.
enum Misfit {
    /// It has no free surface of that key.
    Unknown,
    /// It was baked with another mesh of that key.
    OtherMesh,
}

impl ShownLevel {
    /// Returns the baked surface that fits a surface of the app. Of surfaces with keys that differ in their numbers alone,
    /// the nearest is chosen. `of_entity` is the present transform of the level's entity.
    fn fit(
        &mut self,
        surface: &AppSurface<'_>,
        of_entity: Affine3A,
        is_alive: impl Fn(Entity) -> bool,
    ) -> Result<Fit, Misfit> {
        let &AppSurface { entity, key, handle, mesh, transform } = surface;
        let places = places(transform.translation(), of_entity, self.frame);
        let is_free = |key: &SurfaceKey| self.owners.get(key).is_none_or(|&owner| owner == entity || !is_alive(owner));
        let candidates = self.index.candidates(key).into_iter();
        let candidates: Vec<&SurfaceKey> = candidates.filter(|key| is_free(key) && key.may_be_at(&places)).collect();
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
        match found {
            Some((apart, key, unwrap)) => Ok(Fit { key: key.clone(), unwrap, apart }),
            None if candidates.is_empty() => Err(Misfit::Unknown),
            None => Err(Misfit::OtherMesh),
        }
    }

    /// Gives a baked surface to a surface of the app. Returns the write-back target and the transform in the bake.
    fn take(&mut self, Fit { key, unwrap, .. }: Fit, surface: &AppSurface<'_>) -> (Target, Option<Affine3A>) {
        let &AppSurface { entity, handle, .. } = surface;
        let &Place { page, uv_rect, to_world, .. } = &self.surfaces[&key];
        self.owners.insert(key, entity);
        (Target { entity, original: handle.clone(), unwrap, page, uv_rect }, to_world)
    }
}

/// Surface of the app that is to be matched.
struct AppSurface<'a> {
    entity: Entity,
    key: &'a SurfaceKey,
    handle: &'a Handle<Mesh>,
    mesh: &'a Mesh,
    transform: &'a GlobalTransform,
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
