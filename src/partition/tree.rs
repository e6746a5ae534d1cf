//! Tree of splitting planes that cuts a box into cells.

use super::CellId;
use crate::geometry::Aabb;

/// Tree of cuts, under construction.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Cell,
    Cut { axis: usize, position: f32, halves: Box<[Tree; 2]> },
}

impl Tree {
    /// Creates a cut, with the subtrees below and above the plane.
    pub fn cut(axis: usize, position: f32, halves: [Self; 2]) -> Self {
        Self::Cut { axis, position, halves: Box::new(halves) }
    }

    /// Returns the nodes, root first, and the cells of a box. Cells below a plane come before cells above.
    pub fn flatten(&self, bounds: Aabb) -> (Vec<Node>, Vec<Aabb>) {
        let (mut nodes, mut cells) = (Vec::new(), Vec::new());
        self.add_to(bounds, &mut nodes, &mut cells);
        (nodes, cells)
    }

    fn add_to(&self, cell: Aabb, nodes: &mut Vec<Node>, cells: &mut Vec<Aabb>) -> u32 {
        let here = nodes.len() as u32;
        nodes.push(Node::Cell(CellId::from_index(cells.len())));
        match self {
            Self::Cell => cells.push(cell),
            Self::Cut { axis, position, halves } => {
                let (axis, position) = (*axis, *position);
                let [below, above] = cell.halves(axis, position);
                let below = halves[0].add_to(below, nodes, cells);
                let above = halves[1].add_to(above, nodes, cells);
                nodes[here as usize] = Node::Cut { axis, position, below, above };
            }
        }
        here
    }
}

/// Node of a finished tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Cell(CellId),
    Cut { axis: usize, position: f32, below: u32, above: u32 },
}

/// Returns true if a plane lies strictly inside a box.
pub(super) fn is_inside(cell: Aabb, axis: usize, position: f32) -> bool {
    cell.min[axis] < position && position < cell.max[axis]
}
