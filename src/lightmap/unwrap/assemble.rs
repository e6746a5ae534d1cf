//! Conversion of charts to a mesh.

use std::collections::HashMap;

use glam::Vec2;

use super::Unwrap;
use super::flatten::Chart;
use super::topology::Topology;
use crate::scene::MeshData;

/// Returns the mesh with its charts' coordinates. Vertices are split where charts separate.
pub(super) fn assemble(
    mesh: &MeshData,
    topology: &Topology,
    charts: &[Chart],
    size: [u32; 2],
    reversed_from: usize,
) -> Unwrap {
    let mut chart_of = vec![Unwrap::NO_CHART; mesh.triangles.len()];
    let mut spots: Vec<[Vec2; 3]> = vec![[Vec2::ZERO; 3]; mesh.triangles.len()];
    let mut spot_of_vertex: Vec<Option<Vec2>> = vec![None; topology.positions.len()];
    for (id, chart) in charts.iter().enumerate() {
        for (&triangle, flat) in chart.triangles.iter().zip(chart.flat_triangles()) {
            chart_of[triangle as usize] = id as u32;
            spots[triangle as usize] = flat;
        }
        for (&vertex, point) in chart.vertices.iter().zip(&chart.points) {
            spot_of_vertex[vertex as usize].get_or_insert(*point);
        }
    }
    // A triangle without area takes the coordinates of an adjacent vertex.
    for (triangle, spots) in
        spots.iter_mut().enumerate().filter(|(triangle, _)| chart_of[*triangle] == Unwrap::NO_CHART)
    {
        let touching = topology.corners[triangle].into_iter().find_map(|vertex| spot_of_vertex[vertex as usize]);
        *spots = [touching.unwrap_or(charts[0].points[0]); 3];
    }
    let originals = if reversed_from < mesh.triangles.len() { mesh.positions.len() / 2 } else { mesh.positions.len() };
    split_vertices(mesh, &chart_of, &spots, size, (reversed_from, originals))
}

fn split_vertices(
    mesh: &MeshData,
    charts: &[u32],
    spots: &[[Vec2; 3]],
    [width, height]: [u32; 2],
    (reversed_from, originals): (usize, usize),
) -> Unwrap {
    let mut split = MeshData { name: mesh.name.clone(), ..MeshData::default() };
    let mut source_vertices: Vec<u32> = Vec::with_capacity(mesh.positions.len());
    let mut known: HashMap<(u32, [u32; 2]), u32> = HashMap::with_capacity(mesh.positions.len());
    for (corners, spots) in mesh.triangles.iter().zip(spots) {
        let mut triangle = [0; 3];
        for ((corner, &source), spot) in triangle.iter_mut().zip(corners).zip(spots) {
            *corner = *known.entry((source, spot.to_array().map(f32::to_bits))).or_insert_with(|| {
                source_vertices.push(source);
                split.uv1.push(Vec2::new(fraction(spot.x, width), fraction(spot.y, height)));
                source_vertices.len() as u32 - 1
            });
        }
        split.triangles.push(triangle);
    }
    split.positions = of_sources(&mesh.positions, &source_vertices);
    split.uv0 = of_sources(&mesh.uv0, &source_vertices);
    split.other_uv = mesh.other_uv.iter().map(|set| of_sources(set, &source_vertices)).collect();
    split.colors = of_sources(&mesh.colors, &source_vertices);
    split.normals = of_sources(&mesh.normals, &source_vertices);
    for source in &mut source_vertices {
        *source %= originals as u32;
    }
    Unwrap { mesh: split, source_vertices, charts: charts.to_vec(), width, height, reversed_from: reversed_from as u32 }
}

/// Returns the values of the given vertices; empty if the mesh has none.
fn of_sources<T: Copy>(values: &[T], sources: &[u32]) -> Vec<T> {
    sources.iter().filter_map(|&source| values.get(source as usize).copied()).collect()
}

/// Returns `texels / size`, rounded so that multiplying by the size restores whole texels exactly.
fn fraction(texels: f32, size: u32) -> f32 {
    let size = size as f32;
    let fraction = texels / size;
    if texels.fract() != 0.0 {
        return fraction;
    }
    [fraction, fraction.next_down(), fraction.next_up()]
        .into_iter()
        .find(|fraction| fraction * size == texels)
        .unwrap_or(fraction)
}
