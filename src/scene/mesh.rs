//! Meshes in object space.

use glam::{Vec2, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use super::UvChannel;

/// Indexed triangle list.
///
/// Readers convert strips, fans, 16-bit indices and unindexed meshes to this form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeshData {
    /// Name for messages.
    pub name: String,
    /// Vertex positions in object space, in meters.
    #[serde(with = "crate::raw_values")]
    pub positions: Vec<Vec3>,
    /// Unit normals, one per vertex; empty for a mesh without normals, which is flat-shaded.
    #[serde(with = "crate::raw_values")]
    pub normals: Vec<Vec3>,
    /// First texture coordinates (UV_0), one per vertex; empty if there are none.
    #[serde(with = "crate::raw_values")]
    pub uv0: Vec<Vec2>,
    /// Second texture coordinates (UV_1), one per vertex; empty if there are none.
    #[serde(with = "crate::raw_values")]
    pub uv1: Vec<Vec2>,
    /// Further sets of texture coordinates (`TEXCOORD_2` and up), one per vertex. A set that no material reads is
    /// empty.
    pub other_uv: Vec<Vec<Vec2>>,
    /// Linear vertex colors with alpha last; empty if there are none. Vertex colors multiply the base color.
    #[serde(with = "crate::raw_values")]
    pub colors: Vec<Vec4>,
    /// Vertex indices of the triangles, counter-clockwise seen from the front.
    #[serde(with = "crate::raw_values")]
    pub triangles: Vec<[u32; 3]>,
}

impl MeshData {
    /// Returns a set of texture coordinates; empty if the mesh lacks the set.
    #[inline]
    pub fn uv(&self, channel: UvChannel) -> &[Vec2] {
        match channel {
            UvChannel::Uv0 => &self.uv0,
            UvChannel::Uv1 => &self.uv1,
            UvChannel::Other(set) => self.other_uv.get(usize::from(set)).map_or(&[], Vec::as_slice),
        }
    }

    /// Returns texture coordinates interpolated at a point of a triangle; `None` if `uv` is too short.
    #[inline]
    pub fn interpolate_uv(&self, uv: &[Vec2], triangle: u32, barycentric: Vec2) -> Option<Vec2> {
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| uv.get(vertex as usize).copied());
        let (a, b, c) = (a?, b?, c?);
        Some(a + (b - a) * barycentric.x + (c - a) * barycentric.y)
    }

    /// Returns the interpolated normal in object space, not normalized; `None` if the mesh has no normals.
    #[inline]
    pub fn interpolate_normal(&self, triangle: u32, barycentric: Vec2) -> Option<Vec3> {
        let [a, b, c] = self.corner_normals(triangle)?;
        Some(a + (b - a) * barycentric.x + (c - a) * barycentric.y)
    }

    /// Returns the vertex normals of a triangle in object space; `None` if the mesh has no normals.
    #[inline]
    pub fn corner_normals(&self, triangle: u32) -> Option<[Vec3; 3]> {
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| self.normals.get(vertex as usize).copied());
        Some([a?, b?, c?])
    }

    /// Returns the interpolated vertex color; white if the mesh has none.
    #[inline]
    pub fn color_at(&self, triangle: u32, barycentric: Vec2) -> Vec4 {
        let Some([a, b, c]) = self.corner_colors(triangle) else {
            return Vec4::ONE;
        };
        a + (b - a) * barycentric.x + (c - a) * barycentric.y
    }

    /// Returns the vertex colors of a triangle; `None` if the mesh has no colors.
    #[inline]
    pub fn corner_colors(&self, triangle: u32) -> Option<[Vec4; 3]> {
        if self.colors.is_empty() {
            return None;
        }
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| self.colors.get(vertex as usize).copied());
        Some([a?, b?, c?])
    }

    /// Returns the mesh with three vertices for each triangle, in the order of the triangles.
    #[must_use]
    pub fn with_split_vertices(&self) -> Self {
        fn split<T: Copy>(values: &[T], triangles: &[[u32; 3]]) -> Vec<T> {
            triangles.iter().flatten().filter_map(|&vertex| values.get(vertex as usize).copied()).collect()
        }
        Self {
            name: self.name.clone(),
            positions: split(&self.positions, &self.triangles),
            normals: split(&self.normals, &self.triangles),
            uv0: split(&self.uv0, &self.triangles),
            uv1: split(&self.uv1, &self.triangles),
            other_uv: self.other_uv.iter().map(|set| split(set, &self.triangles)).collect(),
            colors: split(&self.colors, &self.triangles),
            triangles: (0..self.triangles.len() as u32)
                .map(|triangle| [0, 1, 2].map(|corner| 3 * triangle + corner))
                .collect(),
        }
    }

    /// Returns the size of the vertices of [`with_split_vertices`](Self::with_split_vertices), in bytes.
    pub fn bytes_of_split_vertices(&self) -> u64 {
        let sets = [&self.uv0, &self.uv1].into_iter().chain(&self.other_uv).filter(|set| !set.is_empty()).count();
        let colors = if self.colors.is_empty() { 0 } else { size_of::<Vec4>() };
        let normals = if self.normals.is_empty() { 0 } else { size_of::<Vec3>() };
        let of_vertex = size_of::<Vec3>() + normals + sets * size_of::<Vec2>() + colors + size_of::<u32>();
        (3 * self.triangles.len() * of_vertex) as u64
    }

    /// Returns true if every edge is used equally often in both directions, so that the mesh bounds a solid.
    ///
    /// Vertices at equal positions count as one, whatever their normals and texture coordinates. Triangles that
    /// collapse to lines or points are ignored.
    pub fn is_closed(&self) -> bool {
        let place = |vertex: u32| (self.positions[vertex as usize] + Vec3::ZERO).to_array().map(f32::to_bits);
        let mut edges: Vec<_> = self
            .triangles
            .iter()
            .map(|triangle| triangle.map(place))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .flat_map(|[a, b, c]| [(a, b), (b, c), (c, a)])
            .map(|(from, to)| if from < to { ((from, to), 1) } else { ((to, from), -1) })
            .collect();
        edges.sort_unstable();
        !edges.is_empty()
            && edges.chunk_by(|a, b| a.0 == b.0).all(|same| same.iter().map(|edge| edge.1).sum::<i32>() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::shapes;

    #[test]
    fn split_vertices_belong_to_one_triangle_each() {
        let [a, b, c, d] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let mesh = MeshData {
            positions: vec![a, b, c, d],
            uv0: [0.0, 1.0, 2.0, 3.0].map(Vec2::splat).to_vec(),
            triangles: vec![[0, 1, 2], [3, 2, 1]],
            ..MeshData::default()
        };
        let split = mesh.with_split_vertices();
        assert_eq!(split.triangles, [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(split.positions, [a, b, c, d, c, b]);
        assert_eq!(split.uv0, [0.0, 1.0, 2.0, 3.0, 2.0, 1.0].map(Vec2::splat));
        assert!(split.normals.is_empty() && split.uv1.is_empty());
        assert_eq!(mesh.bytes_of_split_vertices(), 6 * (12 + 8 + 4));
    }

    #[test]
    fn a_box_with_hard_edges_is_closed_until_a_triangle_is_missing() {
        let mut cuboid = shapes::cuboid("box", Vec3::NEG_ONE, Vec3::ONE);
        assert!(cuboid.is_closed());
        cuboid.triangles.pop();
        assert!(!cuboid.is_closed());
        assert!(!shapes::floor("floor", 1.0).is_closed() && !MeshData::default().is_closed());
    }
}
