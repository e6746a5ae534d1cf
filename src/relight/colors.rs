//! Surfaces whose base color has changed since the bake.

use std::sync::Arc;

use glam::Vec3;

use super::input::RelightInput;
use crate::geometry::SurfaceId;
use crate::low_rank::Precomputed;
use crate::scene::{Material, MaterialId, Scene};

/// Current base color of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// Surface of the baked scene.
    pub surface: SurfaceId,
    /// Base color factor of its material without the texture, linear. Values above one count as one.
    pub color: Vec3,
}

impl Paint {
    /// Returns the reason why a surface cannot take the color, or `None` if it can.
    pub fn fault(&self, level: &RelightInput) -> Option<&'static str> {
        if level.elements.of_surface(self.surface).is_empty() {
            Some("it has no lightmap of its own")
        } else if level.scene.material_of(self.surface).can_be_passed() {
            Some("light passes it")
        } else if !self.color.is_finite() || self.color.min_element() < 0.0 {
            Some("its color is negative or not finite")
        } else {
            None
        }
    }

    /// Returns the material of the surface with the new color.
    fn material(&self, scene: &Scene) -> Material {
        let material = scene.material_of(self.surface);
        Material { base_color: self.color.min(Vec3::ONE).extend(material.base_color.w), ..material.clone() }
    }
}

/// Returns the reflectance of each element after repainting. Paints with a [fault](Paint::fault) are ignored.
pub fn reflectance(level: &RelightInput, paints: &[Paint]) -> Vec<Vec3> {
    let RelightInput { scene, elements, .. } = level;
    let mut painted = Scene::clone(scene);
    let mut reflectance = elements.reflectance.clone();
    for paint in paints.iter().filter(|paint| paint.fault(level).is_none()) {
        painted.surfaces[paint.surface.index()].material = MaterialId::from_index(painted.materials.len());
        painted.materials.push(paint.material(scene));
        let other = elements.reflectance_in(&painted, paint.surface);
        reflectance[elements.of_surface(paint.surface)].copy_from_slice(&other);
    }
    reflectance
}

/// Returns the precomputed transport for another reflectance of each element. It is shared if the reflectance is the
/// baked one.
pub fn painted(level: &RelightInput, reflectance: &[Vec3]) -> Arc<Precomputed> {
    if reflectance == level.elements.reflectance {
        return Arc::clone(&level.precomputed);
    }
    let mut precomputed = Precomputed::clone(&level.precomputed);
    precomputed.set_reflectance(reflectance);
    Arc::new(precomputed)
}
