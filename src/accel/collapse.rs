//! Collapse of binary tree nodes into wide nodes.

use crate::geometry::Aabb;

use super::{Node, NodeKind};

/// Maximum number of children of a wide node.
pub(super) const MAX_CHILDREN: usize = 8;

/// SAH-optimal collapse of a binary tree into a BVH8 (Ylitie, Karras and Laine 2017). Minimizes the total surface area
/// of wide nodes.
pub(super) struct SahCollapse<'a> {
    nodes: &'a [Node],
    boxes: &'a [Aabb],
    /// Minimum total surface area of all wide nodes in a node's subtree, if the node becomes at most `n` children.
    /// Indexed by node and `n - 1`.
    surfaces: Vec<[f32; MAX_CHILDREN]>,
}

impl<'a> SahCollapse<'a> {
    /// Plans the collapse of a tree. `boxes` holds the bounds of each node's contents.
    pub fn new(nodes: &'a [Node], boxes: &'a [Aabb]) -> Self {
        let mut collapse = Self { nodes, boxes, surfaces: vec![[0.0; MAX_CHILDREN]; nodes.len()] };
        // Children have higher indices than their parents.
        for index in (0..nodes.len()).rev() {
            collapse.surfaces[index] = match collapse.branches(index as u32) {
                Branches::None => [0.0; MAX_CHILDREN],
                Branches::One(child) => collapse.surfaces[child as usize],
                Branches::Two { first, .. } => collapse.surfaces_of_split(index, first),
            };
        }
        collapse
    }

    fn surfaces_of_split(&self, index: usize, first: u32) -> [f32; MAX_CHILDREN] {
        let mut surfaces = [f32::INFINITY; MAX_CHILDREN];
        for children in 2..=MAX_CHILDREN {
            let (_, surface) = self.best_share(first, children);
            surfaces[children - 1] = surface.min(surfaces[children - 2]);
        }
        let alone = self.boxes[index].surface_area() + surfaces[MAX_CHILDREN - 1];
        surfaces.map(|surface| surface.min(alone))
    }

    /// Returns the number of children to give the first of two siblings, and the total surface area.
    /// `children`, at least two, is the number for both.
    fn best_share(&self, first: u32, children: usize) -> (usize, f32) {
        let [below, above] = [first, first + 1].map(|child| &self.surfaces[child as usize]);
        let surface = |share: usize| (share, below[share - 1] + above[children - share - 1]);
        (2..children).map(surface).fold(surface(1), |best, other| if other.1 < best.1 { other } else { best })
    }

    /// Returns the nodes that become the children of a wide node, from near to far for rays of an octant.
    pub fn children(&self, root: u32, octant: usize) -> Vec<u32> {
        let mut children = Vec::with_capacity(MAX_CHILDREN);
        self.divide(root, MAX_CHILDREN, octant, &mut children);
        children
    }

    fn divide(&self, node: u32, max_children: usize, octant: usize, children: &mut Vec<u32>) {
        match self.branches(node) {
            Branches::None if self.boxes[node as usize].is_empty() => {}
            Branches::None => children.push(node),
            Branches::One(child) => self.divide(child, max_children, octant, children),
            Branches::Two { axis, first } => {
                let (share, _) = self.best_share(first, max_children);
                let sides = [(first, share), (first + 1, max_children - share)];
                let near = octant >> axis & 1;
                for (child, max_children) in [sides[near], sides[1 - near]] {
                    self.settle(child, max_children, octant, children);
                }
            }
        }
    }

    /// Makes a node one child, or several where that reduces surface area.
    fn settle(&self, node: u32, max_children: usize, octant: usize, children: &mut Vec<u32>) {
        let surfaces = &self.surfaces[node as usize];
        match self.branches(node) {
            Branches::One(child) => self.settle(child, max_children, octant, children),
            _ if max_children == 1 || surfaces[max_children - 1] == surfaces[0] => children.push(node),
            _ => self.divide(node, max_children, octant, children),
        }
    }

    /// Returns the non-empty children of a node.
    fn branches(&self, node: u32) -> Branches {
        let NodeKind::Split { axis, first, .. } = self.nodes[node as usize].kind() else {
            return Branches::None;
        };
        let holds = |child: u32| !self.boxes[child as usize].is_empty();
        match (holds(first), holds(first + 1)) {
            (true, true) => Branches::Two { axis, first },
            (true, false) => Branches::One(first),
            (false, true) => Branches::One(first + 1),
            (false, false) => Branches::None,
        }
    }
}

/// Non-empty children of a node.
enum Branches {
    None,
    One(u32),
    Two { axis: usize, first: u32 },
}
