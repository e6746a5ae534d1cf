//! Conversion of Bevy meshes to indexed triangle lists.

use bevy::mesh::{Indices, MeshAccessError, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues};
use bevy::prelude::Mesh;
use glam::{Vec2, Vec3, Vec4};

use crate::scene::MeshData;

/// Reason why a Bevy mesh cannot be baked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshProblem {
    /// Its data is on the GPU only.
    #[error("its data left the CPU; load it with `RenderAssetUsages::MAIN_WORLD`")]
    LeftTheCpu,
    /// It has no positions, or not three floats each.
    #[error("it has no positions of three floats each")]
    NoPositions,
    /// It consists of points or lines.
    #[error("it is made of points or lines, which have no area")]
    NoTriangles,
}

/// Converts a Bevy mesh: triangle lists and strips, with 16-bit, 32-bit or no indices.
///
/// Vertices keep their order and number, so that lightmap coordinates can be written back to the same mesh. Triangles
/// with an index out of range are dropped, as on the GPU.
///
/// # Errors
///
/// Returns an error when the mesh has no readable triangles.
pub fn mesh_from_bevy(name: &str, mesh: &Mesh) -> Result<MeshData, MeshProblem> {
    let positions = match mesh.try_attribute(Mesh::ATTRIBUTE_POSITION) {
        Ok(VertexAttributeValues::Float32x3(positions)) => positions.iter().copied().map(Vec3::from).collect(),
        Err(MeshAccessError::ExtractedToRenderWorld) => return Err(MeshProblem::LeftTheCpu),
        Ok(_) | Err(MeshAccessError::NotFound) => return Err(MeshProblem::NoPositions),
    };
    let positions: Vec<Vec3> = positions;
    let mut triangles = triangles_of(mesh, positions.len())?;
    triangles.retain(|corners| corners.iter().all(|&corner| (corner as usize) < positions.len()));
    Ok(MeshData {
        name: name.to_owned(),
        normals: vectors(mesh, Mesh::ATTRIBUTE_NORMAL),
        uv0: coordinates(mesh, Mesh::ATTRIBUTE_UV_0),
        uv1: coordinates(mesh, Mesh::ATTRIBUTE_UV_1),
        other_uv: Vec::new(),
        colors: colors(mesh),
        positions,
        triangles,
    })
}

fn triangles_of(mesh: &Mesh, vertices: usize) -> Result<Vec<[u32; 3]>, MeshProblem> {
    let (indices, restart): (Vec<u32>, u32) = match mesh.try_indices_option() {
        Ok(Some(Indices::U16(indices))) => (indices.iter().map(|&index| u32::from(index)).collect(), u16::MAX.into()),
        Ok(Some(Indices::U32(indices))) => (indices.clone(), u32::MAX),
        Ok(None) => ((0..vertices as u32).collect(), u32::MAX),
        Err(_) => return Err(MeshProblem::LeftTheCpu),
    };
    match mesh.primitive_topology() {
        PrimitiveTopology::TriangleList => Ok(indices.as_chunks().0.to_vec()),
        PrimitiveTopology::TriangleStrip => {
            Ok(indices.split(|&index| index == restart).flat_map(strip_triangles).collect())
        }
        _ => Err(MeshProblem::NoTriangles),
    }
}

/// Returns the triangles of a strip. Every other one is reversed to keep the winding.
fn strip_triangles(strip: &[u32]) -> impl Iterator<Item = [u32; 3]> + '_ {
    strip.array_windows().enumerate().map(|(index, &[a, b, c])| if index % 2 == 0 { [a, b, c] } else { [b, a, c] })
}

fn vectors(mesh: &Mesh, attribute: MeshVertexAttribute) -> Vec<Vec3> {
    match mesh.try_attribute(attribute) {
        Ok(VertexAttributeValues::Float32x3(values)) => values.iter().copied().map(Vec3::from).collect(),
        _ => Vec::new(),
    }
}

fn coordinates(mesh: &Mesh, attribute: MeshVertexAttribute) -> Vec<Vec2> {
    match mesh.try_attribute(attribute) {
        Ok(VertexAttributeValues::Float32x2(values)) => values.iter().copied().map(Vec2::from).collect(),
        _ => Vec::new(),
    }
}

fn colors(mesh: &Mesh) -> Vec<Vec4> {
    match mesh.try_attribute(Mesh::ATTRIBUTE_COLOR) {
        Ok(VertexAttributeValues::Float32x4(values)) => values.iter().copied().map(Vec4::from).collect(),
        Ok(VertexAttributeValues::Unorm8x4(values)) => {
            values.iter().map(|value| Vec4::from_array(value.map(|channel| f32::from(channel) / 255.0))).collect()
        }
        Ok(VertexAttributeValues::Unorm16x4(values)) => {
            values.iter().map(|value| Vec4::from_array(value.map(|channel| f32::from(channel) / 65_535.0))).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use bevy::asset::RenderAssetUsages;

    use super::*;

    fn quad(topology: PrimitiveTopology) -> Mesh {
        Mesh::new(topology, RenderAssetUsages::default()).with_inserted_attribute(
            Mesh::ATTRIBUTE_POSITION,
            vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]],
        )
    }

    #[test]
    fn strips_and_lists_of_any_index_width_yield_the_same_triangles() {
        let expected = vec![[0, 1, 2], [2, 1, 3]];
        let list = |indices| quad(PrimitiveTopology::TriangleList).with_inserted_indices(indices);
        let strip = |indices| quad(PrimitiveTopology::TriangleStrip).with_inserted_indices(indices);
        for mesh in [
            list(Indices::U16(vec![0, 1, 2, 2, 1, 3])),
            list(Indices::U32(vec![0, 1, 2, 2, 1, 3])),
            strip(Indices::U16(vec![0, 1, 2, 3])),
            strip(Indices::U32(vec![0, 1, 2, 3])),
            quad(PrimitiveTopology::TriangleStrip),
        ] {
            assert_eq!(mesh_from_bevy("quad", &mesh).unwrap().triangles, expected);
        }
    }

    #[test]
    fn colors_of_vertices_are_read_as_the_linear_numbers_that_bevy_multiplies_by() {
        let colors = vec![[0.25, 0.5, 1.0, 0.75], [2.0, 0.0, 0.0, 1.0], [1.0; 4], [0.0; 4]];
        let mesh = quad(PrimitiveTopology::TriangleStrip).with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, colors);
        let read = mesh_from_bevy("quad", &mesh).unwrap().colors;
        assert_eq!(read[..2], [Vec4::new(0.25, 0.5, 1.0, 0.75), Vec4::new(2.0, 0.0, 0.0, 1.0)]);
    }

    #[test]
    fn a_restart_index_begins_a_strip_that_turns_like_the_first() {
        let mesh = quad(PrimitiveTopology::TriangleStrip).with_inserted_indices(Indices::U16(vec![
            0,
            1,
            2,
            u16::MAX,
            1,
            3,
            2,
        ]));
        assert_eq!(mesh_from_bevy("quad", &mesh).unwrap().triangles, [[0, 1, 2], [1, 3, 2]]);
    }

    #[test]
    fn triangles_beyond_the_vertices_are_left_out() {
        let mesh = quad(PrimitiveTopology::TriangleList).with_inserted_indices(Indices::U32(vec![0, 1, 2, 0, 1, 99]));
        assert_eq!(mesh_from_bevy("quad", &mesh).unwrap().triangles, [[0, 1, 2]]);
    }

    #[test]
    fn lines_and_meshes_that_left_the_cpu_are_refused() {
        assert_eq!(mesh_from_bevy("wire", &quad(PrimitiveTopology::LineList)), Err(MeshProblem::NoTriangles));
        let mut gone = quad(PrimitiveTopology::TriangleList);
        gone.take_gpu_data().unwrap();
        assert_eq!(mesh_from_bevy("gone", &gone), Err(MeshProblem::LeftTheCpu));
    }
}
