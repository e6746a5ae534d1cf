//! Change detection for the scene: surfaces, assets, places and settings.

use bevy::asset::UntypedAssetId;
use bevy::ecs::system::SystemParam;
use bevy::light::NotShadowCaster;
use bevy::pbr::{Lightmap, StandardMaterial};
use bevy::prelude::*;

use crate::plugin::components::{BakeRole, SceneSettings};

type AnySurfaceChanged = (
    With<Mesh3d>,
    Or<(
        Changed<Mesh3d>,
        Changed<MeshMaterial3d<StandardMaterial>>,
        Changed<InheritedVisibility>,
        Changed<Lightmap>,
        Added<NotShadowCaster>,
    )>,
);

/// Changes of surfaces, apart from their transforms, since the last run of the system.
#[derive(SystemParam)]
struct SurfaceChanges<'w, 's> {
    changed: Query<'w, 's, (), AnySurfaceChanged>,
    /// Roles of meshes and of their ancestors.
    roles: Query<'w, 's, (), Changed<BakeRole>>,
    removed: RemovedComponents<'w, 's, Mesh3d>,
    bared: RemovedComponents<'w, 's, MeshMaterial3d<StandardMaterial>>,
    unassigned: RemovedComponents<'w, 's, BakeRole>,
    shadowed: RemovedComponents<'w, 's, NotShadowCaster>,
    unlit: RemovedComponents<'w, 's, Lightmap>,
}

impl SurfaceChanges<'_, '_> {
    /// Returns true when a surface was added, removed or changed. It consumes the removals.
    fn any(&mut self) -> bool {
        let Self { changed, roles, removed, bared, unassigned, shadowed, unlit } = self;
        let gone = removed.read().count() + bared.read().count() + unassigned.read().count() + shadowed.read().count();
        let gone = gone + unlit.read().count();
        gone > 0 || !changed.is_empty() || !roles.is_empty()
    }
}

/// Changes of meshes, images and materials since the last run of the system.
#[derive(SystemParam)]
struct AssetChanges<'w, 's> {
    meshes: MessageReader<'w, 's, AssetEvent<Mesh>>,
    images: MessageReader<'w, 's, AssetEvent<Image>>,
    materials: MessageReader<'w, 's, AssetEvent<StandardMaterial>>,
}

impl AssetChanges<'_, '_> {
    /// Returns true when a relevant asset was added, removed or changed.
    fn any(&mut self, is_asked_for: impl Fn(UntypedAssetId) -> bool) -> bool {
        let Self { meshes, images, materials } = self;
        let asked_for = |id: &UntypedAssetId| is_asked_for(*id);
        let changed = meshes.read().filter_map(changed_asset).filter(asked_for).count()
            + images.read().filter_map(changed_asset).filter(asked_for).count()
            + materials.read().filter_map(changed_asset).filter(asked_for).count();
        changed > 0
    }
}

/// Changes of the scene, apart from its lights, since the last run of the system.
#[derive(SystemParam)]
pub struct SceneChanges<'w, 's> {
    surfaces: SurfaceChanges<'w, 's>,
    assets: AssetChanges<'w, 's>,
    moved: Query<'w, 's, Entity, (With<Mesh3d>, Changed<GlobalTransform>)>,
    settings: Res<'w, SceneSettings>,
}

impl SceneChanges<'_, '_> {
    /// Returns true when anything was added, removed or changed.
    ///
    /// Only assets for which `has_asset` is true count, since some apps rewrite render targets in every frame. Only moves
    /// of entities for which `is_fixed` is true count.
    pub fn any(&mut self, has_asset: impl Fn(UntypedAssetId) -> bool, is_fixed: impl Fn(Entity) -> bool) -> bool {
        // Each part forgets what it has reported, so all are asked.
        let parts = [
            self.surfaces.any(),
            self.assets.any(has_asset),
            self.moved.iter().any(is_fixed),
            self.settings.is_changed(),
        ];
        parts.contains(&true)
    }
}

fn changed_asset<A: Asset>(event: &AssetEvent<A>) -> Option<UntypedAssetId> {
    match event {
        AssetEvent::Added { id } | AssetEvent::Modified { id } | AssetEvent::Removed { id } => Some(id.untyped()),
        AssetEvent::Unused { .. } | AssetEvent::LoadedWithDependencies { .. } => None,
    }
}
