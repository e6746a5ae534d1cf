//! Whether surfaces, or what they are made of, are other than they were.

use bevy::asset::UntypedAssetId;
use bevy::ecs::system::SystemParam;
use bevy::light::NotShadowCaster;
use bevy::pbr::{Lightmap, StandardMaterial};
use bevy::prelude::*;

use crate::plugin::components::BakeExclude;

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

/// What has happened to surfaces since the system that asks ran last, where they are apart.
#[derive(SystemParam)]
pub struct SurfaceChanges<'w, 's> {
    changed: Query<'w, 's, (), AnySurfaceChanged>,
    removed: RemovedComponents<'w, 's, Mesh3d>,
    bared: RemovedComponents<'w, 's, MeshMaterial3d<StandardMaterial>>,
    included: RemovedComponents<'w, 's, BakeExclude>,
    shadowed: RemovedComponents<'w, 's, NotShadowCaster>,
    unlit: RemovedComponents<'w, 's, Lightmap>,
}

impl SurfaceChanges<'_, '_> {
    /// True when a surface has come, gone, or changed. Forgets which have gone.
    pub fn any(&mut self) -> bool {
        let Self { changed, removed, bared, included, shadowed, unlit } = self;
        let gone = removed.read().count() + bared.read().count() + included.read().count() + shadowed.read().count();
        let gone = gone + unlit.read().count();
        gone > 0 || !changed.is_empty()
    }
}

/// What has happened to meshes, pictures and materials since the system that asks ran last.
#[derive(SystemParam)]
pub struct AssetChanges<'w, 's> {
    meshes: MessageReader<'w, 's, AssetEvent<Mesh>>,
    images: MessageReader<'w, 's, AssetEvent<Image>>,
    materials: MessageReader<'w, 's, AssetEvent<StandardMaterial>>,
}

impl AssetChanges<'_, '_> {
    /// True when one of those that are asked for has come, gone, or changed.
    pub fn any(&mut self, is_asked_for: impl Fn(UntypedAssetId) -> bool) -> bool {
        let Self { meshes, images, materials } = self;
        let asked_for = |id: &UntypedAssetId| is_asked_for(*id);
        let changed = meshes.read().filter_map(changed_asset).filter(asked_for).count()
            + images.read().filter_map(changed_asset).filter(asked_for).count()
            + materials.read().filter_map(changed_asset).filter(asked_for).count();
        changed > 0
    }
}

fn changed_asset<A: Asset>(event: &AssetEvent<A>) -> Option<UntypedAssetId> {
    match event {
        AssetEvent::Added { id } | AssetEvent::Modified { id } | AssetEvent::Removed { id } => Some(id.untyped()),
        AssetEvent::Unused { .. } | AssetEvent::LoadedWithDependencies { .. } => None,
    }
}
