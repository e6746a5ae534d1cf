//! Assets of the world that are still loading.

use bevy::asset::UntypedAssetId;
use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;
use bevy::world_serialization::{DynamicWorldRoot, WorldAssetRoot, WorldInstance, WorldInstanceSpawner};

use crate::plugin::components::{BakeRole, Roles};

/// Numbers of files and materials that entities of the world need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Number that is still loading.
    pub loading: usize,
    /// Number of files that have loaded, but have no entities yet.
    pub spawning: usize,
    /// Number of all.
    pub all: usize,
}

impl Loading {
    /// Returns true while something is loading or has no entities yet.
    pub fn is_loading(&self) -> bool {
        self.loading + self.spawning > 0
    }
}

/// Reader of the files and materials that entities of the world need. Meshes and textures are awaited one by one.
#[derive(SystemParam)]
pub struct LoadingAssets<'w, 's> {
    files: Query<'w, 's, (Entity, &'static WorldAssetRoot, Option<&'static WorldInstance>)>,
    dynamic_files: Query<'w, 's, (Entity, &'static DynamicWorldRoot, Option<&'static WorldInstance>)>,
    surfaces: Query<'w, 's, &'static MeshMaterial3d<StandardMaterial>, With<Mesh3d>>,
    roles: Roles<'w, 's>,
    spawner: Option<Res<'w, WorldInstanceSpawner>>,
    materials: Res<'w, Assets<StandardMaterial>>,
    assets: Res<'w, AssetServer>,
}

impl LoadingAssets<'_, '_> {
    /// Counts all of them. An asset that cannot be loaded is not awaited, nor is an excluded one.
    pub fn count(&self) -> Loading {
        let mut counts = Loading::default();
        let files = self.files.iter().map(|(entity, root, instance)| (entity, root.0.id().untyped(), instance));
        let dynamic =
            self.dynamic_files.iter().map(|(entity, root, instance)| (entity, root.0.id().untyped(), instance));
        for (entity, id, instance) in files.chain(dynamic) {
            if self.roles.of(entity) == Some(BakeRole::Excluded) {
                continue;
            }
            counts.all += 1;
            let is_ready = |spawner: &Res<WorldInstanceSpawner>| {
                instance.is_some_and(|instance| spawner.instance_is_ready(**instance))
            };
            if self.is_loading(id) {
                counts.loading += 1;
            } else if self.spawner.as_ref().is_some_and(|spawner| !is_ready(spawner)) && self.assets.is_loaded(id) {
                counts.spawning += 1;
            }
        }
        for MeshMaterial3d(material) in &self.surfaces {
            counts.all += 1;
            counts.loading +=
                usize::from(!self.materials.contains(material) && self.is_loading(material.id().untyped()));
        }
        counts
    }

    fn is_loading(&self, id: UntypedAssetId) -> bool {
        self.assets.get_load_state(id).is_some_and(|state| state.is_loading())
    }
}
