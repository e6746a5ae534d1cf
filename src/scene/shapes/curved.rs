//! Curved surfaces, as quad grids of adjustable resolution.

use core::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};

use crate::geometry::BezierPatch;
use crate::scene::MeshData;

/// Builds a torus around the Y axis: a tube of radius `tube` around a circle of radius `radius`. Normals are smooth,
/// fronts outside.
pub fn torus(name: &str, radius: f32, tube: f32, around: u32, across: u32) -> MeshData {
    grid(name, around.max(3), across.max(3), |column, row, [columns, rows]| {
        // The last column repeats the first one exactly.
        let (sin_around, cos_around) = libm::sincosf((column % columns) as f32 / columns as f32 * TAU);
        let (sin_across, cos_across) = libm::sincosf((row % rows) as f32 / rows as f32 * TAU);
        let outwards = Vec3::new(cos_around, 0.0, -sin_around);
        let normal = outwards * cos_across + Vec3::Y * sin_across;
        (outwards * radius + normal * tube, normal)
    })
}

/// Builds a sphere around the origin, with its poles on the Y axis: `around` columns of `bands` quads each. Normals are
/// smooth, fronts outside.
pub fn sphere(name: &str, radius: f32, around: u32, bands: u32) -> MeshData {
    let mesh = grid(name, around.max(3), bands.max(2), |column, row, [columns, rows]| {
        let (sin_around, cos_around) = libm::sincosf((column % columns) as f32 / columns as f32 * TAU);
        let (sin_upwards, cos_upwards) = libm::sincosf((row as f32 / rows as f32 - 0.5) * PI);
        // The poles are one point each.
        let across = if row == 0 || row == rows { 0.0 } else { cos_upwards };
        let normal = Vec3::new(cos_around * across, sin_upwards, -sin_around * across);
        (normal * radius, normal)
    });
    without_collapsed(mesh)
}

/// Builds a bicubic Bezier patch with `steps` quads along each edge. `control` holds rows of points. Seen from the
/// front, each row runs to the right, and the rows follow each other upwards.
pub fn bezier_patch(name: &str, control: BezierPatch, steps: u32) -> MeshData {
    grid(name, steps.max(1), steps.max(1), |column, row, [columns, rows]| {
        let uv = Vec2::new(column as f32 / columns as f32, row as f32 / rows as f32);
        let normal_at = |uv: Vec2| {
            let along = blend(&control, slopes(uv.x), weights(uv.y));
            along.cross(blend(&control, weights(uv.x), slopes(uv.y))).try_normalize()
        };
        // At a degenerate edge, use the normal of a nearby point.
        let normal = normal_at(uv).or_else(|| normal_at(uv.lerp(Vec2::splat(0.5), 1e-2)));
        (blend(&control, weights(uv.x), weights(uv.y)), normal.unwrap_or(Vec3::Y))
    })
}

/// Builds a surface of revolution around the Y axis. In `profile`, x is the distance from the axis and y the height.
/// The front is outside where the profile runs upwards. Corners of less than 45 degrees get smooth normals. There are
/// no caps unless the profile reaches the axis.
pub fn lathe(name: &str, profile: &[Vec2], around: u32) -> MeshData {
    const SMOOTH: f32 = core::f32::consts::FRAC_1_SQRT_2;
    let around = around.max(3);
    let outwards: Vec<Vec2> = profile
        .windows(2)
        .map(|ends| Vec2::new(ends[1].y - ends[0].y, ends[0].x - ends[1].x).normalize_or_zero())
        .collect();
    let mut mesh = MeshData { name: name.to_owned(), ..MeshData::default() };
    for (band, ends) in profile.windows(2).enumerate() {
        let with_neighbor = |neighbor: Option<&Vec2>| match neighbor {
            Some(other) if other.dot(outwards[band]) > SMOOTH => (*other + outwards[band]).normalize(),
            _ => outwards[band],
        };
        let before = band.checked_sub(1).and_then(|before| outwards.get(before));
        let normals = [with_neighbor(before), with_neighbor(outwards.get(band + 1))];
        let first = mesh.positions.len() as u32;
        for column in 0..=around {
            // The last column repeats the first one exactly.
            let (sine, cosine) = libm::sincosf((column % around) as f32 / around as f32 * TAU);
            let turned = |point: Vec2| Vec3::new(point.x * cosine, point.y, -point.x * sine);
            for end in 0..2 {
                mesh.positions.push(turned(ends[end]));
                mesh.normals.push(turned(normals[end]));
                let upwards = (band + end) as f32 / outwards.len() as f32;
                mesh.uv0.push(Vec2::new(column as f32 / around as f32, 1.0 - upwards));
            }
        }
        for a in (0..around).map(|column| first + 2 * column) {
            let [b, c, d] = [a + 2, a + 3, a + 1];
            if ends[0].x > 0.0 {
                mesh.triangles.push([a, b, c]);
            }
            if ends[1].x > 0.0 {
                mesh.triangles.push([a, c, d]);
            }
        }
    }
    mesh
}

/// Returns the weights of four control points at `t` (Bernstein polynomials).
fn weights(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t]
}

/// Returns the derivatives of [`weights`].
fn slopes(t: f32) -> [f32; 4] {
    let s = 1.0 - t;
    [-3.0 * s * s, 3.0 * s * s - 6.0 * s * t, 6.0 * s * t - 3.0 * t * t, 3.0 * t * t]
}

fn blend(control: &BezierPatch, across: [f32; 4], upward: [f32; 4]) -> Vec3 {
    let of_row = |row: &[Vec3; 4]| row.iter().zip(across).map(|(&point, weight)| point * weight).sum::<Vec3>();
    control.iter().zip(upward).map(|(row, weight)| of_row(row) * weight).sum()
}

/// Returns the mesh without the triangles that have two corners at one place.
pub fn without_collapsed(mut mesh: MeshData) -> MeshData {
    let positions = &mesh.positions;
    mesh.triangles.retain(|triangle| {
        let [a, b, c] = triangle.map(|vertex| positions[vertex as usize]);
        a != b && b != c && c != a
    });
    mesh
}

/// Returns an empty mesh with room for vertices with normals and UV_0, and for triangles.
pub fn with_capacity(name: &str, vertices: usize, triangles: usize) -> MeshData {
    MeshData {
        name: name.to_owned(),
        positions: Vec::with_capacity(vertices),
        normals: Vec::with_capacity(vertices),
        uv0: Vec::with_capacity(vertices),
        triangles: Vec::with_capacity(triangles),
        ..MeshData::default()
    }
}

/// Builds a grid of quads. `vertex` returns position and unit normal for a column and a row. UV_0 covers the unit
/// square.
fn grid(name: &str, columns: u32, rows: u32, vertex: impl Fn(u32, u32, [u32; 2]) -> (Vec3, Vec3)) -> MeshData {
    let [vertices, quads] = [(columns + 1) as usize * (rows + 1) as usize, columns as usize * rows as usize];
    let mut mesh = with_capacity(name, vertices, 2 * quads);
    for (row, column) in (0..=rows).flat_map(|row| (0..=columns).map(move |column| (row, column))) {
        let (position, normal) = vertex(column, row, [columns, rows]);
        mesh.positions.push(position);
        mesh.normals.push(normal);
        mesh.uv0.push(Vec2::new(column as f32 / columns as f32, 1.0 - row as f32 / rows as f32));
    }
    let index = |row: u32, column: u32| row * (columns + 1) + column;
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let [a, b] = [index(row, column), index(row, column + 1)];
        let [d, c] = [index(row + 1, column), index(row + 1, column + 1)];
        mesh.triangles.extend([[a, b, c], [a, c, d]]);
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::shapes::tests::{triangles, volume};

    #[test]
    fn a_ring_is_closed_and_approaches_the_volume_and_the_area_of_the_torus() {
        let mesh = torus("ring", 2.0, 0.5, 96, 48);
        assert!(mesh.is_closed());
        let volume = volume(&mesh);
        let area: f32 = triangles(&mesh).map(|triangle| triangle.area()).sum();
        // Pappus: the circle's area and its edge, times the way of its middle.
        let way = TAU * 2.0;
        assert!((volume / (0.25 * TAU * 0.5 * way) - 1.0).abs() < 0.005, "{volume}");
        assert!((area / (TAU * 0.5 * way) - 1.0).abs() < 0.005, "{area}");
    }

    #[test]
    fn a_sphere_is_closed_with_its_normals_outside_and_its_pictures_upright() {
        let mesh = sphere("globe", 2.0, 96, 48);
        assert!(mesh.is_closed());
        assert_eq!(mesh.triangles.len(), 96 * (2 * 48 - 2));
        let volume = volume(&mesh);
        assert!((volume / (4.0 / 3.0 * PI * 8.0) - 1.0).abs() < 0.005, "{volume}");
        for ((position, normal), uv) in mesh.positions.iter().zip(&mesh.normals).zip(&mesh.uv0) {
            assert!((*position - *normal * 2.0).length() < 1e-6 && (normal.length() - 1.0).abs() < 1e-6);
            assert!((libm::cosf(uv.y * PI) - normal.y).abs() < 1e-5, "the top of a picture is at the upper pole");
        }
    }

    #[test]
    fn a_turned_cone_on_a_cylinder_is_closed_and_smooth_around_but_not_across_its_edges() {
        let profile = [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 3.0]].map(Vec2::from);
        let mesh = lathe("pencil", &profile, 64);
        assert!(mesh.is_closed());
        assert_eq!(mesh.triangles.len(), 64 * (1 + 2 + 1));
        let volume = volume(&mesh);
        let expected = core::f32::consts::PI * (2.0 + 1.0 / 3.0);
        assert!((volume / expected - 1.0).abs() < 0.005, "{volume}");
        for (corners, triangle) in mesh.triangles.iter().zip(triangles(&mesh)) {
            for corner in corners {
                assert!(mesh.normals[*corner as usize].dot(triangle.normal()) > 0.99);
            }
        }
    }

    #[test]
    fn a_patch_whose_points_lie_on_a_parabola_is_that_parabola() {
        // Raising the degree of t squared: 0, 0, 1/3, 1.
        let height = [0.0, 0.0, 1.0 / 3.0, 1.0];
        let control = core::array::from_fn(|row: usize| {
            core::array::from_fn(|column: usize| Vec3::new(column as f32 / 3.0, height[column], -(row as f32) / 3.0))
        });
        let mesh = bezier_patch("sheet", control, 8);
        assert_eq!(mesh.triangles.len(), 2 * 64);
        for (position, normal) in mesh.positions.iter().zip(&mesh.normals) {
            assert!((position.y - position.x * position.x).abs() < 1e-6);
            let expected = Vec3::new(-2.0 * position.x, 1.0, 0.0).normalize();
            assert!((*normal - expected).length() < 1e-5, "{normal} {expected}");
        }
        assert!(triangles(&mesh).all(|triangle| triangle.normal().y > 0.0));
    }

    #[test]
    fn a_patch_with_an_edge_that_is_a_point_has_normals_there() {
        let control = core::array::from_fn(|row: usize| {
            core::array::from_fn(|column: usize| Vec3::new(column as f32 * row as f32, 0.0, -(row as f32)))
        });
        let mesh = bezier_patch("fan", control, 4);
        assert!(mesh.normals.iter().all(|normal| (*normal - Vec3::Y).length() < 1e-4), "{:?}", mesh.normals);
    }
}
