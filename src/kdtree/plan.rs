//! Which nodes of a tree become cells of wide nodes.

use crate::geometry::Aabb;

use super::{Node, NodeKind};

/// Cells of a wide node.
pub(super) const CELLS: usize = 8;

/// A plan by which a ray is expected to meet as little surface of wide nodes as can be (Ylitie, Karras and Laine 2017).
pub(super) struct Plan<'a> {
    nodes: &'a [Node],
    boxes: &'a [Aabb],
    /// For each node and each number of cells (less one): the surface of all wide nodes in and below the node, when it
    /// becomes so many cells at most.
    surfaces: Vec<[f32; CELLS]>,
}

impl<'a> Plan<'a> {
    /// Plans for a tree, given the boxes around what its nodes hold.
    pub fn new(nodes: &'a [Node], boxes: &'a [Aabb]) -> Self {
        let mut plan = Self { nodes, boxes, surfaces: vec![[0.0; CELLS]; nodes.len()] };
        // Children stand behind their parents.
        for index in (0..nodes.len()).rev() {
            plan.surfaces[index] = match plan.branches(index as u32) {
                Branches::None => [0.0; CELLS],
                Branches::One(child) => plan.surfaces[child as usize],
                Branches::Two { first, .. } => plan.surfaces_of_split(index, first),
            };
        }
        plan
    }

    fn surfaces_of_split(&self, index: usize, first: u32) -> [f32; CELLS] {
        let mut surfaces = [f32::INFINITY; CELLS];
        for cells in 2..=CELLS {
            let (_, surface) = self.best_share(first, cells);
            surfaces[cells - 1] = surface.min(surfaces[cells - 2]);
        }
        let alone = self.boxes[index].surface_area() + surfaces[CELLS - 1];
        surfaces.map(|surface| surface.min(alone))
    }

    /// How many of some cells, two or more, the first of two siblings should become, and the surface that both then have.
    fn best_share(&self, first: u32, cells: usize) -> (usize, f32) {
        let [below, above] = [first, first + 1].map(|child| &self.surfaces[child as usize]);
        let surface = |share: usize| (share, below[share - 1] + above[cells - share - 1]);
        (2..cells).map(surface).fold(surface(1), |best, other| if other.1 < best.1 { other } else { best })
    }

    /// The nodes that become the cells of a wide node, from near to far for rays of an octant.
    pub fn cells(&self, root: u32, octant: usize) -> Vec<u32> {
        let mut cells = Vec::with_capacity(CELLS);
        self.divide(root, CELLS, octant, &mut cells);
        cells
    }

    fn divide(&self, node: u32, most: usize, octant: usize, cells: &mut Vec<u32>) {
        match self.branches(node) {
            Branches::None if self.boxes[node as usize].is_empty() => {}
            Branches::None => cells.push(node),
            Branches::One(child) => self.divide(child, most, octant, cells),
            Branches::Two { axis, first } => {
                let (share, _) = self.best_share(first, most);
                let sides = [(first, share), (first + 1, most - share)];
                let near = octant >> axis & 1;
                for (child, most) in [sides[near], sides[1 - near]] {
                    self.settle(child, most, octant, cells);
                }
            }
        }
    }

    /// Makes a node one cell, or more where that has less surface.
    fn settle(&self, node: u32, most: usize, octant: usize, cells: &mut Vec<u32>) {
        let surfaces = &self.surfaces[node as usize];
        match self.branches(node) {
            Branches::One(child) => self.settle(child, most, octant, cells),
            _ if most == 1 || surfaces[most - 1] == surfaces[0] => cells.push(node),
            _ => self.divide(node, most, octant, cells),
        }
    }

    /// The children of a node that hold something.
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

/// What of a node's children holds something.
enum Branches {
    None,
    One(u32),
    Two { axis: usize, first: u32 },
}
