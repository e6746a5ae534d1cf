//! Keys of surfaces, stable across runs.

use bevy::asset::AssetPath;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;

use super::super::components::BakeId;
use crate::scene::{SurfaceKey, and_more, key};

/// Reader of the names of entities and their ancestors.
#[derive(SystemParam)]
pub struct Names<'w, 's> {
    parents: Query<'w, 's, &'static ChildOf>,
    names: Query<'w, 's, &'static Name>,
    files: Query<'w, 's, (), With<WorldAssetRoot>>,
    ids: Query<'w, 's, &'static BakeId>,
}

impl Names<'_, '_> {
    /// Returns the name of an entity for messages.
    pub fn describe(&self, entity: Entity) -> String {
        self.names.get(entity).map_or_else(|_| format!("entity {entity}"), |name| format!("'{name}'"))
    }

    /// Returns the name of a light, equal in all runs: its [`BakeId`], its node's name in its file, or its own name.
    /// `None` if it has none.
    pub fn light(&self, entity: Entity) -> Option<&str> {
        if let Ok(id) = self.ids.get(entity) {
            return Some(&id.0);
        }
        // Bevy spawns a light below its node.
        let node = self.parents.get(entity).ok().map(ChildOf::parent);
        let node = node.filter(|&node| {
            !self.files.contains(node)
                && self.parents.iter_ancestors(node).any(|ancestor| self.files.contains(ancestor))
        });
        let named = node.and_then(|node| self.names.get(node).ok()).or_else(|| self.names.get(entity).ok());
        named.map(Name::as_str)
    }

    /// Returns the key of a mesh entity.
    ///
    /// A [`BakeId`] is used as it is. An entity from a file is named after its node path and primitive, as in the
    /// crate's own reader. Any other entity is named after its path of names and its position.
    pub fn surface_key(&self, entity: Entity, mesh: Option<&AssetPath<'_>>, place: Vec3) -> SurfaceKey {
        if let Ok(id) = self.ids.get(entity) {
            return SurfaceKey(id.0.clone());
        }
        if let Some((path, primitive)) = mesh.and_then(|mesh| self.file_key(entity, mesh)) {
            return SurfaceKey::from_node(&path, primitive);
        }
        SurfaceKey::from_position(&self.path(entity).join("/"), place)
    }

    /// Returns the node path and primitive of an entity from a file. The hierarchy is root, scene, nodes, primitive.
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

    /// Returns the names from the outermost ancestor to the entity, without unnamed ones.
    fn path(&self, entity: Entity) -> Vec<&str> {
        let lineage = core::iter::once(entity).chain(self.parents.iter_ancestors(entity));
        let mut path: Vec<&str> = lineage.filter_map(|entity| self.names.get(entity).ok()).map(Name::as_str).collect();
        path.reverse();
        path
    }
}

/// Returns up to three quoted names, and the number of the others. `None` without names.
pub fn list_names(names: &[&str]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("'{name}'")).collect();
    (!shown.is_empty()).then(|| shown.join(", ") + &and_more(names.len() - shown.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_up_to_three() {
        assert_eq!(list_names(&[]), None);
        assert_eq!(list_names(&["a"]).unwrap(), "'a'");
        assert_eq!(list_names(&["a", "b", "c", "d", "e"]).unwrap(), "'a', 'b', 'c' and 2 more");
    }
}
