//! Consistency checks of a tree.

use crate::geometry::Aabb;

use super::build::{PADDING, depth_limit};
use super::{Node, NodeKind, Tree};

/// Inconsistency of a tree. Always a bug of the builder, never of its input.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TreeFault {
    /// The plane of a split lies outside its cell, so the children do not tile the cell.
    #[error("the plane of node {node} lies outside its cell; please report this with the scene")]
    PlaneOutside {
        /// Index of the node.
        node: usize,
    },
    /// The children of a split or the references of a leaf are out of range.
    #[error("node {node} points outside the tree; please report this with the scene")]
    Dangling {
        /// Index of the node.
        node: usize,
    },
    /// A leaf holds a triangle that does not intersect its cell.
    #[error("leaf {node} holds triangle {triangle}, which lies elsewhere; please report this with the scene")]
    Stray {
        /// Index of the leaf.
        node: usize,
        /// Index of the triangle.
        triangle: u32,
    },
    /// No leaf holds a triangle.
    #[error("no leaf holds triangle {triangle}; please report this with the scene")]
    Unreachable {
        /// Index of the triangle.
        triangle: u32,
    },
    /// Some nodes are unreachable, or reachable twice.
    #[error("{found} of {expected} nodes can be reached; please report this with the scene")]
    NodeCount {
        /// Number of nodes reached from the root.
        found: usize,
        /// Number of nodes in the tree.
        expected: usize,
    },
    /// A leaf lies below the builder's depth limit.
    #[error("leaf {node} lies {depth} splits deep; please report this with the scene")]
    TooDeep {
        /// Index of the leaf.
        node: usize,
        /// Depth of the leaf, in splits.
        depth: usize,
    },
}

impl Tree {
    /// Checks that children tile their parents, that triangles intersect the cells of their leaves, and that no
    /// triangle is missing.
    ///
    /// # Errors
    /// Returns the first inconsistency found.
    pub fn validate(&self) -> Result<(), TreeFault> {
        let mut held = vec![false; self.triangles.len()];
        let mut cells = Cells::of(self);
        let mut found = 1;
        while let Some((node, cell, depth)) = cells.next() {
            let index = cells.last;
            found += 1;
            match node.kind() {
                NodeKind::Split { axis, position, first } => {
                    let (first, inside) = (first as usize, cell.min[axis] <= position && position <= cell.max[axis]);
                    if !inside {
                        return Err(TreeFault::PlaneOutside { node: index });
                    }
                    // Children follow their parents, in pairs, so cycles are impossible.
                    if first <= index || first % 2 != 0 || first + 1 >= self.nodes.len() {
                        return Err(TreeFault::Dangling { node: index });
                    }
                }
                NodeKind::Leaf { first, count } => {
                    if depth > depth_limit(self.triangles.len()) {
                        return Err(TreeFault::TooDeep { node: index, depth });
                    }
                    let references = self.references.get(first as usize..(first + count) as usize);
                    for &triangle in references.ok_or(TreeFault::Dangling { node: index })? {
                        self.check_reference(index, triangle, cell)?;
                        held[triangle as usize] = true;
                    }
                }
            }
        }
        if found != self.nodes.len() {
            return Err(TreeFault::NodeCount { found, expected: self.nodes.len() });
        }
        match held.iter().position(|&held| !held) {
            Some(triangle) => Err(TreeFault::Unreachable { triangle: triangle as u32 }),
            None => Ok(()),
        }
    }

    fn check_reference(&self, node: usize, triangle: u32, cell: Aabb) -> Result<(), TreeFault> {
        let known = self.triangles.get(triangle as usize).filter(|_| triangle != PADDING);
        let bounds = known.ok_or(TreeFault::Dangling { node })?.bounds();
        if bounds.intersection(cell).is_empty() { Err(TreeFault::Stray { node, triangle }) } else { Ok(()) }
    }
}

/// Iterator over all nodes reachable from the root, with cell and depth; below before above.
pub(super) struct Cells<'a> {
    nodes: &'a [Node],
    pending: Vec<(usize, Aabb, usize)>,
    /// Index of the node returned last.
    last: usize,
}

impl<'a> Cells<'a> {
    pub fn of(tree: &'a Tree) -> Self {
        Self { nodes: &tree.nodes, pending: vec![(0, tree.bounds, 0)], last: 0 }
    }
}

impl Iterator for Cells<'_> {
    type Item = (Node, Aabb, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let (index, cell, depth) = self.pending.pop()?;
        let node = *self.nodes.get(index)?;
        self.last = index;
        if let NodeKind::Split { axis, position, first } = node.kind() {
            let [below, above] = cell.halves(axis, position);
            self.pending.push((first as usize + 1, above, depth + 1));
            self.pending.push((first as usize, below, depth + 1));
        }
        Some((node, cell, depth))
    }
}
