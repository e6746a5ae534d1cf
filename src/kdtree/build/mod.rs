//! Builds trees by the surface area heuristic.
//!
//! Nodes with many references choose among the borders of equal bins; below that, every plane at which a reference
//! starts or ends is tried. Large subtrees are built in parallel, each into its own buffers, which are joined in order:
//! the result does not depend on the number of threads.

mod binned;
mod clip;
mod cost;
mod event;
mod exact;

use crate::geometry::{Aabb, Triangle};

use super::{Node, NodeKind, Preset};

/// A triangle as one node sees it: the box holds what of it lies in the node's cell.
#[derive(Clone, Copy, Debug)]
struct Reference {
    bounds: Aabb,
    triangle: u32,
}

/// The space of a node, and how many planes made it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    bounds: Aabb,
    depth: usize,
}

/// What all tasks of one build share.
struct Builder<'a> {
    /// What to clip; none when boxes will do.
    triangles: &'a [Triangle],
    preset: &'a Preset,
    depth_limit: usize,
}

impl Builder<'_> {
    /// What of a reference lies in a cell below and above a plane.
    fn halves(&self, reference: &Reference, cell: Aabb, axis: usize, position: f32) -> [Option<Aabb>; 2] {
        if let Some(triangle) = self.triangles.get(reference.triangle as usize) {
            return clip::clip_halves(triangle, cell, axis, position);
        }
        reference.bounds.intersection(cell).halves(axis, position).map(Some)
    }
}

/// Subtrees with more references are built as tasks of their own.
const PARALLEL_ABOVE: usize = 8_192;

/// Fills the places of a leaf's last test that no triangle needs.
pub(super) const PADDING: u32 = u32::MAX;

/// Builds the tree of some triangles within their common bounds.
pub(super) fn build(triangles: &[Triangle], bounds: Aabb, preset: &Preset) -> Output {
    build_boxes(triangles.iter().map(Triangle::bounds), if preset.clip { triangles } else { &[] }, bounds, preset)
}

/// Builds the tree of some boxes; those that have a triangle are shrunk to what of it lies in a cell.
pub(super) fn build_boxes(
    boxes: impl Iterator<Item = Aabb>,
    triangles: &[Triangle],
    bounds: Aabb,
    preset: &Preset,
) -> Output {
    let references: Vec<Reference> = boxes
        .zip(0..)
        .map(|(bounds, triangle)| Reference { bounds: without_negative_zero(bounds), triangle })
        .collect();
    let builder = Builder { triangles, preset, depth_limit: depth_limit(references.len()).min(preset.deepest) };
    let mut output = Output::new();
    binned::subtree(&builder, references, Cell { bounds, depth: 0 }, 0, &mut output);
    output.unite_boxes();
    output
}

/// Bits of -0.0 and 0.0 differ, and which of them a minimum picks is up to the machine.
fn without_negative_zero(bounds: Aabb) -> Aabb {
    Aabb { min: bounds.min + 0.0, max: bounds.max + 0.0 }
}

/// The deepest that a tree of so many triangles may get (Pharr, Jakob and Humphreys: 8 + 1.3 log2 n).
pub(super) fn depth_limit(triangles: usize) -> usize {
    (8.0 + 1.3 * (triangles.max(1) as f32).log2()) as usize
}

/// The cells on both sides of a plane.
fn halves(cell: Cell, axis: usize, position: f32) -> (Cell, Cell) {
    let child = Cell { depth: cell.depth + 1, ..cell };
    let (mut below, mut above) = (child, child);
    below.bounds.max[axis] = position;
    above.bounds.min[axis] = position;
    (below, above)
}

/// Nodes and references of a tree or a part of one: the root at 0, padding at 1, then siblings in pairs.
pub(super) struct Output {
    pub nodes: Vec<Node>,
    /// The boxes around what the nodes hold; those of splits are empty until all is built.
    pub boxes: Vec<Aabb>,
    pub references: Vec<u32>,
}

impl Output {
    fn new() -> Self {
        Self { nodes: vec![Node::leaf(0, 0); 2], boxes: vec![Aabb::EMPTY; 2], references: Vec::new() }
    }

    /// Makes the node in a slot a leaf.
    fn leaf(&mut self, slot: usize, bounds: Aabb, triangles: impl Iterator<Item = u32>, preset: &Preset) {
        self.boxes[slot] = bounds;
        let first = self.references.len();
        self.references.extend(triangles);
        self.nodes[slot] = Node::leaf(first, self.references.len() - first);
        let width = preset.leaf_width.max(1) as usize;
        self.references.resize(self.references.len().next_multiple_of(width), PADDING);
    }

    /// Makes the node in a slot a split, and answers the slot of its first child.
    fn split(&mut self, slot: usize, axis: usize, position: f32) -> usize {
        let first = self.nodes.len();
        self.nodes.extend([Node::leaf(0, 0); 2]);
        self.boxes.extend([Aabb::EMPTY; 2]);
        self.nodes[slot] = Node::split(axis, position, first);
        first
    }

    /// Gives splits the boxes around what both children hold.
    fn unite_boxes(&mut self) {
        // Children stand behind their parents.
        for index in (0..self.nodes.len()).rev() {
            if let NodeKind::Split { first, .. } = self.nodes[index].kind() {
                self.boxes[index] = self.boxes[first as usize].union(self.boxes[first as usize + 1]);
            }
        }
    }

    /// Puts the root of another part into a slot and the rest behind.
    fn append(&mut self, other: Self, slot: usize) {
        // The other's root and padding are not copied, so its children move by two less.
        let (nodes, references) = (self.nodes.len() - 2, self.references.len());
        self.nodes[slot] = other.nodes[0].shifted(nodes, references);
        self.nodes.extend(other.nodes[2..].iter().map(|node| node.shifted(nodes, references)));
        self.boxes[slot] = other.boxes[0];
        self.boxes.extend(&other.boxes[2..]);
        self.references.extend(other.references);
    }
}
