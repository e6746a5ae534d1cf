//! A KD-tree over triangles.

use std::time::{Duration, Instant};

use crate::geometry::{Aabb, Triangle};

use super::{Node, Preset, build};

/// A KD-tree: plain arrays that a CPU walks and a GPU can be given.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) bounds: Aabb,
    pub(super) nodes: Vec<Node>,
    pub(super) references: Vec<u32>,
    pub(super) triangles: Vec<Triangle>,
    pub(super) preset: Preset,
    pub(super) build_time: Duration,
}

impl Tree {
    /// Builds the tree of some triangles. They must be finite and not degenerate.
    pub fn build(triangles: Vec<Triangle>, preset: &Preset) -> Self {
        Self::build_with_boxes(triangles, preset).0
    }

    /// The same, with the boxes around what of the triangles lies in each node.
    pub(super) fn build_with_boxes(triangles: Vec<Triangle>, preset: &Preset) -> (Self, Vec<Aabb>) {
        let start = Instant::now();
        let bounds = triangles.iter().fold(Aabb::EMPTY, |bounds, triangle| bounds.union(triangle.bounds()));
        let build::Output { nodes, boxes, references } = build::build(&triangles, bounds, preset);
        let build_time = start.elapsed();
        (Self { bounds, nodes, references, triangles, preset: *preset, build_time }, boxes)
    }

    /// The smallest box around all triangles; empty when there are none.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The nodes: the root at 0, padding at 1, then siblings in pairs.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Which triangles the leaves hold. Each leaf starts at a multiple of the preset's leaf width; the places between
    /// hold `u32::MAX`.
    pub fn references(&self) -> &[u32] {
        &self.references
    }

    /// The triangles, in the order in which they were given.
    pub fn triangles(&self) -> &[Triangle] {
        &self.triangles
    }

    /// Puts nodes and references behind those of other trees, and answers where the root is.
    #[cfg(feature = "gpu")]
    pub(crate) fn append_to(&self, nodes: &mut Vec<Node>, references: &mut Vec<u32>) -> u32 {
        let root = nodes.len();
        nodes.extend(self.nodes.iter().map(|node| node.shifted(root, references.len())));
        references.extend(&self.references);
        root as u32
    }
}
