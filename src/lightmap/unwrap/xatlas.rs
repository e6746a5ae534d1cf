//! Charts by xatlas, the C++ library in `vendor/xatlas`.
//!
//! xatlas receives welded vertices and triangles with an area, fronts separately from backs. Its charts are scaled to
//! the area of their triangles. A chart that overlaps itself is flattened by our own method. Cancellation is possible
//! between the connected components of a mesh.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use glam::{Vec2, Vec3};

use super::flatten::{Chart, flatten, overlaps_itself};
use super::topology::Topology;
use crate::progress::{Cancelled, Monitor};

/// Maximum number of triangles. xatlas counts in 32 bits, several to a triangle.
const MAX_TRIANGLES: usize = 1 << 28;

/// Error of charting by xatlas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum XatlasError {
    /// The caller cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// xatlas rejected the mesh, or ran out of memory.
    #[error("xatlas makes no charts of it")]
    Refused,
}

unsafe extern "C" {
    /// Computes charts; see `vendor/xatlas/shim.cpp`.
    fn radiosity_xatlas_charts(
        positions: *const f32,
        vertex_count: u32,
        triangles: *const u32,
        triangle_count: u32,
        is_cancelled: extern "C" fn(*const c_void) -> bool,
        context: *const c_void,
        charts: *mut u32,
        points: *mut f32,
    ) -> c_int;
}

/// Returns the charts of a mesh whose triangles from `reversed_from` on are backs.
pub(super) fn charts(
    topology: &Topology,
    reversed_from: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<Chart>, XatlasError> {
    let mut charts = Vec::new();
    for side in [0..reversed_from, reversed_from..topology.corners.len()] {
        let part = Part::new(topology, side);
        for chart in part.charts(topology, monitor)? {
            if is_sound(topology, &chart) {
                charts.push(chart);
            } else {
                charts.extend(flatten(topology, chart.triangles));
            }
        }
    }
    Ok(charts)
}

/// Returns false for a failed map, which overlaps itself or is not finite.
fn is_sound(topology: &Topology, chart: &Chart) -> bool {
    chart.points.iter().all(|point| point.is_finite()) && !overlaps_itself(topology, chart)
}

/// Triangles of a mesh in xatlas's format.
struct Part {
    /// Index in the mesh of each triangle.
    triangles: Vec<u32>,
    /// Welded vertices of the mesh.
    vertices: Vec<u32>,
    positions: Vec<Vec3>,
    /// Indices into `vertices` of each triangle's corners.
    corners: Vec<[u32; 3]>,
}

impl Part {
    fn new(topology: &Topology, side: Range<usize>) -> Self {
        let triangles: Vec<u32> =
            (side.start as u32..side.end as u32).filter(|triangle| !topology.is_degenerate(*triangle)).collect();
        // The tolerances of xatlas are absolute. The mean area is scaled to one per triangle. Then all triangles
        // treated as degenerate make up a ten-millionth of the surface.
        let area: f64 = triangles.iter().map(|&triangle| f64::from(topology.areas[triangle as usize])).sum();
        let scale = (triangles.len() as f64 / area).sqrt() as f32;
        let (vertices, corners) = topology.vertices_of(&triangles);
        let positions = vertices.iter().map(|&vertex| topology.positions[vertex as usize] * scale).collect();
        Self { triangles, vertices, positions, corners }
    }

    fn charts(&self, topology: &Topology, monitor: &dyn Monitor) -> Result<Vec<Chart>, XatlasError> {
        let (numbers, points) = self.run(monitor)?;
        let count = numbers.iter().filter(|number| **number != NO_CHART).max().map_or(0, |last| *last as usize + 1);
        let empty = Chart { triangles: Vec::new(), vertices: Vec::new(), points: Vec::new(), corners: Vec::new() };
        let mut charts = vec![empty; count];
        let mut places: HashMap<(u32, u32), u32> = HashMap::with_capacity(self.vertices.len());
        for (index, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != NO_CHART) {
            let chart = &mut charts[number as usize];
            let corner = |corner: usize| {
                let vertex = self.vertices[self.corners[index][corner] as usize];
                *places.entry((number, vertex)).or_insert_with(|| {
                    chart.vertices.push(vertex);
                    chart.points.push(points[index][corner]);
                    chart.points.len() as u32 - 1
                })
            };
            let corners = [0, 1, 2].map(corner);
            chart.corners.push(corners);
            chart.triangles.push(self.triangles[index]);
        }
        for chart in &mut charts {
            scale_to_area(topology, chart);
        }
        if charts.is_empty() && !self.triangles.is_empty() {
            return Err(XatlasError::Refused);
        }
        Ok(charts)
    }

    /// Returns the chart of each triangle, and the positions of its corners in the chart.
    fn run(&self, monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<[Vec2; 3]>), XatlasError> {
        let mut charts = vec![NO_CHART; self.triangles.len()];
        let mut points = vec![[Vec2::ZERO; 3]; self.triangles.len()];
        if self.triangles.is_empty() {
            return Ok((charts, points));
        }
        if self.triangles.len() > MAX_TRIANGLES {
            return Err(XatlasError::Refused);
        }
        // SAFETY: the arrays have as many entries as the counts say: three numbers per position and per triangle, and
        // one number and six coordinates per triangle of the result. `monitor` outlives the call, and so does a pointer
        // to it.
        let outcome = unsafe {
            radiosity_xatlas_charts(
                self.positions.as_ptr().cast(),
                self.positions.len() as u32,
                self.corners.as_ptr().cast(),
                self.triangles.len() as u32,
                is_cancelled,
                (&raw const monitor).cast(),
                charts.as_mut_ptr(),
                points.as_mut_ptr().cast(),
            )
        };
        match outcome {
            DONE => Ok((charts, points)),
            STOPPED => Err(Cancelled.into()),
            _ => Err(XatlasError::Refused),
        }
    }
}

/// Outcomes of `radiosity_xatlas_charts`.
const DONE: c_int = 0;
const STOPPED: c_int = 1;

/// Chart number of a triangle that xatlas treats as degenerate.
const NO_CHART: u32 = u32::MAX;

/// Asks the monitor behind `context`. A panic in the monitor counts as cancellation, because C++ cannot be unwound.
extern "C" fn is_cancelled(context: *const c_void) -> bool {
    // SAFETY: `Part::run` passes a pointer to a monitor that outlives its call.
    let monitor = unsafe { *context.cast::<&dyn Monitor>() };
    catch_unwind(AssertUnwindSafe(|| monitor.is_cancelled())).unwrap_or(true)
}

/// Scales the chart to the area of its triangles, because conformal maps have arbitrary size.
fn scale_to_area(topology: &Topology, chart: &mut Chart) {
    let area: f32 = chart.triangles.iter().map(|&triangle| topology.areas[triangle as usize]).sum();
    let flat: f32 = chart.flat_triangles().map(|[a, b, c]| 0.5 * (b - a).perp_dot(c - a).abs()).sum();
    let scale = (area / flat).sqrt();
    for point in &mut chart.points {
        *point *= scale;
    }
}
