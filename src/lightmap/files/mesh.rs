//! Lightmap coordinates of meshes on disk.

use std::path::Path;

use glam::Vec2;

use super::LevelError;
use crate::lightmap::Unwrap;
use crate::scene::MeshData;

const MAGIC: [u8; 8] = *b"radmesh1";
/// Length of the header: the magic bytes, then six numbers.
const HEADER: usize = 8 + 6 * 4;

/// Data that unwrapping adds to a source mesh.
///
/// A file holds any number of meshes in a row. All numbers are little-endian. Each mesh consists of:
///
/// - the eight letters `radmesh1`;
/// - as `u32`, the number of vertices V and of triangles T;
/// - as `u32`, the number of vertices and of triangles of the source mesh;
/// - as `u32`, width and height of the rectangle in texels;
/// - V source vertices as `u32`;
/// - V pairs of `f32` coordinates;
/// - T triples of `u32` vertices;
/// - T charts as `u32`.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelMesh {
    /// Number of vertices of the source mesh.
    pub source_vertex_count: u32,
    /// Number of triangles of the source mesh. Later triangles are backs, see [`Unwrap::reversed_from`].
    pub source_triangle_count: u32,
    /// Width and height of the rectangle that the coordinates were made for, texels.
    pub size: [u32; 2],
    /// Vertex of the source mesh that each vertex was copied from.
    pub source_vertices: Vec<u32>,
    /// Lightmap coordinates of each vertex, in the unit square of the surface's rectangle.
    pub uv1: Vec<Vec2>,
    /// Vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Chart of each triangle.
    pub charts: Vec<u32>,
}

impl LevelMesh {
    /// Extracts the data that an unwrap adds to its source mesh.
    pub fn new(unwrap: &Unwrap, source: &MeshData) -> Self {
        Self {
            source_vertex_count: source.positions.len() as u32,
            source_triangle_count: source.triangles.len() as u32,
            size: [unwrap.width, unwrap.height],
            source_vertices: unwrap.source_vertices.clone(),
            uv1: unwrap.mesh.uv1.clone(),
            triangles: unwrap.mesh.triangles.clone(),
            charts: unwrap.charts.clone(),
        }
    }

    /// Returns the unwrapped mesh, which has everything but the coordinates from its source. `None` if `source` is
    /// another mesh than the one that was baked.
    pub fn unwrap(&self, source: &MeshData) -> Option<Unwrap> {
        let counts = (source.positions.len(), source.triangles.len());
        if counts != (self.source_vertex_count as usize, self.source_triangle_count as usize) {
            return None;
        }
        let is_same = |(number, corners): (usize, &[u32; 3])| {
            self.charts[number] == Unwrap::NO_CHART
                || self.triangles[number].map(|vertex| self.source_vertices[vertex as usize]) == *corners
        };
        if !source.triangles.iter().enumerate().all(is_same) {
            return None;
        }
        let mut reversed = vec![false; self.source_vertices.len()];
        for vertex in self.triangles.iter().skip(counts.1).flatten() {
            reversed[*vertex as usize] = true;
        }
        let mut mesh = MeshData {
            name: source.name.clone(),
            uv1: self.uv1.clone(),
            triangles: self.triangles.clone(),
            other_uv: vec![Vec::new(); source.other_uv.len()],
            ..MeshData::default()
        };
        for (&vertex, reversed) in self.source_vertices.iter().zip(reversed) {
            let vertex = vertex as usize;
            mesh.positions.push(source.positions[vertex]);
            mesh.normals.extend(source.normals.get(vertex).map(|normal| if reversed { -*normal } else { *normal }));
            mesh.uv0.extend(source.uv0.get(vertex));
            for (set, of_source) in mesh.other_uv.iter_mut().zip(&source.other_uv) {
                set.extend(of_source.get(vertex));
            }
            mesh.colors.extend(source.colors.get(vertex));
        }
        Some(Unwrap {
            mesh,
            source_vertices: self.source_vertices.clone(),
            charts: self.charts.clone(),
            width: self.size[0],
            height: self.size[1],
            reversed_from: self.source_triangle_count,
        })
    }

    /// Returns the bytes of the mesh in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let [width, height] = self.size;
        let (vertices, triangles) = (self.uv1.len() as u32, self.triangles.len() as u32);
        let numbers = [vertices, triangles, self.source_vertex_count, self.source_triangle_count, width, height];
        let mut bytes = MAGIC.to_vec();
        let mut push =
            |values: &mut dyn Iterator<Item = u32>| values.for_each(|value| bytes.extend(value.to_le_bytes()));
        push(&mut numbers.into_iter());
        push(&mut self.source_vertices.iter().copied());
        push(&mut self.uv1.iter().flat_map(|uv| [uv.x.to_bits(), uv.y.to_bits()]));
        push(&mut self.triangles.iter().flatten().copied());
        push(&mut self.charts.iter().copied());
        bytes
    }

    /// Reads and checks the bytes of a file.
    ///
    /// # Errors
    /// When the bytes are not meshes, or an index in one is invalid. `path` names the file in errors.
    pub fn all_from_bytes(mut bytes: &[u8], path: &Path) -> Result<Vec<Self>, LevelError> {
        let mut meshes = Vec::new();
        while !bytes.is_empty() {
            let (mesh, rest) = Self::first_of(bytes, path)?;
            meshes.push(mesh);
            bytes = rest;
        }
        Ok(meshes)
    }

    /// Reads the first mesh, and returns it with the remaining bytes.
    fn first_of<'a>(bytes: &'a [u8], path: &Path) -> Result<(Self, &'a [u8]), LevelError> {
        let damaged = |fault: &str| LevelError::damaged(path, fault);
        let (header, body) = bytes.split_at_checked(HEADER).ok_or_else(|| damaged("it is too short"))?;
        if header[..8] != MAGIC {
            return Err(damaged("it is no unwrapped mesh"));
        }
        let mut numbers = words(&header[8..]);
        let mut number = || numbers.next().unwrap_or(0);
        let (vertices, triangles) = (number() as usize, number() as usize);
        let (source_vertex_count, source_triangle_count) = (number(), number());
        let size = [number(), number()];
        let length = usize::try_from(vertices as u64 * 12 + triangles as u64 * 16).ok();
        let (body, behind) = length
            .and_then(|length| body.split_at_checked(length))
            .ok_or_else(|| damaged("its length does not fit its counts"))?;
        let mut rest = words(body);
        let mesh = Self {
            source_vertex_count,
            source_triangle_count,
            size,
            source_vertices: rest.by_ref().take(vertices).collect(),
            uv1: tuples(&mut rest, vertices).map(|[x, y]| Vec2::new(f32::from_bits(x), f32::from_bits(y))).collect(),
            triangles: tuples(&mut rest, triangles).collect(),
            charts: rest.collect(),
        };
        mesh.check().map_err(damaged)?;
        Ok((mesh, behind))
    }

    fn check(&self) -> Result<(), &'static str> {
        let vertices = self.source_vertices.len() as u32;
        let source = self.source_triangle_count as usize;
        if self.triangles.len() != source && self.triangles.len() != 2 * source {
            return Err("its triangles are neither those of the source nor twice as many");
        }
        if self.source_vertices.iter().any(|vertex| *vertex >= self.source_vertex_count) {
            return Err("a vertex comes from beyond the source mesh");
        }
        if self.triangles.iter().flatten().any(|vertex| *vertex >= vertices) {
            return Err("a triangle has a vertex beyond the last one");
        }
        if self.uv1.iter().any(|uv| !(uv.cmpge(Vec2::ZERO).all() && uv.cmple(Vec2::ONE).all())) {
            return Err("a coordinate lies outside the unit square");
        }
        Ok(())
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

fn tuples<const N: usize>(words: &mut impl Iterator<Item = u32>, count: usize) -> impl Iterator<Item = [u32; N]> {
    (0..count).map(move |_| core::array::from_fn(|_| words.next().unwrap_or(0)))
}
