//! Tests of random numbers, elementary functions, and maps of the unit square.

use glam::{Vec2, Vec3, Vec4};

use super::{Pieces, assert_alike, numbers, padded};
use crate::geometry::sampling::{cosine_hemisphere, uniform_cone, uniform_sphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, WatertightRay};
use crate::geometry::{Triangle, arc_cosine, arc_tangent, exponential, sin_cos_turns};

const COUNT: u32 = 4096;

#[test]
fn random_numbers_are_equal_bit_for_bit() {
    let Some(pieces) = Pieces::without_scene() else { return };
    // Half words are integers that floats represent exactly.
    let answer = "fn answer(asked: Rows) -> Rows {
        let index = u32(asked[0].x);
        let seed = hash2(index, 7u);
        return Rows(sobol_point(seed, index), vec4(f32(seed >> 16u), f32(seed & 0xffffu), unit_float(seed), 0.0));
    }";
    let questions: Vec<[Vec4; 2]> = (0..COUNT).map(|index| padded([Vec4::splat(index as f32)])).collect();
    for (index, answer) in (0..COUNT).zip(pieces.answers(answer, &questions)) {
        let seed = hash2(index, 7);
        let [upper, lower] = [seed >> 16, seed & 0xffff].map(|half| half as f32);
        let unit = (seed >> 8) as f32 / 16_777_216.0;
        assert_eq!(answer, [OwenSobol::new(seed).point(index).into(), Vec4::new(upper, lower, unit, 0.0)]);
    }
}

#[test]
fn elementary_functions_differ_by_a_few_roundings() {
    let Some(pieces) = Pieces::without_scene() else { return };
    let answer = "fn answer(asked: Rows) -> Rows {
        let turns = asked[0].x;
        let turned = sin_cos_turns(turns);
        let power = exponential(vec3(turns)).x * exponential(vec3(-turns)).y;
        return Rows(
            vec4(turned, arc_tangent(turned.x, turned.y), arc_cosine(turned.x)),
            vec4(exponential(vec3(min(turns, 0.0))).z, power, 0.0, 0.0),
        );
    }";
    let all_turns = || (0..COUNT).map(|index| index as f32 / 256.0 - 8.0);
    let questions: Vec<[Vec4; 2]> = all_turns().map(|turns| padded([Vec4::splat(turns)])).collect();
    let expected = all_turns().map(|turns| {
        let (sine, cosine) = sin_cos_turns(turns);
        let power = exponential(Vec3::splat(turns.min(0.0))).x;
        [Vec4::new(sine, cosine, arc_tangent(sine, cosine), arc_cosine(sine)), Vec4::new(power, 1.0, 0.0, 0.0)]
    });
    assert_alike("functions", &pieces.answers(answer, &questions), expected, 1e-6, 0);
}

#[test]
fn the_square_is_mapped_to_the_same_directions_points_and_weights() {
    let Some(pieces) = Pieces::without_scene() else { return };
    let answer = "fn answer(asked: Rows) -> Rows {
        let u = asked[0].xy;
        let axis = uniform_sphere(asked[0].zw);
        return Rows(
            vec4(from_local(axis, cosine_hemisphere(u)), 0.0),
            vec4(uniform_cone(axis, asked[0].z, u), 0.0),
            vec4(axis, 0.0),
            vec4(uniform_triangle(u), 0.0, 0.0),
        );
    }";
    let questions: Vec<[Vec4; 4]> = numbers(1, COUNT).map(|u| padded([Vec4::from(u)])).collect();
    let expected = numbers(1, COUNT).map(|[x, y, z, w]| {
        let (u, axis) = (Vec2::new(x, y), uniform_sphere(Vec2::new(z, w)));
        [
            cosine_hemisphere(axis, u).extend(0.0),
            uniform_cone(axis, z, u).extend(0.0),
            axis.extend(0.0),
            uniform_triangle(u).extend(0.0).extend(0.0),
        ]
    });
    assert_alike("maps of the square", &pieces.answers(answer, &questions), expected, 2e-6, 0);
}

#[test]
fn rays_meet_triangles_at_the_same_places_from_the_same_sides() {
    let Some(pieces) = Pieces::without_scene() else { return };
    let answer = "fn answer(asked: Rows) -> Rows {
        let ray = Ray(asked[0].xyz, 0.0, asked[1].xyz, 1e30);
        let hit = intersect_triangle(sheared_ray(ray), ray.origin, asked[2].xyz, asked[3].xyz, asked[4].xyz);
        let is_hit = hit.t >= 0.0;
        let side = select(1.0, -1.0, hit.back);
        return Rows(select(vec4(0.0), vec4(hit.t, hit.barycentric, side), is_hit), vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    }";
    let place = |[x, y, z, _]: [f32; 4]| Vec3::new(x, y, z);
    let corners = numbers(2, COUNT).zip(numbers(3, COUNT)).zip(numbers(4, COUNT));
    let scenes: Vec<(Ray, Triangle)> = corners
        .zip(numbers(5, COUNT))
        .map(|(((a, b), c), from)| {
            let triangle = Triangle::new(place(a), place(b), place(c));
            let origin = 3.0 * uniform_sphere(Vec2::new(from[0], from[1]));
            // Three of four rays aim at the inside of the triangle.
            let target =
                triangle.at(uniform_triangle(Vec2::new(from[2], from[3])) * if a[3] < 0.25 { 2.0 } else { 1.0 });
            (Ray::new(origin, target - origin), triangle)
        })
        .collect();
    let questions: Vec<_> = scenes
        .iter()
        .map(|(ray, triangle)| {
            let [a, b, c] = triangle.corners;
            [ray.origin, ray.direction, a, b, c].map(|vector| vector.extend(0.0))
        })
        .collect();
    let expected = scenes.iter().map(|(ray, triangle)| {
        let hit = triangle.intersect(&WatertightRay::new(ray)).map_or(Vec4::ZERO, |hit| {
            Vec4::new(hit.t, hit.barycentric.x, hit.barycentric.y, if hit.back { -1.0 } else { 1.0 })
        });
        padded([hit])
    });
    // Triangles seen nearly edge-on amplify rounding errors.
    let found = pieces.answers(answer, &questions);
    assert!(found.iter().filter(|answer| answer[0].w != 0.0).count() > 3000);
    assert_alike("triangles", &found, expected, 1e-4, 8);
}
