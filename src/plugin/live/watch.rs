//! Detection of changes that a view would show.
//!
//! A change marks the scene as stale. `rebuild` reads the world again and compares, so a false alarm is cheap. Movers
//! need no rebuild.

use bevy::light::Skybox;
use bevy::prelude::*;

use super::rebuild::LiveScene;
use crate::plugin::components::{LiveView, SceneSettings};
use crate::plugin::sync::{LightChanges, SceneChanges};

type AnyViewChanged = Or<(Changed<Skybox>, Changed<LiveView>)>;

pub fn watch(
    mut scene: ResMut<LiveScene>,
    mut changes: SceneChanges,
    mut lights: LightChanges,
    settings: Res<SceneSettings>,
    ambient: Option<Res<GlobalAmbientLight>>,
    views: Query<(), AnyViewChanged>,
    mut bared: RemovedComponents<Skybox>,
) {
    let scene_changed = changes.any(|id| scene.shows(id), |entity| !scene.follows(entity));
    let ambient_changed = settings.ambient_is_sky && ambient.is_some_and(|ambient| ambient.is_changed());
    let sky_changed = bared.read().count() > 0 || !views.is_empty();
    let lights_changed = lights.any();
    scene.note(scene_changed || ambient_changed || sky_changed || lights_changed);
}
