//! Triangle records and vertex attributes.

use bytemuck::{Pod, Zeroable};
use glam::{Mat3, Vec2};

use super::NONE;
use crate::geometry::SurfaceId;
use crate::scene::{MeshData, Scene, UvChannel};

/// Counterpart of `TriangleRecord` in `scene.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct TriangleRecord {
    a: [f32; 3],
    surface: u32,
    b: [f32; 3],
    index: u32,
    c: [f32; 3],
    attributes: u32,
}

/// Flag of triangles that rays may pass.
const PASSABLE: u32 = 1 << 31;
/// Flags of triangles whose front or back cannot be seen.
const SEALED_FRONT: u32 = 1 << 30;
const SEALED_BACK: u32 = 1 << 29;
/// Flag of triangles that coincide with triangles facing the opposite way.
const TWIN: u32 = 1 << 28;
const HAS_NORMALS: u32 = 1;
const HAS_COLORS: u32 = 2;
/// Flag of the first UV channel; flags of further channels follow.
const HAS_UV: u32 = 4;

/// Creates triangle records. Appends normals (in world space), colors and UV coordinates to `tables`, whose first entry
/// is word `first_word` on the device. `twins` flags twins; an empty slice means none.
pub(super) fn records(
    scene: &Scene,
    sources: &[(SurfaceId, u32)],
    twins: &[bool],
    first_word: u32,
    tables: &mut Vec<u32>,
) -> Vec<TriangleRecord> {
    let mut records = Vec::with_capacity(sources.len());
    for of_surface in sources.chunk_by(|(a, _), (b, _)| a == b) {
        let surface = of_surface[0].0;
        let passable = if scene.material_of(surface).can_be_passed() { PASSABLE } else { 0 };
        let normal_matrix = scene.surface(surface).normal_matrix();
        for &(_, index) in of_surface {
            let twin = if twins.get(records.len()) == Some(&true) { TWIN } else { 0 };
            let [a, b, c] = scene.triangle(surface, index).corners.map(|corner| corner.to_array());
            let attributes = add_attributes(scene.mesh_of(surface), index, &normal_matrix, first_word, tables);
            let sealed = |back, bit| if scene.is_sealed(surface, index, back) { bit } else { 0 };
            let flags = passable | twin | sealed(false, SEALED_FRONT) | sealed(true, SEALED_BACK);
            records.push(TriangleRecord { a, surface: surface.0 | flags, b, index, c, attributes });
        }
    }
    records
}

/// Appends the attributes of a triangle and returns their word offset. Missing attributes take no room.
fn add_attributes(mesh: &MeshData, triangle: u32, normal_matrix: &Mat3, first_word: u32, tables: &mut Vec<u32>) -> u32 {
    let corners = mesh.triangles[triangle as usize];
    let normals = mesh.corner_normals(triangle);
    let normals = normals.map(|normals| normals.map(|normal| (*normal_matrix * normal).to_array()));
    let colors = mesh.corner_colors(triangle).map(|colors| colors.map(|color| color.to_array()));
    let coordinates = |channel: UvChannel| {
        let [a, b, c] = corners.map(|vertex| mesh.uv(channel).get(vertex as usize).map(Vec2::to_array));
        Some((HAS_UV << channel.index(), [a?, b?, c?]))
    };
    let channels = (0..2 + mesh.other_uv.len() as u32).filter_map(UvChannel::from_index);
    let coordinates: Vec<(u32, [[f32; 2]; 3])> = channels.filter_map(coordinates).collect();
    let mut present: u32 = coordinates.iter().map(|(flag, _)| flag).sum();
    present |= if normals.is_some() { HAS_NORMALS } else { 0 };
    present |= if colors.is_some() { HAS_COLORS } else { 0 };
    if present == 0 {
        return NONE;
    }
    let start = first_word + tables.len() as u32;
    tables.push(present);
    tables.extend(normals.iter().flatten().flatten().map(|value| value.to_bits()));
    tables.extend(colors.iter().flatten().flatten().map(|value| value.to_bits()));
    tables.extend(coordinates.iter().flat_map(|(_, uv)| uv.as_flattened()).map(|value| value.to_bits()));
    start
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    TriangleRecord as TriangleRecord { a, surface, b, index, c, attributes }
}
