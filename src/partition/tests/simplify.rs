//! Tests of coarse surfaces and their fine polygons.

use glam::{DVec3, EulerRot, Quat};

use super::*;
use crate::builtin_scenes;
use crate::geometry::clip::{Corner, vector_area};
use crate::scene::{MeshData, shapes};

/// Returns the triangles of a mesh, rotated so that no plane is axis-aligned.
fn turned(mesh: &MeshData, rotation: Quat) -> Polygons {
    let mut polygons = Polygons::default();
    for triangle in &mesh.triangles {
        let corners = triangle.map(|vertex| rotation * mesh.positions[vertex as usize] + Vec3::new(7.0, 3.0, -5.0));
        polygons.push(&corners, 0.5);
    }
    polygons
}

fn merged(polygons: &Polygons, threshold: f64) -> Simplified {
    Simplified::new(polygons, &vec![0; polygons.len()], threshold)
}

/// Returns a square floor of `count` x `count` squares, two triangles each.
fn tiles(count: u32) -> MeshData {
    let corner = |x: u32, z: u32| x * (count + 1) + z;
    let places = (0..=count).flat_map(|x| (0..=count).map(move |z| Vec3::new(x as f32, 0.0, z as f32) * 0.3));
    let square = |x: u32, z: u32| {
        let [a, b, c, d] = [corner(x, z), corner(x, z + 1), corner(x + 1, z + 1), corner(x + 1, z)];
        [[a, b, c], [c, d, a]]
    };
    MeshData {
        positions: places.collect(),
        triangles: (0..count).flat_map(|x| (0..count).flat_map(move |z| square(x, z))).collect(),
        ..MeshData::default()
    }
}

const AWRY: [f32; 3] = [0.3, 1.1, -0.7];

fn awry() -> Quat {
    Quat::from_euler(EulerRot::XYZ, AWRY[0], AWRY[1], AWRY[2])
}

#[test]
fn a_tiled_floor_becomes_one_square_however_it_lies() {
    for rotation in [Quat::IDENTITY, awry()] {
        let polygons = turned(&tiles(24), rotation);
        let simplified = merged(&polygons, 1e-3);
        assert_eq!(simplified.surfaces().len(), 1);
        assert_eq!(simplified.surfaces().corners(0).len(), 4 * 24, "corners in a row stay");
        assert!((simplified.surfaces().area(0) - 7.2 * 7.2).abs() < 1e-4);
        assert_eq!(simplified.surfaces().power(0), 0.5 * 2.0 * 24.0 * 24.0);
    }
}

#[test]
fn a_box_becomes_its_six_faces_and_a_floor_with_a_hole_no_more_than_it_must() {
    let cuboid = turned(&shapes::cuboid("box", Vec3::ZERO, Vec3::ONE), awry());
    assert_eq!(merged(&cuboid, 1e-3).surfaces().len(), 6);
    // Around one square in the middle of nine, the minimum number of convex parts is four.
    let mut ring = tiles(3);
    ring.triangles.retain(|triangle| {
        let middle: Vec3 = triangle.iter().map(|&vertex| ring.positions[vertex as usize] / 3.0).sum();
        (middle - Vec3::new(0.45, 0.0, 0.45)).abs().max_element() > 0.15
    });
    assert_eq!(ring.triangles.len(), 16);
    assert_eq!(merged(&turned(&ring, awry()), 1e-3).surfaces().len(), 4);
}

#[test]
fn neighbors_of_different_owners_stay_apart() {
    let polygons = turned(&tiles(4), Quat::IDENTITY);
    let owners: Vec<u32> = (0..polygons.len() as u32).map(|polygon| polygon / 8).collect();
    assert_eq!(Simplified::new(&polygons, &owners, 1e-3).surfaces().len(), 4);
}

/// Checks all invariants of a simplification, and returns the number of surfaces.
fn check(name: &str, polygons: &Polygons, threshold: f64) -> usize {
    let simplified = merged(polygons, threshold);
    let mut seen = vec![0; polygons.len()];
    for surface in 0..simplified.surfaces().len() {
        let corners: Vec<DVec3> =
            simplified.surfaces().corners(surface).iter().map(|corner| corner.as_dvec3()).collect();
        let positioned: Vec<Corner> = corners.iter().map(|&position| Corner { position, attribute: () }).collect();
        let normal = vector_area(&positioned).normalize();
        let diameter = corners.iter().map(|corner| corner.distance(corners[0])).fold(0.0, f64::max);
        let reach = corners.iter().map(|corner| corner.abs().max_element()).fold(0.0, f64::max);
        let rounding = reach * f64::from(f32::EPSILON) * 4.0;
        for (index, corner) in corners.iter().enumerate() {
            let height = (*corner - corners[0]).dot(normal).abs();
            assert!(height <= 2.0 * threshold * diameter + rounding, "{name}: {height} m above {surface}");
            // Convex: all corners lie to the left of every edge.
            let next = corners[(index + 1) % corners.len()];
            let along = (next - *corner).normalize();
            for other in &corners {
                let aside = normal.cross(along).dot(*other - *corner);
                assert!(aside > -64.0 * rounding.max(threshold * threshold * diameter), "{name}: {aside} in {surface}");
            }
        }
        let mut area = DVec3::ZERO;
        for &member in simplified.members(surface) {
            seen[member as usize] += 1;
            assert_eq!(simplified.parent(member as usize), surface);
            let fine = vector_area(&polygons.with_attributes(member as usize, |_| ()));
            area += fine;
            assert!(fine.normalize().distance(normal) < threshold.max(1e-9), "{name}: {member} faces elsewhere");
        }
        assert!((area.dot(normal) / simplified.surfaces().area(surface) - 1.0).abs() < 1e-6);
    }
    assert!(seen.iter().all(|&times| times == 1), "{name}: each has exactly one parent");
    simplified.surfaces().len()
}

#[test]
fn surfaces_are_convex_and_plane_and_every_triangle_has_one_parent() {
    for (mesh, max_count) in [
        (shapes::icosphere("ball", 1.0, 3), 1_280),
        (shapes::torus("ring", 1.0, 0.3, 48, 24), 1_152),
        (tiles(10), 1),
        (shapes::cuboid("box", Vec3::NEG_ONE, Vec3::ONE), 6),
    ] {
        let polygons = turned(&mesh, awry());
        let count = check(&mesh.name, &polygons, 1e-3);
        assert!(count <= max_count, "{}: {count} surfaces", mesh.name);
        let rough = check(&mesh.name, &polygons, 0.15);
        assert!(rough <= count, "{}: {rough} surfaces when less exact", mesh.name);
        assert_eq!(merged(&polygons, 0.0).surfaces().len(), polygons.len(), "zero merges nothing");
    }
    for name in ["edificio", "salon", "estudio", "armadillo"] {
        let (polygons, sources) = Polygons::of_scene(&builtin_scenes::build(name).unwrap());
        let count = check(name, &polygons, 1e-3);
        assert!(count < polygons.len(), "{name}: {count} of {}", sources.len());
        println!("{name}: {count} surfaces of {} triangles", polygons.len());
    }
}
