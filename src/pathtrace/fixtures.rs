//! Small scenes for tests.

use std::sync::Arc;

use glam::{Quat, Vec3, Vec4};

use super::Integrator;
use crate::geometry::Ray;
use crate::scene::{
    EnvironmentMap, Glass, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Sky, Surface, SurfaceKey,
    Texels, Texture, Wrap,
};

pub fn scene_of(parts: impl IntoIterator<Item = (MeshData, Material)>) -> Scene {
    let mut scene = Scene::default();
    for (mesh, material) in parts {
        add_part(&mut scene, mesh, material);
    }
    scene
}

/// Adds a surface named after its mesh.
pub fn add_part(scene: &mut Scene, mesh: MeshData, material: Material) -> &mut Surface {
    let mesh_id = MeshId::from_index(scene.meshes.len());
    let material_id = MaterialId::from_index(scene.materials.len());
    scene.surfaces.push(Surface::new(SurfaceKey(mesh.name.clone()), mesh_id, material_id));
    scene.meshes.push(Arc::new(mesh));
    scene.materials.push(material);
    scene.surfaces.last_mut().unwrap()
}

pub fn lamp(position: Vec3, intensity: f32) -> Light {
    let intensity = Vec3::splat(intensity);
    Light { name: "lamp".into(), kind: LightKind::Point { position, intensity, radius: 0.0, range: f32::INFINITY } }
}

/// Returns a low sun that shines deep into a Cornell box.
pub fn low_sun() -> Light {
    let direction = Vec3::new(-0.3, -0.4, -0.866).normalize();
    let kind = LightKind::Directional { direction, illuminance: Vec3::splat(3.0), angular_diameter: 0.01 };
    Light { name: "sun".into(), kind }
}

/// Returns a rectangular light in the open side of a Cornell box.
pub fn window() -> Light {
    let kind = LightKind::Rectangle {
        center: Vec3::new(0.0, 0.0, 0.99),
        half_width: Vec3::X * 0.5,
        half_height: Vec3::Y * 0.5,
        normal: Vec3::NEG_Z,
        radiance: Vec3::splat(0.8),
    };
    Light { name: "window".into(), kind }
}

/// Returns an environment map with `shades` gray levels, of which the first is black.
pub fn patchy_sky(shades: u32, scale: f32, rotation: Quat) -> Sky {
    let picture = Texture {
        name: "sky".into(),
        width: 8,
        height: 4,
        texels: Texels::Float((0..32).map(|index| Vec4::splat((index % shades) as f32)).collect()),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: Default::default(),
    };
    Sky::Map(EnvironmentMap { texture: Arc::new(picture), scale, rotation })
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

/// Returns the mean radiance along a ray.
pub fn mean_radiance(integrator: &dyn Integrator, ray: &Ray, samples: u32) -> Vec3 {
    (0..samples).map(|sample| integrator.trace(ray, sample, 5).radiance).sum::<Vec3>() / samples as f32
}

pub fn assert_close(found: Vec3, expected: Vec3, tolerance: f32, what: &str) {
    let error = ((found - expected) / expected.max_element()).abs().max_element();
    assert!(error < tolerance, "{what}: {found}, not {expected}");
}
