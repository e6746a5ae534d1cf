//! Small scenes for tests.

use std::sync::Arc;

use glam::Vec3;

use super::Integrator;
use crate::geometry::Ray;
use crate::scene::{Glass, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey};

pub fn scene_of(parts: impl IntoIterator<Item = (MeshData, Material)>) -> Scene {
    let mut scene = Scene::default();
    for (mesh, material) in parts {
        let (mesh_id, material_id) =
            (MeshId::from_index(scene.meshes.len()), MaterialId::from_index(scene.materials.len()));
        scene.surfaces.push(Surface::new(SurfaceKey(mesh.name.clone()), mesh_id, material_id));
        scene.meshes.push(Arc::new(mesh));
        scene.materials.push(material);
    }
    scene
}

pub fn lamp(position: Vec3, intensity: f32) -> Light {
    let intensity = Vec3::splat(intensity);
    Light { name: "lamp".into(), kind: LightKind::Point { position, intensity, radius: 0.0, range: f32::INFINITY } }
}

pub fn white_metal(perceptual_roughness: f32) -> Material {
    Material { metallic: 1.0, perceptual_roughness, ..Material::default() }
}

pub fn clear_glass(ior: f32, absorption: Vec3) -> Material {
    Material { perceptual_roughness: 0.0, ..Material::default() }.with_glass(Glass {
        transmission: 1.0,
        ior,
        absorption,
    })
}

pub fn toward(origin: Vec3, target: Vec3) -> Ray {
    Ray::new(origin, (target - origin).normalize())
}

/// Mean radiance along a ray.
pub fn mean_radiance(integrator: &dyn Integrator, ray: &Ray, samples: u32) -> Vec3 {
    (0..samples).map(|sample| integrator.trace(ray, sample, 5).radiance).sum::<Vec3>() / samples as f32
}

pub fn assert_close(found: Vec3, expected: Vec3, tolerance: f32, what: &str) {
    let error = ((found - expected) / expected.max_element()).abs().max_element();
    assert!(error < tolerance, "{what}: {found}, not {expected}");
}
