//! The cells of a tree eight side by side, as a processor weighs them at once.
//!
//! A node with two children costs a processor a guess and a wait for memory, and a wrong guess costs as much as weighing
//! eight. So the tree's splits are gathered into wide nodes. Each of their cells is shrunk to the box around what it
//! holds, which leaves out the empty space too.

use crate::geometry::Aabb;

use super::plan::{CELLS, Plan};
use super::{Node, NodeKind};

/// Up to eight cells that lie apart: four cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct WideNode {
    /// The boxes around what the cells hold: on each axis the lower faces, then the upper ones. Lanes without a cell have
    /// them at the wrong infinities, so that no ray enters before it leaves.
    faces: [[f32; CELLS]; 6],
    /// What the cells hold; see [`Content`]. The fullest come first.
    pub cells: [u32; CELLS],
    /// The lanes from near to far, one a hexadecimal digit from the lowest on, for rays of each octant. An octant has
    /// the bits set of the axes along which its rays fall.
    pub orders: [u32; 8],
}

/// What a cell holds, unpacked.
pub(super) enum Content<'a> {
    Node(&'a WideNode),
    /// Some of the things that leaves hold, in a row.
    Run {
        first: u32,
        count: u32,
    },
}

/// The most things in a cell's run.
const RUN: u32 = 15;

/// Words of eight bytes in a node. Cells count in them, as the addresses of processors do.
const WORDS: u32 = (size_of::<WideNode>() / 8) as u32;

/// Cells can tell so many nodes apart: more than leaves have references, see `Event::LIMIT`.
const NODES: usize = 1 << 27;

impl WideNode {
    /// The lanes in their own order.
    pub const IN_ORDER: u32 = 0x7654_3210;

    const EMPTY: Self = Self {
        faces: [
            [f32::INFINITY; CELLS],
            [f32::NEG_INFINITY; CELLS],
            [f32::INFINITY; CELLS],
            [f32::NEG_INFINITY; CELLS],
            [f32::INFINITY; CELLS],
            [f32::NEG_INFINITY; CELLS],
        ],
        // Runs of nothing.
        cells: [1; CELLS],
        orders: [Self::IN_ORDER; 8],
    };

    /// Bytes from the first faces to the lower or upper ones across an axis.
    #[inline(always)]
    pub const fn offset_of(axis: usize, upper: bool) -> usize {
        (2 * axis + upper as usize) * size_of::<[f32; CELLS]>()
    }

    /// Bytes between the lower faces across an axis and the upper ones.
    pub const OPPOSITE: usize = size_of::<[f32; CELLS]>();

    /// The faces at an offset.
    ///
    /// # Safety
    /// The offset must be one of [`WideNode::offset_of`].
    #[inline(always)]
    pub unsafe fn faces_at(&self, offset: usize) -> &[f32; CELLS] {
        // SAFETY: the caller's, and all faces lie in a row.
        unsafe { &*self.faces.as_ptr().byte_add(offset) }
    }

    fn fill(&mut self, lane: usize, bounds: Aabb, cell: u32) {
        for axis in 0..3 {
            self.faces[2 * axis][lane] = bounds.min[axis];
            self.faces[2 * axis + 1][lane] = bounds.max[axis];
        }
        self.cells[lane] = cell;
    }
}

/// The wide nodes of a tree.
#[derive(Clone, Debug)]
pub(super) struct WideTree {
    nodes: Vec<WideNode>,
    reach: f32,
    only_run: Option<(u32, u32)>,
}

impl WideTree {
    /// The cell of the root.
    pub const ROOT: u32 = 0;

    /// Gathers the nodes of a tree. For each node it must be known what box its contents have, and how much they block;
    /// leaves hold `width` references a thing.
    pub fn new(nodes: &[Node], boxes: &[Aabb], fullness: &[f32], width: u32) -> Self {
        let plan = Plan::new(nodes, boxes);
        let thing = |reference: u32| reference / width;
        let content = |node: u32| match nodes[node as usize].kind() {
            NodeKind::Split { .. } => Part::Node(node),
            NodeKind::Leaf { first, count } => {
                Part::Run { first: thing(first), count: count.div_ceil(width), bounds: boxes[node as usize] }
            }
        };
        let mut parts = vec![Part::Node(0)];
        let mut wide = Vec::new();
        while let Some(&part) = parts.get(wide.len()) {
            let mut node = WideNode::EMPTY;
            match part {
                Part::Node(root) => {
                    let mut lanes = plan.cells(root, 0);
                    lanes.sort_by(|&a, &b| fullness[b as usize].total_cmp(&fullness[a as usize]));
                    for (lane, &cell) in lanes.iter().enumerate() {
                        node.fill(lane, boxes[cell as usize], content(cell).pack(&mut parts));
                    }
                    for (octant, order) in node.orders.iter_mut().enumerate() {
                        *order = digits(
                            plan.cells(root, octant)
                                .iter()
                                .filter_map(|cell| lanes.iter().position(|lane| lane == cell)),
                        );
                    }
                }
                Part::Run { first, count, bounds } => {
                    let share = count.div_ceil(CELLS as u32).max(1);
                    for (lane, start) in (0..count).step_by(share as usize).enumerate() {
                        let run = Part::Run { first: first + start, count: share.min(count - start), bounds };
                        node.fill(lane, bounds, run.pack(&mut parts));
                    }
                }
            }
            wide.push(node);
        }
        assert!(wide.len() <= NODES, "the tree has more leaves than its builder can tell apart");
        let root = boxes[0];
        let reach = if root.is_empty() { 0.0 } else { root.min.abs().max(root.max.abs()).max_element() };
        let only_run = match content(0) {
            Part::Run { first, count, .. } => Some((first, count)),
            Part::Node(_) => None,
        };
        Self { nodes: wide, reach, only_run }
    }

    /// The largest coordinate of all that is held, metres.
    pub fn reach(&self) -> f32 {
        self.reach
    }

    /// The run of a tree that is nothing but a leaf: all that there is, which no box need be tested for.
    #[inline(always)]
    pub fn only_run(&self) -> Option<(u32, u32)> {
        self.only_run
    }

    /// The memory of all nodes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    /// What a cell of one of this tree's nodes holds.
    ///
    /// # Safety
    /// The cell must be [`WideTree::ROOT`] or come from a node of this tree.
    #[inline(always)]
    pub unsafe fn content(&self, cell: u32) -> Content<'_> {
        if cell & 1 == 0 {
            // SAFETY: the caller's; cells without a run hold the place of a node.
            Content::Node(unsafe { &*self.nodes.as_ptr().cast::<u64>().add(cell as usize).cast() })
        } else {
            Content::Run { first: cell >> 5, count: cell >> 1 & RUN }
        }
    }
}

/// A part of the tree that becomes a wide node, or a cell of one.
#[derive(Clone, Copy)]
enum Part {
    Node(u32),
    /// A leaf, or a part of one that has too many things for a cell.
    Run {
        first: u32,
        count: u32,
        bounds: Aabb,
    },
}

impl Part {
    /// Makes a cell of the part; what does not fit into one joins those that are yet to become nodes.
    fn pack(self, parts: &mut Vec<Self>) -> u32 {
        match self {
            Self::Run { first, count, .. } if count <= RUN => first << 5 | count << 1 | 1,
            _ => {
                parts.push(self);
                (parts.len() as u32 - 1) * WORDS
            }
        }
    }
}

/// Lanes packed a hexadecimal digit each; those that are not named follow, so that each occurs once.
fn digits(lanes: impl Iterator<Item = usize>) -> u32 {
    let mut all: Vec<usize> = lanes.collect();
    all.extend((0..CELLS).skip(all.len()));
    all.iter().rev().fold(0, |word, &lane| word << 4 | lane as u32)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::geometry::Triangle;
    use crate::kdtree::preset::LEAF_WIDTH;
    use crate::kdtree::{Preset, Tracer};

    /// Splits down to single triangles.
    const DEEP: Preset = Preset { intersection_cost: 100.0, ..Preset::best() };

    fn tracer(triangles: Vec<Triangle>) -> Tracer {
        Tracer::build(triangles, &DEEP, |_| false)
    }

    /// Triangles that lie one behind the other along a diagonal.
    fn flight_of_steps(count: u32) -> Vec<Triangle> {
        let step = |k: u32| {
            let corner = Vec3::splat(2.0 * k as f32);
            Triangle::new(corner, corner + Vec3::X, corner + Vec3::new(0.0, 1.0, 1.0))
        };
        (0..count).map(step).collect()
    }

    fn bounds(node: &WideNode, lane: usize) -> Aabb {
        let face = |side: usize| Vec3::from_array([0, 1, 2].map(|axis| node.faces[2 * axis + side][lane]));
        Aabb { min: face(0), max: face(1) }
    }

    /// All runs below a cell, and how often each thing is in one.
    fn count(tree: &WideTree, cell: u32, counts: &mut [u32]) {
        // SAFETY: the cells are those of the tree.
        match unsafe { tree.content(cell) } {
            Content::Node(node) => node.cells.iter().for_each(|&cell| count(tree, cell, counts)),
            Content::Run { first, count } => {
                counts[first as usize..(first + count) as usize].iter_mut().for_each(|count| *count += 1);
            }
        }
    }

    #[test]
    fn every_leaf_is_in_one_cell() {
        let Tracer { tree, wide, blocks, .. } = tracer(flight_of_steps(500));
        let mut counts = vec![0; blocks.len()];
        count(&wide, WideTree::ROOT, &mut counts);
        assert!(counts.len() >= 500 / LEAF_WIDTH && counts.iter().all(|&count| count == 1));
        // Eight cells a node and no empty leaf: far fewer nodes than splits.
        assert!(wide.nodes.len() * 4 < tree.nodes().len(), "{}", wide.nodes.len());
    }

    #[test]
    fn a_leaf_of_a_thousand_equal_triangles_is_cut_into_runs() {
        let triangle = Triangle::new(Vec3::ZERO, Vec3::X, Vec3::Y);
        let Tracer { tree, wide, blocks, .. } = tracer(vec![triangle; 1_000]);
        assert_eq!(tree.nodes()[0].kind(), NodeKind::Leaf { first: 0, count: 1_000 });
        let mut counts = vec![0; blocks.len()];
        count(&wide, WideTree::ROOT, &mut counts);
        assert!(counts.len() == 125 && counts.iter().all(|&count| count == 1));
    }

    #[test]
    fn cells_are_ordered_from_near_to_far_for_every_octant() {
        let Tracer { wide, .. } = tracer(flight_of_steps(300));
        for node in &wide.nodes {
            let lanes = (0..CELLS).filter(|&lane| !bounds(node, lane).is_empty()).count();
            for (octant, order) in node.orders.iter().enumerate() {
                let boxes: Vec<Aabb> = (0..lanes).map(|k| bounds(node, (order >> (4 * k)) as usize & 7)).collect();
                for (k, near) in boxes.iter().enumerate() {
                    assert!(boxes[k + 1..].iter().all(|far| {
                        (0..3).any(|axis| match octant >> axis & 1 {
                            0 => near.max[axis] <= far.min[axis],
                            _ => near.min[axis] >= far.max[axis],
                        })
                    }));
                }
            }
        }
    }

    #[test]
    fn a_tree_of_nothing_has_no_cells() {
        let Tracer { wide, .. } = tracer(Vec::new());
        assert!((0..CELLS).all(|lane| bounds(&wide.nodes[0], lane).is_empty()));
    }
}
