//! Tests of spheres, tori and Bezier patches in the extras of nodes.

use core::f32::consts::PI;

use glam::{DAffine3, Quat};

use super::*;
use crate::Device;
use crate::accel::{Preset, World};
use crate::bake::{BakeSettings, Unobserved, run_on};
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Hit, Ray, RayQuery, Shape, SurfaceId, Triangle};
use crate::lightmap::irradiance_at;
use crate::lights::LightSampler;
use crate::pathtrace::{self, Receiver};
use crate::progress::Unmonitored;
use crate::scene::{MeshData, MeshId, Scene, Sky};

/// Returns a quad in a node with these extras.
fn with_extras(extras: Value) -> Asset {
    let mut asset = Asset::quad();
    asset.json["nodes"][1]["extras"] = extras;
    asset
}

fn sphere(radius: f32) -> Value {
    json!({"radiosity_shape": "sphere", "radiosity_shape_radius": radius})
}

/// Returns the patch of a square of edge three in the XZ plane, with its front up and its middle lifted.
fn sheet() -> Vec<f32> {
    let point = |row: usize, column: usize| {
        let is_inner = [row, column].iter().all(|at| matches!(at, 1 | 2));
        [column as f32, f32::from(u8::from(is_inner)), -(row as f32)]
    };
    (0..4).flat_map(|row| (0..4).flat_map(move |column| point(row, column))).collect()
}

fn triangles(mesh: &MeshData) -> impl Iterator<Item = Triangle> {
    mesh.triangles.iter().map(|corners| Triangle { corners: corners.map(|corner| mesh.positions[corner as usize]) })
}

fn area(mesh: &MeshData) -> f32 {
    triangles(mesh).map(|triangle| triangle.area()).sum()
}

fn volume(mesh: &MeshData) -> f32 {
    triangles(mesh).map(|Triangle { corners: [a, b, c] }| a.dot(b.cross(c)) / 6.0).sum()
}

#[test]
fn a_sphere_replaces_the_mesh_of_its_node_and_keeps_its_place_its_name_and_its_material() {
    let mut asset = with_extras(sphere(2.0));
    asset.json["nodes"][1]["translation"] = json!([1, 2, 3]);
    let parsed = asset.load();
    assert_eq!(sentences(&parsed), "");
    let (scene, surface) = (&parsed.scene, &parsed.scene.surfaces[0]);
    assert_eq!((scene.surfaces.len(), scene.meshes.len()), (1, 1), "the quad is not read");
    assert_eq!((surface.key.0.as_str(), surface.material), ("room/wall:0", crate::scene::MaterialId(0)));
    assert_eq!(surface.to_world.transform_point3(Vec3::ZERO), Vec3::new(1.0, 2.0, 3.0));
    assert_eq!(parsed.shapes, [(MeshId(0), Shape::Sphere { radius: 2.0 })]);
    let mesh = &scene.meshes[0];
    assert!(mesh.is_closed() && mesh.name == "wall");
    assert!((volume(mesh) / (4.0 / 3.0 * PI * 8.0) - 1.0).abs() < 0.005, "{}", volume(mesh));
    assert!((area(mesh) / (4.0 * PI * 4.0) - 1.0).abs() < 0.005, "{}", area(mesh));
}

#[test]
fn a_torus_and_a_patch_need_no_mesh_and_name_their_material() {
    let mut asset = Asset::quad();
    asset.json["nodes"][1] = json!({"name": "ring", "extras": {"radiosity": {
        "shape": "Torus", "shape_radius": 2, "shape_tube": 0.5, "shape_material": "paint", "shape_deviation": 0.001
    }}});
    asset.json["nodes"][2] = json!({"name": "sheet", "extras": {
        "radiosity_shape": "bezier", "radiosity_shape_points": sheet(), "radiosity_shape_material": 0
    }});
    let parsed = asset.load();
    assert_eq!(sentences(&parsed), "");
    let [ring, sheet] = [0, 1].map(|index| &*parsed.scene.meshes[index]);
    assert!(ring.is_closed() && !sheet.is_closed());
    // Pappus: the circle's area and its edge, times the way of its middle.
    let way = 2.0 * PI * 2.0;
    assert!((volume(ring) / (PI * 0.25 * way) - 1.0).abs() < 0.005, "{}", volume(ring));
    assert!((area(ring) / (2.0 * PI * 0.5 * way) - 1.0).abs() < 0.005, "{}", area(ring));
    // At the middle, the inner points have three quarters of the weight in each direction.
    let heights = sheet.positions.iter().map(|position| position.y);
    assert!((heights.fold(0.0, f32::max) - 0.75 * 0.75).abs() < 1e-2);
    assert!(triangles(sheet).all(|triangle| triangle.normal().y > 0.0));
    assert!(sheet.normals.iter().all(|normal| normal.y > 0.0 && (normal.length() - 1.0).abs() < 1e-5));
}

#[test]
fn rays_toward_the_middle_of_a_sphere_end_within_the_stated_distance_of_it() {
    for deviation in [0.2f32, 0.02, 0.002] {
        let mut extras = sphere(1.0);
        extras["radiosity_shape_deviation"] = deviation.into();
        let parsed = with_extras(extras).load();
        let [(_, shape)] = parsed.shapes.as_slice() else { panic!("there is one shape") };
        let world = World::build(std::sync::Arc::new(parsed.scene.clone()), Preset::best());
        for index in 0..500 {
            let [u, v, ..] = OwenSobol::new(1).point(index);
            let direction = uniform_sphere(Vec2::new(u, v));
            let ray = Ray::new(direction * 3.0, -direction);
            let [exact, met] = [shape.intersect(&ray, &DAffine3::IDENTITY), world.closest(&ray).map(|hit| hit.t)];
            assert!((exact.unwrap() - 2.0).abs() < 1e-6);
            assert!((0.0..=1.001 * deviation).contains(&(met.unwrap() - 2.0 + 1e-6)), "{met:?} {deviation}");
        }
    }
}

#[test]
fn under_a_glowing_sphere_the_irradiance_is_that_of_the_formula() {
    // The material glows with 20 cd/m2 in red.
    let scene = check::repair(with_extras(sphere(0.5)).load().scene).0;
    let world = World::build(scene.shared().clone(), Preset::best());
    let receivers = [1.0f32, 2.0, 4.0].map(|distance| Receiver { position: Vec3::Y * -distance, normal: Vec3::Y });
    let lights = LightSampler::new(&scene);
    let found = pathtrace::irradiance_at(&scene, &world, &lights, &receivers, 4096, 1, &Unmonitored).unwrap();
    for (found, receiver) in found.iter().zip(receivers) {
        let expected = PI * 20.0 * (0.5 / receiver.position.y).powi(2);
        // The lamp of the file, of 50 cd at a height of two meters, is hidden by the sphere.
        assert!((found.irradiance.x / expected - 1.0).abs() < 0.01, "{} {expected}", found.irradiance.x);
    }
}

#[test]
fn all_of_a_sphere_under_an_even_sky_has_a_lightmap_of_the_light_of_the_sky() {
    let mut asset = with_extras(sphere(0.5));
    asset.json["materials"][0]["emissiveFactor"] = json!([0, 0, 0]);
    let mut scene = asset.load().scene;
    scene.sky = Sky::Uniform(Vec3::ONE);
    scene.lights.clear();
    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 16.0;
    let bake = run_on(&Device::Cpu, check::repair(scene).0, &settings, &Unobserved).unwrap();
    for (surface, triangle) in bake.scene.triangles_of(SurfaceId(0)).step_by(7) {
        let barycentric = Vec2::splat(0.3);
        let hit = Hit { t: 0.0, surface, triangle, barycentric, back: false, filter: Vec3::ONE };
        let found = irradiance_at(&bake.layout, &bake.pages, &hit).expect("each triangle has texels");
        assert!((found.x / PI - 1.0).abs() < 0.02, "{triangle}: {found}");
    }
}

#[test]
fn children_have_the_role_of_a_shape_and_not_its_form() {
    let mut extras = sphere(1.0);
    extras["radiosity_role"] = json!("occluder");
    let mut asset = Asset::quad();
    asset.json["nodes"][0]["extras"] = extras;
    let parsed = asset.load();
    let scene = &parsed.scene;
    let keys: Vec<&str> = scene.surfaces.iter().map(|surface| surface.key.0.as_str()).collect();
    assert_eq!(keys, ["room:0", "room/wall:0"]);
    assert!(scene.surfaces.iter().all(|surface| surface.role == Role::Occluder));
    assert_eq!(scene.mesh_of(SurfaceId(1)).triangles.len(), 2);
    assert_eq!(parsed.shapes.len(), 1);
}

#[test]
fn faulty_shapes_are_named_and_leave_their_node_its_mesh() {
    let bent: Vec<f32> = sheet();
    for (extras, reason) in [
        (json!({"radiosity_shape": "cone"}), "'shape' of 'wall' is ignored: it must be sphere, torus or bezier"),
        (json!({"radiosity_shape": 3}), "it must be sphere, torus or bezier"),
        (json!({"radiosity_shape_radius": 1}), "it must be sphere, torus or bezier"),
        (json!({"radiosity_shape": "sphere"}), "'shape' of 'wall' is ignored: a sphere needs shape_radius"),
        (sphere(0.0), "'shape_radius' of 'wall' is ignored"),
        (sphere(-1.0), "a length above zero"),
        (json!({"radiosity_shape": "sphere", "radiosity_shape_radius": 1e300}), "a length above zero"),
        (json!({"radiosity_shape": "sphere", "radiosity_shape_raduis": 1}), "'shape_raduis' of 'wall'"),
        (json!({"radiosity": {"shape": "torus", "shape_radius": 1}}), "a torus needs shape_tube"),
        (json!({"radiosity": {"shape": "torus", "shape_radius": 1, "shape_tube": 1}}), "it must be below shape_radius"),
        (json!({"radiosity": {"shape": "bezier"}}), "patches need shape_points"),
        (json!({"radiosity": {"shape": "bezier", "shape_points": []}}), "48 numbers"),
        (json!({"radiosity": {"shape": "bezier", "shape_points": bent[1..]}}), "48 numbers"),
        (json!({"radiosity": {"shape": "bezier", "shape_points": vec!["a"; 48]}}), "finite numbers"),
        (json!({"radiosity": {"shape": "bezier", "shape_points": vec![1e300; 48]}}), "finite numbers"),
        (json!({"radiosity": {"shape": "sphere", "shape_radius": 1, "shape_deviation": 0}}), "'shape_deviation'"),
        (json!({"radiosity": {"shape": "sphere", "shape_radius": 1, "shape_material": true}}), "'shape_material'"),
    ] {
        let parsed = with_extras(extras.clone()).load();
        let said = sentences(&parsed);
        assert!(said.contains(reason) && said.lines().count() == 1, "{extras}: {said}");
        assert_eq!(parsed.scene.triangle_count(), 2, "{extras}");
        assert!(parsed.shapes.is_empty());
    }
    let mut unknown = sphere(1.0);
    unknown["radiosity_shape_material"] = json!("gold");
    let parsed = with_extras(unknown).load();
    assert!(sentences(&parsed).contains("'shape_material' of 'wall' is ignored: the file has no such material"));
    assert_eq!(parsed.scene.surfaces[0].material, crate::scene::MaterialId(0));
    let on_mesh = Asset::quad().with("/meshes/0/extras", sphere(1.0));
    assert!(sentences(&on_mesh.load()).contains("there is no such key"));
}

#[test]
fn shapes_that_would_fill_the_memory_are_refused_in_a_sentence_that_says_what_to_do() {
    let huge = |part: f32| json!({"radiosity": {"shape": "sphere", "shape_radius": 1e6, "shape_deviation": part}});
    let parsed = with_extras(huge(1e-6)).load();
    let said = sentences(&parsed);
    assert!(said.contains("'wall'") && said.contains("more than 4194304 vertices: raise"), "{said}");
    assert!(said.lines().count() == 1 && parsed.scene.surfaces.is_empty());
    // Several shapes share one limit: a thousand spheres of 16000 vertices.
    let mut asset = Asset::quad();
    let nodes: Vec<Value> = (0..1000).map(|_| json!({"extras": huge(500.0)})).collect();
    asset.json["scenes"][0]["nodes"] = (0..nodes.len()).collect();
    asset.json["nodes"] = nodes.into();
    let scene = asset.load().scene;
    let vertices: usize = scene.meshes.iter().map(|mesh| mesh.positions.len()).sum();
    assert!((4_000_000..=1 << 22).contains(&vertices), "{vertices}");
    // Memory counts as well.
    let options = SceneOptions { memory_mib: Some(64), ..SceneOptions::default() };
    let source = Source::of(Path::new("room.glb")).within(options.memory_mib);
    let bytes = with_extras(huge(2.0)).glb();
    let parsed = finish(read(&bytes, &source, Purpose::Bake, &options)).unwrap();
    assert!(parsed.scene.surfaces.is_empty());
    assert_eq!(source.budget.exceeded(), Some(("the shape 'wall'", 64)));
}

#[test]
fn instances_and_hidden_nodes_have_shapes_as_they_have_meshes() {
    let mut asset = with_extras(sphere(1.0));
    let places = [[0.0f32, 0.0, 0.0], [5.0, 0.0, 0.0], [0.0, 5.0, 0.0]];
    let bytes: &[u8] = bytemuck::cast_slice(&places);
    let view = json!({"buffer": 0, "byteOffset": asset.binary.len(), "byteLength": bytes.len()});
    asset.binary.extend(bytes);
    asset.json["buffers"][0]["byteLength"] = asset.binary.len().into();
    asset.json["bufferViews"].as_array_mut().unwrap().push(view);
    let accessor = json!({"bufferView": 5, "componentType": 5126, "count": 3, "type": "VEC3"});
    asset.json["accessors"].as_array_mut().unwrap().push(accessor);
    asset.json["nodes"][1]["extensions"] = json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 4}}});
    asset.json["extensionsUsed"].as_array_mut().unwrap().push(json!("EXT_mesh_gpu_instancing"));
    let scene: Scene = asset.load().scene;
    assert_eq!((scene.surfaces.len(), scene.meshes.len()), (3, 1));
    assert_eq!(scene.surfaces[1].to_world, Affine3A::from_rotation_translation(Quat::IDENTITY, Vec3::X * 5.0));
    asset.json["nodes"][1]["extensions"] = json!({"KHR_node_visibility": {"visible": false}});
    assert!(asset.load().scene.surfaces.is_empty());
}
