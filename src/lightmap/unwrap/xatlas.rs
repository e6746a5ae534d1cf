//! Charts by xatlas, the C++ library in `vendor/xatlas`.
//!
//! xatlas sees welded vertices and triangles that have an area, fronts apart from backs. Its charts are scaled to the area
//! of their triangles; one that overlaps itself is laid flat our way. It can be cancelled between the connected parts of a
//! mesh.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use glam::{Vec2, Vec3};

use super::flatten::{Chart, flatten, overlaps_itself};
use super::topology::Topology;
use crate::progress::{Cancelled, Monitor};

/// xatlas counts in 32 bits, several to a triangle.
const MOST_TRIANGLES: usize = 1 << 28;

/// Why xatlas made no charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum XatlasError {
    /// The caller asked it to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// It refused the mesh, or ran out of memory.
    #[error("xatlas makes no charts of it")]
    Refused,
}

unsafe extern "C" {
    /// See `vendor/xatlas/shim.cpp`.
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

/// Charts of a mesh whose triangles from `reversed_from` on are backs.
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

/// False for a map that failed: one that overlaps itself, or has no area to be scaled.
fn is_sound(topology: &Topology, chart: &Chart) -> bool {
    chart.points.iter().all(|point| point.is_finite()) && !overlaps_itself(topology, chart)
}

/// Triangles of a mesh in xatlas's form.
struct Part {
    /// Each triangle's number in the mesh.
    triangles: Vec<u32>,
    /// Welded vertices of the mesh.
    vertices: Vec<u32>,
    positions: Vec<Vec3>,
    /// For each triangle the places of its corners in `vertices`.
    corners: Vec<[u32; 3]>,
}

impl Part {
    fn new(topology: &Topology, side: Range<usize>) -> Self {
        let triangles: Vec<u32> =
            (side.start as u32..side.end as u32).filter(|triangle| !topology.is_degenerate(*triangle)).collect();
        // Its tolerances are absolute: with a unit of area for each triangle, whatever it takes for degenerate has
        // together a ten-millionth of the surface.
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

    /// The chart of each triangle, and where its corners lie in it.
    fn run(&self, monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<[Vec2; 3]>), XatlasError> {
        let mut charts = vec![NO_CHART; self.triangles.len()];
        let mut points = vec![[Vec2::ZERO; 3]; self.triangles.len()];
        if self.triangles.is_empty() {
            return Ok((charts, points));
        }
        if self.triangles.len() > MOST_TRIANGLES {
            return Err(XatlasError::Refused);
        }
        // SAFETY: the arrays have as many entries as the counts say, three numbers each position and triangle, one number
        // and six coordinates each triangle of the result; `monitor` outlives the call, and so does a pointer to it.
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

/// The number of a triangle that xatlas takes for degenerate.
const NO_CHART: u32 = u32::MAX;

/// Asks the monitor behind `context`. A monitor that panics cancels: C++ cannot be unwound.
extern "C" fn is_cancelled(context: *const c_void) -> bool {
    // SAFETY: `Part::run` passes a pointer to a monitor that outlives its call.
    let monitor = unsafe { *context.cast::<&dyn Monitor>() };
    catch_unwind(AssertUnwindSafe(|| monitor.is_cancelled())).unwrap_or(true)
}

/// Conformal maps have any size: gives the chart the area of its triangles.
fn scale_to_area(topology: &Topology, chart: &mut Chart) {
    let area: f32 = chart.triangles.iter().map(|&triangle| topology.areas[triangle as usize]).sum();
    let flat: f32 = chart.flat_triangles().map(|[a, b, c]| 0.5 * (b - a).perp_dot(c - a).abs()).sum();
    let scale = (area / flat).sqrt();
    for point in &mut chart.points {
        *point *= scale;
    }
}
