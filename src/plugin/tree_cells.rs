//! The tree that was built last, for whoever wants to draw it.

use bevy::prelude::*;

use crate::geometry::Aabb;
use crate::kdtree::Tree;

/// The cells of the top levels of the KD-tree that was built last, be it for a bake or for a live view.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct TreeCells {
    /// By depth: the root alone, then what its split makes of it, and so on. A leaf is in all levels below it too.
    pub levels: Vec<Vec<Aabb>>,
}

impl TreeCells {
    /// Deepest level that is kept: some thousand cells are more than one can tell apart.
    pub const DEEPEST: usize = 10;

    pub(super) fn of(tree: &Tree) -> Self {
        Self { levels: (0..=Self::DEEPEST).map(|depth| tree.cells(depth)).collect() }
    }
}
