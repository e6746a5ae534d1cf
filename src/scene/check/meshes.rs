//! Checks of vertices, normals and triangles.

use glam::{DVec3, Vec2, Vec3, Vec4};

use crate::geometry::Triangle;
use crate::scene::{MeshData, Problem};

/// Maximum coordinate in meters; beyond it, products of coordinates overflow single precision.
const FARTHEST_VERTEX: f32 = 1e9;

/// Repairs one mesh.
pub fn repair(mesh: &mut MeshData) -> Vec<Problem> {
    let mut problems = Vec::new();
    let name = mesh.name.clone();
    let vertices = mesh.positions.len();
    let count = drop_triangles(mesh, |mesh, corner| (corner as usize) < mesh.positions.len());
    if count > 0 {
        problems.push(Problem::IndexOutOfRange { mesh: name.clone(), count });
    }
    let count = drop_triangles(mesh, |mesh, corner| is_usable(mesh.positions[corner as usize]));
    if count > 0 {
        problems.push(Problem::NonFiniteVertices { mesh: name.clone(), count });
    }
    // No triangle uses these vertices any more, but bounding boxes enclose all vertices of a mesh.
    mesh.positions.iter_mut().filter(|position| !is_usable(**position)).for_each(|position| *position = Vec3::ZERO);

    let lengths = [
        ("normals", mesh.normals.len()),
        ("UV_0", mesh.uv0.len()),
        ("UV_1", mesh.uv1.len()),
        ("vertex colors", mesh.colors.len()),
    ];
    for (attribute, length) in lengths.into_iter().filter(|(_, length)| *length != 0 && *length != vertices) {
        match attribute {
            "normals" => mesh.normals.clear(),
            "UV_0" => mesh.uv0.clear(),
            "UV_1" => mesh.uv1.clear(),
            _ => mesh.colors.clear(),
        }
        let reason = format!("it has {length} values for {vertices} vertices");
        problems.push(Problem::IgnoredAttribute { mesh: name.clone(), attribute: attribute.to_owned(), reason });
    }

    for (set, coordinates) in mesh.other_uv.iter_mut().enumerate() {
        let length = coordinates.len();
        if length != 0 && length != vertices {
            coordinates.clear();
            let (attribute, mesh) = (format!("UV_{}", set + 2), name.clone());
            let reason = format!("it has {length} values for {vertices} vertices");
            problems.push(Problem::IgnoredAttribute { mesh, attribute, reason });
        }
    }

    let count: usize =
        [&mut mesh.uv0, &mut mesh.uv1].into_iter().chain(&mut mesh.other_uv).map(|uv| repair_uv(uv)).sum();
    if count > 0 {
        problems.push(Problem::NonFiniteUv { mesh: name.clone(), count });
    }
    let count = repair_colors(&mut mesh.colors);
    if count > 0 {
        problems.push(Problem::UnusableColors { mesh: name.clone(), count });
    }
    let count = repair_normals(mesh);
    if count > 0 {
        problems.push(Problem::UnusableNormals { mesh: name.clone(), count });
    }
    let count = (0..mesh.triangles.len()).filter(|&triangle| corners(mesh, triangle).normal() == Vec3::ZERO).count();
    if count > 0 {
        problems.push(Problem::DegenerateTriangles { mesh: name.clone(), count });
    }
    if mesh.triangles.is_empty() {
        problems.push(Problem::EmptyMesh { mesh: name });
    }
    problems
}

/// Returns true if products of the position's coordinates stay finite.
pub fn is_usable(position: Vec3) -> bool {
    position.abs().cmplt(Vec3::splat(FARTHEST_VERTEX)).all()
}

fn corners(mesh: &MeshData, triangle: usize) -> Triangle {
    Triangle { corners: mesh.triangles[triangle].map(|corner| mesh.positions[corner as usize]) }
}

/// Drops triangles with an unfit corner, and returns their number.
fn drop_triangles(mesh: &mut MeshData, is_fit: impl Fn(&MeshData, u32) -> bool) -> usize {
    let mut triangles = std::mem::take(&mut mesh.triangles);
    let before = triangles.len();
    triangles.retain(|corners| corners.iter().all(|&corner| is_fit(mesh, corner)));
    mesh.triangles = triangles;
    before - mesh.triangles.len()
}

fn repair_uv(coordinates: &mut [Vec2]) -> usize {
    let unusable = coordinates.iter_mut().filter(|uv| !uv.is_finite());
    unusable.map(|uv| *uv = Vec2::ZERO).count()
}

/// Sets negative channels to zero and non-finite ones to one; returns the number of changed colors. Channels above one
/// stay, because the color multiplies a base color that may be darker.
fn repair_colors(colors: &mut [Vec4]) -> usize {
    let unusable = colors.iter_mut().filter(|color| !color.is_finite() || color.min_element() < 0.0);
    let usable = |value: f32| if value.is_finite() { value.max(0.0) } else { 1.0 };
    unusable.map(|color| *color = color.to_array().map(usable).into()).count()
}

/// Normalizes normals. Unusable normals become the area-weighted mean normal of their faces. Returns the number of
/// unusable normals.
fn repair_normals(mesh: &mut MeshData) -> usize {
    let has_direction = |normal: &Vec3| normal.is_finite() && normal.length_squared() > f32::MIN_POSITIVE;
    let unusable = mesh.normals.iter().filter(|normal| !has_direction(normal)).count();
    if unusable > 0 {
        let mut sums = vec![DVec3::ZERO; mesh.positions.len()];
        for corners in &mesh.triangles {
            let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize].as_dvec3());
            let scaled_normal = (b - a).cross(c - a);
            corners.iter().for_each(|&corner| sums[corner as usize] += scaled_normal);
        }
        for (normal, sum) in mesh.normals.iter_mut().zip(sums).filter(|(normal, _)| !has_direction(normal)) {
            // A vertex that no triangle uses may have any normal.
            *normal = sum.try_normalize().unwrap_or(DVec3::Y).as_vec3();
        }
    }
    for normal in mesh.normals.iter_mut().filter(|normal| !normal.is_normalized()) {
        *normal = normal.normalize();
    }
    unusable
}
