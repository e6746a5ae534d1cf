//! Tables as shaders see them: the twins of the records of `cells.wgsl`.

use bytemuck::{Pod, Zeroable};

/// No index, in shaders.
pub(crate) const NONE: u32 = u32::MAX;

/// One cell.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CellRecord {
    /// The corner with the smallest coordinates.
    pub low: [f32; 3],
    /// Where its coarse surfaces are listed.
    pub first_surface: u32,
    /// The corner with the largest coordinates.
    pub high: [f32; 3],
    pub end_surface: u32,
    /// Where the borders of its faces start, those of face f ending where those of the next start.
    pub borders: [u32; 8],
}

/// The virtual element of a border: a part of a face, and the one cell behind it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BorderRecord {
    /// Its extent along the two axes that follow the one it stands upright on, cyclically.
    pub low: [f32; 2],
    pub high: [f32; 2],
    pub beyond: u32,
    pub padding: [u32; 3],
}

/// One coarse surface.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SurfaceRecord {
    /// Of unit length.
    pub normal: [f32; 3],
    /// Where its rim starts.
    pub first_corner: u32,
    /// A point of its plane.
    pub anchor: [f32; 3],
    pub end_corner: u32,
    /// Where its lattice starts, in the coordinates of its plane.
    pub lattice_low: [f32; 2],
    /// Fields to a metre.
    pub lattice_scale: [f32; 2],
    /// Fields in a row, and rows.
    pub lattice_size: [u32; 2],
    /// Where the ends of the fields' lists are listed; the lists follow each other.
    pub lattice: u32,
    /// The axis that its plane is seen along: that of the normal's largest coordinate.
    pub axis: u32,
}

/// One fine triangle.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FineRecord {
    pub a: [f32; 3],
    /// Its edges are cut into so many parts, and it into their square of elements.
    pub divisions: u32,
    pub b: [f32; 3],
    /// Those of the front come first.
    pub first_element: u32,
    pub c: [f32; 3],
    /// How many sides have elements: one or two.
    pub sides: u32,
}

impl FineRecord {
    /// How many elements it has.
    pub fn elements(&self) -> u32 {
        self.divisions * self.divisions * self.sides
    }
}
