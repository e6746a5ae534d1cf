//! Adjacency of triangles, in a space where one unit is one texel.

use std::collections::HashMap;

use glam::{DMat3, DVec3, Vec3};

use crate::geometry::Aabb;
use crate::scene::MeshData;

/// Cosine of 30 degrees. Edges that bend more are creases if shading has an edge too.
const CREASE_COSINE: f32 = 0.866;

/// Cosine of 5 degrees. Shading normals further apart belong to different smooth surfaces.
const SMOOTH_COSINE: f32 = 0.996;

/// Minimum ratio of length to height of a sliver.
const SLIVER_ASPECT: f32 = 1e3;

/// Maximum height of a sliver, in texels.
const SLIVER_HEIGHT: f32 = 0.01;

/// Triangle beyond an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Neighbor {
    /// Index of the triangle.
    pub triangle: u32,
    /// True if shape and shading both bend sharply at the edge.
    pub crease: bool,
}

/// Mesh for charting: vertices welded by position, triangles with neighbors, lengths in texels.
pub(super) struct Topology {
    /// Positions of the welded vertices, in texels.
    pub positions: Vec<Vec3>,
    /// Welded vertices of each triangle.
    pub corners: Vec<[u32; 3]>,
    /// Unit normal of each triangle; zero for degenerate ones.
    pub normals: Vec<Vec3>,
    /// Area of each triangle in texels; zero for degenerate ones.
    pub areas: Vec<f32>,
    /// Neighbor beyond the edge from each corner to the next.
    pub neighbors: Vec<[Option<Neighbor>; 3]>,
    /// True for triangles so thin that rounding decides their normal and no texel shows them.
    pub slivers: Vec<bool>,
}

impl Topology {
    /// Welds and measures a mesh. Triangles from `reversed_from` on are backs. Backs touch no front even at equal
    /// positions.
    pub fn new(mesh: &MeshData, to_texels: DMat3, reversed_from: usize) -> Self {
        let (welded, positions) = weld(mesh, to_texels, reversed_from);
        let mut topology = Self {
            positions,
            corners: welded,
            normals: Vec::with_capacity(mesh.triangles.len()),
            areas: Vec::with_capacity(mesh.triangles.len()),
            neighbors: vec![[None; 3]; mesh.triangles.len()],
            slivers: Vec::with_capacity(mesh.triangles.len()),
        };
        topology.measure();
        topology.connect(mesh);
        topology
    }

    /// Returns the distinct vertices of some triangles, in order of first use, and the triangles' corners as indices
    /// into them.
    pub fn vertices_of(&self, triangles: &[u32]) -> (Vec<u32>, Vec<[u32; 3]>) {
        let mut places = HashMap::with_capacity(triangles.len());
        let mut vertices = Vec::new();
        let corners = (triangles.iter())
            .map(|&triangle| {
                self.corners[triangle as usize].map(|vertex| {
                    *places.entry(vertex).or_insert_with(|| {
                        vertices.push(vertex);
                        vertices.len() as u32 - 1
                    })
                })
            })
            .collect();
        (vertices, corners)
    }

    /// Returns true for a triangle without texels.
    pub fn is_degenerate(&self, triangle: u32) -> bool {
        self.areas[triangle as usize] == 0.0
    }

    /// Returns the length in texels of the edge from a corner to the next.
    pub fn edge_length(&self, triangle: u32, edge: usize) -> f32 {
        let corners = self.corners[triangle as usize];
        self.positions[corners[edge] as usize].distance(self.positions[corners[(edge + 1) % 3] as usize])
    }

    fn measure(&mut self) {
        for corners in &self.corners {
            let [a, b, c] = corners.map(|vertex| self.positions[vertex as usize].as_dvec3());
            let scaled = (b - a).cross(c - a);
            let doubled = scaled.length();
            let longest = (b - a).length().max((c - b).length()).max((a - c).length());
            let height = doubled / longest;
            // Below this, the height is rounding of the positions.
            let extent = a.abs().max(b.abs()).max(c.abs()).max_element().max(longest);
            let sound = height > 1e-7 * extent && (0.5 * doubled) as f32 > f32::MIN_POSITIVE;
            self.areas.push(if sound { (0.5 * doubled) as f32 } else { 0.0 });
            self.normals.push(if sound { (scaled / doubled).as_vec3() } else { Vec3::ZERO });
            self.slivers.push((height as f32) < SLIVER_HEIGHT && (longest / height) as f32 > SLIVER_ASPECT);
        }
    }

    /// Connects triangles over edges that exactly two triangles share in opposite directions. Charts separate at all
    /// other edges.
    fn connect(&mut self, mesh: &MeshData) {
        let mut edges: Vec<(u32, u32, u32, u8)> = Vec::with_capacity(self.corners.len() * 3);
        for (triangle, corners) in self.corners.iter().enumerate() {
            if self.areas[triangle] == 0.0 {
                continue;
            }
            for edge in 0..3 {
                let (from, to) = (corners[edge], corners[(edge + 1) % 3]);
                edges.push((from.min(to), from.max(to), triangle as u32, edge as u8));
            }
        }
        edges.sort_unstable();
        for shared in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let &[(_, _, one, edge_of_one), (_, _, other, edge_of_other)] = shared else {
                continue;
            };
            let start = |triangle: u32, edge: u8| self.corners[triangle as usize][edge as usize];
            if one == other || start(one, edge_of_one) == start(other, edge_of_other) {
                continue;
            }
            let crease = self.is_crease(mesh, (one, edge_of_one as usize), (other, edge_of_other as usize));
            self.neighbors[one as usize][edge_of_one as usize] = Some(Neighbor { triangle: other, crease });
            self.neighbors[other as usize][edge_of_other as usize] = Some(Neighbor { triangle: one, crease });
        }
    }

    fn is_crease(&self, mesh: &MeshData, one: (u32, usize), other: (u32, usize)) -> bool {
        if self.slivers[one.0 as usize]
            || self.slivers[other.0 as usize]
            || self.normals[one.0 as usize].dot(self.normals[other.0 as usize]) > CREASE_COSINE
        {
            return false;
        }
        let normal = |triangle: u32, corner: usize| {
            mesh.normals.get(mesh.triangles[triangle as usize][corner % 3] as usize).copied()
        };
        let smooth = |a: Option<Vec3>, b: Option<Vec3>| a.zip(b).is_some_and(|(a, b)| a.dot(b) > SMOOTH_COSINE);
        !(smooth(normal(one.0, one.1), normal(other.0, other.1 + 1))
            && smooth(normal(one.0, one.1 + 1), normal(other.0, other.1)))
    }
}

/// Merges vertices at equal positions. Positions are measured from the center of the mesh, where rounding is finest.
fn weld(mesh: &MeshData, to_texels: DMat3, reversed_from: usize) -> (Vec<[u32; 3]>, Vec<Vec3>) {
    let finite = mesh.positions.iter().copied().filter(|position| position.is_finite());
    let bounds = Aabb::around(finite);
    let center = if bounds.is_empty() { DVec3::ZERO } else { (bounds.min.as_dvec3() + bounds.max.as_dvec3()) * 0.5 };
    let mut positions = Vec::new();
    let mut known: HashMap<[u32; 3], u32> = HashMap::with_capacity(mesh.positions.len());
    let mut welded = Vec::with_capacity(mesh.triangles.len());
    for (index, triangle) in mesh.triangles.iter().enumerate() {
        if index == reversed_from {
            known.clear();
        }
        welded.push(triangle.map(|vertex| {
            let position = mesh.positions[vertex as usize];
            // Adding zero turns -0.0 into 0.0, so that both count as one position.
            *known.entry((position + Vec3::ZERO).to_array().map(f32::to_bits)).or_insert_with(|| {
                positions.push((to_texels * (position.as_dvec3() - center)).as_vec3());
                positions.len() as u32 - 1
            })
        }));
    }
    (welded, positions)
}
