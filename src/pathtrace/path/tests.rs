use core::f32::consts::PI;
use std::sync::Arc;

use glam::{Quat, Vec4};

use super::*;
use crate::accel::BruteForce;
use crate::builtin_scenes;
use crate::geometry::sobol::OwenSobol;
use crate::pathtrace::fixtures::*;
use crate::pathtrace::{Receiver, irradiance_at};
use crate::progress::Unmonitored;
use crate::scene::{
    EnvironmentMap, Light, LightKind, Material, Sky, Texels, Texture, TextureId, TextureRef, Wrap, shapes,
};

fn plastic(perceptual_roughness: f32) -> Material {
    Material { base_color: Vec4::new(0.0, 0.0, 0.0, 1.0), perceptual_roughness, ..Material::default() }
}

/// Returns the mean radiance along a ray.
fn radiance(scene: &Scene, ray: &Ray, samples: u32, max_bounces: Option<u32>) -> Vec3 {
    let (world, lights) = (BruteForce::new(scene), LightSampler::new(scene));
    let tracer = PathTracer::new(scene, &world, &lights, max_bounces);
    mean_radiance(&tracer, ray, samples)
}

#[test]
fn the_machines_own_instructions_change_no_bit() {
    let scene = builtin_scenes::build("glass_and_mirrors").unwrap();
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let tracer = PathTracer::new(&scene, &world, &lights, None);
    let points = OwenSobol::new(3);
    for sample in 0..200 {
        let [x, y, ..] = points.point(sample);
        let ray = Ray::new(scene.bounds().center(), crate::geometry::sampling::uniform_sphere(Vec2::new(x, y)));
        assert_eq!(tracer.trace(&ray, sample, 1), tracer.follow(&ray, sample, 1), "{sample}");
    }
}

/// Returns a ray to the center of the floor, from above at 45 degrees.
fn onto_floor() -> Ray {
    toward(Vec3::new(-1.0, 1.0, 0.0), Vec3::ZERO)
}

#[test]
fn a_closed_room_that_glows_holds_its_emission_over_one_minus_its_reflectance() {
    let scene = builtin_scenes::build("furnace").unwrap();
    let found = radiance(&scene, &toward(Vec3::ZERO, Vec3::new(0.3, -1.0, 0.2)), 1 << 16, None);
    assert_close(found, Vec3::ONE, 0.005, "furnace");
}

#[test]
fn a_lamp_in_a_white_ball_lights_all_of_it_alike() {
    let mut scene = builtin_scenes::sphere(2, 0.8, 0.0);
    scene.materials[0].emission = Vec3::ZERO;
    scene.lights.push(lamp(Vec3::ZERO, 10.0));
    let area: f32 = (0..scene.triangle_count() as u32)
        .map(|triangle| scene.triangle(crate::geometry::SurfaceId(0), triangle).area())
        .sum();
    let target = Vec3::new(0.3, -0.9, 0.2);
    let found = radiance(&scene, &toward(Vec3::ZERO, target), 8192, None);
    // Direct light, and indirect light: rho / (1 - rho) times the mean.
    let irradiance = 10.0 + 0.8 / 0.2 * 10.0 * 4.0 * PI / area;
    assert_close(found, Vec3::splat(0.8 / PI * irradiance), 0.03, "ball");
}

#[test]
fn white_things_vanish_in_white_surroundings() {
    for material in [0.0, 0.3, 0.7, 1.0]
        .into_iter()
        .flat_map(|roughness| [white_metal(roughness), Material { base_color: Vec4::ONE, ..plastic(roughness) }])
    {
        let mut scene = scene_of([(shapes::cuboid("cube", Vec3::NEG_ONE, Vec3::ONE), material.clone())]);
        scene.sky = Sky::Uniform(Vec3::ONE);
        for target in [Vec3::new(1.0, 0.2, 0.1), Vec3::new(0.9, 1.0, 0.3)] {
            let found = radiance(&scene, &toward(Vec3::new(3.0, 2.0, 0.5), target), 4096, None);
            assert_close(found, Vec3::ONE, 0.015, &format!("{} {:?}", material.perceptual_roughness, target));
        }
    }
}

#[test]
fn a_sun_and_a_lamp_light_a_floor_without_noise() {
    let mut scene = scene_of([(shapes::floor("floor", 4.0), Material::diffuse("gray", Vec3::splat(0.5)))]);
    let sun =
        LightKind::Directional { direction: Vec3::NEG_Y, illuminance: Vec3::splat(1000.0), angular_diameter: 0.0 };
    scene.lights = vec![lamp(Vec3::Y * 2.0, 80.0), Light { name: "sun".into(), kind: sun }];
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let tracer = PathTracer::new(&scene, &world, &lights, Some(1));
    for sample in 0..16 {
        // The sun gives 1000 lux; the lamp has 80 candela at a distance of two meters.
        let seen = tracer.trace(&onto_floor(), sample, 3).radiance;
        assert_close(seen, Vec3::splat(0.5 / PI * 1020.0), 1e-4, "floor");
    }
}

/// Returns a diffuse floor under a smooth clear coat. Strength of the coat is a half on the left and one on the right.
fn partly_varnished(base_color: Vec3) -> Scene {
    let place = TextureRef::new(TextureId(0));
    let clearcoated = Material {
        clearcoat: 1.0,
        clearcoat_texture: Some(place),
        clearcoat_perceptual_roughness: 0.0,
        ..Material::diffuse("coated", base_color)
    };
    let coverage = Texture {
        name: "coverage".into(),
        width: 2,
        height: 1,
        texels: Texels::Float([0.5, 1.0].map(Vec4::splat).to_vec()),
        wrap: [Wrap::Clamp; 2],
        mip_chains: Default::default(),
    };
    let floor = scene_of([(shapes::floor("floor", 4.0), clearcoated)]);
    Scene { textures: vec![Arc::new(coverage)], sky: Sky::Uniform(Vec3::ONE), ..floor }
}

#[test]
fn clearcoat_covers_what_its_texture_says_and_loses_no_light() {
    let schlick = 0.04 + 0.96 * (1.0 - core::f32::consts::FRAC_1_SQRT_2).powi(5);
    for (side, coverage) in [(-1.5, 0.5), (1.5, 1.0)] {
        let ray = toward(Vec3::new(side, 1.0, 1.0), Vec3::new(side, 0.0, 0.0));
        let black = radiance(&partly_varnished(Vec3::ZERO), &ray, 4096, None);
        assert!((black - coverage * schlick).abs().max_element() < 5e-4, "{black}, not {}", coverage * schlick);
        let white = radiance(&partly_varnished(Vec3::ONE), &ray, 4096, None);
        assert_close(white, Vec3::ONE, 0.005, "furnace");
    }
}

#[test]
fn diffuse_walls_are_as_bright_as_the_irradiance_on_them_says() {
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    let eye = Vec3::new(0.0, 0.0, 0.9);
    for target in [Vec3::new(-1.0, 0.1, 0.3), Vec3::new(0.7, -1.0, -0.5), Vec3::new(0.4, 0.6, -1.0)] {
        let ray = toward(eye, target);
        let hit = world.closest(&ray).unwrap();
        let receiver = Receiver { position: ray.at(hit.t), normal: scene.geometric_normal(hit.surface, hit.triangle) };
        let truth = irradiance_at(&scene, &world, &lights, &[receiver], 1 << 14, 1, &Unmonitored).unwrap()[0];
        let reflectance = scene.material_of(hit.surface).base_color.truncate();
        let found = radiance(&scene, &ray, 1 << 14, None);
        assert_close(found, truth.irradiance * reflectance / PI, 0.02, "Cornell");
    }
}

#[test]
fn one_light_drawn_at_each_vertex_stands_for_lights_of_every_kind() {
    let mut scene = builtin_scenes::build("cornell_empty").unwrap();
    let panel = shapes::quad(
        "panel",
        [[-0.9, -0.5, -0.3], [-0.9, -0.5, -0.1], [-0.9, 0.5, -0.1], [-0.9, 0.5, -0.3]].map(Vec3::from),
    );
    let glow = Material { emission: Vec3::new(0.2, 0.6, 2.0), ..Material::diffuse("glow", Vec3::ZERO) };
    add_part(&mut scene, panel, glow);
    scene.lights = vec![lamp(Vec3::new(0.5, 0.3, 0.2), 0.5), low_sun(), window()];
    scene.sky = patchy_sky(3, 1.0, Quat::IDENTITY);
    let (world, lights) = (BruteForce::new(&scene), LightSampler::new(&scene));
    assert_eq!(lights.emitters(), 6);
    for target in [Vec3::new(0.3, -1.0, 0.3), Vec3::new(0.2, 0.1, -1.0)] {
        let ray = toward(Vec3::new(0.0, 0.0, 0.9), target);
        let hit = world.closest(&ray).unwrap();
        let receiver = Receiver { position: ray.at(hit.t), normal: scene.geometric_normal(hit.surface, hit.triangle) };
        let truth = irradiance_at(&scene, &world, &lights, &[receiver], 1 << 14, 1, &Unmonitored).unwrap()[0];
        let reflectance = scene.material_of(hit.surface).base_color.truncate();
        let found = radiance(&scene, &ray, 1 << 14, None);
        assert_close(found, truth.irradiance * reflectance / PI, 0.02, "all kinds");
    }
}

#[test]
fn a_lamp_over_a_diffuse_floor_obeys_the_inverse_square_and_the_cosine() {
    let mut scene = scene_of([(shapes::floor("floor", 4.0), Material::diffuse("floor", Vec3::splat(0.5)))]);
    scene.lights.push(lamp(Vec3::new(0.0, 1.5, 2.0), 100.0));
    let irradiance = 100.0 * 1.5 / (1.5f32 * 1.5 + 4.0).powf(1.5);
    let found = radiance(&scene, &onto_floor(), 4, Some(1));
    assert_close(found, Vec3::splat(0.5 / PI * irradiance), 1e-4, "floor");
}

#[test]
fn a_highlight_is_as_bright_as_the_microfacets_say() {
    let roughness = 0.5f32;
    let mut scene = scene_of([(shapes::floor("floor", 4.0), plastic(roughness))]);
    // The lamp lies at the mirror image of the camera, so the half vector is the normal.
    scene.lights.push(lamp(Vec3::new(1.0, 1.0, 0.0), 100.0));
    let alpha = roughness * roughness;
    let distribution = 1.0 / (PI * alpha * alpha);
    let cosine = 0.5f32.sqrt();
    let hidden = 0.5 * ((1.0 + alpha * alpha).sqrt() - 1.0);
    let fresnel = 0.04 + 0.96 * (1.0 - cosine).powi(5);
    let scattered = fresnel * distribution / ((1.0 + 2.0 * hidden) * 4.0 * cosine * cosine);
    let found = radiance(&scene, &onto_floor(), 4, Some(1));
    // Double scattering by facets adds a little.
    assert_close(found, Vec3::splat(scattered * 100.0 * cosine / 2.0), 0.005, "highlight");
}

#[test]
fn a_mirror_shows_a_lamp_as_bright_as_it_is() {
    let glowing = Material { emission: Vec3::new(50.0, 20.0, 10.0), ..Material::diffuse("glowing", Vec3::ZERO) };
    let wall = shapes::quad(
        "wall",
        [Vec3::new(1.0, 0.1, 1.0), Vec3::new(1.0, 0.1, -1.0), Vec3::new(1.0, 2.1, -1.0), Vec3::new(1.0, 2.1, 1.0)],
    );
    let mut faces = wall.clone();
    faces.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
    for wall in [wall, faces] {
        let scene = scene_of([(shapes::floor("floor", 4.0), white_metal(0.0)), (wall, glowing.clone())]);
        let straight = radiance(&scene, &toward(Vec3::new(0.0, 1.0, 0.0), Vec3::new(1.0, 1.0, 0.0)), 1, None);
        let mirrored = radiance(&scene, &onto_floor(), 1024, None);
        assert_close(mirrored + 1e-3, straight + 1e-3, 0.01, "mirrored");
    }
}

#[test]
fn a_picture_of_a_uniform_sky_lights_glossy_things_as_the_sky_does() {
    let picture = Texture {
        name: "sky".into(),
        width: 16,
        height: 8,
        texels: Texels::Float(vec![Vec4::ONE; 128]),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    let map = EnvironmentMap { texture: Arc::new(picture), scale: 1.0, rotation: Quat::IDENTITY };
    for roughness in [0.05, 0.4, 1.0] {
        let gold = Material { base_color: Vec4::new(1.0, 0.7, 0.3, 1.0), ..white_metal(roughness) };
        let mut scene = scene_of([(shapes::floor("floor", 4.0), gold)]);
        scene.sky = Sky::Uniform(Vec3::ONE);
        let expected = radiance(&scene, &onto_floor(), 1 << 14, None);
        scene.sky = Sky::Map(map.clone());
        assert_close(radiance(&scene, &onto_floor(), 1 << 14, None), expected, 0.01, "sky");
    }
}

#[test]
fn tinted_slabs_let_through_what_fresnel_and_beer_leave() {
    let absorption = Vec3::new(2.0, 0.5, 0.0);
    let slab = shapes::cuboid("slab", Vec3::new(-5.0, -0.2, -5.0), Vec3::new(5.0, 0.2, 5.0));
    let mut scene = scene_of([(slab, clear_glass(1.5, absorption))]).with_solid_glass();
    scene.sky = Sky::Uniform(Vec3::ONE);
    let found = radiance(&scene, &toward(Vec3::Y * 2.0, Vec3::ZERO), 1 << 14, None);
    // Reflection outside; then transmission, absorption and internal reflection, repeated.
    let (mirrored, across) = (0.04, (-absorption * 0.4).map(f32::exp));
    let expected = mirrored + 0.96 * 0.96 * across / (Vec3::ONE - mirrored * across);
    assert_close(found, expected, 0.01, "slab");
}

#[test]
fn a_ball_of_glass_shows_the_world_upside_down_and_loses_none_of_its_light() {
    let ball = shapes::icosphere("ball", 1.0, 3);
    let mut scene = scene_of([(ball, clear_glass(1.5, Vec3::ZERO))]).with_solid_glass();
    let at_height = |height: f32| Ray::new(Vec3::new(0.0, height, 5.0), Vec3::NEG_Z);
    scene.sky = Sky::Uniform(Vec3::ONE);
    for height in [0.0, 0.35, 0.8] {
        assert_close(radiance(&scene, &at_height(height), 1024, None), Vec3::ONE, 0.01, "white surroundings");
    }
    // White above, black below.
    let picture = Texture {
        name: "sky".into(),
        width: 4,
        height: 64,
        texels: Texels::Float((0..256).map(|index| if index < 128 { Vec4::ONE } else { Vec4::ZERO }).collect()),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    scene.sky = Sky::Map(EnvironmentMap { texture: Arc::new(picture), scale: 1.0, rotation: Quat::IDENTITY });
    let above = radiance(&scene, &at_height(0.35), 256, None).x;
    let below = radiance(&scene, &at_height(-0.35), 256, None).x;
    assert!(above < 0.1 && below > 0.9, "{above} {below}");
}

#[test]
fn one_bounce_is_direct_light_and_none_is_what_shines() {
    let scene = builtin_scenes::build("furnace").unwrap();
    let ray = toward(Vec3::ZERO, Vec3::new(0.3, -1.0, 0.2));
    let emission = scene.materials[0].emission;
    assert_close(radiance(&scene, &ray, 1, Some(0)), emission, 1e-5, "emission");
    let reflectance = scene.materials[0].base_color.truncate();
    let direct = emission + reflectance * emission;
    assert_close(radiance(&scene, &ray, 4096, Some(1)), direct, 0.005, "direct");
    let back = toward(Vec3::new(0.0, -3.0, 0.0), Vec3::ZERO);
    assert_eq!(radiance(&scene, &back, 4, None), Vec3::ZERO, "backs are black");
}

#[test]
fn a_sheet_shows_the_light_that_is_scattered_through_it_and_what_it_reflects() {
    let color = Vec3::new(0.9, 0.5, 0.1);
    let sheet = Material {
        diffuse_transmission: 0.6,
        diffuse_transmission_color: color,
        ..Material::diffuse("sheet", Vec3::splat(0.5))
    };
    let mut scene = scene_of([(shapes::floor("floor", 200.0), sheet)]);
    // A lamp one meter below the sheet. The radiance above is its irradiance over pi, times the transmittance.
    scene.lights.push(lamp(Vec3::NEG_Y, 10.0));
    let ray = onto_floor();
    assert_close(radiance(&scene, &ray, 1 << 12, None), color * (0.6 * 10.0 / PI), 0.02, "through");
    // A white sky on both sides: each contributes half of the remaining light.
    scene.lights.clear();
    scene.sky = Sky::Uniform(Vec3::ONE);
    assert_close(radiance(&scene, &ray, 1 << 14, None), 0.4 * 0.5 + 0.6 * color, 0.02, "sky");
    // A white, lossless surface under a white sky looks white, whatever its specular layer.
    let white = Material { diffuse_transmission: 0.7, perceptual_roughness: 0.3, ..Material::default() };
    scene.materials[0] = white;
    assert_close(radiance(&scene, &ray, 1 << 15, None), Vec3::ONE, 0.05, "furnace");
}
