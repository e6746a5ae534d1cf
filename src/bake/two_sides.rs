//! Tests of bakes of surfaces that are seen from both sides.

use std::sync::Arc;

use glam::Vec3;

use super::{BakeOutput, BakeSettings, BakedScene, Unobserved, run_on};
use crate::Device;
use crate::geometry::SurfaceId;
use crate::lights::LightSampler;
use crate::pathtrace::{Receiver, irradiance_at};
use crate::progress::Unmonitored;
use crate::scene::check::repair;
use crate::scene::{
    CheckedScene, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Sides, Surface, SurfaceKey, shapes,
};

const SHEET: SurfaceId = SurfaceId(1);

/// Returns an upright rectangle in the plane z = `min.z`, facing +Z.
fn upright(name: &str, min: Vec3, max: Vec3) -> MeshData {
    let (left, right) = (Vec3::new(min.x, max.y, min.z), Vec3::new(max.x, min.y, min.z));
    shapes::quad(name, [min, right, max.with_z(min.z), left])
}

/// Returns a gray room with a lamp on one side of a sheet that hangs in its middle. A picture hangs a centimeter before
/// the wall behind the sheet, and there is a closed crate. All meshes but the room are double-sided.
fn divided_room() -> CheckedScene {
    let meshes = [
        shapes::inside_out(shapes::cuboid("room", Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 3.0, 2.0))),
        upright("sheet", Vec3::new(-1.0, 0.5, 0.0), Vec3::new(1.0, 2.5, 0.0)),
        upright("picture", Vec3::new(-0.5, 1.0, -1.99), Vec3::new(0.5, 2.0, -1.99)),
        shapes::cuboid("crate", Vec3::new(-1.8, 0.0, -1.5), Vec3::new(-1.2, 0.6, -0.9)),
    ];
    let mut scene = Scene { materials: vec![Material::diffuse("gray", Vec3::splat(0.7))], ..Scene::default() };
    for (index, mesh) in meshes.into_iter().enumerate() {
        let key = SurfaceKey::from_node(&mesh.name, 0);
        let sides = if index == 0 { Sides::Front } else { Sides::Both };
        scene.surfaces.push(Surface { sides, ..Surface::new(key, MeshId::from_index(index), MaterialId(0)) });
        scene.meshes.push(Arc::new(mesh));
    }
    let position = Vec3::new(0.0, 1.5, 1.0);
    let kind = LightKind::Point { position, intensity: Vec3::splat(100.0), radius: 0.0, range: f32::INFINITY };
    scene.lights.push(Light { name: "lamp".to_owned(), kind });
    repair(scene).0
}

fn bake_finely(scene: &CheckedScene) -> BakeOutput {
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = 8.0;
    settings.solver.error = 0.02;
    run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved).expect("a small room")
}

/// Returns receivers in the sheet's middle that face along `normal`.
fn receivers(normal: Vec3) -> Vec<Receiver> {
    let steps = [-0.55, 0.05, 0.45];
    let places = steps.into_iter().flat_map(|x| steps.map(|y| Vec3::new(x, 1.5 + y, 0.0)));
    places.map(|place| Receiver { position: place + normal * 1e-3, normal }).collect()
}

#[test]
fn each_side_of_a_sheet_in_a_room_shows_its_own_light() {
    let scene = divided_room();
    let mut bake = bake_finely(&scene);
    let folder = tempfile::tempdir().expect("a temporary folder");
    bake.write(folder.path()).expect("a fresh folder can be written");
    let baked = BakedScene::read(folder.path(), &scene).expect("what was written");
    let lights = LightSampler::new(&scene);
    let mut means = Vec::new();
    for normal in [Vec3::Z, Vec3::NEG_Z] {
        let receivers = receivers(normal);
        let truth =
            irradiance_at(&scene, &*bake.world, &lights, &receivers, 16_384, 1, &Unmonitored).expect("uncancelled");
        let shown: Vec<f32> =
            baked.irradiance_at(&receivers).into_iter().map(|found| found.expect("the sheet has texels").x).collect();
        for (shown, truth) in shown.iter().zip(&truth) {
            let tolerance = 0.06 * truth.irradiance.x + 3.0 * truth.standard_error;
            assert!((shown - truth.irradiance.x).abs() < tolerance, "{normal}: {shown}, not {truth:?}");
        }
        means.push(shown.iter().sum::<f32>() / shown.len() as f32);
    }
    // At a meter from a lamp of 100 candela, the middle has 100 lux, none of which reaches the back of the sheet.
    assert!(means[0] > 70.0 && means[1] < 0.5 * means[0], "{means:?}");
}

#[test]
fn only_what_is_seen_from_both_sides_has_texels_for_both() {
    let scene = divided_room();
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = 4.0;
    settings.solver.error = 0.5;
    let bake = run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved).expect("a small room");
    for surface in scene.surface_ids() {
        let placement = bake.layout.placement(surface).expect("all are static");
        assert_eq!(placement.unwrap.is_two_sided(), surface == SHEET, "{}", scene.surface(surface).key);
    }
}
