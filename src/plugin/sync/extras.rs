//! Bake settings in the `extras` of a glTF file, as Bevy's loader keeps them on entities.
//!
//! Keys and precedence equal those of the crate's own reader: the nearest node, then its ancestors, then the primitive
//! or light, the mesh, the material.

use bevy::ecs::system::SystemParam;
use bevy::gltf::{GltfExtras, GltfMaterialExtras, GltfMeshExtras, GltfSceneExtras};
use bevy::prelude::*;

use super::key::Names;
use crate::scene::Problem;
use crate::scene_files::{Overrides, Units};

/// Reader of extras.
#[derive(SystemParam)]
pub struct FileExtras<'w, 's> {
    names: Names<'w, 's>,
    parents: Query<'w, 's, &'static ChildOf>,
    nodes: Query<'w, 's, &'static GltfExtras>,
    meshes: Query<'w, 's, &'static GltfMeshExtras>,
    materials: Query<'w, 's, &'static GltfMaterialExtras>,
    scenes: Query<'w, 's, &'static GltfSceneExtras>,
}

impl FileExtras<'_, '_> {
    /// Returns the settings of a mesh or light entity, which is a child of its node's entity. Invalid keys are added to
    /// the warnings.
    pub fn of(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Overrides {
        let nodes = self.parents.iter_ancestors(entity).map(|node| (node, self.text(node)));
        let own = [
            self.text(entity),
            self.meshes.get(entity).ok().map(|extras| extras.value.as_str()),
            self.materials.get(entity).ok().map(|extras| extras.value.as_str()),
        ];
        nodes
            .chain(own.map(|text| (entity, text)))
            .filter_map(|(owner, text)| Some(Overrides::from_json(text?, &self.names.describe(owner), warnings)))
            .fold(Overrides::default(), Overrides::or)
    }

    /// Returns the units of lamps and emission that the file's scene declares.
    pub fn units(&self, entity: Entity, warnings: &mut Vec<Problem>) -> Option<Units> {
        let extras = self.parents.iter_ancestors(entity).find_map(|ancestor| self.scenes.get(ancestor).ok())?;
        Units::of_extras(&serde_json::from_str(&extras.value).ok()?, warnings)
    }

    fn text(&self, entity: Entity) -> Option<&str> {
        self.nodes.get(entity).ok().map(|extras| extras.value.as_str())
    }
}
