//! Mesh copies with lightmap coordinates.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bevy::mesh::{Indices, PrimitiveTopology, VertexAttributeValues};
use bevy::prelude::*;

use crate::lightmap::Unwrap;

/// Copy of one of the app's meshes.
#[derive(Clone, Debug)]
pub struct MeshCopy {
    /// The app's mesh.
    pub original: Handle<Mesh>,
    /// Unwrap of the mesh.
    pub unwrap: Arc<Unwrap>,
    /// True if the app's UV_1 became UV_0, to free UV_1 for the lightmap.
    pub uv1_is_moved: bool,
    /// Mesh that is drawn.
    pub handle: Handle<Mesh>,
}

/// All mesh copies, by their ids.
#[derive(Resource, Default)]
pub struct MeshCopies(HashMap<AssetId<Mesh>, MeshCopy>);

impl MeshCopies {
    /// Returns the copy with an id.
    pub fn get(&self, id: AssetId<Mesh>) -> Option<&MeshCopy> {
        self.0.get(&id)
    }

    /// Returns all copies of one of the app's meshes.
    pub fn of(&self, original: AssetId<Mesh>) -> impl Iterator<Item = &MeshCopy> {
        self.0.values().filter(move |copy| copy.original.id() == original)
    }

    /// Returns the copy of a mesh for an unwrap, and creates it if needed. `None` when the unwrap belongs to another
    /// mesh.
    pub fn get_or_make(
        &mut self,
        original: &Handle<Mesh>,
        unwrap: &Arc<Unwrap>,
        moves_uv1: bool,
        meshes: &mut Assets<Mesh>,
    ) -> Option<Handle<Mesh>> {
        let known =
            self.of(original.id()).find(|copy| Arc::ptr_eq(&copy.unwrap, unwrap) && copy.uv1_is_moved == moves_uv1);
        if let Some(copy) = known {
            return Some(copy.handle.clone());
        }
        let handle = meshes.add(unwrapped_copy(meshes.get(original)?, unwrap, moves_uv1)?);
        let copy = MeshCopy {
            original: original.clone(),
            unwrap: Arc::clone(unwrap),
            uv1_is_moved: moves_uv1,
            handle: handle.clone(),
        };
        self.0.insert(handle.id(), copy);
        Some(handle)
    }

    /// Drops unused copies.
    pub fn keep_only(&mut self, used: &HashSet<AssetId<Mesh>>) {
        self.0.retain(|id, _| used.contains(id));
    }
}

/// Creates the copy: vertices split at chart borders, triangles as a list, and UV_1 from the unwrap.
///
/// If `moves_uv1`, the mesh's own UV_1 becomes its UV_0. `None` when the unwrap belongs to another mesh.
pub fn unwrapped_copy(original: &Mesh, unwrap: &Unwrap, moves_uv1: bool) -> Option<Mesh> {
    if !is_unwrap_of(original, unwrap) {
        return None;
    }
    let mut copy = Mesh::new(PrimitiveTopology::TriangleList, original.asset_usage);
    for (attribute, values) in original.try_attributes().ok()? {
        copy.insert_attribute(*attribute, values.clone());
    }
    // Bevy gathers every attribute by index when it duplicates vertices.
    copy.insert_indices(Indices::U32(unwrap.source_vertices.clone()));
    copy.duplicate_vertices();
    turn_backs(&mut copy, unwrap);
    if moves_uv1 && let Some(own) = copy.remove_attribute(Mesh::ATTRIBUTE_UV_1) {
        copy.insert_attribute(Mesh::ATTRIBUTE_UV_0, own);
    }
    copy.insert_attribute(Mesh::ATTRIBUTE_UV_1, lightmap_coordinates(unwrap));
    copy.insert_indices(indices(unwrap));
    Some(copy)
}

/// Flips the normals of back sides that have their own triangles.
///
/// Both tangents are flipped too, since bumps of a normal map are dents from behind. The second tangent is the product
/// of the normal, the first tangent and the last coordinate.
fn turn_backs(copy: &mut Mesh, unwrap: &Unwrap) {
    let backs: HashSet<u32> =
        unwrap.mesh.triangles.iter().skip(unwrap.reversed_from as usize).flatten().copied().collect();
    if let Some(VertexAttributeValues::Float32x3(normals)) = copy.attribute_mut(Mesh::ATTRIBUTE_NORMAL) {
        for &vertex in &backs {
            normals[vertex as usize] = normals[vertex as usize].map(|coordinate| -coordinate);
        }
    }
    if let Some(VertexAttributeValues::Float32x4(tangents)) = copy.attribute_mut(Mesh::ATTRIBUTE_TANGENT) {
        for &vertex in &backs {
            tangents[vertex as usize] = tangents[vertex as usize].map(|coordinate| -coordinate);
        }
    }
}

/// Restores UV_1 of a copy. Returns false when its vertices no longer match the unwrap.
pub fn restore_lightmap_coordinates(copy: &mut Mesh, unwrap: &Unwrap) -> bool {
    let is_same = copy
        .try_attribute(Mesh::ATTRIBUTE_POSITION)
        .is_ok_and(|positions| positions.len() == unwrap.mesh.positions.len());
    if is_same {
        copy.insert_attribute(Mesh::ATTRIBUTE_UV_1, lightmap_coordinates(unwrap));
    }
    is_same
}

fn is_unwrap_of(original: &Mesh, unwrap: &Unwrap) -> bool {
    let Ok(VertexAttributeValues::Float32x3(positions)) = original.try_attribute(Mesh::ATTRIBUTE_POSITION) else {
        return false;
    };
    unwrap.source_vertices.len() == unwrap.mesh.positions.len()
        && unwrap.source_vertices.iter().zip(&unwrap.mesh.positions).all(|(&source, &position)| {
            positions.get(source as usize).is_some_and(|&original| Vec3::from(original).abs_diff_eq(position, 1e-5))
        })
}

/// Returns true when a mesh's own UV_1 serves as lightmap coordinates unchanged.
pub fn keeps_uv1(original: &Mesh, unwrap: &Unwrap) -> bool {
    /// Tolerance for rounding to texels, in UV units.
    const NEAR: f32 = 1e-4;
    let Ok(VertexAttributeValues::Float32x2(own)) = original.try_attribute(Mesh::ATTRIBUTE_UV_1) else {
        return false;
    };
    unwrap
        .source_vertices
        .iter()
        .zip(&unwrap.mesh.uv1)
        .all(|(&source, &uv)| own.get(source as usize).is_some_and(|&own| Vec2::from(own).abs_diff_eq(uv, NEAR)))
}

fn lightmap_coordinates(unwrap: &Unwrap) -> Vec<[f32; 2]> {
    unwrap.mesh.uv1.iter().map(|uv| uv.to_array()).collect()
}

fn indices(unwrap: &Unwrap) -> Indices {
    let corners = unwrap.mesh.triangles.as_flattened();
    if unwrap.mesh.positions.len() <= usize::from(u16::MAX) {
        Indices::U16(corners.iter().map(|&corner| corner as u16).collect())
    } else {
        Indices::U32(corners.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use bevy::asset::RenderAssetUsages;

    use super::*;
    use crate::scene::MeshData;

    /// Creates a square as a strip of two charts, so that four vertices become six.
    fn square_in_two_charts() -> (Mesh, Unwrap) {
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
        let original = Mesh::new(PrimitiveTopology::TriangleStrip, RenderAssetUsages::default())
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, corners.map(|corner| corner.to_array()).to_vec())
            .with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, vec![[0.1; 4], [0.2; 4], [0.3; 4], [0.4; 4]]);
        let source_vertices = vec![0, 1, 2, 2, 1, 3];
        let mesh = MeshData {
            positions: source_vertices.iter().map(|&vertex| corners[vertex as usize]).collect(),
            uv1: (0..6).map(|vertex| Vec2::new(vertex as f32 / 6.0, 0.5)).collect(),
            triangles: vec![[0, 1, 2], [3, 4, 5]],
            ..MeshData::default()
        };
        (original, Unwrap { mesh, source_vertices, charts: vec![0, 1], width: 8, height: 8, reversed_from: 2 })
    }

    #[test]
    fn a_copy_carries_every_attribute_to_the_split_vertices() {
        let (original, unwrap) = square_in_two_charts();
        let copy = unwrapped_copy(&original, &unwrap, false).unwrap();
        assert_eq!(copy.count_vertices(), 6);
        assert_eq!(copy.primitive_topology(), PrimitiveTopology::TriangleList);
        let Some(VertexAttributeValues::Float32x4(colors)) = copy.attribute(Mesh::ATTRIBUTE_COLOR) else {
            panic!("colors are lost");
        };
        assert_eq!(colors.iter().map(|color| color[0]).collect::<Vec<_>>(), [0.1, 0.2, 0.3, 0.3, 0.2, 0.4]);
        assert!(copy.contains_attribute(Mesh::ATTRIBUTE_UV_1));
    }

    #[test]
    fn an_unwrap_of_another_mesh_makes_no_copy() {
        let (mut original, unwrap) = square_in_two_charts();
        original.insert_attribute(Mesh::ATTRIBUTE_POSITION, vec![[9.0_f32, 9.0, 9.0]; 4]);
        assert!(unwrapped_copy(&original, &unwrap, false).is_none());
    }

    #[test]
    fn a_copy_that_lost_its_coordinates_gets_them_back() {
        let (original, unwrap) = square_in_two_charts();
        let mut copy = unwrapped_copy(&original, &unwrap, false).unwrap();
        copy.remove_attribute(Mesh::ATTRIBUTE_UV_1);
        assert!(restore_lightmap_coordinates(&mut copy, &unwrap));
        assert!(copy.contains_attribute(Mesh::ATTRIBUTE_UV_1));
    }
}
