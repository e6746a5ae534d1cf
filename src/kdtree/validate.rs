//! Finds what is wrong with a tree.

use crate::geometry::Aabb;

use super::build::{PADDING, depth_limit};
use super::{Node, NodeKind, Tree};

/// What is wrong with a tree; a fault of the builder, never of its input.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TreeFault {
    /// A split's plane does not lie in its cell, so its children do not tile it.
    #[error("the plane of node {node} lies outside its cell; please report this with the scene")]
    PlaneOutside {
        /// Which node.
        node: usize,
    },
    /// A split's children or a leaf's references are not where the node says.
    #[error("node {node} points outside the tree; please report this with the scene")]
    Dangling {
        /// Which node.
        node: usize,
    },
    /// A leaf holds a triangle that does not reach into its cell.
    #[error("leaf {node} holds triangle {triangle}, which lies elsewhere; please report this with the scene")]
    Stray {
        /// Which leaf.
        node: usize,
        /// Which triangle.
        triangle: u32,
    },
    /// No leaf holds a triangle.
    #[error("no leaf holds triangle {triangle}; please report this with the scene")]
    Unreachable {
        /// Which triangle.
        triangle: u32,
    },
    /// Nodes that nothing points at, or that two nodes point at.
    #[error("{found} of {expected} nodes can be reached; please report this with the scene")]
    NodeCount {
        /// How many were reached from the root.
        found: usize,
        /// How many there are.
        expected: usize,
    },
    /// A leaf lies deeper than the builder may go.
    #[error("leaf {node} lies {depth} splits deep; please report this with the scene")]
    TooDeep {
        /// Which leaf.
        node: usize,
        /// How deep.
        depth: usize,
    },
}

impl Tree {
    /// Checks that children tile their parents, that leaves hold what lies in them, and that every triangle is held.
    ///
    /// # Errors
    /// The first fault that is found.
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
                    // Children behind their parents, in pairs: no cycle is possible.
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

/// All nodes that can be reached from the root, each with its cell and its depth; below before above.
pub(super) struct Cells<'a> {
    nodes: &'a [Node],
    pending: Vec<(usize, Aabb, usize)>,
    /// The index of the node that came last.
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
