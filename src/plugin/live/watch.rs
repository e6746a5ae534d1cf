//! What in the Bevy world a view would show differently.
//!
//! A change marks the scene as stale; `rebuild` reads it again and compares, so that a false alarm costs no more than
//! that. Movers are followed without being read again.

use bevy::light::Skybox;
use bevy::prelude::*;

use super::LiveView;
use super::rebuild::LiveScene;
use crate::plugin::components::SceneSettings;
use crate::plugin::sync::{AssetChanges, LightChanges, SurfaceChanges};

pub fn surfaces(mut scene: ResMut<LiveScene>, mut changes: SurfaceChanges) {
    scene.note(changes.any());
}

/// What moves for the first time has to be read; from then on it is followed.
pub fn new_movers(mut scene: ResMut<LiveScene>, moved: Query<Entity, (With<Mesh3d>, Changed<GlobalTransform>)>) {
    let has_new_mover = moved.iter().any(|entity| !scene.follows(entity));
    scene.note(has_new_mover);
}

pub fn lights(mut scene: ResMut<LiveScene>, mut changes: LightChanges) {
    scene.note(changes.any());
}

pub fn assets(mut scene: ResMut<LiveScene>, mut changes: AssetChanges) {
    // Apps rewrite pictures that no material shows every frame: targets of cameras, for one.
    let changed = changes.any(|id| scene.shows(id));
    scene.note(changed);
}

type AnyViewChanged = Or<(Changed<Skybox>, Changed<LiveView>)>;

pub fn surroundings(
    mut scene: ResMut<LiveScene>,
    settings: Res<SceneSettings>,
    ambient: Option<Res<GlobalAmbientLight>>,
    views: Query<(), AnyViewChanged>,
    mut bared: RemovedComponents<Skybox>,
) {
    let ambient_changed = settings.ambient_is_sky && ambient.is_some_and(|ambient| ambient.is_changed());
    let sky_changed = bared.read().count() > 0 || !views.is_empty();
    scene.note(settings.is_changed() || ambient_changed || sky_changed);
}
