//! KD-tree over triangles.

use std::sync::OnceLock;
use std::time::Duration;

use crate::clock;
use crate::geometry::{Aabb, Triangle};

#[cfg(feature = "gpu")]
use super::NodeKind;
use super::ropes::Ropes;
use super::{Node, Preset, build};

/// KD-tree over triangles: plain arrays for CPU and GPU.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) bounds: Aabb,
    pub(super) nodes: Vec<Node>,
    pub(super) references: Vec<u32>,
    pub(super) triangles: Vec<Triangle>,
    pub(super) preset: Preset,
    pub(super) build_time: Duration,
    ropes: OnceLock<Ropes>,
}

impl Tree {
    /// Builds the tree of the given triangles, which must be finite and not degenerate.
    pub fn build(triangles: Vec<Triangle>, preset: &Preset) -> Self {
        Self::build_with_boxes(triangles, preset, preset.leaf_width).0
    }

    /// Builds the tree with leaves that start at multiples of `alignment`, and returns the bounding box of each node's
    /// contents too.
    pub(super) fn build_with_boxes(triangles: Vec<Triangle>, preset: &Preset, alignment: u32) -> (Self, Vec<Aabb>) {
        let start = clock::now();
        let bounds = bounds_of(&triangles);
        let output = build::build(&triangles, bounds, preset, alignment);
        Self::new(triangles, bounds, preset, output, start.elapsed())
    }

    /// Builds the same tree as [`Tree::build_with_boxes`] with pauses.
    pub(super) async fn build_in_parts(triangles: Vec<Triangle>, preset: &Preset, alignment: u32) -> (Self, Vec<Aabb>) {
        let start = clock::now();
        let bounds = bounds_of(&triangles);
        let output = build::build_in_parts(&triangles, bounds, preset, alignment).await;
        Self::new(triangles, bounds, preset, output, start.elapsed())
    }

    fn new(
        triangles: Vec<Triangle>,
        bounds: Aabb,
        preset: &Preset,
        output: build::Output,
        build_time: Duration,
    ) -> (Self, Vec<Aabb>) {
        let build::Output { nodes, boxes, references } = output;
        (Self { bounds, nodes, references, triangles, preset: *preset, build_time, ropes: OnceLock::new() }, boxes)
    }

    /// Returns the links between leaves, which are made at the first call.
    pub(super) fn ropes(&self) -> &Ropes {
        self.ropes.get_or_init(|| Ropes::new(self))
    }

    /// Returns the bounding box of all triangles; empty if there are none.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Returns the nodes: the root at 0, padding at 1, then siblings in pairs.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Makes the root a split that leads back to it, whatever the ray, to test what happens in faulty trees. All of the
    /// scene must lie below 1e6 on the x axis.
    #[cfg(all(test, feature = "gpu"))]
    pub(crate) fn tie_root(&mut self) {
        self.nodes[0] = Node::split(0, 1e6, 0);
    }

    /// Returns the triangle indices that the leaves refer to. Each leaf starts at a multiple of the preset's leaf
    /// width. Unused entries between leaves are `u32::MAX`.
    pub fn references(&self) -> &[u32] {
        &self.references
    }

    /// Returns the triangles in the order given to [`Tree::build`].
    pub fn triangles(&self) -> &[Triangle] {
        &self.triangles
    }

    /// Appends nodes and references to those of other trees, and returns the index of the root.
    #[cfg(feature = "gpu")]
    pub(crate) fn append_to(&self, nodes: &mut Vec<Node>, references: &mut Vec<u32>) -> u32 {
        let root = nodes.len();
        nodes.extend(self.nodes.iter().map(|node| node.shifted(root, references.len())));
        references.extend(&self.references);
        root as u32
    }

    /// Appends nodes and references as [`Tree::append_to`] does, with links between leaves before the references of
    /// each.
    #[cfg(feature = "gpu")]
    pub(crate) fn append_with_ropes(&self, nodes: &mut Vec<Node>, references: &mut Vec<u32>) -> u32 {
        let root = nodes.len();
        for (index, node) in self.nodes.iter().enumerate() {
            let of_leaf = self.ropes().leaf(index as u32);
            nodes.push(match (node.kind(), of_leaf) {
                (NodeKind::Leaf { first, count }, Some(leaf)) => {
                    references.extend(leaf.words(root as u32));
                    let own = Node::leaf(references.len(), count as usize);
                    references.extend(&self.references[first as usize..][..count as usize]);
                    own
                }
                _ => node.shifted(root, 0),
            });
        }
        root as u32
    }
}

fn bounds_of(triangles: &[Triangle]) -> Aabb {
    triangles.iter().fold(Aabb::EMPTY, |bounds, triangle| bounds.union(triangle.bounds()))
}
