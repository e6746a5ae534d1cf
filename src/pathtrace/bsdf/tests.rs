use core::f32::consts::{PI, TAU};

use super::*;
use crate::geometry::chi_squared::{bin, deviations, turn};
use crate::geometry::sobol::{OwenSobol, hash2, unit_float};

const ROUGHNESSES: [f32; 4] = [0.3, 0.5, 0.8, 1.0];

fn plastic(perceptual_roughness: f32) -> Appearance {
    Appearance {
        base_color: Vec3::ONE,
        metallic: 0.0,
        perceptual_roughness,
        reflectance: Vec3::splat(0.5),
        clearcoat: 0.0,
        clearcoat_perceptual_roughness: 0.5,
        transmission: 0.0,
        relative_ior: 1.0,
        diffuse_transmission: 0.0,
        diffuse_transmission_color: Vec3::ONE,
    }
}

fn gold(perceptual_roughness: f32) -> Appearance {
    Appearance { base_color: Vec3::new(1.0, 0.7, 0.3), metallic: 1.0, ..plastic(perceptual_roughness) }
}

fn glass(perceptual_roughness: f32) -> Appearance {
    Appearance { transmission: 1.0, relative_ior: 1.5, ..plastic(perceptual_roughness) }
}

/// Returns an appearance with a clear coat of the given strength and roughness.
fn coated(below: Appearance, clearcoat: f32, clearcoat_perceptual_roughness: f32) -> Appearance {
    Appearance { clearcoat, clearcoat_perceptual_roughness, ..below }
}

fn diffuse(base_color: Vec3) -> Appearance {
    Appearance { base_color, reflectance: Vec3::ZERO, ..plastic(1.0) }
}

/// Returns a direction at an angle to the normal +Z, given in degrees.
fn at_angle(degrees: f32) -> Vec3 {
    Vec3::new(degrees.to_radians().sin(), 0.0, degrees.to_radians().cos())
}

fn direction(cosine: f32, azimuth: f32) -> Vec3 {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    Vec3::new(sine * azimuth.cos(), sine * azimuth.sin(), cosine)
}

/// Estimates the reflected radiance under uniform radiance 1, by the BSDF's own samples.
fn reflected(bsdf: &Bsdf) -> Vec3 {
    scattered_by(bsdf, 1 << 14)
}

/// Estimates the scattered radiance with a given number of samples, transmission included.
fn scattered_by(bsdf: &Bsdf, samples: u32) -> Vec3 {
    let points = OwenSobol::new(7);
    let weight = |index: u32| {
        let [x, y, choice, _] = points.point(index);
        bsdf.sample(Vec2::new(x, y), choice).map_or(Vec3::ZERO, |scattered| scattered.weight)
    };
    (0..samples).map(weight).sum::<Vec3>() / samples as f32
}

#[test]
fn white_surfaces_in_white_surroundings_are_white() {
    for roughness in [0.0, 0.1, 0.3, 0.5, 0.7, 1.0] {
        for degrees in [0.0, 30.0, 60.0, 80.0, 87.0] {
            let white_metal = Appearance { metallic: 1.0, ..plastic(roughness) };
            let half_glass = Appearance { transmission: 0.5, ..glass(roughness) };
            let clearcoated = coated(diffuse(Vec3::ONE), 0.8, roughness);
            for appearance in [plastic(roughness), white_metal, diffuse(Vec3::ONE), half_glass, clearcoated] {
                let sum = reflected(&Bsdf::new(&appearance, Vec3::Z, at_angle(degrees)));
                assert!((sum - 1.0).abs().max_element() < 0.01, "{appearance:?} at {degrees}: {sum}");
            }
        }
    }
}

#[test]
fn what_glass_mirrors_and_lets_through_is_all_there_was() {
    for roughness in [0.0, 0.1, 0.3, 0.5, 0.7, 1.0] {
        for ior in [1.0, 1.1, 1.33, 1.5, 2.4, 4.0] {
            for degrees in [0.0, 20.0, 45.0, 70.0, 85.0] {
                let glass = Appearance { relative_ior: ior, ..glass(roughness) };
                for appearance in [glass, glass.from_within()] {
                    // New random numbers of multiple scattering are not stratified, so rough glass needs more samples.
                    let samples = if roughness < 0.5 { 1 << 14 } else { 1 << 16 };
                    let sum = scattered_by(&Bsdf::new(&appearance, Vec3::Z, at_angle(degrees)), samples);
                    assert!((sum - 1.0).abs().max_element() < 0.005, "{appearance:?} at {degrees}: {sum}");
                }
            }
        }
    }
}

/// Estimates the fraction of uniform light from behind a surface that passes to the front, over all directions.
fn let_through(appearance: &Appearance) -> f32 {
    const SAMPLES: u32 = 1 << 17;
    let (points, views) = (OwenSobol::new(7), OwenSobol::new(8));
    let weight = |index: u32| {
        let ([x, y, choice, _], [square, ..]) = (points.point(index), views.point(index));
        let bsdf = Bsdf::new(appearance, Vec3::Z, direction(square.sqrt(), 0.0));
        let scattered = bsdf.sample(Vec2::new(x, y), choice).filter(|scattered| scattered.pdf.is_none());
        scattered.map_or(0.0, |scattered| scattered.weight.x)
    };
    (0..SAMPLES).map(weight).sum::<f32>() / SAMPLES as f32
}

#[test]
fn glass_lets_through_as_much_either_way() {
    for roughness in [0.0, 0.4, 0.8, 1.0] {
        for ior in [1.3f32, 1.5, 2.0] {
            let glass = Appearance { relative_ior: ior, ..glass(roughness) };
            let (into, out) = (let_through(&glass), let_through(&glass.from_within()));
            // Light from within comes from the fraction of directions that refract towards the front.
            assert!((out * ior * ior / into - 1.0).abs() < 0.02, "{roughness} {ior}: {into} {out}");
        }
    }
}

#[test]
fn a_coat_mirrors_by_schlicks_formula_and_what_is_below_gets_the_rest() {
    let black = coated(diffuse(Vec3::ZERO), 0.5, 0.0);
    for degrees in [0.0f32, 45.0, 70.0] {
        let coat = 0.5 * (0.04 + 0.96 * (1.0 - degrees.to_radians().cos()).powi(5));
        let found = reflected(&Bsdf::new(&black, Vec3::Z, at_angle(degrees)));
        assert!((found.x - coat).abs() < 0.003, "{degrees}: {found}, not {coat}");
        // The mirror below is seen through the coat, and reflected by the coat again.
        let mirror = Appearance { metallic: 1.0, ..coated(plastic(0.0), 0.5, 0.0) };
        let found = reflected(&Bsdf::new(&mirror, Vec3::Z, at_angle(degrees)));
        assert!((found.x - 1.0).abs() < 0.01, "{degrees}: {found}");
    }
}

#[test]
fn clearcoat_adds_no_light_and_takes_little() {
    for roughness in ROUGHNESSES {
        for degrees in [0.0, 45.0, 80.0] {
            let white_metal = Appearance { metallic: 1.0, ..plastic(roughness) };
            for appearance in [coated(plastic(roughness), 1.0, 0.3), coated(white_metal, 1.0, 0.1)] {
                let found = reflected(&Bsdf::new(&appearance, Vec3::Z, at_angle(degrees))).x;
                assert!(found < 1.01 && found > 0.95, "{appearance:?} at {degrees}: {found}");
            }
        }
    }
}

#[test]
fn colored_surfaces_reflect_their_albedo() {
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

/// Returns the cosine-weighted mean of the albedo over viewing directions.
fn mean_albedo(appearance: &Appearance) -> Vec3 {
    const ANGLES: u32 = 64;
    let toward = |angle: u32| direction(((angle as f32 + 0.5) / ANGLES as f32).sqrt(), 0.0);
    (0..ANGLES).map(|angle| Bsdf::new(appearance, Vec3::Z, toward(angle)).albedo()).sum::<Vec3>() / ANGLES as f32
}

#[test]
fn bakes_reflect_as_much_as_all_lobes_together() {
    for roughness in [0.0, 0.2, 0.4, 0.5, 0.7, 0.9, 1.0] {
        let red = Appearance { base_color: Vec3::new(0.8, 0.1, 0.05), ..plastic(roughness) };
        let black = Appearance { base_color: Vec3::ZERO, ..plastic(roughness) };
        for appearance in [red, black, gold(roughness), coated(red, 0.7, 0.3), Appearance { metallic: 0.5, ..red }] {
            let (found, expected) = (appearance.total_reflectance(), mean_albedo(&appearance));
            assert!((found - expected).abs().max_element() < 0.006, "{appearance:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn light_may_go_either_way() {
    let points = OwenSobol::new(3);
    let surfaces = |roughness| {
        let clearcoated = coated(gold(roughness), 0.7, 0.3);
        [plastic(roughness), gold(roughness), glass(roughness), glass(roughness).from_within(), clearcoated]
    };
    for appearance in ROUGHNESSES.into_iter().flat_map(surfaces) {
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
fn diffuse_surfaces_scatter_their_color_over_pi() {
    let color = Vec3::new(0.2, 0.5, 0.8);
    let bsdf = Bsdf::new(&diffuse(color), Vec3::Z, at_angle(40.0));
    for degrees in [0.0, 45.0, 89.0] {
        assert!((bsdf.evaluate(at_angle(degrees)) - color / PI).abs().max_element() < 1e-6);
        assert!((bsdf.pdf(at_angle(degrees)) - at_angle(degrees).z / PI).abs() < 1e-6);
    }
    assert_eq!(bsdf.evaluate(-Vec3::Z), Vec3::ZERO);
}

#[test]
fn what_is_diffuse_scatters_as_layers_of_nothing_do() {
    let appearance = diffuse(Vec3::new(0.9, 0.5, 0.1));
    let (normal, outgoing) = (direction(0.3, 1.0), direction(0.8, 2.0));
    let single = Bsdf::new(&appearance, normal, outgoing);
    assert!(single.layers.is_none());
    let layers = Layers::new(&appearance, to_local(&single.frame, outgoing));
    let layered = Bsdf { frame: single.frame, diffuse: Vec3::ZERO, layers: Some(layers) };
    assert_eq!(single.albedo(), layered.albedo());
    assert_eq!((single.is_smooth(), single.is_for_eye_paths()), (layered.is_smooth(), layered.is_for_eye_paths()));
    for index in 0..1000 {
        let [a, b, c, _] = OwenSobol::new(8).point(index);
        let incoming = direction(2.0 * a - 1.0, b * TAU);
        assert_eq!(single.evaluate(incoming), layered.evaluate(incoming));
        assert_eq!(single.evaluate_diffuse(incoming), layered.evaluate_diffuse(incoming));
        assert_eq!(single.pdf(incoming), layered.pdf(incoming));
        let [single, layered] = [&single, &layered].map(|bsdf| bsdf.sample(Vec2::new(a, b), c).unwrap());
        assert_eq!(single.pdf, layered.pdf);
        // Layers normalize directions and divide by the PDF, which rounds.
        assert!(
            single.direction.abs_diff_eq(layered.direction, 5e-7) && single.weight.abs_diff_eq(layered.weight, 5e-7)
        );
    }
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
        let clearcoated = coated(plastic(roughness), 1.0, 1.0 - roughness);
        let surfaces =
            [plastic(roughness), gold(roughness), clearcoated, glass(roughness), glass(roughness).from_within()];
        for appearance in surfaces {
            let normal = direction(a, b * TAU);
            // Cosines as low as -0.02, slightly behind the surface.
            let outgoing = direction(c * 1.02 - 0.02, d * TAU);
            let bsdf = Bsdf::new(&appearance, normal, outgoing);
            assert!(bsdf.normal().dot(outgoing) > 0.0);
            if let Some(scattered) = bsdf.sample(Vec2::new(b, d), unit_float(hash2(index, 2))) {
                let pdf = bsdf.pdf(scattered.direction);
                assert!(bsdf.evaluate(scattered.direction).is_finite() && pdf.is_finite(), "{pdf}");
                assert!(scattered.weight.is_finite() && scattered.weight.max_element() < 20.0, "{scattered:?}");
            }
        }
    }
}

const RINGS: usize = 10;
const SECTORS: usize = 12;

fn bin_of(direction: Vec3) -> usize {
    bin(RINGS, SECTORS, [direction.z, turn(direction.x, direction.y)])
}

/// Returns the probability of each bin, by integrating a PDF.
fn expected_shares(pdf: impl Fn(Vec3) -> f32) -> Vec<f64> {
    const STEPS: usize = 64;
    (0..RINGS * SECTORS)
        .map(|bin| {
            let (ring, sector) = (bin / SECTORS, bin % SECTORS);
            let step = |cell: usize, index: usize, cells: usize| {
                (cell as f32 + (index as f32 + 0.5) / STEPS as f32) / cells as f32
            };
            let sum: f64 = (0..STEPS * STEPS)
                .map(|index| {
                    let cosine = step(ring, index / STEPS, RINGS);
                    f64::from(pdf(direction(cosine, step(sector, index % STEPS, SECTORS) * TAU)))
                })
                .sum();
            sum * f64::from(TAU) / (RINGS * SECTORS * STEPS * STEPS) as f64
        })
        .collect()
}

const DRAWS: u32 = 50_000;

/// Counts samples in each bin that `bin` assigns, and samples outside all bins.
fn draw(bsdf: &Bsdf, seed: u32, bin: impl Fn(&Scattered) -> Option<usize>) -> Vec<f64> {
    let mut drawn = vec![0.0; RINGS * SECTORS + 1];
    for draw in 0..DRAWS {
        let u = |dimension: u32| unit_float(hash2(hash2(draw, dimension), seed));
        let scattered = bsdf.sample(Vec2::new(u(0), u(1)), u(2));
        drawn[scattered.as_ref().and_then(&bin).unwrap_or(RINGS * SECTORS)] += 1.0;
    }
    drawn
}

/// Converts probabilities of bins to numbers of draws. The rest falls into no bin.
fn numbers(shares: Vec<f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = shares.into_iter().map(|share| share * f64::from(DRAWS)).collect();
    numbers.push((f64::from(DRAWS) - numbers.iter().sum::<f64>()).max(0.0));
    numbers
}

#[test]
fn directions_are_drawn_with_the_density_that_is_claimed() {
    let surfaces = ROUGHNESSES.into_iter().flat_map(|roughness| {
        let half_glass = Appearance { transmission: 0.5, ..glass(roughness) };
        let clearcoated = coated(plastic(roughness), 1.0, 0.4);
        [plastic(roughness), gold(roughness), glass(roughness), half_glass.from_within(), clearcoated]
    });
    for (case, appearance) in surfaces.enumerate() {
        for degrees in [5.0, 45.0, 75.0] {
            let bsdf = Bsdf::new(&appearance, Vec3::Z, at_angle(degrees));
            let before = |scattered: &Scattered| scattered.pdf.map(|_| bin_of(scattered.direction));
            let expected = numbers(expected_shares(|direction| bsdf.pdf(direction)));
            let deviations = deviations(&draw(&bsdf, case as u32, before), &expected);
            assert!(deviations < 4.0, "{appearance:?} at {degrees}: {deviations}");
        }
    }
}

/// Returns the PDF of single refraction behind unpolarized glass, seen from `outgoing`. The microfacet that refracts
/// the ray determines the PDF (Walter and others 2007, equations 16, 17, 38 and Smith's masking).
fn refracted_pdf(alpha: f32, relative_ior: f32, outgoing: Vec3, incoming: Vec3) -> f32 {
    let half = (outgoing + incoming * relative_ior).normalize();
    let half = if half.z < 0.0 { -half } else { half };
    let (before, behind) = (outgoing.dot(half), incoming.dot(half));
    if before <= 0.0 || behind >= 0.0 {
        return 0.0;
    }
    let tangent_squared = |direction: Vec3| (1.0 - direction.z * direction.z) / (direction.z * direction.z);
    let distribution =
        1.0 / (PI * alpha * alpha * half.z.powi(4) * (1.0 + tangent_squared(half) / (alpha * alpha)).powi(2));
    let seen = 2.0 / (1.0 + (1.0 + alpha * alpha * tangent_squared(outgoing)).sqrt());
    let mirrored = {
        let sine_squared = (1.0 - before * before) / (relative_ior * relative_ior);
        let beyond = (1.0 - sine_squared).max(0.0).sqrt();
        let perpendicular = (before - relative_ior * beyond) / (before + relative_ior * beyond);
        let parallel = (relative_ior * before - beyond) / (relative_ior * before + beyond);
        0.5 * (perpendicular * perpendicular + parallel * parallel)
    };
    let hidden = |direction: Vec3| 0.5 * ((1.0 + alpha * alpha * tangent_squared(direction)).sqrt() - 1.0);
    let lit = (1.0 + hidden(outgoing)) / (1.0 + hidden(outgoing) + hidden(incoming));
    let bend = relative_ior * relative_ior * behind.abs() / (before + relative_ior * behind).powi(2);
    (1.0 - mirrored) * seen * lit * distribution * before / outgoing.z * bend
}

#[test]
fn refracted_directions_are_drawn_as_microfacets_bend_light() {
    for (case, roughness) in [0.75, 1.0].into_iter().enumerate() {
        for relative_ior in [1.5, 1.0 / 1.5] {
            for degrees in [5.0, 35.0, 70.0] {
                let appearance = Appearance { relative_ior, ..glass(roughness) };
                let outgoing = at_angle(degrees);
                let bsdf = Bsdf::new(&appearance, Vec3::Z, outgoing);
                let mirror = Vec3::new(1.0, 1.0, -1.0);
                let behind =
                    |scattered: &Scattered| scattered.pdf.is_none().then(|| bin_of(scattered.direction * mirror));
                let pdf = |direction: Vec3| {
                    let once = refracted_pdf(roughness * roughness, relative_ior, outgoing, direction * mirror);
                    once + bsdf.layers.as_ref().unwrap().border.often_from_behind() / TAU
                };
                let deviations = deviations(&draw(&bsdf, case as u32, behind), &numbers(expected_shares(pdf)));
                assert!(deviations < 4.0, "{roughness} {relative_ior} at {degrees}: {deviations}");
            }
        }
    }
}
