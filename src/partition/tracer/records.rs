//! Table records shared with shaders; see the structs in `cells.wgsl`.

use bytemuck::{Pod, Zeroable};

/// Null index of the shaders.
pub(crate) const NONE: u32 = u32::MAX;

/// One cell.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CellRecord {
    /// Minimum corner, in meters.
    pub low: [f32; 3],
    /// Start of the cell's range in the surface index list.
    pub first_surface: u32,
    /// Maximum corner, in meters.
    pub high: [f32; 3],
    pub end_surface: u32,
    /// Starts of the border ranges of the six faces. The range of face f ends where the next one starts.
    pub borders: [u32; 8],
}

/// Virtual element of a border: a part of a cell's face, with the one cell behind.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BorderRecord {
    /// Extent on the two axes that follow the perpendicular axis cyclically, in meters.
    pub low: [f32; 2],
    pub high: [f32; 2],
    pub beyond: u32,
    pub padding: [u32; 3],
}

/// One coarse surface.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SurfaceRecord {
    /// Unit normal.
    pub normal: [f32; 3],
    /// Start of the outline in the corner list.
    pub first_corner: u32,
    /// A point in the surface's plane.
    pub anchor: [f32; 3],
    pub end_corner: u32,
    /// Minimum corner of the lookup grid, in projected coordinates.
    pub lattice_low: [f32; 2],
    /// Grid cells per meter.
    pub lattice_scale: [f32; 2],
    /// Number of columns and rows of the lookup grid.
    pub lattice_size: [u32; 2],
    /// Index of the list of range ends of the grid cells. Triangle lists follow each other.
    pub lattice: u32,
    /// Projection axis: the largest component of the normal.
    pub axis: u32,
}

/// One fine triangle.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FineRecord {
    pub a: [f32; 3],
    /// Number of parts per edge; the triangle has the square of that many elements per side.
    pub divisions: u32,
    pub b: [f32; 3],
    /// First element. Front-side elements come first.
    pub first_element: u32,
    pub c: [f32; 3],
    /// Number of sides with elements: one or two.
    pub sides: u32,
}

impl FineRecord {
    /// Returns the number of elements on all sides.
    pub fn elements(&self) -> u32 {
        self.divisions * self.divisions * self.sides
    }
}
