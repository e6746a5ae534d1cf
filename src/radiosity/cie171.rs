//! Test cases of CIE 171:2006, "Test cases to assess the accuracy of lighting computer programs", for diffuse opaque
//! surfaces. The room is 4 m by 4 m, and 3 m high. Measuring points are small black patches. Expected values are exact
//! form factors where the printed tables are rounded or wrong.

use core::f32::consts::PI;

use glam::Vec3;

use super::test_scene::{TestScene, emissive, gray, mean_over};
use super::{Content, SolverSettings};
use crate::geometry::SurfaceId;
use crate::scene::{Light, LightKind, Sky};

/// Edge of a measuring patch, in meters.
const PATCH: f32 = 0.01;

/// Heights of the wall's measuring points, A to F from the top, in meters. They are on the middle line of the wall `z =
/// 0`.
const WALL: [f32; 6] = [2.75, 2.25, 1.75, 1.25, 0.75, 0.25];
/// Distances of the floor's and ceiling's measuring points from this wall, G to J, in meters.
const ALONG: [f32; 4] = [0.25, 0.75, 1.25, 1.75];

/// Adds a measuring patch around a point, with the normal `u x v`.
fn measure(test: &mut TestScene, at: Vec3, u: Vec3, v: Vec3) -> SurfaceId {
    test.quad(at - (u + v) * (0.5 * PATCH), u * PATCH, v * PATCH, [1; 2], gray(0.0))
}

fn wall_points(test: &mut TestScene) -> Vec<SurfaceId> {
    WALL.iter().map(|&height| measure(test, Vec3::new(2.0, height, 0.0), Vec3::X, Vec3::Y)).collect()
}

fn floor_points(test: &mut TestScene) -> Vec<SurfaceId> {
    ALONG.iter().map(|&along| measure(test, Vec3::new(2.0, 0.0, along), Vec3::Z, Vec3::X)).collect()
}

fn ceiling_points(test: &mut TestScene) -> Vec<SurfaceId> {
    ALONG.iter().map(|&along| measure(test, Vec3::new(2.0, 3.0, along), Vec3::X, Vec3::Z)).collect()
}

/// Asserts the irradiance at measuring points, in lux, within a relative tolerance.
fn assert_measured(test: &TestScene, points: &[SurfaceId], expected: &[f32], error: f32, tolerance: f32) {
    let settings = SolverSettings { error, content: Content::Full, ..SolverSettings::default() };
    let (elements, solution) = test.solve(&settings);
    let found: Vec<f32> = points
        .iter()
        .map(|&point| mean_over(&elements, point, |element| (solution.direct[element] + solution.indirect[element]).x))
        .collect();
    for (&found_here, &expected_here) in found.iter().zip(expected) {
        let limit = (tolerance * expected_here).max(0.01);
        assert!((found_here - expected_here).abs() <= limit, "{found:?} instead of {expected:?}");
    }
}

fn lamp_in_ceiling(edge: f32, intensity: f32) -> Light {
    let kind = LightKind::Rectangle {
        center: Vec3::new(2.0, 3.0, 2.0),
        half_width: Vec3::X * (0.5 * edge),
        half_height: Vec3::Z * (0.5 * edge),
        normal: Vec3::NEG_Y,
        radiance: Vec3::splat(intensity / (edge * edge)),
    };
    Light { name: "lamp".into(), kind }
}

#[test]
fn test_5_2_a_small_lamp() {
    let mut test = TestScene::default();
    test.scene.lights.push(lamp_in_ceiling(0.01, 1000.0));
    let places = [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.5, 0.0), (0.5, 0.5), (1.0, 1.0), (1.5, 1.5)];
    let points: Vec<_> =
        places.iter().map(|(x, z)| measure(&mut test, Vec3::new(2.0 + x, 0.0, 2.0 + z), Vec3::Z, Vec3::X)).collect();
    assert_measured(&test, &points, &[111.11, 105.19, 90.00, 71.11, 99.72, 74.38, 49.38], 0.005, 0.01);
}

#[test]
fn test_5_3_an_area_light() {
    let mut test = TestScene::default();
    test.scene.lights.push(lamp_in_ceiling(1.0, 1000.0));
    let mut points = wall_points(&mut test);
    points.extend(floor_points(&mut test));
    let expected = [32.68, 75.19, 81.32, 69.06, 53.40, 40.00, 61.42, 79.26, 95.67, 105.78];
    assert_measured(&test, &points, &expected, 0.005, 0.01);
}

#[test]
fn test_5_6_light_reflected_by_a_floor() {
    let mut test = TestScene::default();
    let mut points = wall_points(&mut test);
    points.extend(ceiling_points(&mut test));
    // The floor has no texels, so that only the measuring points have an error.
    test.quad(Vec3::ZERO, Vec3::Z * 4.0, Vec3::X * 4.0, [0; 2], gray(0.3));
    let kind =
        LightKind::Directional { direction: Vec3::NEG_Y, illuminance: Vec3::splat(100.0 / 0.3), angular_diameter: 0.0 };
    test.scene.lights.push(Light { name: "from above".into(), kind });
    let expected = [12.97, 16.72, 21.64, 27.99, 35.90, 45.12, 26.80, 30.94, 33.98, 35.57];
    assert_measured(&test, &points, &expected, 0.002, 0.01);
}

#[test]
fn test_5_7_light_of_a_wall_behind_an_obstruction() {
    let mut test = TestScene::default();
    let mut points = wall_points(&mut test);
    points.extend(floor_points(&mut test).into_iter().take(3));
    test.quad(Vec3::new(4.0, 0.0, 4.0), Vec3::NEG_X * 4.0, Vec3::Y * 3.0, [0; 2], emissive(0.0, 100.0 / PI));
    test.block(Vec3::new(0.0, 0.0, 2.5), Vec3::new(4.0, 1.0, 2.7), 0, &gray(0.0));
    let expected = [16.07, 16.34, 15.39, 13.32, 10.32, 7.08, 3.38, 3.63, 3.01];
    assert_measured(&test, &points, &expected, 0.003, 0.01);
}

/// Overlap of walls, floor and roof beyond the room's edges, in meters. It hides the sky between them.
const OVERLAP: f32 = 0.1;

/// Adds black walls up to the roof, and a black floor.
fn walls(test: &mut TestScene) {
    let (x, y, z) = (Vec3::X, Vec3::Y, Vec3::Z);
    let (width, height) = (4.0 + 2.0 * OVERLAP, 3.0 + OVERLAP);
    // The walls are slightly outside, so that the patches are not in their planes.
    let behind = 1e-3;
    let low = (x + y + z) * -OVERLAP;
    let faces = [
        (low.with_y(-behind), z * width, x * width),
        (low.with_z(-behind), x * width, y * height),
        ((low + x * width).with_z(4.0), -x * width, y * height),
        ((low + z * width).with_x(0.0), -z * width, y * height),
        (low.with_x(4.0), z * width, y * height),
    ];
    for (corner, u, v) in faces {
        test.quad(corner, u, v, [0; 2], gray(0.0));
    }
}

#[test]
fn test_5_9_an_open_roof_under_an_even_sky() {
    let mut test = TestScene::default();
    let mut points = wall_points(&mut test);
    points.extend(floor_points(&mut test));
    walls(&mut test);
    test.scene.sky = Sky::Uniform(Vec3::splat(100.0 / PI));
    let expected = [45.12, 35.90, 27.99, 21.64, 16.72, 12.97, 26.80, 30.94, 33.98, 35.57];
    assert_measured(&test, &points, &expected, 0.002, 0.01);
}

#[test]
fn test_5_9_a_skylight_under_an_even_sky() {
    let mut test = TestScene::default();
    let mut points = wall_points(&mut test);
    points.extend(floor_points(&mut test));
    walls(&mut test);
    let (edge, side, whole) = (-OVERLAP, 1.5 + OVERLAP, 4.0 + 2.0 * OVERLAP);
    for (column, row, columns, rows) in
        [(edge, edge, whole, side), (edge, 2.5, whole, side), (edge, 1.5, side, 1.0), (2.5, 1.5, side, 1.0)]
    {
        test.quad(Vec3::new(column, 3.0, row), Vec3::X * columns, Vec3::Z * rows, [0; 2], gray(0.0));
    }
    test.scene.sky = Sky::Uniform(Vec3::splat(100.0 / PI));
    let expected = [1.0401, 2.3935, 2.5886, 2.1983, 1.6999, 1.2733, 1.9552, 2.5228, 3.0452, 3.3670];
    // One ray in a hundred hits the opening, so this needs about a hundred thousand rays.
    assert_measured(&test, &points, &expected, 0.002, 0.01);
}
