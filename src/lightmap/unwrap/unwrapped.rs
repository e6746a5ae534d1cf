//! What unwrapping a mesh gives.

use glam::{Vec2, Vec2Swizzles};

use crate::scene::MeshData;

/// A mesh with lightmap coordinates, shared by all surfaces that show it at one resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Unwrap {
    /// The mesh, its triangles in the original order, its vertices split where charts part; `uv1` fills the unit
    /// square of the surface's rectangle: `uv1 * (width, height)` are texels from its top left corner, whole numbers
    /// where a chart's edge lies on a texel border.
    pub mesh: MeshData,
    /// For each vertex of `mesh`, the vertex of the scene's mesh that it was.
    pub source_vertices: Vec<u32>,
    /// Which chart each triangle belongs to; [`Unwrap::NO_CHART`] for one without area, whose corners lie on one spot.
    pub charts: Vec<u32>,
    /// Columns of the rectangle that it wants.
    pub width: u32,
    /// Rows of the rectangle that it wants.
    pub height: u32,
    /// Triangles of the scene's mesh. Where each side of the surface has texels of its own, as many follow in `mesh`:
    /// triangle `reversed_from + n` is the back of triangle `n`, its corners in reverse order (first, third, second)
    /// and its normals negated. Otherwise `mesh` ends here.
    pub reversed_from: u32,
}

impl Unwrap {
    /// The chart of triangles that own no texels.
    pub const NO_CHART: u32 = u32::MAX;

    /// How many charts there are.
    pub fn chart_count(&self) -> usize {
        let charts = self.charts.iter().filter(|chart| **chart != Self::NO_CHART);
        charts.max().map_or(0, |last| *last as usize + 1)
    }

    /// True when the backs of triangles have texels of their own.
    pub fn is_two_sided(&self) -> bool {
        self.mesh.triangles.len() > self.reversed_from as usize
    }

    /// The triangle of `mesh` that shows a side of a triangle of the scene's mesh, and the weights of its second and
    /// third corner at a point.
    pub fn drawn(&self, triangle: u32, barycentric: Vec2, back: bool) -> (u32, Vec2) {
        if back && self.is_two_sided() {
            (triangle + self.reversed_from, barycentric.yx())
        } else {
            (triangle, barycentric)
        }
    }

    /// The triangle of the scene's mesh that a triangle of `mesh` was, the weights of its second and third corner, and
    /// whether its back is shown; the inverse of [`Unwrap::drawn`].
    pub fn in_scene(&self, triangle: u32, barycentric: Vec2) -> (u32, Vec2, bool) {
        if triangle >= self.reversed_from {
            (triangle - self.reversed_from, barycentric.yx(), true)
        } else {
            (triangle, barycentric, false)
        }
    }
}
