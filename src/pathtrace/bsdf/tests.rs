use core::f32::consts::TAU;

use super::*;
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};

const ROUGHNESSES: [f32; 4] = [0.3, 0.5, 0.8, 1.0];

fn plastic(perceptual_roughness: f32) -> Appearance {
    Appearance { base_color: Vec3::ONE, metallic: 0.0, perceptual_roughness, reflectance: Vec3::splat(0.5) }
}

fn gold(perceptual_roughness: f32) -> Appearance {
    Appearance { base_color: Vec3::new(1.0, 0.7, 0.3), metallic: 1.0, ..plastic(perceptual_roughness) }
}

fn matt(base_color: Vec3) -> Appearance {
    Appearance { base_color, reflectance: Vec3::ZERO, ..plastic(1.0) }
}

/// A direction at an angle from a normal of +Z.
fn at_angle(degrees: f32) -> Vec3 {
    Vec3::new(degrees.to_radians().sin(), 0.0, degrees.to_radians().cos())
}

fn direction(cosine: f32, azimuth: f32) -> Vec3 {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    Vec3::new(sine * azimuth.cos(), sine * azimuth.sin(), cosine)
}

/// What is reflected of light of radiance one from everywhere, estimated by the surface's own samples.
fn reflected(bsdf: &Bsdf) -> Vec3 {
    const SAMPLES: u32 = 1 << 14;
    let points = OwenSobol::new(7);
    let weight = |index: u32| {
        let [x, y, choice, _] = points.point(index);
        bsdf.sample(Vec2::new(x, y), choice).map_or(Vec3::ZERO, |incoming| {
            bsdf.evaluate(incoming) * incoming.dot(bsdf.normal()) / bsdf.density(incoming)
        })
    };
    (0..SAMPLES).map(weight).sum::<Vec3>() / SAMPLES as f32
}

#[test]
fn white_surfaces_in_white_surroundings_are_white() {
    for roughness in [0.0, 0.1, 0.3, 0.5, 0.7, 1.0] {
        for degrees in [0.0, 30.0, 60.0, 80.0, 87.0] {
            let white_metal = Appearance { metallic: 1.0, ..plastic(roughness) };
            for appearance in [plastic(roughness), white_metal, matt(Vec3::ONE)] {
                let sum = reflected(&Bsdf::new(&appearance, Vec3::Z, at_angle(degrees)));
                assert!((sum - 1.0).abs().max_element() < 0.01, "{appearance:?} at {degrees}: {sum}");
            }
        }
    }
}

#[test]
fn coloured_surfaces_reflect_their_albedo() {
    for degrees in [10.0, 50.0, 75.0] {
        for roughness in ROUGHNESSES {
            for appearance in [gold(roughness), Appearance { base_color: Vec3::X, ..plastic(roughness) }] {
                let bsdf = Bsdf::new(&appearance, Vec3::Z, at_angle(degrees));
                let difference = (reflected(&bsdf) - bsdf.albedo()).abs().max_element();
                assert!(difference < 0.01, "{appearance:?} at {degrees}: {difference}");
            }
        }
    }
}

#[test]
fn light_may_go_either_way() {
    let points = OwenSobol::new(3);
    for appearance in ROUGHNESSES.into_iter().flat_map(|roughness| [plastic(roughness), gold(roughness)]) {
        for index in 0..200 {
            let [a, b, c, d] = points.point(index);
            let (one, other) = (direction(0.02 + 0.98 * a, b * TAU), direction(0.02 + 0.98 * c, d * TAU));
            let there = Bsdf::new(&appearance, Vec3::Z, one).evaluate(other);
            let back = Bsdf::new(&appearance, Vec3::Z, other).evaluate(one);
            let difference = (there - back).abs().max_element();
            assert!(difference <= 1e-4 * there.max_element(), "{there} {back} {one} {other}");
        }
    }
}

#[test]
fn matt_surfaces_scatter_their_colour_over_pi() {
    let colour = Vec3::new(0.2, 0.5, 0.8);
    let bsdf = Bsdf::new(&matt(colour), Vec3::Z, at_angle(40.0));
    for degrees in [0.0, 45.0, 89.0] {
        assert!((bsdf.evaluate(at_angle(degrees)) - colour / PI).abs().max_element() < 1e-6);
        assert!((bsdf.density(at_angle(degrees)) - at_angle(degrees).z / PI).abs() < 1e-6);
    }
    assert_eq!(bsdf.evaluate(-Vec3::Z), Vec3::ZERO);
}

#[test]
fn a_smooth_dielectric_reflects_by_schlicks_formula() {
    let black = Appearance { base_color: Vec3::ZERO, ..plastic(0.0) };
    for degrees in [0.0f32, 45.0, 70.0] {
        let expected = 0.04 + (1.0 - 0.04) * (1.0 - degrees.to_radians().cos()).powi(5);
        let found = reflected(&Bsdf::new(&black, Vec3::Z, at_angle(degrees)));
        assert!((found.x - expected).abs() < 0.003, "{degrees}: {found}, not {expected}");
    }
}

#[test]
fn grazing_views_and_bent_normals_give_finite_numbers() {
    let points = OwenSobol::new(11);
    for index in 0..2000 {
        let [a, b, c, d] = points.point(index);
        let roughness = unit_float(hash2(index, 1));
        for appearance in [plastic(roughness), gold(roughness)] {
            let normal = direction(a, b * TAU);
            // Up to two hundredths behind the surface.
            let outgoing = direction(c * 1.02 - 0.02, d * TAU);
            let bsdf = Bsdf::new(&appearance, normal, outgoing);
            assert!(bsdf.normal().dot(outgoing) > 0.0);
            if let Some(incoming) = bsdf.sample(Vec2::new(b, d), unit_float(hash2(index, 2))) {
                let (value, density) = (bsdf.evaluate(incoming), bsdf.density(incoming));
                assert!(value.is_finite() && density.is_finite(), "{value} {density}");
                let weight = value * incoming.dot(bsdf.normal()) / density;
                assert!(density == 0.0 || weight.max_element() < 20.0, "{weight}");
            }
        }
    }
}

const RINGS: usize = 10;
const SECTORS: usize = 12;

fn bin_of(direction: Vec3) -> usize {
    let ring = ((direction.z * RINGS as f32) as usize).min(RINGS - 1);
    let turns = direction.y.atan2(direction.x) / TAU;
    ring * SECTORS + (((turns - turns.floor()) * SECTORS as f32) as usize).min(SECTORS - 1)
}

/// The chance of each bin, by integrating the density.
fn expected_shares(bsdf: &Bsdf) -> Vec<f64> {
    const STEPS: usize = 32;
    (0..RINGS * SECTORS)
        .map(|bin| {
            let (ring, sector) = (bin / SECTORS, bin % SECTORS);
            let step = |cell: usize, index: usize, cells: usize| {
                (cell as f32 + (index as f32 + 0.5) / STEPS as f32) / cells as f32
            };
            let sum: f64 = (0..STEPS * STEPS)
                .map(|index| {
                    let cosine = step(ring, index / STEPS, RINGS);
                    f64::from(bsdf.density(direction(cosine, step(sector, index % STEPS, SECTORS) * TAU)))
                })
                .sum();
            sum * f64::from(TAU) / (RINGS * SECTORS * STEPS * STEPS) as f64
        })
        .collect()
}

/// Pearson's statistic of drawn against expected numbers and its degrees of freedom; rare bins count together.
fn chi_squared(drawn: &[f64], expected: &[f64]) -> (f64, f64) {
    let (mut statistic, mut bins, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (&drawn, &expected) in drawn.iter().zip(expected) {
        if expected < 10.0 {
            rare = (rare.0 + drawn, rare.1 + expected);
        } else {
            statistic += (drawn - expected).powi(2) / expected;
            bins += 1.0;
        }
    }
    if rare.1 > 5.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        bins += 1.0;
    }
    (statistic, bins - 1.0)
}

#[test]
fn directions_are_drawn_with_the_density_that_is_claimed() {
    const DRAWS: u32 = 50_000;
    for (case, appearance) in ROUGHNESSES.into_iter().flat_map(|r| [plastic(r), gold(r)]).enumerate() {
        for degrees in [5.0, 45.0, 75.0] {
            let bsdf = Bsdf::new(&appearance, Vec3::Z, at_angle(degrees));
            let mut drawn = vec![0.0; RINGS * SECTORS + 1];
            for draw in 0..DRAWS {
                let u = |dimension: u32| unit_float(hash2(hash2(draw, dimension), case as u32));
                let bin = bsdf.sample(Vec2::new(u(0), u(1)), u(2)).map_or(RINGS * SECTORS, bin_of);
                drawn[bin] += 1.0;
            }
            let mut expected: Vec<f64> =
                expected_shares(&bsdf).into_iter().map(|share| share * f64::from(DRAWS)).collect();
            expected.push((f64::from(DRAWS) - expected.iter().sum::<f64>()).max(0.0));
            let (statistic, freedom) = chi_squared(&drawn, &expected);
            // Wilson and Hilferty: the cube root of a chi-squared number is nearly normal. Four standard deviations.
            let spread = 2.0 / (9.0 * freedom);
            let deviations = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
            assert!(deviations < 4.0, "{appearance:?} at {degrees}: {statistic} with {freedom} bins");
        }
    }
}
