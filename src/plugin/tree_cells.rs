//! Cells of the latest KD-tree, for debug views.

use bevy::prelude::*;

use crate::accel::Tree;
use crate::geometry::Aabb;

/// Cells in the top levels of the KD-tree that a bake or a live view built last.
#[derive(Resource, Clone, Debug, Default, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct TreeCells {
    /// World-space boxes by depth: the root alone, then its children, and so on. A leaf is in all deeper levels too.
    pub levels: Vec<Vec<Aabb>>,
}

impl TreeCells {
    /// Depth of the deepest level that is kept. More cells cannot be told apart.
    pub const DEEPEST: usize = 10;

    pub(super) fn of(tree: &Tree) -> Self {
        Self { levels: (0..=Self::DEEPEST).map(|depth| tree.cells(depth)).collect() }
    }
}
