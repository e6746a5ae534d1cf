//! Meshes of implicit functions.

use glam::{UVec3, Vec2, Vec3};

use crate::scene::MeshData;

/// Builds the zero level set of `distance` by surface nets (Gibson 1998): one vertex in each crossed cube. The grid has
/// `cells` cubes of edge length `edge`, from `corner` on. `distance` is negative inside, and changes by about one meter
/// per meter.
///
/// The body may leave the grid through the bottom, where it is cut and has no underside. Elsewhere it must stay inside.
/// UV_0 is a projection along Z.
pub fn implicit(name: &str, corner: Vec3, edge: f32, cells: UVec3, distance: impl Fn(Vec3) -> f32) -> MeshData {
    let nets = Nets::new(corner, edge, cells, &distance);
    let mut mesh = MeshData { name: name.to_owned(), ..MeshData::default() };
    let mut vertices = vec![None; nets.values.len()];
    for cell in lattice(cells) {
        if let Some(position) = nets.vertex(cell) {
            vertices[nets.index(cell)] = Some(mesh.positions.len() as u32);
            mesh.positions.push(position);
            mesh.normals.push(gradient(&distance, position, 0.25 * edge));
            mesh.uv0.push(Vec2::new(position.x, -position.y));
        }
    }
    for (axis, from) in (0..3).flat_map(|axis| lattice(cells).map(move |from| (axis, from))) {
        let [along, next, last] = [UVec3::AXES[axis], UVec3::AXES[(axis + 1) % 3], UVec3::AXES[(axis + 2) % 3]];
        let [is_inside, was_inside] = [from + along, from].map(|point| nets.value(point) < 0.0);
        // On the sides of the grid, fewer than four cells share an edge.
        if is_inside == was_inside || from.dot(next) == 0 || from.dot(last) == 0 {
            continue;
        }
        let around = [from - next - last, from - last, from, from - next].map(|cell| vertices[nets.index(cell)]);
        let [Some(a), Some(b), Some(c), Some(d)] = around else { continue };
        let quad = if was_inside { [a, b, c, d] } else { [a, d, c, b] };
        let places = quad.map(|vertex| mesh.positions[vertex as usize]);
        if places.iter().any(|place| place.y > corner.y) {
            mesh.triangles.extend(split(quad, places));
        }
    }
    mesh
}

/// Splits a quad into two triangles along the shorter diagonal.
fn split([a, b, c, d]: [u32; 4], places: [Vec3; 4]) -> [[u32; 3]; 2] {
    if places[0].distance_squared(places[2]) <= places[1].distance_squared(places[3]) {
        [[a, b, c], [a, c, d]]
    } else {
        [[a, b, d], [b, c, d]]
    }
}

fn lattice(size: UVec3) -> impl Iterator<Item = UVec3> {
    (0..size.z).flat_map(move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec3::new(x, y, z))))
}

fn gradient(distance: impl Fn(Vec3) -> f32, at: Vec3, step: f32) -> Vec3 {
    let slope = |axis: Vec3| distance(at + axis * step) - distance(at - axis * step);
    Vec3::new(slope(Vec3::X), slope(Vec3::Y), slope(Vec3::Z)).try_normalize().unwrap_or(Vec3::Y)
}

/// Distances at the corners of all cells.
struct Nets {
    corner: Vec3,
    edge: f32,
    points: UVec3,
    values: Vec<f32>,
}

impl Nets {
    fn new(corner: Vec3, edge: f32, cells: UVec3, distance: impl Fn(Vec3) -> f32) -> Self {
        let points = cells + UVec3::ONE;
        let values = lattice(points).map(|point| distance(corner + point.as_vec3() * edge)).collect();
        Self { corner, edge, points, values }
    }

    fn index(&self, point: UVec3) -> usize {
        ((point.z * self.points.y + point.y) * self.points.x + point.x) as usize
    }

    fn value(&self, point: UVec3) -> f32 {
        self.values[self.index(point)]
    }

    /// Returns the mean of the surface's crossings with the edges of a cell; on the grid's bottom where it is cut
    /// there.
    fn vertex(&self, cell: UVec3) -> Option<Vec3> {
        let (mut sum, mut crossings, mut is_cut) = (Vec3::ZERO, 0, false);
        for (axis, from) in (0..3).flat_map(|axis| lattice(UVec3::new(2, 2, 2)).map(move |from| (axis, from))) {
            if from[axis] == 1 {
                continue;
            }
            let [from, to] = [cell + from, cell + from + UVec3::AXES[axis]];
            let [start, end] = [from, to].map(|point| self.value(point));
            if (start < 0.0) != (end < 0.0) {
                sum += from.as_vec3().lerp(to.as_vec3(), start / (start - end));
                crossings += 1;
                is_cut |= from.y == 0 && to.y == 0;
            }
        }
        let mut middle = self.corner + sum / (crossings > 0).then_some(crossings as f32)? * self.edge;
        if is_cut {
            middle.y = self.corner.y;
        }
        Some(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::shapes::tests::{triangles, volume};

    #[test]
    fn a_ball_is_closed_and_has_the_volume_and_the_normals_of_a_ball() {
        let center = Vec3::new(0.1, 1.2, -0.3);
        let mesh =
            implicit("ball", Vec3::new(-1.0, 0.0, -1.5), 0.08, UVec3::splat(30), |place| place.distance(center) - 0.9);
        assert!(mesh.is_closed());
        let expected = 4.0 / 3.0 * core::f32::consts::PI * 0.9f32.powi(3);
        assert!((volume(&mesh) / expected - 1.0).abs() < 0.01, "{}", volume(&mesh));
        for (position, normal) in mesh.positions.iter().zip(&mesh.normals) {
            assert!((*normal - (*position - center).normalize()).length() < 1e-2);
        }
        assert!(mesh.triangles.iter().zip(triangles(&mesh)).all(|(corners, triangle)| {
            corners.iter().all(|corner| mesh.normals[*corner as usize].dot(triangle.normal()) > 0.7)
        }));
    }

    #[test]
    fn what_stands_on_the_bottom_of_the_region_is_open_there_and_nowhere_else() {
        let mesh = implicit("half", Vec3::new(-1.0, 0.0, -1.0), 0.1, UVec3::splat(20), |place| place.length() - 0.77);
        assert!(!mesh.is_closed());
        let lowest = mesh.positions.iter().map(|position| position.y).fold(f32::MAX, f32::min);
        assert_eq!(lowest, 0.0);
        assert!(triangles(&mesh).all(|triangle| triangle.corners.iter().any(|corner| corner.y > 0.0)));
        let mut capped = mesh.clone();
        let rim: Vec<[u32; 2]> = (mesh.triangles.iter().flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]))
            .filter(|edge| edge.iter().all(|vertex| mesh.positions[*vertex as usize].y == 0.0))
            .collect();
        let middle = capped.positions.len() as u32;
        capped.positions.push(Vec3::ZERO);
        capped.triangles.extend(rim.into_iter().map(|[a, b]| [b, a, middle]));
        assert!(capped.is_closed());
    }
}
