//! What a subscene knows of its neighbours.

use glam::Vec3;

use super::{Mask, Source};
use crate::geometry::Aabb;
use crate::partition::{BorderId, CellId, Partition, PartitionError};

/// A border of a subscene, seen from within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Which border.
    pub border: BorderId,
    /// Who is behind it.
    pub beyond: CellId,
    /// The axis that it stands upright on.
    pub axis: usize,
    /// Where on that axis, metres.
    pub position: f32,
    /// The rectangle, as a box without extent along the axis.
    pub rectangle: Aabb,
    /// True when it is at an upper face of the subscene.
    is_above: bool,
}

impl Gate {
    /// True for a border by which light from a point leaves the subscene, false for one by which it comes in.
    pub fn is_out(&self, from: Vec3) -> bool {
        (from[self.axis] < self.position) == self.is_above
    }

    /// The axes along the border.
    pub(super) fn along(&self) -> [usize; 2] {
        [(self.axis + 1) % 3, (self.axis + 2) % 3]
    }
}

/// The borders of one subscene: all that it knows of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    cell: CellId,
    gates: Vec<Gate>,
    resolution: u32,
}

impl Interface {
    /// The borders of a cell, each to be divided into `resolution` x `resolution` rectangles.
    ///
    /// # Errors
    /// When that is 0 or more than [`Mask::MOST_RESOLUTION`].
    pub fn new(partition: &Partition, cell: CellId, resolution: u32) -> Result<Self, PartitionError> {
        Mask::check_resolution(resolution)?;
        let gate = |border: &BorderId| {
            let shared = partition.borders()[border.index()];
            let axis = usize::from(shared.axis);
            Gate {
                border: *border,
                beyond: shared.beyond(cell),
                axis,
                position: shared.rectangle.min[axis],
                rectangle: shared.rectangle,
                is_above: shared.below == cell,
            }
        };
        let faces = crate::geometry::Face::ALL;
        let gates = faces.iter().flat_map(|&face| partition.borders_of(cell, face)).map(gate).collect();
        Ok(Self { cell, gates, resolution })
    }

    /// Whose borders they are.
    pub fn cell(&self) -> CellId {
        self.cell
    }

    /// Rectangles along each edge of a border.
    pub fn resolution(&self) -> u32 {
        self.resolution
    }

    /// The borders by which light of a source leaves.
    pub fn outward(&self, source: &Source) -> impl Iterator<Item = &Gate> + use<'_> {
        let from = source.place();
        self.gates.iter().filter(move |gate| gate.is_out(from))
    }

    /// The borders by which light of a source comes in; none for the subscene that the source is in.
    pub fn inward(&self, source: &Source) -> impl Iterator<Item = &Gate> + use<'_> {
        let from = source.place();
        self.gates.iter().filter(move |gate| !gate.is_out(from))
    }

    pub(super) fn gate(&self, border: BorderId) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.border == border)
    }
}
