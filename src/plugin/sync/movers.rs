//! Things that have moved since they were loaded are no part of a bake.

use bevy::math::{Affine3A, Vec3A};
use bevy::prelude::*;

/// Marks an entity that has moved since it was loaded.
#[derive(Component, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct Moved;

/// Where an entity was put when it came into the world.
#[derive(Component, Clone, Copy)]
pub(in crate::plugin) struct RestPose {
    pub(super) transform: GlobalTransform,
    frames_left: u8,
}

impl RestPose {
    /// Where that was.
    pub(in crate::plugin) fn transform(&self) -> GlobalTransform {
        self.transform
    }
}

/// Placing something may take a spawn, a propagation, and a system that puts it where it belongs.
const FRAMES_TO_SETTLE: u8 = 3;

/// Marks mesh entities whose transform changes after they have settled.
pub fn note_movement(
    mut commands: Commands,
    mut changed: Query<
        (Entity, &GlobalTransform, Option<&mut RestPose>),
        (With<Mesh3d>, Without<Moved>, Changed<GlobalTransform>),
    >,
) {
    for (entity, transform, rest) in &mut changed {
        match rest {
            None => {
                commands.entity(entity).try_insert(RestPose { transform: *transform, frames_left: FRAMES_TO_SETTLE });
            }
            Some(mut rest) if rest.frames_left > 0 => rest.transform = *transform,
            Some(rest) => {
                let apart = rest.transform.to_matrix().abs_diff_eq(transform.to_matrix(), 1e-5);
                if !apart {
                    commands.entity(entity).try_insert(Moved);
                }
            }
        }
    }
}

/// Lets entities that have just come settle.
pub fn settle(mut resting: Query<&mut RestPose>) {
    for mut rest in &mut resting {
        if rest.frames_left > 0 {
            rest.frames_left -= 1;
        }
    }
}

/// Whether a live view can show a mover that stands so: one that is flat has no space of its own that rays could be taken
/// to. What has shrunk to a line or to nothing is not seen anyway.
pub fn can_stand(to_world: &Affine3A) -> bool {
    let m = to_world.matrix3;
    let planes = [m.x_axis.cross(m.y_axis), m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis)];
    to_world.inverse().is_finite() || planes == [Vec3A::ZERO; 3]
}
