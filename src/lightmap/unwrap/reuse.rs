//! Reuse of a file's lightmap coordinates, if suitable.

use std::collections::HashMap;

use glam::{DMat3, DVec3, Vec2};

use super::flatten::{Chart, bounds};
use super::overlap::Occupied;
use super::raster::Coverage;
use super::straighten::fit_whole_texels;
use super::topology::Topology;
use super::{Request, Uv1Use};
use crate::scene::MeshData;

/// Distance to a texel border, in texels, below which coordinates snap to the border.
const SNAP: f32 = 1e-3;

/// Maximum ratio of a rectangle's texels to those that the surface needs.
const SPARSE: f32 = 4.0;

/// Problem of a mesh's second texture coordinates.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Uv1Problem {
    /// Some coordinates are infinite or NaN.
    #[error("are not all finite")]
    NotFinite,
    /// A triangle with an area in space has none in texture space.
    #[error("give triangles no area")]
    Degenerate,
    /// Two triangles share texels.
    #[error("overlap")]
    Overlap,
    /// Charts are closer to each other than the padding at the requested density.
    #[error(
        "lie too close together at this density: leave a gap of {gap:.4} of the unit square between their islands, or \
         bake more texels per meter"
    )]
    TooClose {
        /// Sufficient gap, in units of the coordinates.
        gap: f32,
    },
    /// Most of the surrounding rectangle would be empty.
    #[error("leave most of their rectangle empty")]
    Sparse,
    /// The coordinates lie outside the unit square, and a material reads them, so they cannot move.
    #[error("leave the unit square")]
    OutsideUnitSquare,
}

/// Returns a mesh's charts by its own second coordinates, in texels, and the size of their rectangle.
///
/// Each axis is scaled separately so that the surface has its density on average. If a material reads the coordinates,
/// the rectangle is the unit square unchanged.
pub(super) fn charts_of_file(
    mesh: &MeshData,
    topology: &Topology,
    request: &Request,
) -> Result<(Vec<Chart>, [u32; 2]), Uv1Problem> {
    let (padding, fixed) = (request.padding, request.uv1_use != Uv1Use::Free);
    let mut charts = connected_charts(mesh, topology);
    if charts.iter().any(|chart| chart.points.iter().any(|point| !point.is_finite())) {
        return Err(Uv1Problem::NotFinite);
    }
    let scale = texels_per_unit(mesh, topology, request.to_texels).ok_or(Uv1Problem::Degenerate)?;
    let area: f32 = topology.areas.iter().sum();
    let mut points: Vec<Vec2> = charts.iter().flat_map(|chart| &chart.points).map(|point| *point * scale).collect();
    let (min, max) = if fixed { (Vec2::ZERO, scale) } else { bounds(&points) };
    if (max - min).element_product() > SPARSE * area + 256.0 {
        return Err(Uv1Problem::Sparse);
    }
    let size = if fixed {
        let size = scale.ceil().max(Vec2::ONE);
        for point in &mut points {
            *point *= size / scale;
            let inside = point.clamp(Vec2::ZERO, size);
            if inside.distance(*point) > SNAP {
                return Err(Uv1Problem::OutsideUnitSquare);
            }
            *point = inside;
        }
        [size.x as u32, size.y as u32]
    } else {
        let size = fit_whole_texels(&mut points);
        points.iter_mut().for_each(|point| *point = snapped(*point));
        size
    };
    let mut points = points.into_iter();
    for chart in &mut charts {
        let count = chart.points.len();
        chart.points = points.by_ref().take(count).collect();
    }
    // A rectangle larger than a page is retried at a lower density, and checked then.
    if size[0].max(size[1]) <= request.page_size {
        // One texel more than the padding, because charts may begin anywhere within a texel.
        let gap = (padding + 1) as f32 / scale.min_element();
        check(topology, &charts, size, padding, gap)?;
    }
    Ok((charts, size))
}

fn snapped(point: Vec2) -> Vec2 {
    let whole = point.round();
    Vec2::select((point - whole).abs().cmplt(Vec2::splat(SNAP)), whole, point)
}

fn check(topology: &Topology, charts: &[Chart], size: [u32; 2], padding: u32, gap: f32) -> Result<(), Uv1Problem> {
    let flat = || {
        let numbered = charts.iter().enumerate();
        numbered.flat_map(|(id, chart)| {
            chart.triangles.iter().zip(chart.flat_triangles()).map(move |(triangle, flat)| (id, *triangle, flat))
        })
    };
    let shown = |triangle: u32| !topology.slivers[triangle as usize];
    let has_area = |[a, b, c]: [Vec2; 3]| (b - a).perp_dot(c - a).abs() > f32::EPSILON * (b - a).length_squared();
    if flat().any(|(_, triangle, flat)| shown(triangle) && !has_area(flat)) {
        return Err(Uv1Problem::Degenerate);
    }
    let extent = Vec2::new(size[0] as f32, size[1] as f32);
    let mut occupied = Occupied::new(Vec2::ZERO, extent, topology.corners.len());
    if flat().any(|(_, triangle, flat)| shown(triangle) && !occupied.insert(flat)) {
        return Err(Uv1Problem::Overlap);
    }
    let mut coverage = Coverage::new(size[0], size[1]);
    let contested = flat().fold(false, |contested, (id, _, flat)| coverage.cover(flat, id as u32) | contested);
    if contested || !coverage.charts_are_apart(padding) {
        return Err(Uv1Problem::TooClose { gap });
    }
    Ok(())
}

/// Returns texels per unit of each coordinate, so that areas are correct on average: the root mean square over the
/// mesh, weighted by area in texture space. `None` if that area is zero.
fn texels_per_unit(mesh: &MeshData, topology: &Topology, to_texels: DMat3) -> Option<Vec2> {
    let (mut weight, mut squares) = (0.0, [0.0; 2]);
    for (triangle, corners) in mesh.triangles.iter().enumerate() {
        if topology.is_degenerate(triangle as u32) {
            continue;
        }
        let [a, b, c] = corners.map(|vertex| mesh.uv1[vertex as usize].as_dvec2());
        let [p, q, r] = corners.map(|vertex| to_texels * mesh.positions[vertex as usize].as_dvec3());
        let determinant = (b - a).perp_dot(c - a);
        // The derivatives of position along each coordinate, times the determinant.
        let along_u: DVec3 = (q - p) * (c - a).y - (r - p) * (b - a).y;
        let along_v: DVec3 = (r - p) * (b - a).x - (q - p) * (c - a).x;
        if determinant != 0.0 {
            weight += determinant.abs();
            squares[0] += along_u.length_squared() / determinant.abs();
            squares[1] += along_v.length_squared() / determinant.abs();
        }
    }
    let scale = Vec2::from(squares.map(|square| (square / weight).sqrt() as f32));
    (scale.is_finite() && scale.min_element() > 0.0).then_some(scale)
}

/// Groups triangles that share a vertex, both in space and in texture space.
fn connected_charts(mesh: &MeshData, topology: &Topology) -> Vec<Chart> {
    let mut vertices: HashMap<(u32, [u32; 2]), u32> = HashMap::with_capacity(mesh.positions.len());
    let mut parents: Vec<u32> = Vec::new();
    let mut spots: Vec<(u32, Vec2)> = Vec::new();
    let mut owned: Vec<(u32, [u32; 3])> = Vec::with_capacity(mesh.triangles.len());
    for triangle in (0..mesh.triangles.len() as u32).filter(|triangle| !topology.is_degenerate(*triangle)) {
        let corners = [0, 1, 2].map(|corner| {
            let uv = mesh.uv1[mesh.triangles[triangle as usize][corner] as usize] + Vec2::ZERO;
            let welded = topology.corners[triangle as usize][corner];
            *vertices.entry((welded, uv.to_array().map(f32::to_bits))).or_insert_with(|| {
                spots.push((welded, uv));
                parents.push(parents.len() as u32);
                parents.len() as u32 - 1
            })
        });
        let root = root_of(&mut parents, corners[0]);
        for corner in &corners[1..] {
            let other = root_of(&mut parents, *corner);
            parents[other as usize] = root;
        }
        owned.push((triangle, corners));
    }
    let mut charts: Vec<Chart> = Vec::new();
    let mut chart_of_root: HashMap<u32, usize> = HashMap::new();
    let mut places: Vec<Option<u32>> = vec![None; parents.len()];
    for (triangle, corners) in owned {
        let root = root_of(&mut parents, corners[0]);
        let chart = *chart_of_root.entry(root).or_insert_with(|| {
            charts.push(Chart { triangles: Vec::new(), vertices: Vec::new(), points: Vec::new(), corners: Vec::new() });
            charts.len() - 1
        });
        let chart = &mut charts[chart];
        let corners = corners.map(|vertex| {
            *places[vertex as usize].get_or_insert_with(|| {
                let (welded, uv) = spots[vertex as usize];
                chart.vertices.push(welded);
                chart.points.push(uv);
                chart.points.len() as u32 - 1
            })
        });
        chart.triangles.push(triangle);
        chart.corners.push(corners);
    }
    charts
}

fn root_of(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        parents[vertex as usize] = parents[parents[vertex as usize] as usize];
        vertex = parents[vertex as usize];
    }
    vertex
}
