//! KD-tree builder, based on the surface area heuristic.
//!
//! Nodes with many references choose among the borders of equal bins (`binned.rs`). Smaller nodes try every plane where
//! a reference starts or ends (`exact.rs`, `event.rs`). `cost.rs` holds the heuristic; `clip.rs` clips triangles to
//! cells. Large subtrees are built in parallel, each into its own [`Output`], which are joined in order. The result
//! therefore does not depend on the number of threads.

mod binned;
mod clip;
mod cost;
mod event;
mod exact;

use crate::geometry::{Aabb, Triangle};

use super::{Node, NodeKind, Planes, Preset};
use binned::Subtree;

/// Reference to a triangle from one node. The box bounds the triangle's part inside the node's cell.
#[derive(Clone, Copy, Debug)]
struct Reference {
    bounds: Aabb,
    triangle: u32,
}

/// Space of a node, its depth in splits, and the number of references that its subtree may have.
#[derive(Clone, Copy, Debug)]
struct Cell {
    bounds: Aabb,
    depth: usize,
    room: usize,
}

/// Data shared by all tasks of one build.
struct Builder<'a> {
    /// Triangles used for clipping; empty if their boxes suffice.
    triangles: &'a [Triangle],
    preset: &'a Preset,
    depth_limit: usize,
    /// Leaves start at multiples of this number of references.
    alignment: usize,
}

impl Builder<'_> {
    /// Returns the bounds of a reference's parts in a cell, below and above a plane.
    fn halves(&self, reference: &Reference, cell: Aabb, axis: usize, position: f32) -> [Option<Aabb>; 2] {
        if let Some(triangle) = self.triangles.get(reference.triangle as usize) {
            return clip::clip_halves(triangle, cell, axis, position);
        }
        reference.bounds.intersection(cell).halves(axis, position).map(Some)
    }
}

/// Number of references above which subtrees become parallel tasks.
const PARALLEL_ABOVE: usize = 8_192;

/// Maximum number of references in a tree for each triangle, and in any tree. Usual scenes have two for each triangle.
/// Long thin triangles close to each other could have hundreds.
const MAX_REFERENCES_PER_TRIANGLE: usize = 8;
const ROOM_OF_SMALL_TREES: usize = 1 << 15;

/// Reference that fills the unused lanes of a leaf's last block.
pub(super) const PADDING: u32 = u32::MAX;

/// Builds the tree of the given triangles within their common bounds. Leaves start at multiples of `alignment`.
pub(super) fn build(triangles: &[Triangle], bounds: Aabb, preset: &Preset, alignment: u32) -> Output {
    let clipped = if preset.clip { triangles } else { &[] };
    build_boxes(triangles.iter().map(Triangle::bounds), clipped, bounds, preset, alignment)
}

/// Builds the tree of the given boxes. Boxes that have a triangle shrink to its clipped bounds.
pub(super) fn build_boxes(
    boxes: impl Iterator<Item = Aabb>,
    triangles: &[Triangle],
    bounds: Aabb,
    preset: &Preset,
    alignment: u32,
) -> Output {
    let (builder, root) = begin(boxes, triangles, bounds, preset, alignment);
    let mut output = Output::new();
    binned::build(&builder, root, &mut output);
    output.unite_boxes();
    output
}

/// Builds the same tree as [`build`] with pauses.
pub(super) async fn build_in_parts(triangles: &[Triangle], bounds: Aabb, preset: &Preset, alignment: u32) -> Output {
    let clipped = if preset.clip { triangles } else { &[] };
    let (builder, root) = begin(triangles.iter().map(Triangle::bounds), clipped, bounds, preset, alignment);
    let mut output = Output::new();
    binned::build_in_parts(&builder, root, &mut output).await;
    output.unite_boxes();
    output
}

fn begin<'a>(
    boxes: impl Iterator<Item = Aabb>,
    triangles: &'a [Triangle],
    bounds: Aabb,
    preset: &'a Preset,
    alignment: u32,
) -> (Builder<'a>, Subtree) {
    let references: Vec<Reference> = boxes
        .zip(0..)
        .map(|(bounds, triangle)| Reference { bounds: without_negative_zero(bounds), triangle })
        .collect();
    let depth_limit = depth_limit(references.len()).min(preset.deepest);
    let room = ROOM_OF_SMALL_TREES.max(MAX_REFERENCES_PER_TRIANGLE * references.len());
    let builder = Builder { triangles, preset, depth_limit, alignment: alignment.max(1) as usize };
    (builder, Subtree { references, cell: Cell { bounds, depth: 0, room }, slot: 0 })
}

/// Replaces -0.0 with 0.0. Their bits differ, and which of the two a minimum returns depends on the machine.
fn without_negative_zero(bounds: Aabb) -> Aabb {
    Aabb { min: bounds.min + 0.0, max: bounds.max + 0.0 }
}

/// Returns the maximum depth of a tree with this number of triangles (Pharr, Jakob and Humphreys: 8 + 1.3 log2 n).
pub(super) fn depth_limit(triangles: usize) -> usize {
    (8.0 + 1.3 * libm::log2f(triangles.max(1) as f32)) as usize
}

/// Returns the cells on both sides of a plane. They share the room in proportion to the given numbers of references.
fn halves(cell: Cell, axis: usize, position: f32, counts: [usize; 2]) -> (Cell, Cell) {
    let child = Cell { depth: cell.depth + 1, ..cell };
    let (mut below, mut above) = (child, child);
    below.bounds.max[axis] = position;
    above.bounds.min[axis] = position;
    let share = cell.room as u128 * counts[0] as u128 / (counts[0] + counts[1]).max(1) as u128;
    below.room = share as usize;
    above.room = cell.room - below.room;
    (below, above)
}

/// Nodes and references of a tree or subtree: the root at 0, padding at 1, then siblings in pairs.
pub(super) struct Output {
    pub nodes: Vec<Node>,
    /// Bounding box of each node's contents. Boxes of splits stay empty until [`Output::unite_boxes`].
    pub boxes: Vec<Aabb>,
    pub references: Vec<u32>,
}

impl Output {
    fn new() -> Self {
        Self { nodes: vec![Node::leaf(0, 0); 2], boxes: vec![Aabb::EMPTY; 2], references: Vec::new() }
    }

    /// Makes the node in a slot a leaf.
    fn leaf(&mut self, slot: usize, bounds: Aabb, triangles: impl Iterator<Item = u32>, alignment: usize) {
        self.boxes[slot] = bounds;
        let first = self.references.len();
        self.references.extend(triangles);
        self.nodes[slot] = Node::leaf(first, self.references.len() - first);
        self.references.resize(self.references.len().next_multiple_of(alignment), PADDING);
    }

    /// Makes the node in a slot a split, and returns the slot of its first child.
    fn split(&mut self, slot: usize, axis: usize, position: f32) -> usize {
        let first = self.nodes.len();
        self.nodes.extend([Node::leaf(0, 0); 2]);
        self.boxes.extend([Aabb::EMPTY; 2]);
        self.nodes[slot] = Node::split(axis, position, first);
        first
    }

    /// Sets the box of each split to the union of its children's boxes.
    fn unite_boxes(&mut self) {
        // Children have higher indices than their parents.
        for index in (0..self.nodes.len()).rev() {
            if let NodeKind::Split { first, .. } = self.nodes[index].kind() {
                self.boxes[index] = self.boxes[first as usize].union(self.boxes[first as usize + 1]);
            }
        }
    }

    /// Stores the root of another subtree in a slot, and appends its other nodes.
    fn append(&mut self, other: Self, slot: usize) {
        // The root and padding of the other subtree are not copied, so its children move by two less.
        let (nodes, references) = (self.nodes.len() - 2, self.references.len());
        self.nodes[slot] = other.nodes[0].shifted(nodes, references);
        self.nodes.extend(other.nodes[2..].iter().map(|node| node.shifted(nodes, references)));
        self.boxes[slot] = other.boxes[0];
        self.boxes.extend(&other.boxes[2..]);
        self.references.extend(other.references);
    }
}
