//! Change detection for the scene: surfaces, assets, places and settings.

use bevy::asset::UntypedAssetId;
use bevy::ecs::system::SystemParam;
use bevy::light::NotShadowCaster;
use bevy::pbr::{Lightmap, StandardMaterial};
use bevy::prelude::*;

use crate::plugin::components::{BakeRole, SceneSettings};
use crate::plugin::ticks::{any_added, any_changed};

/// Changes of surfaces, apart from their transforms, since the last run of the system.
#[derive(SystemParam)]
struct SurfaceChanges<'w, 's> {
    meshes: Query<'w, 's, Ref<'static, Mesh3d>>,
    materials: Query<'w, 's, Ref<'static, MeshMaterial3d<StandardMaterial>>, With<Mesh3d>>,
    visibility: Query<'w, 's, Ref<'static, InheritedVisibility>, With<Mesh3d>>,
    lightmaps: Query<'w, 's, Ref<'static, Lightmap>, With<Mesh3d>>,
    shadowless: Query<'w, 's, Ref<'static, NotShadowCaster>, With<Mesh3d>>,
    /// Roles of meshes and of their ancestors.
    roles: Query<'w, 's, Ref<'static, BakeRole>>,
    removed: RemovedComponents<'w, 's, Mesh3d>,
    bared: RemovedComponents<'w, 's, MeshMaterial3d<StandardMaterial>>,
    unassigned: RemovedComponents<'w, 's, BakeRole>,
    shadowed: RemovedComponents<'w, 's, NotShadowCaster>,
    unlit: RemovedComponents<'w, 's, Lightmap>,
}

impl SurfaceChanges<'_, '_> {
    /// Returns true when a surface was added, removed or changed. It consumes the removals.
    fn any(&mut self) -> bool {
        let Self { removed, bared, unassigned, shadowed, unlit, .. } = self;
        let gone = removed.read().count() + bared.read().count() + unassigned.read().count() + shadowed.read().count();
        let gone = gone + unlit.read().count();
        gone > 0
            || any_changed(&self.meshes)
            || any_changed(&self.materials)
            || any_changed(&self.visibility)
            || any_changed(&self.lightmaps)
            || any_added(&self.shadowless)
            || any_changed(&self.roles)
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
    places: Query<'w, 's, Ref<'static, GlobalTransform>, With<Mesh3d>>,
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
            any_changed(&self.places) && self.moved.iter().any(is_fixed),
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
