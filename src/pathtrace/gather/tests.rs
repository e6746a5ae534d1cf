use std::collections::HashMap;
use std::sync::Arc;

use glam::Quat;

use super::*;
use crate::accel::{BruteForce, Preset, World};
use crate::progress::Unmonitored;
use crate::scene::{
    EnvironmentMap, Light, LightKind, Material, MaterialId, MeshData, MeshId, Sky, Surface, SurfaceKey, Texels,
    Texture, Wrap, luminance,
};

/// Returns a scene of one mesh and one material.
fn scene_of(mesh: MeshData, material: Material) -> Scene {
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![Surface::new(SurfaceKey("shell".into()), MeshId(0), MaterialId(0))],
        materials: vec![material],
        ..Scene::default()
    }
}

/// Returns the inside of a cube about the origin, with edges of two meters.
fn room() -> MeshData {
    let positions = (0..8)
        .map(|corner| Vec3::new((corner & 1) as f32, (corner >> 1 & 1) as f32, (corner >> 2) as f32) * 2.0 - 1.0)
        .collect();
    let quads = [[0, 2, 6, 4], [1, 5, 7, 3], [0, 4, 5, 1], [2, 3, 7, 6], [0, 1, 3, 2], [4, 6, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    MeshData { positions, triangles, ..MeshData::default() }
}

/// Returns the inside of a unit sphere: a tetrahedron whose faces are split in four `levels` times.
fn sphere(levels: u32) -> MeshData {
    let mut positions: Vec<Vec3> =
        [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(Vec3::from).to_vec();
    let mut triangles: Vec<[u32; 3]> = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    for _ in 0..levels {
        let mut middles: HashMap<(u32, u32), u32> = HashMap::new();
        let mut middle = |a: u32, b: u32, positions: &mut Vec<Vec3>| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                positions.push((positions[a as usize] + positions[b as usize]) * 0.5);
                positions.len() as u32 - 1
            })
        };
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let (ab, bc, ca) =
                    (middle(a, b, &mut positions), middle(b, c, &mut positions), middle(c, a, &mut positions));
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    positions.iter_mut().for_each(|position| *position = position.normalize());
    MeshData { positions, triangles, ..MeshData::default() }
}

fn gather(scene: &Scene, receivers: &[Receiver], samples: u32, seed: u32) -> Vec<PointIrradiance> {
    let lights = LightSampler::new(scene);
    irradiance_at(scene, &BruteForce::new(scene), &lights, receivers, samples, seed, &Unmonitored).unwrap()
}

fn on_floor(x: f32, z: f32) -> Receiver {
    Receiver { position: Vec3::new(x, -1.0, z), normal: Vec3::Y }
}

#[test]
fn a_furnace_holds_its_emission_over_one_minus_its_reflectance() {
    for reflectance in [0.2, 0.8] {
        let mut glowing = Material::diffuse("glowing", Vec3::splat(reflectance));
        glowing.emission = Vec3::new(1.0, 2.0, 0.5);
        let expected = glowing.emission * PI / (1.0 - reflectance);
        let found = gather(&scene_of(room(), glowing), &[on_floor(0.2, 0.4)], 4096, 0)[0];
        let error = (found.irradiance / expected - 1.0).abs().max_element();
        assert!(error < 0.005, "{reflectance}: {found:?}");
    }
}

#[test]
fn a_lamp_in_a_white_sphere_lights_all_of_it_alike() {
    let (intensity, reflectance) = (Vec3::new(3.0, 2.0, 1.0), 0.8);
    let mut scene = scene_of(sphere(4), Material::diffuse("white", Vec3::splat(reflectance)));
    scene.lights.push(Light {
        name: "lamp".into(),
        kind: LightKind::Point { position: Vec3::ZERO, intensity, radius: 0.0, range: f32::INFINITY },
    });
    let id = scene.surface_ids().next().unwrap();
    let receivers = [3, 400, 900].map(|triangle| Receiver {
        position: scene.triangle(id, triangle).at(Vec2::splat(1.0 / 3.0)),
        normal: scene.geometric_normal(id, triangle),
    });
    let area: f32 = (0..scene.triangle_count() as u32).map(|triangle| scene.triangle(id, triangle).area()).sum();
    for (found, receiver) in gather(&scene, &receivers, 1024, 1).iter().zip(receivers) {
        let direct = -receiver.position.dot(receiver.normal) / receiver.position.length().powi(3);
        // Every facet sees the whole sphere alike. Indirect light is therefore rho / (1 - rho) times the mean
        // irradiance, flux over area.
        let indirect = reflectance / (1.0 - reflectance) * 4.0 * PI / area;
        let error = (found.irradiance / (intensity * (direct + indirect)) - 1.0).abs().max_element();
        assert!(error < 0.02, "{found:?} {error}");
    }
}

#[test]
fn a_lamp_over_a_black_floor_obeys_the_inverse_square_and_the_cosine() {
    let mut scene = scene_of(room(), Material::diffuse("black", Vec3::ZERO));
    scene.lights.push(Light {
        name: "lamp".into(),
        kind: LightKind::Point {
            position: Vec3::new(0.0, 0.5, 0.0),
            intensity: Vec3::splat(100.0),
            radius: 0.0,
            range: f32::INFINITY,
        },
    });
    for found in gather(&scene, &[on_floor(0.0, 0.0), on_floor(0.8, 0.0)], 16, 0)
        .iter()
        .zip([100.0 / 2.25, 100.0 * 1.5 / (2.25f32 + 0.64).powf(1.5)])
    {
        assert!((found.0.irradiance.y / found.1 - 1.0).abs() < 1e-4, "{found:?}");
        assert!(found.0.standard_error < 1e-4 * found.1);
    }
}

#[test]
fn open_ground_gets_pi_times_the_radiance_of_a_uniform_sky_or_of_a_picture_of_one() {
    let mesh = MeshData {
        positions: vec![Vec3::new(-9.0, -1.0, -9.0), Vec3::new(0.0, -1.0, 9.0), Vec3::new(9.0, -1.0, -9.0)],
        triangles: vec![[0, 1, 2]],
        ..MeshData::default()
    };
    let mut scene = scene_of(mesh, Material::diffuse("ground", Vec3::splat(0.5)));
    let radiance = Vec3::new(2.0, 3.0, 4.0);
    let picture = Texture {
        name: "sky".into(),
        width: 4,
        height: 2,
        texels: Texels::Float(vec![radiance.extend(1.0) / 2.0; 8]),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    let map = EnvironmentMap { texture: Arc::new(picture), scale: 2.0, rotation: Quat::from_rotation_y(1.0) };
    for (sky, tolerance) in [(Sky::Uniform(radiance), 1e-5), (Sky::Map(map), 0.01)] {
        scene.sky = sky;
        let found = gather(&scene, &[on_floor(0.0, 0.0)], 1024, 0)[0];
        assert!((found.irradiance / (radiance * PI) - 1.0).abs().max_element() < tolerance, "{found:?}");
    }
}

#[test]
fn backs_of_single_sided_surfaces_absorb() {
    let mut shell = room();
    shell.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
    let mut scene = scene_of(shell, Material::diffuse("white", Vec3::ONE));
    scene.lights.push(Light {
        name: "lamp".into(),
        kind: LightKind::Point { position: Vec3::ZERO, intensity: Vec3::ONE, radius: 0.0, range: f32::INFINITY },
    });
    let found = gather(&scene, &[on_floor(0.0, 0.0)], 256, 0)[0];
    assert!((found.irradiance - Vec3::ONE).abs().max_element() < 1e-4, "direct light alone: {found:?}");
}

#[test]
fn the_standard_error_tells_how_far_results_of_other_seeds_lie() {
    let mut scene = scene_of(room(), Material::diffuse("gray", Vec3::splat(0.6)));
    scene.lights.push(Light {
        name: "lamp".into(),
        kind: LightKind::Point {
            position: Vec3::new(0.3, 0.5, 0.1),
            intensity: Vec3::splat(100.0),
            radius: 0.2,
            range: f32::INFINITY,
        },
    });
    let receivers = [on_floor(0.7, -0.2)];
    let truth = gather(&scene, &receivers, 1 << 15, 1000)[0].irradiance;
    let squared: f32 = (0..32)
        .map(|seed| {
            let found = gather(&scene, &receivers, 128, seed)[0];
            ((found.irradiance - truth).x / found.standard_error).powi(2)
        })
        .sum();
    let ratio = (squared / 32.0).sqrt();
    assert!((0.6..1.6).contains(&ratio), "errors are {ratio} of the claimed ones");
}

#[test]
fn threads_do_not_change_a_bit() {
    let mut glowing = Material::diffuse("glowing", Vec3::splat(0.5));
    glowing.emission = Vec3::ONE;
    let scene = scene_of(room(), glowing);
    let receivers = [on_floor(0.1, 0.2), on_floor(-0.5, 0.7)];
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| gather(&scene, &receivers, 64, 3))
    };
    assert_eq!(with_threads(1), with_threads(4));
}

/// Returns the first points of a reference file: receiver, irradiance and standard error.
fn reference_points(root: &str, name: &str, count: usize) -> Vec<(Receiver, Vec3, f32)> {
    let text = std::fs::read_to_string(format!("{root}/references/{name}.csv")).unwrap();
    text.lines()
        .skip(1)
        .take(count)
        .map(|line| {
            let n: Vec<f32> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let receiver = Receiver { position: Vec3::new(n[0], n[1], n[2]), normal: Vec3::new(n[3], n[4], n[5]) };
            (receiver, Vec3::new(n[6], n[7], n[8]), n[9])
        })
        .collect()
}

#[test]
fn canonical_rooms_are_lit_as_an_outside_renderer_lights_them() {
    let Some(truths) = crate::skip::truths() else { return };
    for name in ["ceil", "cornell", "cornell_empty", "furnace"] {
        let loaded = crate::scene_files::load(&format!("{truths}/scenes/canonical/{name}.gltf")).unwrap();
        let scene = loaded.scene.shared();
        let world = World::build(scene.clone(), Preset::best());
        let truths = reference_points(&truths, name, 40);
        let receivers: Vec<Receiver> = truths.iter().map(|(receiver, ..)| *receiver).collect();
        let found = irradiance_at(scene, &world, &LightSampler::new(scene), &receivers, 2048, 0, &Unmonitored).unwrap();
        let agree = |(point, (_, truth, error)): &(&PointIrradiance, &(Receiver, Vec3, f32))| {
            let tolerance = 3.0 * point.standard_error.hypot(*error);
            (point.irradiance - *truth).abs().cmple((*truth * 0.015).max(Vec3::splat(tolerance))).all()
        };
        let agreeing = found.iter().zip(&truths).filter(agree).count();
        assert!(agreeing as f32 >= 0.95 * truths.len() as f32, "{name}: {agreeing} of {}", truths.len());
        let mean = found.iter().map(|point| luminance(point.irradiance)).sum::<f32>();
        let true_mean = truths.iter().map(|(_, truth, _)| luminance(*truth)).sum::<f32>();
        assert!((mean / true_mean - 1.0).abs() < 0.005, "{name}: {mean} for {true_mean}");
    }
}

#[test]
fn a_sky_seen_through_tinted_glass_has_its_tint() {
    let color = Vec3::new(0.9, 0.5, 0.2);
    let glass = Material { transmission: 1.0, ..Material::diffuse("pane", color * 0.7) };
    let mut scene = scene_of(room(), glass);
    scene.sky = Sky::Uniform(Vec3::ONE);
    let found = gather(&scene, &[Receiver { position: Vec3::ZERO, normal: Vec3::Y }], 16_384, 3)[0].irradiance;
    let expected = color * 0.7 * PI;
    assert!((found / expected - 1.0).abs().max_element() < 0.01, "{found} {expected}");
}
