//! Borders between cells.

use super::tree::Node;
use super::{BorderId, CellId};
use crate::geometry::{Aabb, Face};

/// Rectangle shared by two adjacent cells. All light between both cells crosses their border.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Border {
    /// Axis that the border is perpendicular to: 0, 1 or 2 for x, y or z.
    pub axis: u8,
    /// Rectangle as a box without extent along the axis, in meters.
    pub rectangle: Aabb,
    /// Cell with the smaller coordinates.
    pub below: CellId,
    /// Cell with the larger coordinates.
    pub above: CellId,
}

impl Border {
    /// Returns the cell on the other side of the border.
    pub fn beyond(&self, cell: CellId) -> CellId {
        if cell == self.below { self.above } else { self.below }
    }

    /// Returns the face of the given cell that contains the border.
    pub fn face_of(&self, cell: CellId) -> Face {
        Face { axis: self.axis, is_upper: cell == self.below }
    }

    /// Returns the area, in square meters.
    pub fn area(&self) -> f32 {
        self.rectangle.surface_area() * 0.5
    }
}

/// All borders of a partition, indexed by cell and face.
#[derive(Clone, Debug)]
pub(super) struct Borders {
    all: Vec<Border>,
    /// Border ids, grouped by cell and face.
    by_face: Vec<BorderId>,
    /// End of each group, for each face of each cell.
    ends: Vec<u32>,
}

impl Borders {
    pub fn between(nodes: &[Node], bounds: Aabb, cells: usize) -> Self {
        let mut all = Vec::new();
        Adjoining { nodes, borders: &mut all }.cross_within(0, bounds);
        let mut sided: Vec<(CellId, Face, BorderId)> = Vec::with_capacity(2 * all.len());
        for (index, border) in all.iter().enumerate() {
            for cell in [border.below, border.above] {
                sided.push((cell, border.face_of(cell), BorderId::from_index(index)));
            }
        }
        sided.sort_unstable();
        let place = |(cell, face): (CellId, Face)| 6 * cell.index() + face.index();
        let mut ends = vec![0; 6 * cells];
        sided.iter().for_each(|&(cell, face, _)| ends[place((cell, face))] += 1);
        ends.iter_mut().fold(0, |sum, end| {
            *end += sum;
            *end
        });
        Self { all, by_face: sided.into_iter().map(|(.., border)| border).collect(), ends }
    }

    pub fn all(&self) -> &[Border] {
        &self.all
    }

    pub fn of(&self, cell: CellId, face: Face) -> &[BorderId] {
        let group = 6 * cell.index() + face.index();
        let first = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.by_face[first as usize..self.ends[group] as usize]
    }
}

struct Adjoining<'a> {
    nodes: &'a [Node],
    borders: &'a mut Vec<Border>,
}

impl Adjoining<'_> {
    /// Adds all borders between cells below a node.
    fn cross_within(&mut self, node: u32, bounds: Aabb) {
        if let Node::Cut { axis, position, below, above } = self.nodes[node as usize] {
            let [lower, upper] = bounds.halves(axis, position);
            self.cross_within(below, lower);
            self.cross_within(above, upper);
            let mut rectangle = lower;
            rectangle.min[axis] = position;
            self.cross_between(axis, rectangle, below, above);
        }
    }

    /// Adds all borders within a rectangle of the plane between two nodes.
    fn cross_between(&mut self, axis: usize, rectangle: Aabb, below: u32, above: u32) {
        match (self.nodes[below as usize], self.nodes[above as usize]) {
            (Node::Cut { axis: across, below: first, above: second, position }, _) => {
                // A cut along the border's own axis leaves only the half next to the plane.
                for (half, part) in parts(axis, rectangle, across, position, [first, second], second) {
                    self.cross_between(axis, part, half, above);
                }
            }
            (_, Node::Cut { axis: across, below: first, above: second, position }) => {
                for (half, part) in parts(axis, rectangle, across, position, [first, second], first) {
                    self.cross_between(axis, part, below, half);
                }
            }
            (Node::Cell(below), Node::Cell(above)) => {
                self.borders.push(Border { axis: axis as u8, rectangle, below, above });
            }
        }
    }
}

/// Returns the halves of a node that touch a rectangle, with the part of the rectangle that each touches. `next_to` is
/// the half adjacent to the rectangle, for nodes cut along the rectangle's own axis.
fn parts(
    axis: usize,
    rectangle: Aabb,
    across: usize,
    position: f32,
    [below, above]: [u32; 2],
    next_to: u32,
) -> impl Iterator<Item = (u32, Aabb)> {
    let whole = (across == axis).then_some((next_to, rectangle));
    let meets_lower = across != axis && rectangle.min[across] < position;
    let meets_upper = across != axis && position < rectangle.max[across];
    let (mut lower, mut upper) = (rectangle, rectangle);
    lower.max[across] = lower.max[across].min(position);
    upper.min[across] = upper.min[across].max(position);
    whole.into_iter().chain(meets_lower.then_some((below, lower))).chain(meets_upper.then_some((above, upper)))
}
