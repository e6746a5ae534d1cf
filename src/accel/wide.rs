//! Wide nodes: a BVH8 collapsed from the binary tree.
//!
//! A binary node costs a branch misprediction and a cache miss, and one misprediction costs as much as testing eight
//! boxes. Splits are therefore collapsed into nodes of up to eight children. Each child's box is shrunk to its
//! contents, which skips empty space.

use crate::geometry::Aabb;

use super::collapse::{MAX_CHILDREN, SahCollapse};
use super::{Node, NodeKind};

/// BVH8 node with up to eight children. A node fills four cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct WideNode {
    /// Bounding boxes of the children: on each axis the lower faces, then the upper faces. Lanes without a child hold
    /// inverted infinities, so that no ray enters them.
    faces: [[f32; MAX_CHILDREN]; 6],
    /// Packed contents of the children; see [`Child`]. Children with the most surface area come first.
    pub children: [u32; MAX_CHILDREN],
    /// Lanes from near to far for rays of each octant, one hexadecimal digit each, lowest digit first. Bit `k` of an
    /// octant is set if the ray's direction is negative on axis `k`.
    pub orders: [u32; 8],
}

/// Contents of a child, unpacked.
pub(super) enum Child<'a> {
    Node(&'a WideNode),
    /// Range of consecutive leaf items (blocks, or instances).
    LeafRange {
        first: u32,
        count: u32,
    },
}

/// Maximum number of items in a leaf range.
const MAX_LEAF_ITEMS: u32 = 15;

/// Size of a node in words of eight bytes. Child offsets count such words, which x86 addressing scales for free.
const WORDS: u32 = (size_of::<WideNode>() / 8) as u32;

/// Maximum number of nodes that children can address. Leaves cannot have more references; see `Event::LIMIT`.
const NODES: usize = 1 << 27;

impl WideNode {
    /// Lanes in storage order.
    pub const IN_ORDER: u32 = 0x7654_3210;

    const EMPTY: Self = Self {
        faces: [
            [f32::INFINITY; MAX_CHILDREN],
            [f32::NEG_INFINITY; MAX_CHILDREN],
            [f32::INFINITY; MAX_CHILDREN],
            [f32::NEG_INFINITY; MAX_CHILDREN],
            [f32::INFINITY; MAX_CHILDREN],
            [f32::NEG_INFINITY; MAX_CHILDREN],
        ],
        // Empty leaf ranges.
        children: [1; MAX_CHILDREN],
        orders: [Self::IN_ORDER; 8],
    };

    /// Returns the byte offset of the lower or upper faces of an axis.
    #[inline(always)]
    pub const fn offset_of(axis: usize, upper: bool) -> usize {
        (2 * axis + upper as usize) * size_of::<[f32; MAX_CHILDREN]>()
    }

    /// Bytes between the lower and upper faces of an axis.
    pub const OPPOSITE: usize = size_of::<[f32; MAX_CHILDREN]>();

    /// Returns the faces at a byte offset.
    ///
    /// # Safety
    /// The offset must come from [`WideNode::offset_of`].
    #[inline(always)]
    pub unsafe fn faces_at(&self, offset: usize) -> &[f32; MAX_CHILDREN] {
        // SAFETY: guaranteed by the caller; all faces are contiguous.
        unsafe { &*self.faces.as_ptr().byte_add(offset) }
    }

    fn fill(&mut self, lane: usize, bounds: Aabb, child: u32) {
        for axis in 0..3 {
            self.faces[2 * axis][lane] = bounds.min[axis];
            self.faces[2 * axis + 1][lane] = bounds.max[axis];
        }
        self.children[lane] = child;
    }
}

/// BVH8 of a tree.
#[derive(Clone, Debug)]
pub(super) struct WideTree {
    nodes: Vec<WideNode>,
    reach: f32,
    only_leaf: Option<(u32, u32)>,
}

impl WideTree {
    /// Child that refers to the root node.
    pub const ROOT: u32 = 0;

    /// Collapses the nodes of a tree. `boxes` and `occupancy` hold the bounds and the surface area of each node's
    /// contents. Each leaf item covers `width` references.
    pub fn new(nodes: &[Node], boxes: &[Aabb], occupancy: &[f32], width: u32) -> Self {
        let collapse = SahCollapse::new(nodes, boxes);
        let item = |reference: u32| reference / width;
        let part_of = |node: u32| match nodes[node as usize].kind() {
            NodeKind::Split { .. } => Part::Node(node),
            NodeKind::Leaf { first, count } => {
                Part::LeafRange { first: item(first), count: count.div_ceil(width), bounds: boxes[node as usize] }
            }
        };
        let mut parts = vec![Part::Node(0)];
        let mut wide = Vec::new();
        while let Some(&part) = parts.get(wide.len()) {
            let mut node = WideNode::EMPTY;
            match part {
                Part::Node(root) => {
                    let mut lanes = collapse.children(root, 0);
                    lanes.sort_by(|&a, &b| occupancy[b as usize].total_cmp(&occupancy[a as usize]));
                    for (lane, &child) in lanes.iter().enumerate() {
                        node.fill(lane, boxes[child as usize], part_of(child).pack(&mut parts));
                    }
                    for (octant, order) in node.orders.iter_mut().enumerate() {
                        *order = digits(
                            collapse
                                .children(root, octant)
                                .iter()
                                .filter_map(|child| lanes.iter().position(|lane| lane == child)),
                        );
                    }
                }
                Part::LeafRange { first, count, bounds } => {
                    let share = count.div_ceil(MAX_CHILDREN as u32).max(1);
                    for (lane, start) in (0..count).step_by(share as usize).enumerate() {
                        let range = Part::LeafRange { first: first + start, count: share.min(count - start), bounds };
                        node.fill(lane, bounds, range.pack(&mut parts));
                    }
                }
            }
            wide.push(node);
        }
        assert!(wide.len() <= NODES, "the tree has more leaves than its builder can tell apart");
        let root = boxes[0];
        let reach = if root.is_empty() { 0.0 } else { root.min.abs().max(root.max.abs()).max_element() };
        let only_leaf = match part_of(0) {
            Part::LeafRange { first, count, .. } => Some((first, count)),
            Part::Node(_) => None,
        };
        Self { nodes: wide, reach, only_leaf }
    }

    /// Returns the largest absolute coordinate of the bounds, in meters.
    pub fn reach(&self) -> f32 {
        self.reach
    }

    /// Returns the leaf range of a tree that is a single leaf, where no box test is needed.
    #[inline(always)]
    pub fn only_leaf(&self) -> Option<(u32, u32)> {
        self.only_leaf
    }

    /// Returns the memory of all nodes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    /// Unpacks the contents of a child.
    ///
    /// # Safety
    /// The cell must be [`WideTree::ROOT`] or come from a node of this tree.
    #[inline(always)]
    pub unsafe fn child(&self, child: u32) -> Child<'_> {
        if child & 1 == 0 {
            // SAFETY: guaranteed by the caller; cells that are not leaf ranges hold the offset of a node.
            Child::Node(unsafe { &*self.nodes.as_ptr().cast::<u64>().add(child as usize).cast() })
        } else {
            Child::LeafRange { first: child >> 5, count: child >> 1 & MAX_LEAF_ITEMS }
        }
    }
}

/// Part of the tree that becomes a wide node, or a child of one.
#[derive(Clone, Copy)]
enum Part {
    Node(u32),
    /// Leaf, or part of a leaf with too many items for one child.
    LeafRange {
        first: u32,
        count: u32,
        bounds: Aabb,
    },
}

impl Part {
    /// Packs the part as a child. Parts that do not fit are queued to become nodes.
    fn pack(self, parts: &mut Vec<Self>) -> u32 {
        match self {
            Self::LeafRange { first, count, .. } if count <= MAX_LEAF_ITEMS => first << 5 | count << 1 | 1,
            _ => {
                parts.push(self);
                (parts.len() as u32 - 1) * WORDS
            }
        }
    }
}

/// Packs lane numbers as hexadecimal digits. Missing lanes follow, so that each occurs once.
fn digits(lanes: impl Iterator<Item = usize>) -> u32 {
    let mut all: Vec<usize> = lanes.collect();
    all.extend((0..MAX_CHILDREN).skip(all.len()));
    all.iter().rev().fold(0, |word, &lane| word << 4 | lane as u32)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::accel::preset::LEAF_WIDTH;
    use crate::accel::{Preset, Tracer};
    use crate::geometry::Triangle;

    /// Preset that splits down to single triangles.
    const DEEP: Preset = Preset { intersection_cost: 100.0, ..Preset::best() };

    fn tracer(triangles: Vec<Triangle>) -> Tracer {
        Tracer::build(triangles, &DEEP, |_| false)
    }

    /// Returns triangles in a row along a diagonal.
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

    /// Counts how often each leaf item occurs below a child.
    fn count(tree: &WideTree, child: u32, counts: &mut [u32]) {
        // SAFETY: the cells come from the tree.
        match unsafe { tree.child(child) } {
            Child::Node(node) => node.children.iter().for_each(|&child| count(tree, child, counts)),
            Child::LeafRange { first, count } => {
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
        // Eight children per node and no empty leaves: far fewer nodes than splits.
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
            let lanes = (0..MAX_CHILDREN).filter(|&lane| !bounds(node, lane).is_empty()).count();
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
        assert!((0..MAX_CHILDREN).all(|lane| bounds(&wide.nodes[0], lane).is_empty()));
    }
}
