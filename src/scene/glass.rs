//! Solid glass: materials with refraction and absorption.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{AlphaMode, Material, Scene, Sides};

/// Medium inside a solid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Glass {
    /// Fraction of light transmitted into the solid, of the light neither reflected specularly nor absorbed as by a
    /// metal. [`Material::transmission_texture`] multiplies it.
    pub transmission: f32,
    /// Index of refraction: 1.33 for water, 1.5 for glass, 2.4 for diamond.
    pub ior: f32,
    /// Absorption coefficient per meter and channel: the transmittance is `exp(-absorption * meters)`.
    pub absorption: Vec3,
}

impl Glass {
    /// Returns the absorption of a solid that tints white light to `color` after the given distance in meters. Returns
    /// zero if the distance is not positive and finite.
    pub fn absorption_of(color: Vec3, meters: f32) -> Vec3 {
        /// Lower bound of a channel, so that its logarithm stays finite.
        const DARKEST: f32 = 1e-6;
        let fade = |channel: f32| -(libm::log(f64::from(channel.clamp(DARKEST, 1.0))) / f64::from(meters)) as f32;
        if meters > 0.0 && meters.is_finite() { color.map(fade) } else { Vec3::ZERO }
    }
}

impl Scene {
    /// Returns the scene as images show it: rays stop at solid glass, and path tracers refract them.
    ///
    /// In bakes the same surfaces transmit light straight on, as thin panes do, because lightmaps hold no caustics.
    pub fn with_solid_glass(mut self) -> Self {
        for surface in &mut self.surfaces {
            if self.materials[surface.material.index()].glass.is_some() {
                surface.sides = Sides::Both;
            }
        }
        for material in self.materials.iter_mut().filter(|material| material.glass.is_some()) {
            material.transmission = 0.0;
        }
        self
    }
}

impl Material {
    /// Makes the material a solid that transmits light. Bakes treat it as [`Material::with_transmission`] does. So does
    /// path tracing unless [`AlphaMode::Opaque`] is set.
    pub fn with_glass(mut self, glass: Glass) -> Self {
        if glass.transmission > 0.0 && self.alpha == AlphaMode::Opaque {
            self.glass = Some(glass);
        }
        self.with_transmission(glass.transmission)
    }

    /// Returns the glass that a ray hits, if rays stop at it at all.
    pub fn solid_glass(&self) -> Option<&Glass> {
        self.glass.as_ref().filter(|_| !self.can_be_passed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_has_the_color_of_the_glass_after_the_distance_that_it_is_given_for() {
        let color = Vec3::new(0.25, 0.5, 1.0);
        let left = (-Glass::absorption_of(color, 0.2) * 0.2).map(f32::exp);
        assert!((left - color).abs().max_element() < 1e-6, "{left}");
        assert_eq!(Glass::absorption_of(color, f32::INFINITY), Vec3::ZERO);
        assert!(Glass::absorption_of(Vec3::ZERO, 1.0).is_finite());
    }

    #[test]
    fn solid_glass_lets_rays_pass_in_bakes_and_stops_them_in_pictures() {
        let glass = Glass { transmission: 0.75, ior: 1.5, absorption: Vec3::ZERO };
        let material = Material::default().with_glass(glass);
        assert_eq!((material.transmission, material.can_be_passed(), material.solid_glass()), (0.75, true, None));
        let scene = Scene { materials: vec![material], ..Scene::default() }.with_solid_glass();
        assert_eq!((scene.materials[0].can_be_passed(), scene.materials[0].solid_glass()), (false, Some(&glass)));
        let leaf = Material { alpha: AlphaMode::Mask(0.5), ..Material::default() };
        assert_eq!(leaf.clone().with_glass(glass), leaf.with_transmission(0.75));
    }
}
