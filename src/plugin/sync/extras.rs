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
        let mut overrides = Overrides::default();
        for (generation, node) in self.parents.iter_ancestors(entity).enumerate() {
            let Some(text) = self.text(node) else { continue };
            let owner = self.names.describe(node);
            let (of_node, of_shape) = Overrides::of_node(text, &owner, warnings);
            if generation == 0
                && let Some((key, _)) = of_shape.into_iter().next()
            {
                let reason = "apps show and bake the node's mesh, and only the command line makes the shape".to_owned();
                warnings.push(Problem::BadExtra { owner, key, reason });
            }
            overrides = overrides.or(of_node);
        }
        let own = [
            self.text(entity),
            self.meshes.get(entity).ok().map(|extras| extras.value.as_str()),
            self.materials.get(entity).ok().map(|extras| extras.value.as_str()),
        ];
        own.into_iter()
            .flatten()
            .map(|text| Overrides::from_json(text, &self.names.describe(entity), warnings))
            .fold(overrides, Overrides::or)
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
