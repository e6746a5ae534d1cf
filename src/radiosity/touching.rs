//! Tests of light around touching, intersecting and coincident surfaces.

use core::f32::consts::{PI, TAU};
use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::test_scene::{TestScene, gray};
use super::{Method, SolverSettings};
use crate::geometry::SurfaceId;
use crate::lightmap::fixtures::{cuboid, merged};
use crate::lightmap::{ElementId, Elements, Unwrap, pages};
use crate::scene::{MeshData, Sides, Sky};

const METHODS: [Method; 5] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path];

fn settings(method: Method) -> SolverSettings {
    SolverSettings { method, error: 0.05, ..SolverSettings::default() }
}

fn below_a_sky() -> TestScene {
    let mut test = TestScene::default();
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    test
}

#[test]
fn below_a_board_on_coarse_ground_with_smooth_normals_it_is_dark() {
    for method in METHODS {
        let mut test = below_a_sky();
        // Normals tilt outwards by 23 degrees, as those of a hill of 1.5 m above the flat ground.
        let corners = [Vec2::new(-1.0, 1.0), Vec2::ONE, Vec2::new(1.0, -1.0), Vec2::NEG_ONE];
        let ground = MeshData {
            positions: corners.map(|corner| Vec3::new(corner.x, 0.0, corner.y) * 3.0).to_vec(),
            normals: corners.map(|corner| Vec3::new(corner.x * 0.3, 1.0, corner.y * 0.3).normalize()).to_vec(),
            uv1: corners.map(|corner| corner * 0.5 + 0.5).to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..MeshData::default()
        };
        let ground = test.mesh(ground, [24; 2], gray(0.0));
        test.block(Vec3::new(-0.5, 0.05, -0.5), Vec3::new(0.5, 0.1, 0.5), 2, &gray(0.0));
        let (elements, solution) = test.solve(&settings(method));
        for element in elements.of_surface(ground) {
            let center = elements.center[element];
            let light = (solution.direct[element] + solution.indirect[element]).x / PI;
            if center.abs().max_element() < 0.3 {
                // The board leaves 0.8 % of the sky visible in the middle, and 1.4 % at 0.3 m from it.
                assert!(light < 0.03, "{method:?} at {center}: {light} of the sky");
            } else if center.abs().max_element() > 2.0 {
                assert!(light > 0.9, "{method:?} at {center}: {light} of the sky");
            }
        }
    }
}

#[test]
fn a_coarse_column_with_smooth_normals_beside_the_wall_of_a_sealed_room_stays_dark() {
    let mut test = below_a_sky();
    test.room(Vec3::splat(2.0), 2, |_| gray(0.5));
    // Eight flat faces lie up to 4 cm inside the round column, and the wall is between both.
    let mut column = MeshData::default();
    for turn in 0..=8 {
        let (sine, cosine) = ((turn as f32 + 0.5) / 8.0 * TAU).sin_cos();
        let outward = Vec3::new(cosine, 0.0, -sine);
        for height in [0.0, 2.0] {
            column.positions.push(Vec3::new(0.47, height, 1.0) + outward * 0.5);
            column.normals.push(outward);
            column.uv1.push(Vec2::new(turn as f32 / 8.0, height / 2.0));
        }
    }
    column.triangles =
        (0..8).flat_map(|n| [[2 * n, 2 * n + 2, 2 * n + 1], [2 * n + 2, 2 * n + 3, 2 * n + 1]]).collect();
    let column = test.mesh(column, [16, 2], gray(0.5));
    for method in METHODS {
        let (elements, solution) = test.solve(&settings(method));
        for element in elements.of_surface(column) {
            let light = solution.direct[element] + solution.indirect[element];
            assert!(light.max_element() < 1e-3, "{method:?} at {}: {light}", elements.center[element]);
        }
    }
}

/// Three boxes with flush sides, backs and bottoms.
const STEPS: [[Vec3; 2]; 3] = [
    [Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.9, 0.2, 1.0)],
    [Vec3::new(0.29, 0.0, 0.0), Vec3::new(0.9, 0.4, 1.0)],
    [Vec3::new(0.58, 0.0, 0.0), Vec3::new(0.9, 0.6, 1.0)],
];

/// Creates stairs of overlapping boxes, as one mesh or as many.
fn stairs(is_one: bool) -> TestScene {
    let mut test = below_a_sky();
    if is_one {
        let (mesh, charts) = merged(&STEPS.map(|[min, max]| cuboid(min, max)).concat());
        let id = test.mesh(mesh, [18 * 16, 16], gray(0.5));
        let placement = test.layout.placements[id.index()].as_mut().expect("it owns texels");
        placement.unwrap = Arc::new(Unwrap { charts, ..(*placement.unwrap).clone() });
    } else {
        for [min, max] in STEPS {
            test.block(min, max, 12, &gray(0.5));
        }
    }
    test
}

#[test]
fn of_flush_boxes_what_lies_in_another_is_buried_and_nothing_else() {
    for method in METHODS {
        for is_one in [true, false] {
            let (elements, solution) = stairs(is_one).solve(&settings(method));
            for element in 0..elements.len() {
                let above = elements.center[element] + elements.geometric_normal[element] * 1e-3;
                let is_inside = |[min, max]: &[Vec3; 2]| above.cmpgt(*min).all() && above.cmplt(*max).all();
                let expected = if STEPS.iter().any(is_inside) { 0.0 } else { 1.0 };
                let found = solution.visible_fraction[element];
                assert!((found - expected).abs() < 0.1, "{method:?} {is_one} at {above}: {found} of {expected}");
            }
        }
    }
}

#[test]
fn layers_of_one_floor_are_as_bright_as_the_uppermost_or_buried_below_it() {
    for gap in [0.0, 1e-6, 1e-5, 1.02e-5, 3e-5, 2e-4] {
        for method in METHODS {
            let mut test = below_a_sky();
            let (corner, x, z) = (Vec3::new(-1.0, 0.0, -1.0), Vec3::X * 2.0, Vec3::Z * 2.0);
            test.quad(corner, z, x, [8; 2], gray(0.1));
            // The diagonal divides the quadrilateral the other way.
            test.quad(corner + x, -x, z, [8; 2], gray(0.8));
            let uppermost = test.quad(corner + Vec3::Y * gap, z, x, [8; 2], gray(0.5));
            let (elements, solution) = test.solve(&settings(method));
            for element in 0..elements.len() {
                let (light, visible) = (solution.direct[element].x, solution.visible_fraction[element]);
                // At the edge of the floor, points see out between the layers.
                assert!(!(0.1..=0.99).contains(&visible), "{method:?} {gap}: {visible} visible");
                assert!(visible < 0.1 || (light / PI - 1.0).abs() < 0.01, "{method:?} {gap}: {light}");
            }
            let is_seen = |element: usize| solution.visible_fraction[element] > 0.99;
            assert!(elements.of_surface(uppermost).all(is_seen), "{method:?} {gap}");
            assert_eq!((0..elements.len()).all(is_seen), gap < 1e-4, "{method:?} {gap}");
        }
    }
}

/// Creates a sealed hut with walls that extend below a sheet of ground. Also returns the inner face of its first wall,
/// on which `u` is height.
fn hut(depth: f32, ground: Sides) -> (TestScene, SurfaceId) {
    let mut test = below_a_sky();
    let walls = [
        [Vec3::new(-0.2, 0.0, -0.2), Vec3::new(0.0, 2.0, 2.2)],
        [Vec3::new(2.0, 0.0, -0.2), Vec3::new(2.2, 2.0, 2.2)],
        [Vec3::new(-0.2, 0.0, -0.2), Vec3::new(2.2, 2.0, 0.0)],
        [Vec3::new(-0.2, 0.0, 2.0), Vec3::new(2.2, 2.0, 2.2)],
    ];
    let faces = walls.map(|[min, max]| test.block(min - Vec3::Y * depth, max, 6, &gray(0.5)));
    test.block(Vec3::new(-0.3, 1.9, -0.3), Vec3::new(2.3, 2.1, 2.3), 2, &gray(0.5));
    let sheet = test.quad(Vec3::new(-3.0, 0.0, -3.0), Vec3::Z * 8.0, Vec3::X * 8.0, [16; 2], gray(0.5));
    test.scene.surfaces[sheet.index()].sides = ground;
    (test, faces[0][5])
}

/// Returns the maximum irradiance, in lux, on the lightmap page of the wall inside the hut.
fn brightest_inside(test: &TestScene, wall: SurfaceId, depth: f32, method: Method) -> f32 {
    let (elements, solution) = test.solve(&settings(method));
    let light: Vec<Vec3> = solution.direct.iter().zip(&solution.indirect).map(|(a, b)| *a + *b).collect();
    let page = pages(&test.layout, &elements, &light, &solution.visible_fraction).remove(wall.index());
    let texels_of = |height: f32| (height + depth) / (2.0 + depth) * page.width as f32;
    let heights = (0..36).map(|step| 0.005 + step as f32 * 0.05);
    heights.map(|height| page.filtered(Vec2::new(texels_of(height), 3.0)).x * PI).fold(0.0, f32::max)
}

#[test]
fn at_the_foot_of_a_wall_that_goes_on_below_the_ground_no_light_from_below_is_shown() {
    // At 0.5 m the lowest texels are completely below the ground. At 0.4 m they end there.
    let by_gather = [Sides::Front, Sides::Both]
        .into_iter()
        .flat_map(|ground| [0.1, 0.4, 0.5].map(|depth| (Method::Gather, ground, depth)));
    let by_others = [Method::Stochastic, Method::Progressive, Method::Path].map(|method| (method, Sides::Both, 0.5));
    for (method, ground, depth) in by_gather.chain(by_others) {
        let (test, wall) = hut(depth, ground);
        let brightest = brightest_inside(&test, wall, depth, method);
        assert!(brightest < 0.01 * PI, "{method:?} {ground:?} {depth}: {brightest} lx");
    }
}

#[test]
fn a_wall_that_goes_on_in_a_room_below_shows_both() {
    let stand_ins = |elements: &Elements, wall: SurfaceId| {
        // Other walls cross this one, and hide parts of it.
        let is_hidden = |element: &usize| {
            let (id, center) = (ElementId::from_index(*element), elements.center[*element]);
            center.y < 0.0 && (0.2..1.8).contains(&center.z) && elements.stand_in(id) != id
        };
        elements.of_surface(wall).filter(is_hidden).count()
    };
    let (mut test, wall) = hut(0.5, Sides::Both);
    assert!(stand_ins(&test.elements(), wall) > 0);
    // With another floor below, the space between both is no longer outside the world.
    test.quad(Vec3::new(-30.0, -3.0, -30.0), Vec3::Z * 60.0, Vec3::X * 60.0, [2; 2], gray(0.5));
    assert_eq!(stand_ins(&test.elements(), wall), 0);
}
