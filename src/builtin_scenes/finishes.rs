//! Finishes of objects that no lightmap can show: metal, mirrors and glass.

use glam::Vec3;

use crate::scene::{Glass, Material};

pub(super) const STEEL: Vec3 = Vec3::new(0.86, 0.85, 0.83);
/// Color of white light after a meter of greenish glass.
pub(super) const GREENISH: Vec3 = Vec3::new(0.8, 0.95, 0.9);

/// Returns a metal. A roughness of zero makes it a mirror, and `color` is its reflectance.
pub(super) fn metal(name: &str, color: Vec3, perceptual_roughness: f32) -> Material {
    Material {
        name: name.into(),
        base_color: color.extend(1.0),
        metallic: 1.0,
        perceptual_roughness,
        ..Material::default()
    }
}

/// Returns clear glass, a meter of which tints white light to `color`.
pub(super) fn glass(name: &str, color: Vec3) -> Material {
    let absorption = Glass::absorption_of(color, 1.0);
    let smooth = Material { name: name.into(), perceptual_roughness: 0.0, ..Material::default() };
    smooth.with_glass(Glass { transmission: 1.0, ior: 1.5, absorption })
}
