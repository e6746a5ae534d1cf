//! Interface of a subscene: its borders to neighboring subscenes.

use glam::Vec3;

use super::{Mask, MaskSource};
use crate::geometry::Aabb;
use crate::partition::{BorderId, CellId, Partition, PartitionError};

/// Border of a subscene, seen from within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Index of the border.
    pub border: BorderId,
    /// Cell on the other side.
    pub beyond: CellId,
    /// Axis that the border is perpendicular to.
    pub axis: usize,
    /// Position on that axis, in meters.
    pub position: f32,
    /// Rectangle as a box without extent along the axis, in meters.
    pub rectangle: Aabb,
    /// True if the border lies on an upper face of the subscene.
    is_above: bool,
}

impl Gate {
    /// Returns true if light from the point leaves the subscene here, false if light enters.
    pub fn is_out(&self, from: Vec3) -> bool {
        (from[self.axis] < self.position) == self.is_above
    }

    /// Returns the two axes parallel to the border.
    pub(super) fn along(&self) -> [usize; 2] {
        [(self.axis + 1) % 3, (self.axis + 2) % 3]
    }
}

/// Borders of one subscene: all that a subscene knows of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    cell: CellId,
    gates: Vec<Gate>,
    resolution: u32,
}

impl Interface {
    /// Collects the borders of a cell. Masks divide each border into `resolution` x `resolution` rectangles.
    ///
    /// # Errors
    /// Returns an error if the resolution is 0 or more than [`Mask::MAX_RESOLUTION`].
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

    /// Returns the cell that the borders belong to.
    pub fn cell(&self) -> CellId {
        self.cell
    }

    /// Returns the number of rectangles along each edge of a border.
    pub fn resolution(&self) -> u32 {
        self.resolution
    }

    /// Returns the borders through which light of a source leaves.
    pub fn outward(&self, source: &MaskSource) -> impl Iterator<Item = &Gate> + use<'_> {
        let from = source.place();
        self.gates.iter().filter(move |gate| gate.is_out(from))
    }

    /// Returns the borders through which light of a source enters; none for the source's own subscene.
    pub fn inward(&self, source: &MaskSource) -> impl Iterator<Item = &Gate> + use<'_> {
        let from = source.place();
        self.gates.iter().filter(move |gate| !gate.is_out(from))
    }

    pub(super) fn gate(&self, border: BorderId) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.border == border)
    }
}
