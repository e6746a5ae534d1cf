//! What Bevy's glTF loader passes over of nodes: those that the file hides, and those that its animations move.

use std::collections::HashMap;

use bevy::asset::LoadContext;
use bevy::gltf::GltfLoaderSettings;
use bevy::gltf::extensions::{ErasedGltfExtensionHandler, GltfExtensionHandler, GltfExtensionHandlers};
use bevy::prelude::*;

use crate::scene::animated_nodes;

/// The animation of its file that moves a node, whether it is played or not. What hangs from the node moves too.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct AnimatedInFile(pub String);

/// Marks nodes as a file is loaded: one copy for each file.
#[derive(Clone, Default)]
struct NodeMarker {
    animations: HashMap<usize, String>,
}

impl GltfExtensionHandler for NodeMarker {
    fn dyn_clone(&self) -> Box<dyn ErasedGltfExtensionHandler> {
        Box::new(self.clone())
    }

    fn on_root(&mut self, _: &mut LoadContext<'_>, file: &gltf::Gltf, _: &GltfLoaderSettings) {
        self.animations = animated_nodes(&file.document, file.blob.as_deref());
    }

    fn on_gltf_node(&mut self, _: &mut LoadContext<'_>, node: &gltf::Node, entity: &mut EntityWorldMut) {
        let visibility = node.extension_value("KHR_node_visibility").and_then(|extension| extension.get("visible"));
        if visibility.and_then(|visible| visible.as_bool()) == Some(false) {
            entity.insert(Visibility::Hidden);
        }
        if let Some(animation) = self.animations.get(&node.index()) {
            entity.insert(AnimatedInFile(animation.clone()));
        }
    }
}

/// Has Bevy's loader mark nodes, where the app has that loader.
pub fn mark_nodes(app: &mut App) {
    app.register_type::<AnimatedInFile>();
    if let Some(handlers) = app.world().get_resource::<GltfExtensionHandlers>()
        && let Some(mut handlers) = handlers.0.try_write()
    {
        handlers.push(Box::new(NodeMarker::default()));
    }
}
