//! Simple meshes: quads, boxes, balls, rings, lathed and implicit bodies, Bezier patches. [`Tessellation`] makes meshes
//! that stay near a curved shape.
//!
//! All meshes have normals and UV_0, and no UV_1. Their fronts are counter-clockwise.

mod curved;
mod implicit;
mod tessellation;

use std::collections::HashMap;

use glam::{Vec2, Vec3};

use super::MeshData;

pub use curved::{bezier_patch, lathe, sphere, torus};
pub use implicit::implicit;
pub use tessellation::Tessellation;

/// UV_0 of a quad's corners, in the order of the corners.
const QUAD_UV: [Vec2; 4] = [Vec2::new(0.0, 0.0), Vec2::new(1.0, 0.0), Vec2::new(1.0, 1.0), Vec2::new(0.0, 1.0)];

/// Builds a flat quad from corners that are counter-clockwise seen from the front. UV_0 covers the unit square.
pub fn quad(name: &str, corners: [Vec3; 4]) -> MeshData {
    let mut mesh = MeshData { name: name.to_owned(), ..MeshData::default() };
    add_quad(&mut mesh, corners);
    mesh
}

/// Builds a square around the origin in the XZ plane, with its front up.
pub fn floor(name: &str, edge: f32) -> MeshData {
    let h = edge * 0.5;
    quad(name, [Vec3::new(-h, 0.0, h), Vec3::new(h, 0.0, h), Vec3::new(h, 0.0, -h), Vec3::new(-h, 0.0, -h)])
}

/// Builds a closed box with its fronts outside. Each face has its own vertices and covers the whole of UV_0.
pub fn cuboid(name: &str, min: Vec3, max: Vec3) -> MeshData {
    let mut mesh = MeshData { name: name.to_owned(), ..MeshData::default() };
    for corners in cuboid_faces(min, max) {
        add_quad(&mut mesh, corners);
    }
    mesh
}

/// Returns the faces of a box, fronts outside: -X, +X, -Y, +Y, -Z, +Z.
pub fn cuboid_faces(min: Vec3, max: Vec3) -> [[Vec3; 4]; 6] {
    let corner = |x: bool, y: bool, z: bool| {
        Vec3::new(if x { max.x } else { min.x }, if y { max.y } else { min.y }, if z { max.z } else { min.z })
    };
    [
        [
            corner(false, false, false),
            corner(false, false, true),
            corner(false, true, true),
            corner(false, true, false),
        ],
        [corner(true, false, true), corner(true, false, false), corner(true, true, false), corner(true, true, true)],
        [
            corner(false, false, false),
            corner(true, false, false),
            corner(true, false, true),
            corner(false, false, true),
        ],
        [corner(false, true, true), corner(true, true, true), corner(true, true, false), corner(false, true, false)],
        [
            corner(true, false, false),
            corner(false, false, false),
            corner(false, true, false),
            corner(true, true, false),
        ],
        [corner(false, false, true), corner(true, false, true), corner(true, true, true), corner(false, true, true)],
    ]
}

/// Builds a ball around the origin with smooth normals and fronts outside. Each triangle of an icosahedron is split
/// into four, `subdivisions` times (`20 * 4^n` triangles).
pub fn icosphere(name: &str, radius: f32, subdivisions: u32) -> MeshData {
    let golden = (1.0 + 5.0f32.sqrt()) * 0.5;
    let mut directions: Vec<Vec3> =
        [[0.0, 1.0, golden], [0.0, -1.0, golden], [0.0, 1.0, -golden], [0.0, -1.0, -golden]]
            .into_iter()
            .flat_map(|[x, y, z]| [Vec3::new(x, y, z), Vec3::new(y, z, x), Vec3::new(z, x, y)])
            .map(Vec3::normalize)
            .collect();
    let mut triangles = icosahedron_triangles(&directions);
    for _ in 0..subdivisions {
        let mut middles = HashMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                directions.push((directions[a as usize] + directions[b as usize]).normalize());
                directions.len() as u32 - 1
            })
        };
        triangles = triangles
            .into_iter()
            .flat_map(|[a, b, c]| {
                let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    let longitude_latitude = |d: &Vec3| {
        use core::f32::consts::{PI, TAU};
        Vec2::new(0.5 + libm::atan2f(d.z, d.x) / TAU, libm::acosf(d.y.clamp(-1.0, 1.0)) / PI)
    };
    MeshData {
        name: name.to_owned(),
        positions: directions.iter().map(|&direction| direction * radius).collect(),
        uv0: directions.iter().map(longitude_latitude).collect(),
        normals: directions,
        uv1: Vec::new(),
        other_uv: Vec::new(),
        colors: Vec::new(),
        triangles,
    }
}

/// Turns a mesh inside out: flips its triangles and normals.
pub fn inside_out(mut mesh: MeshData) -> MeshData {
    mesh.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
    mesh.normals.iter_mut().for_each(|normal| *normal = -*normal);
    mesh
}

fn add_quad(mesh: &mut MeshData, corners: [Vec3; 4]) {
    let first = mesh.positions.len() as u32;
    let normal = (corners[1] - corners[0]).cross(corners[3] - corners[0]).normalize_or_zero();
    mesh.positions.extend(corners);
    mesh.normals.extend([normal; 4]);
    mesh.uv0.extend(QUAD_UV);
    mesh.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
}

/// Returns the twenty triples of neighboring corners, oriented outwards.
fn icosahedron_triangles(corners: &[Vec3]) -> Vec<[u32; 3]> {
    // Neighbors lie 63 degrees apart, all others at least 116.
    let adjacent = |a: usize, b: usize| corners[a].dot(corners[b]) > 0.0;
    let mut triangles = Vec::new();
    for a in 0..corners.len() {
        for b in a + 1..corners.len() {
            for c in b + 1..corners.len() {
                if adjacent(a, b) && adjacent(b, c) && adjacent(c, a) {
                    let outwards = corners[a].dot(corners[b].cross(corners[c])) > 0.0;
                    let (b, c) = if outwards { (b, c) } else { (c, b) };
                    triangles.push([a as u32, b as u32, c as u32]);
                }
            }
        }
    }
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Triangle;

    pub fn triangles(mesh: &MeshData) -> impl Iterator<Item = Triangle> {
        mesh.triangles.iter().map(|corners| Triangle { corners: corners.map(|corner| mesh.positions[corner as usize]) })
    }

    /// Returns the volume by the divergence theorem: positive if fronts are outside.
    pub fn volume(mesh: &MeshData) -> f32 {
        triangles(mesh).map(|Triangle { corners: [a, b, c] }| a.dot(b.cross(c)) / 6.0).sum()
    }

    #[test]
    fn a_box_has_its_volume_and_area_and_normals_that_point_out() {
        let mesh = cuboid("box", Vec3::new(-1.0, 0.0, 2.0), Vec3::new(1.0, 3.0, 6.0));
        assert!((volume(&mesh) - 24.0).abs() < 1e-4);
        assert_eq!(triangles(&mesh).map(|triangle| triangle.area()).sum::<f32>(), 52.0);
        for (corners, triangle) in mesh.triangles.iter().zip(triangles(&mesh)) {
            assert_eq!(mesh.normals[corners[0] as usize], triangle.normal());
        }
    }

    #[test]
    fn a_ball_approaches_the_volume_of_the_sphere() {
        let sphere = 4.0 / 3.0 * core::f32::consts::PI * 8.0;
        let mesh = icosphere("ball", 2.0, 4);
        assert_eq!(mesh.triangles.len(), 20 * 256);
        assert_eq!(mesh.positions.len(), 10 * 256 + 2);
        assert!((volume(&mesh) / sphere - 1.0).abs() < 0.005);
        assert!((volume(&inside_out(mesh)) / sphere + 1.0).abs() < 0.005);
    }

    #[test]
    fn a_floor_looks_up() {
        assert!(triangles(&floor("floor", 2.0)).all(|triangle| triangle.normal() == Vec3::Y));
    }
}
