//! Guarantees of elements for solvers.

use glam::{Affine3A, Quat, Vec2, Vec3};

use super::*;
use crate::accel::BruteForce;
use crate::geometry::sobol::{OwenSobol, hash};
use crate::geometry::{Ray, RayQuery};
use crate::lightmap::fixtures::{Fixture, ball, cuboid, merged, quad};
use crate::progress::Unmonitored;
use crate::scene::{Light, LightKind, Sides, Sky};

fn build(fixture: &Fixture) -> Elements {
    let world = BruteForce::new(&fixture.scene);
    Elements::build(&fixture.scene, &fixture.layout, &world, &Unmonitored).expect("nobody cancels")
}

fn hit(elements: &Elements, id: ElementId, point: &SurfacePoint) -> Hit {
    Hit {
        t: 1.0,
        surface: elements.surface(id),
        triangle: point.triangle,
        barycentric: point.barycentric,
        back: elements.back[id.index()],
        filter: Vec3::ONE,
    }
}

/// Builds shapes that cover all ways of cutting texels: quads that end on texels' edges, off them, and within one
/// texel; charts side by side; triangles smaller than texels; stretched, rotated and mirrored instances.
fn shapes() -> Fixture {
    let mut fixture = Fixture::default();
    let (x, z) = (Vec3::X * 2.0, Vec3::NEG_Z * 3.0);
    fixture.add(quad(Vec3::ZERO, x, z), Sides::Front, [16, 24]);
    let mut skewed = quad(Vec3::ZERO, x, z);
    skewed.uv1 = vec![Vec2::new(0.11, 0.07), Vec2::new(0.83, 0.2), Vec2::new(0.91, 0.77), Vec2::new(0.3, 0.93)];
    fixture.add(skewed, Sides::Both, [37, 23]).placed(Affine3A::from_translation(Vec3::Y * 7.0));
    let mut hidden = quad(Vec3::ZERO, x, z);
    hidden.uv1 = vec![Vec2::splat(0.5); 4];
    fixture.add(hidden, Sides::Front, [8, 8]).placed(Affine3A::from_translation(Vec3::Y * 9.0));
    let (mesh, charts) = merged(&cuboid(Vec3::ZERO, Vec3::ONE));
    fixture.add_charts(mesh, charts, Sides::Front, [96, 16]).placed(Affine3A::from_scale_rotation_translation(
        Vec3::new(-1.0, 2.0, 0.3),
        Quat::from_rotation_y(0.7),
        Vec3::new(5.0, 0.0, 2.0),
    ));
    fixture.add(ball(1.0, 24, 16), Sides::Front, [13, 9]).placed(Affine3A::from_translation(Vec3::X * -5.0));
    fixture.add(ball(0.5, 12, 8), Sides::Front, [64, 64]).placed(Affine3A::from_translation(Vec3::X * 9.0));
    let mut leaf = quad(Vec3::ZERO, Vec3::X * 0.7, Vec3::Y);
    leaf.uv1 = vec![Vec2::new(0.1, 0.1), Vec2::new(0.9, 0.15), Vec2::new(0.8, 0.9), Vec2::new(0.2, 0.8)];
    fixture.add(leaf, Sides::Both, [13, 11]).two_sided().placed(Affine3A::from_translation(Vec3::Z * 9.0));
    // A thin board and a slanted one that intersect the first floor and the ball.
    for (place, lean) in [(0.53, 0.0), (0.61, 0.0), (1.2, 0.4), (-4.7, 0.0)] {
        let (along, up) = (Vec3::new(0.3, 0.0, -2.5), Vec3::new(lean, 1.0, 0.0));
        fixture.add(quad(Vec3::new(place, -0.5, 0.2), along, up), Sides::Both, [11, 5]);
    }
    fixture
}

#[test]
fn areas_of_elements_add_up_to_those_of_their_surface() {
    let fixture = shapes();
    let elements = build(&fixture);
    for surface in fixture.scene.surface_ids() {
        let triangles = fixture.scene.mesh_of(surface).triangles.len() as u32;
        let wanted: f64 = (0..triangles).map(|index| f64::from(fixture.scene.triangle(surface, index).area())).sum();
        let range = elements.of_surface(surface);
        let sides = elements.open_sides(surface);
        for back in [false, true].iter().filter(|&&back| sides.index_of(back).is_some()) {
            let sum: f64 =
                range.clone().filter(|&i| elements.back[i] == *back).map(|i| f64::from(elements.area[i])).sum();
            assert!((sum / wanted - 1.0).abs() < 1e-5, "{surface:?}: {sum} instead of {wanted}");
        }
    }
}

#[test]
fn a_quad_that_fills_its_rectangle_has_one_equal_element_a_texel() {
    let mut fixture = Fixture::default();
    fixture.add(quad(Vec3::ZERO, Vec3::X * 4.0, Vec3::NEG_Z * 2.0), Sides::Front, [8, 4]);
    let elements = build(&fixture);
    assert_eq!(elements.len(), 32);
    for id in elements.ids() {
        let Texel { page, x, y } = elements.texel[id.index()];
        let middle = Vec3::new((f32::from(x) + 0.5) * 0.5, 0.0, (f32::from(y) + 0.5) * -0.5);
        assert_eq!(page, 0);
        assert!((elements.center[id.index()] - middle).length() < 1e-5);
        assert!((elements.area[id.index()] - 0.25).abs() < 1e-6);
        assert_eq!(elements.geometric_normal[id.index()], Vec3::Y);
    }
}

#[test]
fn texels_that_a_board_stands_on_are_parted_along_it() {
    let mut fixture = Fixture::default();
    fixture.add(quad(Vec3::ZERO, Vec3::X * 4.0, Vec3::NEG_Z * 4.0), Sides::Front, [4, 4]);
    // From the front edge to the middle of the third row.
    fixture.add(quad(Vec3::new(1.3, -1.0, 1.0), Vec3::NEG_Z * 3.5, Vec3::Y * 2.0), Sides::Both, [2, 2]);
    let elements = build(&fixture);
    let floor = |x: f32, z: f32| {
        let down = Ray::new(Vec3::new(x, 1.0, -z), Vec3::NEG_Y);
        let hit = BruteForce::new(&fixture.scene).closest(&down).expect("there is a floor");
        elements.element_at(&hit).expect("it has elements").index()
    };
    for row in [0.5, 1.5] {
        let [left, right] = [1.29, 1.31].map(|x| floor(x, row));
        assert_ne!(left, right);
        assert!((elements.area[left] - 0.3).abs() < 1e-5 && (elements.area[right] - 0.7).abs() < 1e-5);
        assert!((elements.center[left] - Vec3::new(1.15, 0.0, -row)).length() < 1e-3);
        assert!((elements.center[right] - Vec3::new(1.65, 0.0, -row)).length() < 1e-3);
        assert_eq!((floor(1.01, row), floor(1.99, row)), (left, right));
        assert_eq!(elements.texel[left], elements.texel[right]);
    }
    assert_eq!(floor(1.1, 3.5), floor(1.9, 3.5), "beyond the board's end");
    let sizes: Vec<usize> = elements.texels_of(SurfaceId(0)).map(|texel| texel.len()).collect();
    let parted = |size: usize| sizes.iter().filter(|&&found| found == size).count();
    assert_eq!((sizes.len(), parted(1), parted(2)), (16, 13, 3));
}

#[test]
fn the_element_at_a_sample_is_the_element_that_was_sampled() {
    let fixture = shapes();
    let elements = build(&fixture);
    for id in elements.ids() {
        let points = OwenSobol::new(hash(id.0));
        let sampler = elements.sampler(&fixture.scene, id);
        for index in 0..16 {
            let [x, y, ..] = points.point(index);
            let sample = sampler.sample(Vec2::new(x, y));
            let found = elements.element_at(&hit(&elements, id, &sample));
            assert_eq!(found, Some(id), "{:?} {index}: {sample:?}", elements.surface(id));
        }
    }
}

#[test]
fn every_hit_on_a_surface_with_area_has_an_element() {
    let fixture = shapes();
    let elements = build(&fixture);
    let points = OwenSobol::new(3);
    for surface in fixture.scene.surface_ids() {
        for triangle in 0..fixture.scene.mesh_of(surface).triangles.len() as u32 {
            let corners = [Vec2::ZERO, Vec2::X, Vec2::Y, Vec2::splat(0.5)];
            let inside = (0..16).map(|index| {
                let [x, y, ..] = points.point(index);
                crate::geometry::sampling::uniform_triangle(Vec2::new(x, y))
            });
            for barycentric in corners.into_iter().chain(inside) {
                let hit = Hit { t: 1.0, surface, triangle, barycentric, back: false, filter: Vec3::ONE };
                let found = elements.element_at(&hit);
                assert_eq!(found.is_some(), fixture.scene.triangle(surface, triangle).area() > 0.0);
            }
        }
    }
}

#[test]
fn samples_of_an_element_average_to_its_centroid() {
    let mut fixture = Fixture::default();
    let mut skewed = quad(Vec3::ZERO, Vec3::X, Vec3::NEG_Z);
    skewed.uv1 = vec![Vec2::new(0.1, 0.07), Vec2::new(0.8, 0.1), Vec2::new(0.9, 0.77), Vec2::new(0.2, 0.74)];
    fixture.add(skewed, Sides::Front, [7, 5]);
    let elements = build(&fixture);
    for id in elements.ids() {
        let points = OwenSobol::new(hash(id.0));
        let sampler = elements.sampler(&fixture.scene, id);
        let mean = (0..1024)
            .map(|index| {
                let [x, y, ..] = points.point(index);
                sampler.sample(Vec2::new(x, y)).position
            })
            .sum::<Vec3>()
            / 1024.0;
        let size = elements.area[id.index()].sqrt();
        assert!((mean - elements.center[id.index()]).length() < 0.02 * size, "{id:?}");
    }
}

#[test]
fn points_of_a_coarse_ball_with_smooth_normals_lie_on_its_triangles() {
    let mut fixture = Fixture::default();
    fixture.add(ball(1.0, 8, 6), Sides::Front, [32, 32]);
    let elements = build(&fixture);
    for id in elements.ids() {
        let sample = elements.sampler(&fixture.scene, id).sample(Vec2::new(0.3, 0.6));
        let flat = fixture.scene.triangle(SurfaceId(0), sample.triangle);
        assert_eq!(sample.position, flat.at(sample.barycentric));
    }
}

#[test]
fn a_leaf_with_texels_for_each_side_shows_both() {
    let mut fixture = Fixture::default();
    fixture.add(quad(Vec3::ZERO, Vec3::X, Vec3::Y), Sides::Both, [8, 8]).two_sided();
    let elements = build(&fixture);
    assert_eq!(elements.len(), 128);
    for id in elements.ids() {
        let back = elements.texel[id.index()].x >= 8;
        assert_eq!(elements.back[id.index()], back);
        assert_eq!(elements.geometric_normal[id.index()], if back { Vec3::NEG_Z } else { Vec3::Z });
        assert!(elements.is_shown(id));
    }
}

/// Builds the elements of a scene after sealing hidden sides.
fn build_sealed(fixture: &mut Fixture) -> Elements {
    fixture.scene = fixture.scene.with_sealed_sides(&BruteForce::new(&fixture.scene));
    build(fixture)
}

#[test]
fn a_closed_double_sided_solid_has_elements_outside_only() {
    let mut fixture = Fixture::default();
    let (mesh, charts) = merged(&cuboid(Vec3::ZERO, Vec3::ONE));
    fixture.add_charts(mesh, charts, Sides::Both, [48, 8]);
    fixture.scene.sky = Sky::Uniform(Vec3::ONE);
    assert_eq!(build_sealed(&mut fixture).open_sides(SurfaceId(0)), OpenSides::Front);
    assert_eq!(OpenSides::deserving_texels_each(&fixture.scene), [false]);
}

#[test]
fn a_box_has_elements_inside_for_a_lamp_but_not_for_a_solid_that_sticks_in_it() {
    let mut fixture = Fixture::default();
    let (mesh, charts) = merged(&cuboid(Vec3::ZERO, Vec3::ONE));
    fixture.add_charts(mesh, charts, Sides::Both, [48, 8]);
    let (mesh, charts) = merged(&cuboid(Vec3::splat(0.3), Vec3::new(0.7, 0.7, 2.0)));
    fixture.add_charts(mesh, charts, Sides::Front, [48, 8]);
    assert_eq!(build_sealed(&mut fixture).open_sides(SurfaceId(0)), OpenSides::Front);
    let bulb = LightKind::Point { position: Vec3::splat(0.2), intensity: Vec3::ONE, radius: 0.0, range: f32::INFINITY };
    fixture.scene.lights.push(Light { name: "bulb".into(), kind: bulb });
    assert_eq!(build_sealed(&mut fixture).open_sides(SurfaceId(0)).count(), 2);
    assert_eq!(OpenSides::deserving_texels_each(&fixture.scene), [true, false]);
}

#[test]
fn a_curtain_shows_the_side_that_sees_further() {
    for (distance, shown) in [(0.1, OpenSides::BothShowFront), (-0.1, OpenSides::BothShowBack)] {
        let mut fixture = Fixture::default();
        fixture.add(quad(Vec3::ZERO, Vec3::X, Vec3::Y), Sides::Both, [8, 8]);
        let (u, v) = if distance > 0.0 { (Vec3::X, Vec3::Y) } else { (Vec3::Y, Vec3::X) };
        fixture.add(quad(Vec3::Z * -distance - (u + v) * 2.0, u * 5.0, v * 5.0), Sides::Front, [8, 8]);
        let elements = build(&fixture);
        assert_eq!(elements.open_sides(SurfaceId(0)), shown);
        assert_eq!(elements.of_surface(SurfaceId(0)).len(), 128);
    }
}
