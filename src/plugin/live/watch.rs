//! What in the Bevy world a view would show differently.
//!
//! A change marks the scene as stale; `rebuild` reads it again and compares, so that a false alarm costs no more than
//! that. Movers are followed without being read again.

use bevy::asset::UntypedAssetId;
use bevy::light::{NotShadowCaster, Skybox};
use bevy::pbr::{Lightmap, StandardMaterial};
use bevy::prelude::*;

use super::LiveView;
use super::rebuild::LiveScene;
use crate::plugin::components::{BakeExclude, SceneSettings};
use crate::plugin::sync::LightChanges;

type AnySurfaceChanged = (
    With<Mesh3d>,
    Or<(
        Changed<Mesh3d>,
        Changed<MeshMaterial3d<StandardMaterial>>,
        Changed<InheritedVisibility>,
        Changed<Lightmap>,
        Added<BakeExclude>,
        Added<NotShadowCaster>,
    )>,
);

pub fn surfaces(
    mut scene: ResMut<LiveScene>,
    changed: Query<(), AnySurfaceChanged>,
    mut removed: RemovedComponents<Mesh3d>,
    mut bared: RemovedComponents<MeshMaterial3d<StandardMaterial>>,
    mut included: RemovedComponents<BakeExclude>,
    mut shadowed: RemovedComponents<NotShadowCaster>,
    mut unlit: RemovedComponents<Lightmap>,
) {
    let gone = removed.read().count() + bared.read().count() + included.read().count() + shadowed.read().count();
    let gone = gone + unlit.read().count();
    scene.note(gone > 0 || !changed.is_empty());
}

/// What moves for the first time has to be read; from then on it is followed.
pub fn new_movers(mut scene: ResMut<LiveScene>, moved: Query<Entity, (With<Mesh3d>, Changed<GlobalTransform>)>) {
    let has_new_mover = moved.iter().any(|entity| !scene.follows(entity));
    scene.note(has_new_mover);
}

pub fn lights(mut scene: ResMut<LiveScene>, mut changes: LightChanges) {
    scene.note(changes.any());
}

pub fn assets(
    mut scene: ResMut<LiveScene>,
    mut meshes: MessageReader<AssetEvent<Mesh>>,
    mut images: MessageReader<AssetEvent<Image>>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
) {
    // Apps rewrite pictures that no material shows every frame: targets of cameras, for one.
    let shown = |id: &UntypedAssetId| scene.shows(*id);
    let changed = meshes.read().filter_map(changed_asset).filter(shown).count()
        + images.read().filter_map(changed_asset).filter(shown).count()
        + materials.read().filter_map(changed_asset).filter(shown).count();
    scene.note(changed > 0);
}

fn changed_asset<A: Asset>(event: &AssetEvent<A>) -> Option<UntypedAssetId> {
    match event {
        AssetEvent::Added { id } | AssetEvent::Modified { id } | AssetEvent::Removed { id } => Some(id.untyped()),
        AssetEvent::Unused { .. } | AssetEvent::LoadedWithDependencies { .. } => None,
    }
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
