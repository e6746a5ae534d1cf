//! Result of unwrapping a mesh.

use glam::{Vec2, Vec2Swizzles};
use serde::{Deserialize, Serialize};

use crate::scene::MeshData;

/// Mesh with lightmap coordinates, shared by all its instances at one resolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unwrap {
    /// Unwrapped mesh: triangles in the original order, vertices split where charts separate. `uv1` covers the unit
    /// square of the surface's rectangle. `uv1 * (width, height)` are texels from the rectangle's top left corner,
    /// integers if a chart's edge lies on a texel border.
    pub mesh: MeshData,
    /// Vertex of the scene's mesh for each vertex of `mesh`.
    #[serde(with = "crate::raw_values")]
    pub source_vertices: Vec<u32>,
    /// Chart of each triangle; [`Unwrap::NO_CHART`] for one without area, whose corners share one position.
    #[serde(with = "crate::raw_values")]
    pub charts: Vec<u32>,
    /// Columns of the rectangle.
    pub width: u32,
    /// Rows of the rectangle.
    pub height: u32,
    /// Number of triangles of the scene's mesh. If each side of the surface has its own texels, as many follow in
    /// `mesh`. Triangle `reversed_from + n` is the back of triangle `n`, with reversed corners (first, third, second)
    /// and negated normals. Otherwise `mesh` ends here.
    pub reversed_from: u32,
}

impl Unwrap {
    /// Chart of triangles without texels.
    pub const NO_CHART: u32 = u32::MAX;

    /// Returns the number of charts.
    pub fn chart_count(&self) -> usize {
        let charts = self.charts.iter().filter(|chart| **chart != Self::NO_CHART);
        charts.max().map_or(0, |last| *last as usize + 1)
    }

    /// Returns true if the backs of triangles have their own texels.
    pub fn is_two_sided(&self) -> bool {
        self.mesh.triangles.len() > self.reversed_from as usize
    }

    /// Converts a point on a side of the scene's mesh to `mesh`. Returns the triangle, and the barycentric weights of
    /// its second and third corner.
    pub fn drawn(&self, triangle: u32, barycentric: Vec2, back: bool) -> (u32, Vec2) {
        if back && self.is_two_sided() {
            (triangle + self.reversed_from, barycentric.yx())
        } else {
            (triangle, barycentric)
        }
    }

    /// Converts a point on `mesh` to the scene's mesh. Returns the triangle, the barycentric weights of its second and
    /// third corner, and true for its back. Inverse of [`Unwrap::drawn`].
    pub fn in_scene(&self, triangle: u32, barycentric: Vec2) -> (u32, Vec2, bool) {
        if triangle >= self.reversed_from {
            (triangle - self.reversed_from, barycentric.yx(), true)
        } else {
            (triangle, barycentric, false)
        }
    }
}
