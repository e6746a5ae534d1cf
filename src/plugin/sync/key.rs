//! What surfaces are called across runs.

use bevy::asset::AssetPath;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;

use super::super::components::BakeId;
use crate::scene::{SurfaceKey, key};

/// Reads the names of entities and of what they hang from.
#[derive(SystemParam)]
pub struct Names<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    names: Query<'w, 's, &'static Name>,
    files: Query<'w, 's, (), With<WorldAssetRoot>>,
    ids: Query<'w, 's, &'static BakeId>,
}

impl Names<'_, '_> {
    /// What messages call an entity.
    pub fn describe(&self, entity: Entity) -> String {
        self.names.get(entity).map_or_else(|_| format!("entity {entity}"), |name| format!("'{name}'"))
    }

    /// The key of a mesh entity.
    ///
    /// A [`BakeId`] is taken as it is. What a file spawned is named after its nodes and the primitive, as the file's own
    /// reader does. Anything else is named after its path of names and where it stands.
    pub fn surface_key(&self, entity: Entity, mesh: Option<&AssetPath<'_>>, place: Vec3) -> SurfaceKey {
        if let Ok(id) = self.ids.get(entity) {
            return SurfaceKey(id.0.clone());
        }
        if let Some((path, primitive)) = mesh.and_then(|mesh| self.file_key(entity, mesh)) {
            return SurfaceKey::from_node(&path, primitive);
        }
        let names = self.path(entity);
        let at = place.to_array().map(|coordinate| format!("{coordinate:.3}")).join(",");
        SurfaceKey::from_node(&format!("{}@{at}", names.join("/")), 0)
    }

    /// Node path and primitive of an entity that hangs under a file's root: root, scene, nodes, primitive.
    fn file_key(&self, entity: Entity, mesh: &AssetPath<'_>) -> Option<(String, usize)> {
        let primitive = mesh.label()?.rsplit_once("Primitive")?.1.parse().ok()?;
        let ancestors: Vec<Entity> = self.parents.iter_ancestors(entity).collect();
        let root = ancestors.iter().position(|&ancestor| self.files.contains(ancestor))?;
        let nodes = ancestors.get(..root.checked_sub(1)?)?;
        let names = nodes.iter().rev().map(|&node| self.name(node));
        Some((names.fold(String::new(), |path, name| key::child_path(&path, name)), primitive))
    }

    fn name(&self, entity: Entity) -> &str {
        self.names.get(entity).map_or("", Name::as_str)
    }

    /// Names from the outermost ancestor down to the entity itself, as far as they have one.
    fn path(&self, entity: Entity) -> Vec<&str> {
        let lineage = core::iter::once(entity).chain(self.parents.iter_ancestors(entity));
        let mut path: Vec<&str> = lineage.filter_map(|entity| self.names.get(entity).ok()).map(Name::as_str).collect();
        path.reverse();
        path
    }
}
