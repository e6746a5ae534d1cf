//! The tree that was built last, for whoever wants to draw it.

use std::sync::Arc;

use bevy::prelude::*;

use crate::geometry::Aabb;
use crate::kdtree::Tree;
use crate::partition::Polygons;

/// The cells of the top levels of the KD-tree that was built last, be it for a bake or for a live view.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct TreeCells {
    /// By depth: the root alone, then what its split makes of it, and so on. A leaf is in all levels below it too.
    pub levels: Vec<Vec<Aabb>>,
    /// What the tree was built of, for partitions of the same scene.
    pub polygons: Arc<Polygons>,
}

impl TreeCells {
    /// Deepest level that is kept: some thousand cells are more than one can tell apart.
    pub const DEEPEST: usize = 10;

    pub(super) fn of(tree: &Tree) -> Self {
        let mut polygons = Polygons::default();
        tree.triangles().iter().for_each(|triangle| polygons.push(&triangle.corners, 0.0));
        let levels = (0..=Self::DEEPEST).map(|depth| tree.cells(depth)).collect();
        Self { levels, polygons: Arc::new(polygons) }
    }
}
