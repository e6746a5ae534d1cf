//! Statistics of a tree.

use serde::Serialize;

use crate::geometry::Aabb;

use super::validate::Cells;
use super::{NodeKind, Tree};

/// Size and quality of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Number of triangles.
    pub triangles: usize,
    /// Number of nodes: splits and leaves.
    pub nodes: usize,
    /// Number of leaves, including empty ones.
    pub leaves: usize,
    /// Number of leaves without triangles.
    pub empty_leaves: usize,
    /// Mean number of leaves that hold a triangle.
    pub references_per_triangle: f32,
    /// Number of splits on the longest path from the root to a leaf.
    pub depth: usize,
    /// Expected cost of a ray through the tree's bounds by the surface area heuristic, in node visits.
    pub sah_cost: f32,
    /// Build time, in seconds.
    pub build_seconds: f32,
    /// Memory of all arrays, in bytes.
    pub bytes: usize,
}

impl Tree {
    /// Computes the statistics of the tree.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics {
            triangles: self.triangles.len(),
            nodes: 0,
            leaves: 0,
            empty_leaves: 0,
            references_per_triangle: 0.0,
            depth: 0,
            sah_cost: 0.0,
            build_seconds: self.build_time.as_secs_f32(),
            bytes: size_of_val(&*self.nodes) + size_of_val(&*self.references) + size_of_val(&*self.triangles),
        };
        let mut references = 0;
        let mut cost = 0.0;
        for (node, cell, depth) in Cells::of(self) {
            statistics.nodes += 1;
            statistics.depth = statistics.depth.max(depth);
            let price = match node.kind() {
                NodeKind::Split { .. } => 1.0,
                NodeKind::Leaf { count, .. } => {
                    references += count;
                    statistics.leaves += 1;
                    statistics.empty_leaves += usize::from(count == 0);
                    self.preset.intersection_cost * count.div_ceil(self.preset.leaf_width.max(1)) as f32
                }
            };
            cost += f64::from(price * hit_probability(cell, self.bounds));
        }
        statistics.sah_cost = cost as f32;
        statistics.references_per_triangle = references as f32 / self.triangles.len().max(1) as f32;
        statistics
    }
}

/// Returns the conditional probability that a ray through `bounds` crosses a cell inside (`004` equation 3).
fn hit_probability(cell: Aabb, bounds: Aabb) -> f32 {
    let area = bounds.surface_area();
    if area > 0.0 { cell.surface_area() / area } else { 0.0 }
}
