//! Why a scene cannot be cut.

/// Why there is no such partition.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartitionError {
    /// No polygon has an area.
    #[error("there is nothing to cut into cells: no triangle that takes part in a bake has an area")]
    Nothing,
    /// Zero cells were asked for.
    #[error("0 cells hold no scene: ask for 1 or more")]
    NoCells,
    /// More cells were asked for than can be of use.
    #[error("{count} cells are too many: ask for {most} or fewer")]
    TooMany {
        /// How many were asked for.
        count: u32,
        /// How many there may be.
        most: u32,
    },
    /// So many polygons lie on each other that cells would hold more pieces of them than memory has room for.
    #[error("in {count} cells there would be more than {most} pieces of the scene's polygons: ask for fewer cells")]
    TooManyPieces {
        /// How many cells were asked for.
        count: u32,
        /// How many pieces there may be.
        most: usize,
    },
    /// Halving cells leads to powers of two only.
    #[error("a balanced partition halves its cells and cannot have {count} of them: ask for {below} or {above}")]
    NoPowerOfTwo {
        /// How many were asked for.
        count: u32,
        /// The next smaller count that it can have.
        below: u32,
        /// The next larger one.
        above: u32,
    },
    /// A hybrid partition begins with eight cells.
    #[error("a hybrid partition begins with 8 cells and cannot have {count}: ask for 8 or more")]
    FewerThanEight {
        /// How many were asked for.
        count: u32,
    },
    /// Power is to be shared out, and there is none.
    #[error("no surface of the scene emits light, so there is no power to share out: balance by area")]
    NoPower,
    /// The weight of power is negative, not a number, or hides all areas.
    #[error("power cannot weigh {0} times as much as area: give a number from 0 to 1e12")]
    Weight(f64),
    /// Surfaces cannot be merged by that threshold.
    #[error("normals cannot differ by less than {0}: merge surfaces by a threshold from 0 on")]
    Threshold(f64),
    /// Triangles cannot be divided into elements of that size.
    #[error("elements cannot have {0} m2: give the largest an area above 0, infinite for a triangle each")]
    LargestElement(f32),
    /// Triangles would be divided into more elements than can be of use.
    #[error("elements of {area} m2 at most would be more than {most}: ask for larger ones")]
    TooManyElements {
        /// The largest area that was asked for, in square metres.
        area: f32,
        /// How many elements there may be.
        most: u32,
    },
    /// Borders cannot be divided like that.
    #[error("masks of {resolution} x {resolution} cells cannot be made: ask for 1 to {most} along an edge")]
    Mask {
        /// How many were asked for along an edge.
        resolution: u32,
        /// How many there may be.
        most: u32,
    },
    /// Two planes would have the same coordinate.
    #[error("a cell at {at:?} m is too thin to be cut along {axis}: ask for fewer cells")]
    TooThin {
        /// The cell's corner with the smallest coordinates.
        at: [f32; 3],
        /// Across which planes.
        axis: char,
    },
}

impl PartitionError {
    pub(super) fn too_thin(cell: crate::geometry::Aabb, axis: usize) -> Self {
        Self::TooThin { at: cell.min.to_array(), axis: ['x', 'y', 'z'][axis] }
    }
}
