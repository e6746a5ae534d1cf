//! Node properties that Bevy's glTF loader ignores: hidden nodes, and nodes that animations move.

use std::collections::HashMap;

use bevy::asset::LoadContext;
use bevy::gltf::GltfLoaderSettings;
use bevy::gltf::extensions::{ErasedGltfExtensionHandler, GltfExtensionHandler, GltfExtensionHandlers};
use bevy::prelude::*;

use crate::scene_files::animated_nodes;

/// Name of the animation that moves a node and its descendants, whether it is played or not.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default, Debug, Clone)]
pub struct AnimatedInFile(pub String);

/// Loader extension that marks nodes. Each file gets a clone.
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

/// Registers the extension with Bevy's loader, if the app has it.
pub fn mark_nodes(app: &mut App) {
    app.register_type::<AnimatedInFile>();
    if let Some(handlers) = app.world().get_resource::<GltfExtensionHandlers>()
        && let Some(mut handlers) = handlers.0.try_write()
    {
        handlers.push(Box::new(NodeMarker::default()));
    }
}
