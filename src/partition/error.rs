//! Errors of partitioning.

/// Reason why a scene cannot be partitioned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
pub enum PartitionError {
    /// No polygon has an area.
    #[error("there is nothing to cut into cells: no triangle that takes part in a bake has an area")]
    Nothing,
    /// The requested number of cells is zero.
    #[error("0 cells hold no scene: ask for 1 or more")]
    NoCells,
    /// The requested number of cells exceeds the limit.
    #[error("{count} cells are too many: ask for {max} or fewer")]
    TooMany {
        /// Requested number of cells.
        count: u32,
        /// Maximum number of cells.
        max: u32,
    },
    /// So many polygons overlap that the cells would hold more pieces than fit into memory.
    #[error("in {count} cells there would be more than {max} pieces of the scene's polygons: ask for fewer cells")]
    TooManyPieces {
        /// Requested number of cells.
        count: u32,
        /// Maximum number of pieces.
        max: usize,
    },
    /// Balanced partitions need a power of two.
    #[error("a balanced partition halves its cells and cannot have {count} of them: ask for {below} or {above}")]
    NoPowerOfTwo {
        /// Requested number of cells.
        count: u32,
        /// Next smaller valid number.
        below: u32,
        /// Next larger valid number.
        above: u32,
    },
    /// Hybrid partitions have at least eight cells.
    #[error("a hybrid partition begins with 8 cells and cannot have {count}: ask for 8 or more")]
    FewerThanEight {
        /// Requested number of cells.
        count: u32,
    },
    /// A hybrid partition has cells of level 1 at least.
    #[error("a hybrid partition begins with 8 cells on level 1: limit its level to 1 or more")]
    LevelZero,
    /// A limit of levels was requested for a partition without levels.
    #[error("only hybrid partitions have levels: ask for one, or for no limit of the level")]
    NoLevels,
    /// The load depends on power, but no polygon emits any.
    #[error("no surface of the scene emits light, so there is no power to share out: balance by area")]
    NoPower,
    /// The weight of power is negative, NaN, or so large that areas would be lost to rounding.
    #[error("power cannot weigh {0} times as much as area: give a number from 0 to 1e12")]
    Weight(f64),
    /// The merge threshold is negative or NaN.
    #[error("normals cannot differ by less than {0}: merge surfaces by a threshold from 0 on")]
    Threshold(f64),
    /// The maximum element area is not positive.
    #[error("elements cannot have {0} m2: give the largest an area above 0, infinite for a triangle each")]
    LargestElement(f32),
    /// Triangles would be divided into too many elements.
    #[error("elements of {area} m2 at most would be more than {max}: ask for larger ones")]
    TooManyElements {
        /// Requested maximum area, in square meters.
        area: f32,
        /// Maximum number of elements.
        max: u32,
    },
    /// The mask resolution is out of range.
    #[error("masks of {resolution} x {resolution} cells cannot be made: ask for 1 to {max} along an edge")]
    Mask {
        /// Requested resolution along an edge.
        resolution: u32,
        /// Maximum resolution.
        max: u32,
    },
    /// The requested number of ranks exceeds the limit.
    #[error("{count} subscenes on ranks are too many: ask for {max} or fewer")]
    TooManyRanks {
        /// Requested number of ranks.
        count: u32,
        /// Maximum number of ranks.
        max: u32,
    },
    /// There are more or fewer ranks than cells.
    #[error(
        "{ranks} ranks cannot share {cells} subscenes, one each: start {cells}, or ask for a partition with {ranks} subscenes"
    )]
    OtherRanks {
        /// Number of ranks.
        ranks: u32,
        /// Number of cells.
        cells: usize,
    },
    /// Subscenes that work at the same time need more memory than they may have.
    #[error(
        "subscenes on ranks need more than {} MiB: allow more memory, or let them take turns (without ranks)",
        bytes >> 20
    )]
    RanksBeyondMemory {
        /// Memory that they may have, in bytes.
        bytes: usize,
    },
    /// A cell is too thin: two planes would have the same coordinate.
    #[error("a cell at {at:?} m is too thin to be cut along {axis}: ask for fewer cells")]
    TooThin {
        /// Minimum corner of the cell, in meters.
        at: [f32; 3],
        /// Axis on which the cell is too thin.
        axis: char,
    },
}

impl PartitionError {
    pub(super) fn too_thin(cell: crate::geometry::Aabb, axis: usize) -> Self {
        Self::TooThin { at: cell.min.to_array(), axis: ['x', 'y', 'z'][axis] }
    }
}
