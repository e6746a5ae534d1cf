//! Sets of texture coordinates beyond the second. A mesh keeps only those that its materials read.

use std::sync::Arc;

use crate::scene::{Scene, UvChannel};

/// Drops the sets of each mesh that none of its materials read.
pub fn forget_unread(scene: &mut Scene) {
    let mut is_read = vec![0u32; scene.meshes.len()];
    for id in scene.surface_ids() {
        let material = scene.material_of(id);
        for channel in (2..UvChannel::MAX_SETS).filter_map(UvChannel::from_index) {
            if material.reads_uv(channel) {
                is_read[scene.surface(id).mesh.index()] |= 1 << channel.index();
            }
        }
    }
    for (mesh, is_read) in scene.meshes.iter_mut().zip(is_read).filter(|(mesh, _)| !mesh.other_uv.is_empty()) {
        let mesh = Arc::make_mut(mesh);
        for (set, coordinates) in mesh.other_uv.iter_mut().enumerate() {
            if is_read & (4 << set) == 0 {
                *coordinates = Vec::new();
            }
        }
        let last = mesh.other_uv.iter().rposition(|set| !set.is_empty());
        mesh.other_uv.truncate(last.map_or(0, |last| last + 1));
    }
}
