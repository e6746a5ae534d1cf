//! Tests of glTF files through Bevy's loader.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::bake::{self, Unobserved};
use bevy_radiosity::geometry::{Ray, RayQuery};
use bevy_radiosity::lights::LightSampler;
use bevy_radiosity::pathtrace::{Receiver, irradiance_at};
use bevy_radiosity::plugin::Baked;
use bevy_radiosity::prelude::*;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene::{self, Scene, Surface};
use bevy_radiosity::scene_files;

use crate::app::*;
use crate::world::read_scene;

pub fn spawn_file(app: &mut App, file: &str) {
    app.world_mut().resource_mut::<SceneSettings>().emissive_units = EmissiveUnits::Nits;
    let handle = app.world().resource::<AssetServer>().load(GltfAssetLabel::Scene(0).from_asset(file.to_owned()));
    app.world_mut().spawn(WorldAssetRoot(handle));
    tick_app_until(app, "the file", |app| app.world_mut().query::<&Mesh3d>().iter(app.world()).next().is_some());
    tick_app_times(app, 5);
}

fn by_key(scene: &Scene) -> BTreeMap<String, &Surface> {
    scene.surfaces.iter().map(|surface| (surface.key.to_string(), surface)).collect()
}

fn assert_same_scene(file: &str) {
    let path = format!("{}/assets/{file}", env!("CARGO_MANIFEST_DIR"));
    let expected = scene_files::load(&path).unwrap().scene;
    let mut app = create_world_app();
    spawn_file(&mut app, file);
    let read = read_scene(&mut app);
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    let found = read.scene;

    let (found_surfaces, expected_surfaces) = (by_key(&found), by_key(&expected));
    assert_eq!(found_surfaces.keys().collect::<Vec<_>>(), expected_surfaces.keys().collect::<Vec<_>>());
    for (key, surface) in &found_surfaces {
        let twin = expected_surfaces[key];
        assert!(surface.to_world.abs_diff_eq(twin.to_world, 1e-4), "{key}");
        assert_eq!(surface.sides, twin.sides, "{key}");
        assert_eq!((surface.role, surface.density_scale), (twin.role, twin.density_scale), "{key}");
        let (mesh, other) = (&found.meshes[surface.mesh.index()], &expected.meshes[twin.mesh.index()]);
        assert_eq!(mesh.triangles, other.triangles, "{key}");
        assert_eq!(mesh.positions, other.positions, "{key}");
        assert_eq!((&mesh.uv0, &mesh.uv1, &mesh.colors), (&other.uv0, &other.uv1, &other.colors), "{key}");
        let (material, other) =
            (&found.materials[surface.material.index()], &expected.materials[twin.material.index()]);
        assert!(material.base_color.abs_diff_eq(other.base_color, 1e-5), "{key}");
        assert!(material.emission.abs_diff_eq(other.emission, 1e-3), "{key}");
        assert_eq!((material.metallic, material.alpha), (other.metallic, other.alpha), "{key}");
        assert_eq!(material.perceptual_roughness, other.perceptual_roughness, "{key}");
        assert!(material.reflectance.abs_diff_eq(other.reflectance, 1e-5), "{key}");
        let texture = |scene: &Scene, reference: Option<scene::TextureRef>| {
            reference.map(|reference| {
                let texture = scene.texture(reference.texture);
                (
                    texture.width,
                    texture.height,
                    texture.wrap,
                    texture.texels.clone(),
                    reference.channel,
                    reference.transform,
                )
            })
        };
        assert!(
            texture(&found, material.base_color_texture) == texture(&expected, other.base_color_texture),
            "the picture of {key}"
        );
    }
    assert_eq!(found.lights.len(), expected.lights.len());
}

#[test]
fn the_cornell_box_is_the_same_scene_by_both_routes() {
    assert_same_scene("cornell_box.glb");
}

#[test]
fn the_level_is_the_same_scene_by_both_routes() {
    assert_same_scene("level.glb");
}

/// Bakes a file of the repository as the command line does.
fn bake_file(file: &str, folder: &Path) -> bake::BakeOutput {
    let scene = scene_files::load(&format!("{}/assets/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap().scene;
    let mut settings = quick_bake().settings;
    settings.layout.texels_per_meter = 24.0;
    settings.solver.error = 0.02;
    let mut baked = bake::run(scene, &settings, &Unobserved).unwrap();
    baked.write(folder).unwrap();
    baked
}

/// Spawns a baked level and its file.
fn show_level(app: &mut App, file: &str, folder: &Path) {
    spawn_baked_level(app, folder);
    spawn_file(app, file);
    tick_app_until_lit(app);
}

#[test]
fn a_baked_level_finds_every_surface_of_a_file_that_comes_later() {
    let folder = tempfile::tempdir().unwrap();
    let baked = bake_file("cornell_box.glb", folder.path());
    let mut app = create_world_app();
    show_level(&mut app, "cornell_box.glb", folder.path());
    tick_app_times(&mut app, 5);
    let lit = app.world_mut().query::<&Baked>().iter(app.world()).count();
    assert_eq!(lit, baked.layout.placements.iter().flatten().count());
    let seconds = app.world().resource::<Level>().loaded.unwrap().seconds;
    // Reading takes milliseconds, but a busy machine may have no free core.
    assert!(seconds < 2.0, "reading took {seconds} s");
}

#[test]
fn the_cornell_box_is_drawn_as_bright_as_paths_say() {
    let Some(mut app) = create_drawing_app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let baked = bake_file("cornell_box.glb", folder.path());
    let (scene, world) = (&*baked.scene, &*baked.world);
    let bounds = scene.bounds();
    let middle = (bounds.min + bounds.max) * 0.5;
    // The ray goes from the center of the room to the floor beside the blocks.
    let ray = Ray::new(middle, Vec3::new(-0.3, -1.0, 0.8).normalize());
    let hit = world.closest(&ray).unwrap();
    let normal = scene.geometric_normal(hit.surface, hit.triangle);
    let receiver = Receiver { position: ray.at(hit.t), normal };
    let lights = LightSampler::new(scene);
    let found = irradiance_at(scene, world, &lights, &[receiver], 4096, 1, &Unmonitored).unwrap()[0];
    let mesh = scene.mesh_of(hit.surface);
    let reflectance = scene.material_of(hit.surface).reflectance_at(scene, mesh, hit.triangle, hit.barycentric);
    let expected = found.irradiance * reflectance / core::f32::consts::PI * exposure();

    let picture = spawn_camera(&mut app, ray.origin, ray.at(hit.t));
    show_level(&mut app, "cornell_box.glb", folder.path());
    let what = format!("paths say {expected}");
    assert_shows(&mut app, &picture, &what, |seen| (seen / expected - 1.0).abs().max_element() < 0.06);
}

/// Writes a file with a floor, an animated door with a handle, a hidden roof and an unlit dome.
fn write_moving_room(folder: &Path) {
    let corners: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0];
    let (times, places): ([f32; 2], [f32; 6]) = ([0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let bytes: Vec<u8> = corners.iter().chain(&times).chain(&places).flat_map(|number| number.to_le_bytes()).collect();
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let mesh =
        |material: u32| serde_json::json!({"primitives": [{"attributes": {"POSITION": 0}, "material": material}]});
    let diffuse = serde_json::json!({"metallicFactor": 0});
    let document = serde_json::json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1, 3, 4]}],
        "nodes": [
            {"name": "floor", "mesh": 0},
            {"name": "door", "mesh": 0, "children": [2]},
            {"name": "handle", "mesh": 0},
            {"name": "roof", "mesh": 0, "extensions": {"KHR_node_visibility": {"visible": false}}},
            {"name": "dome", "mesh": 1}
        ],
        "meshes": [mesh(0), mesh(1)],
        "materials": [{"pbrMetallicRoughness": diffuse}, {"pbrMetallicRoughness": diffuse, "extensions": {"KHR_materials_unlit": {}}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, -1], "max": [1, 0, 0]},
            {"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
            {"bufferView": 0, "byteOffset": 44, "componentType": 5126, "count": 2, "type": "VEC3"}
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 68}],
        "buffers": [{"byteLength": 68, "uri": format!("data:application/octet-stream;base64,{data}")}],
        "animations": [{"name": "open", "samplers": [{"input": 1, "output": 2}],
            "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}]}],
        "extensionsUsed": ["KHR_node_visibility", "KHR_materials_unlit"]
    });
    std::fs::write(folder.join("room.gltf"), document.to_string()).unwrap();
}

#[test]
fn hidden_animated_and_unlit_surfaces_are_known_by_both_routes() {
    let folder = tempfile::tempdir().unwrap();
    write_moving_room(folder.path());
    let expected = scene_files::load(&folder.path().join("room.gltf").to_string_lossy()).unwrap();
    let roles = |scene: &Scene| -> BTreeMap<String, scene::Role> {
        let shown = scene.surfaces.iter().filter(|surface| surface.role != scene::Role::Excluded);
        shown.map(|surface| (surface.key.to_string(), surface.role)).collect()
    };
    let mut app = create_world_app_of(folder.path());
    spawn_file(&mut app, "room.gltf");
    let read = read_scene(&mut app);
    let found = roles(&read.scene);
    assert_eq!(found, roles(&expected.scene));
    let count = |role| found.values().filter(|found| **found == role).count();
    assert_eq!((found.len(), count(scene::Role::Static), count(scene::Role::Mover)), (3, 1, 2));
    for part in ["animation 'open' moves", "is unlit"] {
        assert!(read.warnings.iter().any(|warning| warning.contains(part)), "{:?}", read.warnings);
        assert!(expected.warnings.iter().any(|warning| warning.to_string().contains(part)), "{:?}", expected.warnings);
    }
}
