//! Detection of movers: meshes that have moved since they were loaded are no part of a bake.

use bevy::ecs::entity::EntityHashSet;
use bevy::math::{Affine3A, Vec3A};
use bevy::prelude::*;

use super::Names;
use crate::plugin::state::{LevelFrame, are_near};
use crate::plugin::ticks::{any_added, any_changed};

/// Marks an entity that has moved since it was loaded.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct Moved;

/// Initial transform of an entity.
#[derive(Component, Clone, Copy)]
pub struct RestPose {
    pub(super) transform: GlobalTransform,
    frames_left: u8,
}

impl RestPose {
    /// Returns the initial transform.
    pub fn transform(&self) -> GlobalTransform {
        self.transform
    }
}

/// Frames before movement counts. Placement may need a spawn, a propagation, and a system that sets the transform.
const FRAMES_TO_SETTLE: u8 = 3;

/// True while a mesh entity has frames left to settle.
#[derive(Resource, Default)]
pub struct Settling(bool);

type Movable = (With<Mesh3d>, Without<Moved>);

/// Run condition: a mesh, or a shown level, may have moved or may still settle.
pub fn has_motion(
    settling: Res<Settling>,
    levels: Query<(Ref<LevelFrame>, Ref<GlobalTransform>)>,
    places: Query<Ref<GlobalTransform>, Movable>,
    meshes: Query<Ref<Mesh3d>, Movable>,
) -> bool {
    let of_level = || levels.iter().any(|(frame, transform)| frame.is_changed() || transform.is_changed());
    settling.0 || of_level() || any_changed(&places) || any_added(&meshes)
}

/// Takes the present transforms of the shown levels.
pub fn follow_levels(
    mut levels: Query<(Entity, &mut LevelFrame, &GlobalTransform)>,
    names: Names,
    mut warned_of: Local<EntityHashSet>,
) {
    for (entity, mut frame, transform) in &mut levels {
        let now = transform.affine();
        if now != frame.now {
            frame.now = now;
        }
        // A level may stand so from the start.
        if frame.is_changed() && !keeps_angles(&frame.bake_to_world()) && warned_of.insert(entity) {
            warn!(
                "baked level {} is scaled unevenly, sheared or mirrored: its lightmaps fit, but light of movers and \
                 relighting do not; scale it by one number",
                names.describe(entity)
            );
        }
    }
}

/// Returns true for a rotation, translation and uniform scale.
fn keeps_angles(transform: &Affine3A) -> bool {
    let [x, y, z] = [transform.matrix3.x_axis, transform.matrix3.y_axis, transform.matrix3.z_axis];
    let scale = x.length();
    let is_even = [y, z].iter().all(|axis| (axis.length() - scale).abs() <= 1e-3 * scale);
    let is_right = [x.dot(y), y.dot(z), z.dot(x)].iter().all(|dot| dot.abs() <= 1e-3 * scale * scale);
    is_even && is_right && transform.matrix3.determinant() > 0.0
}

/// Entities that have moved, or have become meshes.
type Moving = (Movable, Or<(Changed<GlobalTransform>, Added<Mesh3d>)>);

/// Marks mesh entities whose transform changes after they have settled. A level that moves as a whole carries its parts.
pub fn note_movement(
    mut commands: Commands,
    mut settling: ResMut<Settling>,
    levels: Query<&LevelFrame>,
    parents: Query<&ChildOf>,
    mut changed: Query<(Entity, &GlobalTransform, Option<&mut RestPose>), Moving>,
) {
    for (entity, transform, rest) in &mut changed {
        match rest {
            None => {
                settling.0 = true;
                commands.entity(entity).try_insert(RestPose { transform: *transform, frames_left: FRAMES_TO_SETTLE });
            }
            Some(mut rest) if rest.frames_left > 0 => rest.transform = *transform,
            Some(rest) => {
                let stays = rest.transform.to_matrix().abs_diff_eq(transform.to_matrix(), 1e-5);
                let is_carried = || {
                    let mut above = parents.iter_ancestors(entity).filter_map(|ancestor| levels.get(ancestor).ok());
                    above.any(|frame| are_near(&frame.carried(&rest.transform), &transform.affine()))
                };
                if !stays && !is_carried() {
                    commands.entity(entity).try_insert(Moved);
                }
            }
        }
    }
}

/// Counts down the settling time of new entities.
pub fn settle(mut settling: ResMut<Settling>, mut movers: Query<&mut RestPose>) {
    if !settling.0 {
        return;
    }
    settling.0 = false;
    for mut rest in &mut movers {
        if rest.frames_left > 0 {
            rest.frames_left -= 1;
            settling.0 |= rest.frames_left > 0;
        }
    }
}

/// Returns true if a live view can show a mover with this transform. A flat one has no inverse for rays. One that has
/// shrunk to a line or a point is invisible anyway, so it counts as valid.
pub fn can_stand(to_world: &Affine3A) -> bool {
    let m = to_world.matrix3;
    let planes = [m.x_axis.cross(m.y_axis), m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis)];
    to_world.inverse().is_finite() || planes == [Vec3A::ZERO; 3]
}
