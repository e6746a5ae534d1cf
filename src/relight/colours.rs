//! Surfaces whose base colour is another than when they were baked.

use std::sync::Arc;

use glam::Vec3;

use super::level::Level;
use crate::geometry::SurfaceId;
use crate::radiosity::low_rank::Precomputed;
use crate::scene::{Material, MaterialId, Scene};

/// A surface's base colour as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// A surface of the baked scene.
    pub surface: SurfaceId,
    /// Its material's base colour but for its picture, linear. More than one counts as one.
    pub color: Vec3,
}

impl Paint {
    /// Why a surface of a level cannot have that colour; `None` when it can.
    pub fn fault(&self, level: &Level) -> Option<&'static str> {
        if level.elements.of_surface(self.surface).is_empty() {
            Some("it has no lightmap of its own")
        } else if level.scene.material_of(self.surface).can_be_passed() {
            Some("light passes it")
        } else if !self.color.is_finite() || self.color.min_element() < 0.0 {
            Some("its colour is negative or not finite")
        } else {
            None
        }
    }

    /// The surface's material with that colour.
    fn material(&self, scene: &Scene) -> Material {
        let material = scene.material_of(self.surface);
        Material { base_color: self.color.min(Vec3::ONE).extend(material.base_color.w), ..material.clone() }
    }
}

/// What elements of a level reflect in other colours, as far as they [can be](Paint::fault).
pub fn reflectance(level: &Level, paints: &[Paint]) -> Vec<Vec3> {
    let Level { scene, elements, .. } = level;
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

/// How light goes from element to element of a level where these reflect that.
pub fn painted(level: &Level, reflectance: &[Vec3]) -> Arc<Precomputed> {
    if reflectance == level.elements.reflectance {
        return Arc::clone(&level.precomputed);
    }
    let mut precomputed = Precomputed::clone(&level.precomputed);
    precomputed.set_reflectance(reflectance);
    Arc::new(precomputed)
}
