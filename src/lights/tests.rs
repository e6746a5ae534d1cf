use std::sync::Arc;

use glam::{Quat, Vec2, Vec4};
use rand::RngExt;

use super::*;
use crate::geometry::CounterRng;
use crate::geometry::chi_squared::{bin, deviations, turn};
use crate::geometry::sobol::OwenSobol;
use crate::scene::{
    EnvironmentMap, Light, Material, MaterialId, MeshData, MeshId, Surface, SurfaceKey, Texels, Texture, Wrap,
};

const COUNT: u32 = 4096;

fn lit_by(kind: LightKind) -> Scene {
    Scene { lights: vec![Light { name: "lamp".into(), kind }], ..Scene::default() }
}

/// Builds an emissive unit square at `y = height`, facing down.
fn ceiling(height: f32, emission: Vec3) -> Scene {
    let mesh = MeshData {
        positions: [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(|(x, z)| Vec3::new(x, height, z)).to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..MeshData::default()
    };
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![Surface::new(SurfaceKey("ceiling".into()), MeshId(0), MaterialId(0))],
        materials: vec![Material { emission, ..Material::default() }],
        ..Scene::default()
    }
}

fn mean_irradiance(scene: &Scene, at: Vec3, normal: Vec3) -> Vec3 {
    let lights = LightSampler::new(scene);
    let points = OwenSobol::new(7);
    (0..COUNT)
        .filter_map(|index| {
            let [x, y, ..] = points.point(index);
            lights.sample_emitter(0, at, normal, [x, y])
        })
        .map(|sample| sample.irradiance)
        .sum::<Vec3>()
        / COUNT as f32
}

/// Returns the form factor from a point that faces up to a unit square centered `height` above it (Lambert's formula).
fn factor_to_square_above(height: f32) -> f32 {
    let half = 0.5;
    let slant = (height * height + half * half).sqrt();
    4.0 * (half / slant) * (half / slant).atan() / core::f32::consts::PI
}

#[test]
fn a_point_light_is_as_bright_as_bevy_draws_it() {
    let kind = LightKind::Point { position: Vec3::Y * 2.0, intensity: Vec3::splat(100.0), radius: 0.1, range: 4.0 };
    let expected = 100.0 / 4.0 * (1.0 - 0.0625f32).powi(2);
    let found = mean_irradiance(&lit_by(kind), Vec3::ZERO, Vec3::Y);
    assert!((found.x / expected - 1.0).abs() < 2e-4, "{found}");
    assert_eq!(mean_irradiance(&lit_by(kind), Vec3::Y * -2.5, Vec3::Y), Vec3::ZERO, "beyond the range");
}

#[test]
fn weights_of_densities_beyond_all_bounds_are_finite() {
    // The PDF of a sliver seen edge-on is so large that its square overflows.
    for (own, other, expected) in [
        (1e25, 1.0, 1.0),
        (f32::INFINITY, 1.0, 1.0),
        (1.0, 1e25, 0.0),
        (1.0, f32::INFINITY, 0.0),
        (f32::INFINITY, f32::INFINITY, 0.5),
        (0.0, 0.0, 0.0),
        (3.0, 4.0, 0.36),
    ] {
        let found = power_heuristic(own, other);
        assert!((found - expected).abs() < 1e-6, "{found} for {own} and {other}");
    }
}

#[test]
fn irradiance_grows_with_the_inverse_square_down_to_a_millimeter() {
    let kind = LightKind::Point { position: Vec3::Y * 1e-3, intensity: Vec3::ONE, radius: 0.0, range: 10.0 };
    let found = mean_irradiance(&lit_by(kind), Vec3::ZERO, Vec3::Y);
    assert!((found.x / 1e6 - 1.0).abs() < 1e-3, "{found}");
}

#[test]
fn a_spot_is_full_inside_fades_between_and_ends_at_its_outer_angle() {
    let at_angle = |angle: f32| {
        let kind = LightKind::Spot {
            position: Vec3::Y,
            direction: Vec3::new(angle.sin(), -angle.cos(), 0.0),
            intensity: Vec3::ONE,
            radius: 0.0,
            range: f32::INFINITY,
            inner_angle: 0.2,
            outer_angle: 0.6,
        };
        mean_irradiance(&lit_by(kind), Vec3::ZERO, Vec3::Y).x
    };
    assert!((at_angle(0.1) - 1.0).abs() < 1e-5);
    assert_eq!(at_angle(0.65), 0.0);
    let ramp = (0.4f32.cos() - 0.6f32.cos()) / (0.2f32.cos() - 0.6f32.cos());
    assert!((at_angle(0.4) - ramp * ramp).abs() < 1e-4);
}

#[test]
fn the_sun_gives_its_illuminance_times_the_cosine() {
    let kind = LightKind::Directional {
        direction: Vec3::new(0.6, -0.8, 0.0),
        illuminance: Vec3::new(1000.0, 500.0, 0.0),
        angular_diameter: 0.01,
    };
    let found = mean_irradiance(&lit_by(kind), Vec3::ZERO, Vec3::Y);
    assert!((found - Vec3::new(800.0, 400.0, 0.0)).length() < 0.1, "{found}");
}

#[test]
fn rectangles_far_and_near_have_lamberts_form_factor() {
    for (height, tolerance) in [(0.02, 2e-3), (1.0, 2e-4), (200.0, 2e-4)] {
        let kind = LightKind::Rectangle {
            center: Vec3::Y * height,
            half_width: Vec3::X * 0.5,
            half_height: Vec3::Z * 0.5,
            normal: Vec3::NEG_Y,
            radiance: Vec3::ONE,
        };
        let expected = core::f32::consts::PI * factor_to_square_above(height);
        let found = mean_irradiance(&lit_by(kind), Vec3::ZERO, Vec3::Y).x;
        assert!((found / expected - 1.0).abs() < tolerance, "{height} m: {found} instead of {expected}");
        assert_eq!(mean_irradiance(&lit_by(kind), Vec3::Y * height * 2.0, Vec3::NEG_Y), Vec3::ZERO, "its dark side");
    }
}

#[test]
fn an_emissive_surface_has_lamberts_form_factor_and_a_dark_back() {
    let scene = ceiling(1.0, Vec3::splat(10.0));
    let expected = 10.0 * core::f32::consts::PI * factor_to_square_above(1.0);
    let found = mean_irradiance(&scene, Vec3::ZERO, Vec3::Y).x;
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
    assert_eq!(mean_irradiance(&scene, Vec3::Y * 2.0, Vec3::NEG_Y), Vec3::ZERO);
}

#[test]
fn a_ray_that_meets_a_light_has_the_density_of_one_aimed_at_it() {
    let scene = ceiling(1.0, Vec3::ONE);
    let lights = LightSampler::new(&scene);
    let world = crate::accel::BruteForce::new(&scene);
    let points = OwenSobol::new(2);
    for index in 0..64 {
        let [x, y, ..] = points.point(index);
        let sample = lights.sample_emitter(0, Vec3::ZERO, Vec3::Y, [x, y]).expect("in sight");
        let ray = Ray::new(Vec3::ZERO, sample.direction);
        let hit = crate::geometry::RayQuery::closest(&world, &ray).expect("aimed at it");
        let pdf = lights.hit_pdf(&ray, &hit);
        assert!((pdf / sample.pdf.expect("can be met") - 1.0).abs() < 1e-3);
        assert_eq!(lights.hit_radiance(&hit), Vec3::ONE);
    }
}

fn sky(paint: impl Fn(usize, usize) -> f32) -> Scene {
    let (width, height) = (32, 16);
    let texels = (0..width * height).map(|index| Vec4::splat(paint(index % width, index / width))).collect();
    let image = Texture {
        name: "sky".into(),
        width: width as u32,
        height: height as u32,
        texels: Texels::Float(texels),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    let map = EnvironmentMap { texture: Arc::new(image), scale: 2.0, rotation: Quat::from_rotation_y(0.3) };
    Scene { sky: Sky::Map(map), meshes: ceiling(1.0, Vec3::ZERO).meshes, ..ceiling(1.0, Vec3::ZERO) }
}

#[test]
fn an_even_environment_brings_pi_times_its_radiance() {
    let found = mean_irradiance(&sky(|_, _| 3.0), Vec3::ZERO, Vec3::Y).x;
    assert!((found / (6.0 * core::f32::consts::PI) - 1.0).abs() < 1e-3, "{found}");
}

#[test]
fn a_small_bright_spot_in_the_environment_is_found_with_the_density_that_is_claimed() {
    let scene = sky(|x, y| if (x, y) == (20, 3) { 1000.0 } else { 0.0 });
    let lights = LightSampler::new(&scene);
    let emitter = lights.sky_emitter().expect("a map");
    let points = OwenSobol::new(4);
    let mut lit = 0;
    for index in 0..256 {
        let [x, y, ..] = points.point(index);
        let Some(sample) = lights.sample_emitter(emitter, Vec3::ZERO, Vec3::Y, [x, y]) else { continue };
        lit += 1;
        let pdf = sample.pdf.expect("can be met");
        assert!((lights.sky_pdf(sample.direction) / pdf - 1.0).abs() < 1e-3);
    }
    assert!(lit > 128, "{lit} of 256 rays went to the spot");
}

const RINGS: usize = 8;
const SECTORS: usize = 12;

/// Returns the deviation of directions toward an emitter, sampled for an upward receiver at the origin, from a density.
fn deviations_from(lights: &LightSampler, emitter: usize, pdf: impl Fn(Vec3) -> f32) -> f64 {
    const DRAWS: u32 = 50_000;
    const STEPS: usize = 64;
    let none = RINGS * SECTORS;
    let mut drawn = vec![0.0; none + 1];
    for index in 0..DRAWS {
        let sample = lights.sample_emitter(emitter, Vec3::ZERO, Vec3::Y, CounterRng::new(index).random());
        let of = |LightSample { direction, .. }| bin(RINGS, SECTORS, [direction.y, turn(direction.x, direction.z)]);
        drawn[sample.map_or(none, of)] += 1.0;
    }
    let share = |index: usize| {
        let step =
            |cell: usize, step: usize, cells: usize| (cell as f32 + (step as f32 + 0.5) / STEPS as f32) / cells as f32;
        let sum: f64 = (0..STEPS * STEPS)
            .map(|at| {
                let cosine = step(index / SECTORS, at / STEPS, RINGS);
                let angle = step(index % SECTORS, at % STEPS, SECTORS) * core::f32::consts::TAU;
                let across = (1.0 - cosine * cosine).sqrt();
                f64::from(pdf(Vec3::new(across * angle.cos(), cosine, across * angle.sin())))
            })
            .sum();
        sum * core::f64::consts::TAU / (none * STEPS * STEPS) as f64 * f64::from(DRAWS)
    };
    let mut expected: Vec<f64> = (0..none).map(share).collect();
    expected.push((f64::from(DRAWS) - expected.iter().sum::<f64>()).max(0.0));
    deviations(&drawn, &expected)
}

#[test]
fn directions_to_skies_and_shining_surfaces_are_drawn_with_the_density_that_is_claimed() {
    let scene = sky(|x, y| 1.0 + (x * 7 % 5) as f32 * y as f32);
    let lights = LightSampler::new(&scene);
    let of_sky = deviations_from(&lights, lights.sky_emitter().expect("a map"), |toward| lights.sky_pdf(toward));
    assert!(of_sky < 4.0, "{of_sky}");

    let scene = ceiling(0.6, Vec3::ONE);
    let lights = LightSampler::new(&scene);
    let world = crate::accel::BruteForce::new(&scene);
    let of_ceiling = deviations_from(&lights, 0, |toward| {
        let ray = Ray::new(Vec3::ZERO, toward);
        crate::geometry::RayQuery::closest(&world, &ray).map_or(0.0, |hit| lights.hit_pdf(&ray, &hit))
    });
    assert!(of_ceiling < 4.0, "{of_ceiling}");
}

#[test]
fn of_many_lamps_the_near_one_is_visited_and_the_far_ones_now_and_then() {
    let lamp = |x: f32, intensity: f32| Light {
        name: String::new(),
        kind: LightKind::Point {
            position: Vec3::new(x, 1.0, 0.0),
            intensity: Vec3::splat(intensity),
            radius: 0.0,
            range: f32::INFINITY,
        },
    };
    let lights = vec![lamp(0.0, 1.0), lamp(5.0, 0.0), lamp(30.0, 100.0), lamp(7.0, 1.0)];
    let scene = Scene { lights, ..Scene::default() };
    let lights = LightSampler::new(&scene);
    assert_eq!(lights.emitters(), 3, "the dark one is left out");
    let place = Place { at: Vec3::ZERO, normal: Vec3::Y, radius: 0.0 };
    let light_pmf = lights.light_pmf(&place, 1);
    // The cosine factor is 0.1 + 0.9 cos. So the lamp at 7 m, 1 m up, is expected to add (0.1 + 0.9 / sqrt 50) / 50
    // lux. The minimum is a tenth of one visit in three.
    let near = 1.0;
    let far = (0.1 + 0.9 / 901.0f32.sqrt()) * 100.0 / 901.0;
    let middle = (0.1 + 0.9 / 50.0f32.sqrt()) / 50.0;
    assert!((light_pmf.of(0) - near / (near + far + middle)).abs() < 1e-5, "{light_pmf:?}");
    assert!((light_pmf.of(1) - 0.1 / 3.0).abs() < 1e-6 && (light_pmf.of(2) - 0.1 / 3.0).abs() < 1e-6, "{light_pmf:?}");
    assert_eq!(LightSampler::new(&Scene::default()).light_pmf(&place, 1), LightPmf::All(0));
}

#[test]
fn textured_emission_counts_where_it_shines() {
    let mut scene = ceiling(1.0, Vec3::ONE);
    let mesh = Arc::make_mut(&mut scene.meshes[0]);
    mesh.uv0 = mesh.positions.iter().map(|corner| Vec2::new(corner.x + 0.5, corner.z + 0.5)).collect();
    scene.textures = vec![Arc::new(Texture {
        name: "half".into(),
        width: 2,
        height: 1,
        texels: Texels::Float(vec![Vec4::ZERO, Vec4::ONE]),
        wrap: [Wrap::Clamp; 2],
        mip_chains: Default::default(),
    })];
    scene.materials[0].emission_texture = Some(crate::scene::TextureRef::new(crate::scene::TextureId(0)));
    let found = mean_irradiance(&scene, Vec3::ZERO, Vec3::Y).x;
    let full = core::f32::consts::PI * factor_to_square_above(1.0);
    assert!((found / full - 0.5).abs() < 2e-3, "a symmetric ramp is half as bright: {found} of {full}");
}
