//! The triangles of the tree and what is interpolated over them.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

use super::NONE;
use crate::geometry::SurfaceId;
use crate::kdtree::Tree;
use crate::scene::Scene;

/// The twin of `TriangleRecord` in `scene.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    a: [f32; 3],
    surface: u32,
    b: [f32; 3],
    index: u32,
    c: [f32; 3],
    attributes: u32,
}

/// Set in the surface of triangles that rays must ask about.
const PASSABLE: u32 = 1 << 31;
const HAS_NORMALS: u32 = 1;
const HAS_UV0: u32 = 2;
const HAS_UV1: u32 = 4;

/// Describes each triangle of a tree; normals (in world space) and texture coordinates go into the tables.
pub(super) fn records(scene: &Scene, tree: &Tree, sources: &[(SurfaceId, u32)], tables: &mut Vec<u32>) -> Vec<Record> {
    let triangles = tree.triangles().iter().zip(sources);
    triangles
        .map(|(triangle, &(surface, index))| {
            let [a, b, c] = triangle.corners.map(|corner| corner.to_array());
            let passable = if scene.material_of(surface).can_be_passed() { PASSABLE } else { 0 };
            let attributes = add_attributes(scene, surface, index, tables);
            Record { a, surface: surface.0 | passable, b, index, c, attributes }
        })
        .collect()
}

/// Where in the tables the attributes of a triangle start; those that its mesh lacks take no room.
fn add_attributes(scene: &Scene, surface: SurfaceId, triangle: u32, tables: &mut Vec<u32>) -> u32 {
    let mesh = scene.mesh_of(surface);
    let corners = mesh.triangles[triangle as usize];
    let normals = mesh.corner_normals(triangle).map(|normals| {
        let to_world = scene.surface(surface).normal_matrix();
        normals.map(|normal: Vec3| (to_world * normal).to_array())
    });
    let coordinates = |uv: &[Vec2]| {
        let [a, b, c] = corners.map(|vertex| uv.get(vertex as usize).map(|uv| uv.to_array()));
        Some([a?, b?, c?])
    };
    let (uv0, uv1) = (coordinates(&mesh.uv0), coordinates(&mesh.uv1));
    let present = [(normals.is_some(), HAS_NORMALS), (uv0.is_some(), HAS_UV0), (uv1.is_some(), HAS_UV1)]
        .into_iter()
        .filter_map(|(is_there, flag)| is_there.then_some(flag))
        .sum();
    if present == 0 {
        return NONE;
    }
    let start = tables.len() as u32;
    tables.push(present);
    tables.extend(normals.iter().flatten().flatten().map(|value| value.to_bits()));
    tables.extend([uv0, uv1].iter().flatten().flatten().flatten().map(|value| value.to_bits()));
    start
}
