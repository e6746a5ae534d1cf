//! Triangles in their own space.

use glam::{Vec2, Vec3, Vec4};

use super::UvChannel;

/// An indexed triangle list.
///
/// Whatever a file or a Bevy mesh held (strips, fans, 16-bit indices, none at all) has been brought to this form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshData {
    /// What messages call the mesh.
    pub name: String,
    /// Vertex positions in the mesh's own space, metres.
    pub positions: Vec<Vec3>,
    /// Unit normals, one a vertex; empty when the mesh has none and its facets are meant.
    pub normals: Vec<Vec3>,
    /// First texture coordinates (UV_0), one a vertex; empty when there are none.
    pub uv0: Vec<Vec2>,
    /// Second texture coordinates (UV_1), one a vertex; empty when there are none.
    pub uv1: Vec<Vec2>,
    /// Texture coordinates beyond those, set by set (`TEXCOORD_2` and up), one a vertex; a set that no material reads is
    /// empty.
    pub other_uv: Vec<Vec<Vec2>>,
    /// Linear colors with alpha last, one a vertex; empty when there are none. They multiply the base color.
    pub colors: Vec<Vec4>,
    /// Vertex indices of the triangles, counter-clockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
}

impl MeshData {
    /// A set of texture coordinates; empty when the mesh lacks it.
    #[inline]
    pub fn uv(&self, channel: UvChannel) -> &[Vec2] {
        match channel {
            UvChannel::Uv0 => &self.uv0,
            UvChannel::Uv1 => &self.uv1,
            UvChannel::Other(set) => self.other_uv.get(usize::from(set)).map_or(&[], Vec::as_slice),
        }
    }

    /// A vertex attribute at a point of a triangle, `None` when the mesh lacks the attribute.
    #[inline]
    pub fn interpolate_uv(&self, uv: &[Vec2], triangle: u32, barycentric: Vec2) -> Option<Vec2> {
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| uv.get(vertex as usize).copied());
        let (a, b, c) = (a?, b?, c?);
        Some(a + (b - a) * barycentric.x + (c - a) * barycentric.y)
    }

    /// The interpolated normal in the mesh's own space (not of unit length), `None` when the mesh has no normals.
    #[inline]
    pub fn interpolate_normal(&self, triangle: u32, barycentric: Vec2) -> Option<Vec3> {
        let [a, b, c] = self.corner_normals(triangle)?;
        Some(a + (b - a) * barycentric.x + (c - a) * barycentric.y)
    }

    /// The normals of a triangle's vertices in the mesh's own space, `None` when the mesh has no normals.
    #[inline]
    pub fn corner_normals(&self, triangle: u32) -> Option<[Vec3; 3]> {
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| self.normals.get(vertex as usize).copied());
        Some([a?, b?, c?])
    }

    /// The interpolated vertex color, white when the mesh has none.
    #[inline]
    pub fn color_at(&self, triangle: u32, barycentric: Vec2) -> Vec4 {
        let Some([a, b, c]) = self.corner_colors(triangle) else {
            return Vec4::ONE;
        };
        a + (b - a) * barycentric.x + (c - a) * barycentric.y
    }

    /// The colors of a triangle's vertices, `None` when the mesh has no colors.
    #[inline]
    pub fn corner_colors(&self, triangle: u32) -> Option<[Vec4; 3]> {
        if self.colors.is_empty() {
            return None;
        }
        let [a, b, c] = self.triangles[triangle as usize].map(|vertex| self.colors.get(vertex as usize).copied());
        Some([a?, b?, c?])
    }

    /// True when every edge has as many triangles that run along it one way as the other: the mesh bounds a solid.
    ///
    /// Vertices at one place count as one, whatever their normals and texture coordinates. Triangles that are lines or
    /// points do not count.
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
    fn a_box_with_hard_edges_is_closed_until_a_triangle_is_missing() {
        let mut cuboid = shapes::cuboid("box", Vec3::NEG_ONE, Vec3::ONE);
        assert!(cuboid.is_closed());
        cuboid.triangles.pop();
        assert!(!cuboid.is_closed());
        assert!(!shapes::floor("floor", 1.0).is_closed() && !MeshData::default().is_closed());
    }
}
