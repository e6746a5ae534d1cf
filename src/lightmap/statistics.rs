//! Statistics of a layout: chart count, coverage and stretch.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{DVec3, Vec2};
use serde::{Deserialize, Serialize};

use super::unwrap::raster::Coverage;
use super::{Layout, Unwrap};
use crate::geometry::SurfaceId;
use crate::scene::Scene;

/// Statistics of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutStatistics {
    /// Number of charts of all surfaces.
    pub charts: u64,
    /// Number of texels of all pages.
    pub texels: u64,
    /// Number of texels touched by any triangle.
    pub covered: u64,
    /// Fraction of texels that are covered: `covered / texels`.
    pub coverage: f32,
    /// Root mean square, over all surfaces and directions, of a texel's size relative to the requested size: 1 without
    /// stretch. This is the L2 stretch of Sander, Snyder, Gortler and Hoppe (2001), before normalization.
    pub stretch: f32,
}

impl Layout {
    /// Measures the layout of a scene that was built with `texels_per_meter`.
    pub fn statistics(&self, scene: &Scene, texels_per_meter: f32) -> LayoutStatistics {
        let mut statistics = LayoutStatistics::default();
        let mut known: HashMap<*const Unwrap, (u64, u64)> = HashMap::new();
        let (mut area, mut squares) = (0.0, 0.0);
        for id in scene.surface_ids() {
            let Some(placement) = self.placement(id) else {
                continue;
            };
            let unwrap = &*placement.unwrap;
            let (charts, covered) = *known.entry(Arc::as_ptr(&placement.unwrap)).or_insert_with(|| count(unwrap));
            statistics.charts += charts;
            statistics.covered += covered;
            let density = f64::from(texels_per_meter * scene.surface(id).density_scale);
            for triangle in 0..unwrap.mesh.triangles.len() as u32 {
                if let Some((weight, square)) = footprint(scene, id, unwrap, triangle) {
                    area += weight;
                    squares += weight * square * density * density;
                }
            }
        }
        statistics.texels = self.pages.iter().map(|page| u64::from(page.width) * u64::from(page.height)).sum();
        if statistics.texels > 0 && area > 0.0 {
            statistics.coverage = statistics.covered as f32 / statistics.texels as f32;
            statistics.stretch = (squares / area).sqrt() as f32;
        }
        statistics
    }
}

/// Returns the number of charts and of covered texels.
fn count(unwrap: &Unwrap) -> (u64, u64) {
    let mut coverage = Coverage::new(unwrap.width, unwrap.height);
    for (triangle, &chart) in unwrap.charts.iter().enumerate().filter(|(_, chart)| **chart != Unwrap::NO_CHART) {
        coverage.cover(texels_of(unwrap, triangle), chart);
    }
    (unwrap.chart_count() as u64, coverage.covered() as u64)
}

fn texels_of(unwrap: &Unwrap, triangle: usize) -> [Vec2; 3] {
    let size = Vec2::new(unwrap.width as f32, unwrap.height as f32);
    unwrap.mesh.triangles[triangle].map(|vertex| unwrap.mesh.uv1[vertex as usize] * size)
}

/// Returns a triangle's area in square meters, and the mean square of meters per texel over all directions.
fn footprint(scene: &Scene, id: SurfaceId, unwrap: &Unwrap, triangle: u32) -> Option<(f64, f64)> {
    if unwrap.charts[triangle as usize] == Unwrap::NO_CHART {
        return None;
    }
    let to_world = scene.surface(id).to_world;
    let [p, q, r]: [DVec3; 3] = unwrap.mesh.triangles[triangle as usize]
        .map(|vertex| to_world.transform_point3(unwrap.mesh.positions[vertex as usize]).as_dvec3());
    let [a, b, c] = texels_of(unwrap, triangle as usize).map(|point| point.as_dvec2());
    let determinant = (b - a).perp_dot(c - a);
    let along_x = ((q - p) * (c - a).y - (r - p) * (b - a).y) / determinant;
    let along_y = ((r - p) * (b - a).x - (q - p) * (c - a).x) / determinant;
    let square = 0.5 * (along_x.length_squared() + along_y.length_squared());
    // A sliver that projection collapsed to a line has no measurable stretch.
    square.is_finite().then(|| (0.5 * (q - p).cross(r - p).length(), square))
}
