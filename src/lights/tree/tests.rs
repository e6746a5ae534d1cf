use glam::{Vec2, Vec3};

use super::*;
use crate::builtin_scenes;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::lights::{Emitter, LightSampler};

/// Returns points and normals in and around a scene's box.
fn places(sampler: &LightSampler, count: u32) -> Vec<(Vec3, Vec3)> {
    let bounds = sampler.scene.bounds();
    let place = |index: u32| {
        let [x, y, z, _] = OwenSobol::new(1).point(index);
        let [u, v, ..] = OwenSobol::new(2).point(index);
        (bounds.min + bounds.extent() * (Vec3::new(x, y, z) * 1.2 - 0.1), uniform_sphere(Vec2::new(u, v)))
    };
    (0..count).map(place).collect()
}

/// Runs a check on scenes with few and many lights of all kinds.
fn for_each_scene(check: impl Fn(&str, &LightSampler)) {
    for name in ["edificio", "estudio", "salon", "cornell_box"] {
        let scene = builtin_scenes::build(name).unwrap();
        check(name, &LightSampler::new(&scene));
    }
    let mut scene = builtin_scenes::build("estudio").unwrap();
    scene.lights.extend([crate::pathtrace::fixtures::low_sun(), crate::pathtrace::fixtures::window()]);
    scene.sky = crate::pathtrace::fixtures::patchy_sky(3, 0.5, glam::Quat::IDENTITY);
    check("everything", &LightSampler::new(&scene));
}

#[test]
fn chances_and_draws_of_nothing_add_up_to_one_far_away_and_one_that_is_near() {
    for_each_scene(|name, sampler| {
        for (at, normal) in places(sampler, 200) {
            let sum: f32 = (0..sampler.emitters()).map(|emitter| sampler.probability_of(emitter, at, normal)).sum();
            // Boxes may be wider than their lights, so a draw can reach a box that contributes nothing.
            let draws = (0..1000).flat_map(|draw| sampler.draw(at, normal, (draw as f32 + 0.5) / 1000.0));
            let nothing = draws.filter(Option::is_none).count() as f32 / 1000.0;
            assert!((sum + nothing - 2.0).abs() < 0.02, "{name}: {sum}, {nothing}");
        }
    });
}

#[test]
fn emitters_are_drawn_as_often_as_their_chances_say() {
    const DRAWS: u32 = 20_000;
    for_each_scene(|name, sampler| {
        for (at, normal) in places(sampler, 5) {
            let mut counts = vec![0u32; sampler.emitters()];
            for draw in 0..DRAWS {
                let drawn = sampler.draw(at, normal, (draw as f32 + 0.5) / DRAWS as f32);
                for (emitter, probability) in drawn.into_iter().flatten() {
                    assert_eq!(probability, sampler.probability_of(emitter, at, normal), "{name}");
                    counts[emitter] += 1;
                }
            }
            if counts.iter().all(|&count| count == 0) {
                continue;
            }
            for (emitter, count) in counts.into_iter().enumerate() {
                let expected = sampler.probability_of(emitter, at, normal) * DRAWS as f32;
                // The numbers are evenly spaced, so counts match interval lengths except at the ends.
                assert!(
                    (count as f32 - expected).abs() < 2.0 + 1e-3 * expected,
                    "{name} {emitter}: {count} {expected}"
                );
            }
        }
    });
}

#[test]
fn whatever_brings_light_may_be_drawn() {
    for_each_scene(|name, sampler| {
        for (index, (at, normal)) in places(sampler, 200).into_iter().enumerate() {
            let [u, v, ..] = OwenSobol::new(3).point(index as u32);
            for emitter in 0..sampler.emitters() {
                if let Some(sample) = sampler.sample_emitter(emitter, at, normal, [u, v]) {
                    let probability = sampler.probability_of(emitter, at, normal);
                    assert!(probability > 0.0, "{name} {emitter}: {} lux at {at}", sample.irradiance);
                }
            }
        }
    });
}

#[test]
fn the_lamp_of_a_room_is_drawn_there_most() {
    // Sixty-four rooms with one lamp each: sampling by power alone would pick each lamp once in sixty-four draws.
    let scene = builtin_scenes::build("edificio").unwrap();
    let sampler = LightSampler::new(&scene);
    let centers: Vec<Vec3> =
        sampler.emitters.iter().map(Emitter::node).map(|node| 0.5 * (node.min + node.max)).collect();
    let mean = centers
        .iter()
        .enumerate()
        .map(|(emitter, &lamp)| sampler.probability_of(emitter, lamp - Vec3::Y * 1.5, Vec3::Y))
        .sum::<f32>()
        / centers.len() as f32;
    assert!(mean > 0.3, "{mean}");
}

#[test]
fn a_cone_around_two_holds_both() {
    let directions: Vec<Vec3> = (0..64)
        .map(|index| {
            let [u, v, ..] = OwenSobol::new(5).point(index);
            uniform_sphere(Vec2::new(u, v))
        })
        .collect();
    for pair in directions.windows(2) {
        for (a, b) in [(1.0, 1.0), (0.9, 0.3), (-0.5, 0.7)] {
            let (axis, spread) = joined_cones((pair[0], a), (pair[1], b));
            for (inner, cosine) in [(pair[0], a), (pair[1], b)] {
                let farthest = axis.dot(inner).clamp(-1.0, 1.0).acos() + f32::acos(cosine);
                assert!(spread == -1.0 || farthest <= spread.acos() + 1e-3, "{axis} {spread} around {inner} {cosine}");
            }
        }
    }
}
