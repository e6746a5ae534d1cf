//! glTF files through Bevy's loader.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bevy::prelude::*;
use bevy::world_serialization::WorldAssetRoot;
use bevy_radiosity::bake::{self, Unobserved};
use bevy_radiosity::geometry::{Ray, RayQuery};
use bevy_radiosity::pathtrace::{Receiver, irradiance_at};
use bevy_radiosity::plugin::Baked;
use bevy_radiosity::prelude::*;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene::{self, LightSampler, Scene, Surface};

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
    let expected = scene::load(&path).unwrap().scene;
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
fn bake_file(file: &str, folder: &Path) -> bake::Bake {
    let mut scene = scene::load(&format!("{}/assets/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap().scene;
    scene::check::repair(&mut scene);
    let mut settings = quick_bake().settings;
    settings.layout.texels_per_metre = 24.0;
    settings.solver.error = 0.02;
    let mut baked = bake::run(Arc::new(scene), &settings, &Unobserved).unwrap();
    baked.write(folder).unwrap();
    baked
}

/// An app that is shown a baked level and its file, in either order.
fn show_level(app: &mut App, file: &str, folder: &Path) {
    app.world_mut().spawn(BakedLevel::new(folder));
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
    let seconds = app.world().resource::<Loaded>().0.unwrap().seconds;
    // It takes milliseconds, and a core of its own is not always to be had.
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
    // Down to the floor beside the blocks, from the middle of the room.
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
