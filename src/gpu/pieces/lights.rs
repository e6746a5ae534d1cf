//! Tests of light functions: sampling of emitters, selection, and emission.

use glam::{UVec2, Vec2, Vec3, Vec4};

use super::super::tests::{room_camera, room_of_everything};
use super::{Pieces, assert_alike, numbers, padded};
use crate::geometry::sampling::uniform_sphere;
use crate::lights::{EmissionSampler, LightSampler};
use crate::pathtrace::{PixelFilter, View};

const COUNT: u32 = 2048;

fn pieces() -> Option<Pieces> {
    let view = View { camera: room_camera(), size: UVec2::ONE, lens: None, filter: PixelFilter::Box };
    Pieces::new(room_of_everything(), view)
}

/// Returns points in the room with normals, and three random numbers each.
fn places() -> impl Iterator<Item = (Vec3, Vec3, [f32; 3])> {
    numbers(1, COUNT).zip(numbers(2, COUNT)).map(|([x, y, z, u], [a, b, v, w])| {
        (1.9 * Vec3::new(x, y, z) - 0.95, uniform_sphere(Vec2::new(a, b)), [u, v, w])
    })
}

fn questions(emitter: usize) -> Vec<[Vec4; 4]> {
    places()
        .map(|(at, normal, [u, v, w])| {
            [at.extend(emitter as f32), normal.extend(w), Vec4::new(u, v, 0.0, 0.0), Vec4::ZERO]
        })
        .collect()
}

#[test]
fn points_of_every_emitter_are_aimed_at_alike() {
    let Some(pieces) = pieces() else { return };
    let lights = LightSampler::new(&pieces.scene);
    assert_eq!(lights.emitters(), 7, "four lamps, two surfaces and a sky");
    let answer = "fn answer(asked: Rows) -> Rows {
        let sample = sample_emitter(u32(asked[0].w), asked[0].xyz, asked[1].xyz, asked[2].xy);
        if largest(sample.irradiance) <= 0.0 {
            return Rows(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
        }
        return Rows(
            vec4(sample.direction, sample.pdf),
            vec4(sample.irradiance, 0.0),
            vec4(sample.ray.origin, 0.0),
            vec4(normalize(sample.ray.direction), 0.0),
        );
    }";
    for emitter in 0..lights.emitters() {
        let expected: Vec<_> = places()
            .map(|(at, normal, [u, v, _])| {
                let sample = lights.sample_emitter(emitter, at, normal, [u, v]);
                sample.filter(|sample| sample.irradiance.max_element() > 0.0).map_or([Vec4::ZERO; 4], |sample| {
                    [
                        sample.direction.extend(sample.pdf.unwrap_or(-1.0)),
                        sample.irradiance.extend(0.0),
                        sample.ray.origin.extend(0.0),
                        sample.ray.direction.normalize().extend(0.0),
                    ]
                })
            })
            .collect();
        let lit = expected.iter().filter(|rows| rows[1] != Vec4::ZERO).count();
        assert!(lit > 100, "emitter {emitter} lights {lit} places");
        assert_alike(&format!("emitter {emitter}"), &pieces.answers(answer, &questions(emitter)), expected, 1e-4, 4);
    }
}

#[test]
fn the_same_emitters_are_drawn_with_the_same_chances() {
    let Some(pieces) = pieces() else { return };
    let lights = LightSampler::new(&pieces.scene);
    let answer = "fn answer(asked: Rows) -> Rows {
        let far = draw_emitter(0u, asked[0].xyz, asked[1].xyz, asked[1].w);
        let near = draw_emitter(1u, asked[0].xyz, asked[1].xyz, asked[1].w);
        let drawn = select(vec2(0.0), vec2(f32(far.emitter), far.probability), far.probability > 0.0);
        let near_drawn = select(vec2(0.0), vec2(f32(near.emitter), near.probability), near.probability > 0.0);
        return Rows(
            vec4(drawn, near_drawn),
            vec4(probability_of_emitter(u32(asked[0].w), asked[0].xyz, asked[1].xyz)),
            vec4(0.0), vec4(0.0),
        );
    }";
    for emitter in 0..lights.emitters() {
        let expected = places().map(|(at, normal, [_, _, w])| {
            let [far, near] = lights.draw(at, normal, w).map(|drawn| drawn.unwrap_or((0, 0.0)));
            let drawn = Vec4::new(far.0 as f32, far.1, near.0 as f32, near.1);
            padded([drawn, Vec4::splat(lights.probability_of(emitter, at, normal))])
        });
        assert_alike(&format!("emitter {emitter}"), &pieces.answers(answer, &questions(emitter)), expected, 1e-4, 4);
    }
}

#[test]
fn the_sky_has_the_same_radiance_and_density_everywhere() {
    let Some(pieces) = pieces() else { return };
    let lights = LightSampler::new(&pieces.scene);
    let sky = lights.sky_emitter().unwrap();
    let answer = "fn answer(asked: Rows) -> Rows {
        let emitter = u32(asked[0].w);
        let radiance = environment_radiance(emitter, environment_uv(emitter, asked[1].xyz));
        return Rows(vec4(radiance, environment_pdf(emitter, asked[1].xyz)), vec4(0.0), vec4(0.0), vec4(0.0));
    }";
    let expected =
        places().map(|(_, normal, _)| padded([pieces.scene.sky.radiance(normal).extend(lights.sky_pdf(normal))]));
    assert_alike("sky", &pieces.answers(answer, &questions(sky)), expected, 1e-4, 4);
}

#[test]
fn light_leaves_its_emitters_alike() {
    let Some(pieces) = pieces() else { return };
    let lights = LightSampler::new(&pieces.scene);
    let emission = EmissionSampler::new(&lights);
    let answer = "fn answer(asked: Rows) -> Rows {
        let emission = emitted(asked[1].x, asked[0]);
        if largest(emission.power) <= 0.0 {
            return Rows(vec4(0.0), vec4(0.0), vec4(0.0));
        }
        return Rows(
            vec4(emission.ray.origin, 0.0),
            vec4(emission.ray.direction, min(emission.range, 1e6)),
            vec4(emission.power, 0.0),
        );
    }";
    let asked = || numbers(3, 4 * COUNT).zip(numbers(4, 4 * COUNT)).map(|(u, [choice, ..])| (u, choice));
    let questions: Vec<_> = asked().map(|(u, choice)| [u.into(), Vec4::splat(choice), Vec4::ZERO]).collect();
    let expected = asked().map(|(u, choice)| {
        emission.sample(choice, u).map_or([Vec4::ZERO; 3], |emission| {
            [
                emission.ray.origin.extend(0.0),
                emission.ray.direction.extend(emission.range.min(1e6)),
                emission.power.extend(0.0),
            ]
        })
    });
    assert_alike("emission", &pieces.answers(answer, &questions), expected, 1e-4, 8);
}
