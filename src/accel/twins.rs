//! Twins: coincident faces with opposite normals, such as walls duplicated and flipped to be visible from both sides.
//!
//! Rounding decides which of two such faces a ray hits first. If the ray hits the back face, the light that the other's
//! front would reflect is lost. Hits on back faces of twins therefore count as slightly farther away.

use std::cell::OnceCell;

use glam::{DVec2, DVec3, Vec3};

use crate::geometry::{Aabb, Ray, SurfaceId, Triangle};
use crate::scene::Scene;

/// Grid cells used to group nearly equal planes: size in components of the normal, and in meters of distance from the
/// origin.
const NORMALS: f64 = 0.01;
const PLACES: f64 = 0.05;
/// Distance below which planes count as coincident, in meters, plus a part of the largest coordinate.
const SAME_PLACE: f32 = 1e-5;
const SAME_PLACE_OF_REACH: f32 = 1e-6;
/// Minimum fraction of a face that opposite faces must cover for it to be a twin, because twins slow down tracing.
const MIN_COVERAGE: f64 = 0.1;

/// Returns the extra distance of a twin's back face hit at `t`, in units of the ray's direction.
#[inline]
pub(crate) fn gap(ray: &Ray, t: f32) -> f32 {
    2e-5 + 4e-6 * (ray.origin.abs().max_element() + t.abs())
}

/// Returns for each triangle whether it coincides with another that faces the opposite way. Faces where two closed
/// solids touch do not count, because nothing can see them.
pub(crate) fn twins(scene: &Scene, triangles: &[Triangle], sources: &[(SurfaceId, u32)]) -> Vec<bool> {
    let mut is_twin = vec![false; triangles.len()];
    let mut planes: Vec<Plane> = (triangles.iter().zip(sources).enumerate())
        .map(|(index, (triangle, (surface, _)))| {
            let is_mirrored = scene.surface(*surface).is_mirrored();
            Plane::of(index as u32, triangle, is_mirrored)
        })
        .collect();
    planes.sort_unstable_by_key(|plane| (plane.key, plane.triangle));
    let reach = planes
        .iter()
        .fold(0.0f32, |reach, plane| reach.max(triangles[plane.triangle as usize].corners[0].abs().max_element()));
    let solids = Solids { scene, known: vec![OnceCell::new(); scene.surfaces.len()] };
    let touch =
        |one: u32, other: u32| [one, other].into_iter().all(|triangle| solids.has(sources[triangle as usize].0));
    let tolerance = SAME_PLACE + reach * SAME_PLACE_OF_REACH;
    for group in planes.chunk_by(|a, b| a.key == b.key) {
        if group.iter().any(|plane| plane.looks_up) && group.iter().any(|plane| !plane.looks_up) {
            mark(group, triangles, tolerance, touch, &mut is_twin);
        }
    }
    is_twin
}

/// Marks the twins in a group of triangles with nearly equal planes.
fn mark(
    group: &[Plane],
    triangles: &[Triangle],
    tolerance: f32,
    touch: impl Fn(u32, u32) -> bool,
    is_twin: &mut [bool],
) {
    let axis = {
        let extent = group.iter().fold(Aabb::EMPTY, |all, one| all.union(bounds(one, triangles, 0.0))).extent();
        if extent.x >= extent.y && extent.x >= extent.z {
            0
        } else if extent.y >= extent.z {
            1
        } else {
            2
        }
    };
    // Sweep along the axis on which the group is longest.
    let mut boxes: Vec<(Aabb, &Plane)> = group.iter().map(|one| (bounds(one, triangles, tolerance), one)).collect();
    boxes.sort_by(|(a, one), (b, other)| a.min[axis].total_cmp(&b.min[axis]).then(one.triangle.cmp(&other.triangle)));
    let mut covered = vec![0.0; boxes.len()];
    for (first, (a, one)) in boxes.iter().enumerate() {
        for (offset, (b, other)) in boxes[first + 1..].iter().enumerate() {
            if b.min[axis] > a.max[axis] {
                break;
            }
            if one.looks_up == other.looks_up || a.intersection(*b).is_empty() {
                continue;
            }
            let (here, there) = (&triangles[one.triangle as usize], &triangles[other.triangle as usize]);
            if (there.corners[0] - here.corners[0]).as_dvec3().dot(one.normal).abs() <= f64::from(2.0 * tolerance) {
                let common = common_area(here, there, one.normal);
                if common == 0.0 || touch(one.triangle, other.triangle) {
                    continue;
                }
                covered[first] += common;
                covered[first + 1 + offset] += common;
            }
        }
    }
    for ((_, plane), covered) in boxes.iter().zip(covered) {
        let index = plane.triangle as usize;
        is_twin[index] = covered >= MIN_COVERAGE * f64::from(triangles[index].area()) && covered > 0.0;
    }
}

/// Lazy test for closed solids with outward normals.
struct Solids<'a> {
    scene: &'a Scene,
    known: Vec<OnceCell<bool>>,
}

impl Solids<'_> {
    fn has(&self, surface: SurfaceId) -> bool {
        *self.known[surface.index()].get_or_init(|| {
            let mesh = self.scene.mesh_of(surface);
            let middle = Aabb::around(mesh.positions.iter().copied()).center().as_dvec3();
            let volume = mesh.triangles.iter().map(|triangle| {
                let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize].as_dvec3() - middle);
                a.dot(b.cross(c))
            });
            mesh.is_closed() && volume.sum::<f64>() > 0.0
        })
    }
}

fn bounds(plane: &Plane, triangles: &[Triangle], margin: f32) -> Aabb {
    let Aabb { min, max } = triangles[plane.triangle as usize].bounds();
    Aabb { min: min - Vec3::splat(margin), max: max + Vec3::splat(margin) }
}

/// Returns the area common to two triangles of one plane, in square meters.
fn common_area(one: &Triangle, other: &Triangle, normal: DVec3) -> f64 {
    let across = normal.any_orthonormal_vector();
    let along = normal.cross(across);
    let origin = one.corners[0].as_dvec3();
    let flat = |triangle: &Triangle| {
        let mut corners = triangle.corners.map(|corner| {
            let place = corner.as_dvec3() - origin;
            DVec2::new(place.dot(across), place.dot(along))
        });
        if (corners[1] - corners[0]).perp_dot(corners[2] - corners[0]) < 0.0 {
            corners.swap(1, 2);
        }
        corners
    };
    let (mut polygon, clip) = (flat(one).to_vec(), flat(other));
    for side in 0..3 {
        let (from, to) = (clip[side], clip[(side + 1) % 3]);
        let height = |point: DVec2| (to - from).perp_dot(point - from);
        let mut rest = Vec::with_capacity(polygon.len() + 1);
        for (index, &point) in polygon.iter().enumerate() {
            let next = polygon[(index + 1) % polygon.len()];
            let (here, there) = (height(point), height(next));
            if here >= 0.0 {
                rest.push(point);
            }
            if (here < 0.0) != (there < 0.0) {
                rest.push(point + (next - point) * (here / (here - there)));
            }
        }
        polygon = rest;
    }
    let fan = (1..polygon.len().max(2) - 1)
        .map(|index| (polygon[index] - polygon[0]).perp_dot(polygon[index + 1] - polygon[0]));
    0.5 * fan.sum::<f64>()
}

/// Plane of a triangle.
struct Plane {
    /// Grouping key. Nearly equal planes share a key, regardless of orientation.
    key: [i32; 4],
    triangle: u32,
    normal: DVec3,
    /// True if the front normal's dominant component is positive.
    looks_up: bool,
}

impl Plane {
    fn of(triangle: u32, shape: &Triangle, is_mirrored: bool) -> Self {
        let [a, b, c] = shape.corners.map(Vec3::as_dvec3);
        let front = (b - a).cross(c - a).normalize_or_zero() * if is_mirrored { -1.0 } else { 1.0 };
        let size = front.abs();
        let steepest = if size.x >= size.y.max(size.z) - 1e-6 {
            0
        } else if size.y >= size.z - 1e-6 {
            1
        } else {
            2
        };
        let looks_up = front[steepest] > 0.0;
        let normal = if looks_up { front } else { -front };
        // Odd offsets keep typical modeled coordinates away from cell borders.
        let cell = |value: f64, size: f64| (value / size + 0.377).floor() as i32;
        let (x, y) = (normal[(steepest + 1) % 3], normal[(steepest + 2) % 3]);
        let key = [steepest as i32, cell(x, NORMALS), cell(y, NORMALS), cell(normal.dot(a), PLACES)];
        Self { key, triangle, normal, looks_up }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::Affine3A;

    use super::*;
    use crate::accel::{BruteForce, Preset, World};
    use crate::geometry::RayQuery;
    use crate::geometry::sampling::uniform_sphere;
    use crate::geometry::sobol::OwenSobol;
    use crate::pathtrace::fixtures::add_part;
    use crate::scene::{Material, shapes};

    #[test]
    fn rays_meet_the_front_of_doubled_walls_from_either_side() {
        for far in [0.0, 300.0] {
            let mut scene = Scene::default();
            let at = Vec3::new(far, 0.1, -far);
            let corner = Vec3::new(2.3, 1.7, 1.9);
            // The copy comes first, with its squares cut along the other diagonal and a transform of its own.
            let mut copy = shapes::cuboid("copy", at - corner - Vec3::X, at + corner - Vec3::X);
            for pair in copy.triangles.chunks_mut(2) {
                let [a, b, c, d] = [pair[0][0], pair[0][1], pair[0][2], pair[1][2]];
                (pair[0], pair[1]) = ([b, c, d], [b, d, a]);
            }
            add_part(&mut scene, copy, Material::default()).to_world = Affine3A::from_translation(Vec3::X);
            let room = shapes::inside_out(shapes::cuboid("room", at - corner, at + corner));
            add_part(&mut scene, room, Material::default());
            let scene = Arc::new(scene);
            let (world, naive) = (World::build(scene.clone(), Preset::fast()), BruteForce::new(&scene));
            for index in 0..2_000 {
                let [x, y, ..] = OwenSobol::new(7).point(index);
                let direction = uniform_sphere([x, y].into());
                let outside = Ray::new(at + direction * 9.0, -direction);
                for (ray, surface) in [(Ray::new(at, direction), SurfaceId(1)), (outside, SurfaceId(0))] {
                    for hit in [world.closest(&ray), naive.closest(&ray)] {
                        let hit = hit.expect("the room is closed");
                        assert!((hit.surface, hit.back) == (surface, false), "{ray:?} {hit:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_faces_that_look_the_other_way_in_one_place_are_twins() {
        let mut scene = Scene::default();
        let up = |height: f32, x: f32| {
            let mut mesh = shapes::floor("floor", 1.0);
            mesh.positions.iter_mut().for_each(|position| *position += Vec3::new(x, height, 0.0));
            mesh
        };
        for mesh in [up(0.0, 0.0), up(0.0, 0.0), shapes::inside_out(up(0.001, 0.0)), shapes::inside_out(up(0.0, 1.0))] {
            add_part(&mut scene, mesh, Material::default());
        }
        let are_twins = |scene: &Scene| {
            let (triangles, sources) = crate::accel::static_triangles(scene);
            twins(scene, &triangles, &sources)
        };
        assert_eq!(are_twins(&scene), [false; 8]);
        add_part(&mut scene, shapes::inside_out(up(0.0, 0.4)), Material::default());
        let expected = [true, true, true, true, false, false, false, false, true, true];
        assert_eq!(are_twins(&scene), expected);
    }
}
