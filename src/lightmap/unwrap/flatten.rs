//! Flattening of regions: projects a region on its mean plane, and splits it if the projection overlaps itself.

use std::collections::VecDeque;

use glam::{Vec2, Vec3};

use super::overlap::Occupied;
use super::topology::Topology;

/// Flattened part of a mesh without overlap, in texels.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Triangles of the mesh, ascending.
    pub triangles: Vec<u32>,
    /// Welded vertices of the mesh.
    pub vertices: Vec<u32>,
    /// Position of each vertex in the plane.
    pub points: Vec<Vec2>,
    /// Indices into `vertices` of each triangle's corners.
    pub corners: Vec<[u32; 3]>,
}

impl Chart {
    /// Returns the chart's triangles in the plane.
    pub fn flat_triangles(&self) -> impl Iterator<Item = [Vec2; 3]> {
        self.corners.iter().map(|corners| corners.map(|corner| self.points[corner as usize]))
    }
}

/// Returns the smallest and largest coordinates of the points.
pub(super) fn bounds(points: &[Vec2]) -> (Vec2, Vec2) {
    points.iter().fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(min, max), point| (min.min(*point), max.max(*point)))
}

/// Returns the charts of a region: one, unless it overlaps itself.
pub(super) fn flatten(topology: &Topology, region: Vec<u32>) -> Vec<Chart> {
    let mut charts = Vec::new();
    let mut pending = vec![region];
    while let Some(triangles) = pending.pop() {
        let chart = project(topology, triangles);
        if overlaps_itself(topology, &chart) {
            pending.extend(split(topology, &chart));
        } else {
            charts.push(chart);
        }
    }
    charts
}

/// Projects along the mean normal, scaled so that the chart has the area of its triangles. The scale is at most 2.
fn project(topology: &Topology, triangles: Vec<u32>) -> Chart {
    let (mut normal, mut area) = (Vec3::ZERO, 0.0);
    for &triangle in &triangles {
        normal += topology.normals[triangle as usize] * topology.areas[triangle as usize];
        area += topology.areas[triangle as usize];
    }
    let scale = (area / normal.length().max(f32::MIN_POSITIVE)).sqrt().min(2.0);
    let (tangent, bitangent) = normal.normalize_or(Vec3::Z).any_orthonormal_pair();
    let (vertices, corners) = topology.vertices_of(&triangles);
    let points = (vertices.iter())
        .map(|&vertex| {
            let position = topology.positions[vertex as usize];
            Vec2::new(position.dot(tangent), position.dot(bitangent)) * scale
        })
        .collect();
    Chart { triangles, vertices, points, corners }
}

/// Returns true if triangles of a chart overlap.
pub(super) fn overlaps_itself(topology: &Topology, chart: &Chart) -> bool {
    let (min, max) = bounds(&chart.points);
    let mut occupied = Occupied::new(min, max, chart.triangles.len());
    (chart.triangles.iter().zip(chart.flat_triangles()))
        .any(|(&triangle, flat)| !topology.slivers[triangle as usize] && !occupied.insert(flat))
}

/// Splits a region into parts, the first without overlap. It grows from the largest triangle and leaves out triangles
/// that would overlap. The rest, by connected component, may need further splits.
fn split(topology: &Topology, chart: &Chart) -> Vec<Vec<u32>> {
    let (min, max) = bounds(&chart.points);
    let mut occupied = Occupied::new(min, max, chart.triangles.len());
    let flat: Vec<[Vec2; 3]> = chart.flat_triangles().collect();
    let place = |triangle: u32| chart.triangles.binary_search(&triangle).ok();
    let largest = |one: &usize, other: &usize| {
        let area = |place: usize| topology.areas[chart.triangles[place] as usize];
        area(*one).total_cmp(&area(*other)).then(other.cmp(one))
    };
    let seed = (0..flat.len()).max_by(largest).into_iter();
    let accepted = connected(topology, chart, seed, &mut vec![false; flat.len()], |place| {
        topology.slivers[chart.triangles[place] as usize] || occupied.insert(flat[place])
    });
    let mut visited = vec![false; flat.len()];
    for &triangle in accepted.iter().flatten() {
        if let Some(place) = place(triangle) {
            visited[place] = true;
        }
    }
    let mut parts = accepted;
    parts.extend(connected(topology, chart, 0..flat.len(), &mut visited, |_| true));
    parts
}

/// Returns connected groups of a chart's triangles around each unvisited seed, restricted to triangles that `accept`
/// takes.
fn connected(
    topology: &Topology,
    chart: &Chart,
    seeds: impl Iterator<Item = usize>,
    visited: &mut [bool],
    mut accept: impl FnMut(usize) -> bool,
) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    let mut queue = VecDeque::new();
    for seed in seeds {
        let mut group = Vec::new();
        if !std::mem::replace(&mut visited[seed], true) {
            queue.push_back(seed);
        }
        while let Some(place) = queue.pop_front() {
            if !accept(place) {
                continue;
            }
            let triangle = chart.triangles[place];
            group.push(triangle);
            for neighbor in topology.neighbors[triangle as usize].into_iter().flatten() {
                if let Ok(next) = chart.triangles.binary_search(&neighbor.triangle)
                    && !std::mem::replace(&mut visited[next], true)
                {
                    queue.push_back(next);
                }
            }
        }
        if !group.is_empty() {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}
