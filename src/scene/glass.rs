//! Solids that light goes through.

use glam::Vec3;

use super::{AlphaMode, Material, Scene, Sides};

/// What a solid is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glass {
    /// The part of the light that goes in, of what the surface neither mirrors nor, as a metal, takes.
    /// [`Material::transmission_texture`] is multiplied with it.
    pub transmission: f32,
    /// Index of refraction: 1.33 for water, 1.5 for glass, 2.4 for diamond.
    pub ior: f32,
    /// How fast light fades within, per metre and channel: `exp(-absorption * metres)` is left.
    pub absorption: Vec3,
}

impl Glass {
    /// Absorption of a solid in which white light has become `colour` after some metres.
    pub fn absorption_of(colour: Vec3, metres: f32) -> Vec3 {
        /// Darker is black for all that follows, and its logarithm is a number.
        const DARKEST: f32 = 1e-6;
        let fade = |channel: f32| -(f64::from(channel.clamp(DARKEST, 1.0)).ln() / f64::from(metres)) as f32;
        if metres > 0.0 && metres.is_finite() { colour.map(fade) } else { Vec3::ZERO }
    }
}

impl Scene {
    /// The scene as pictures show it: rays stop at solid glass, and whoever follows them sends them on.
    ///
    /// For bakes the same surfaces let light straight through, as panes do, since lightmaps know no caustics.
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
    /// Lets light into a solid of this material. Bakes treat it as [`Material::with_transmission`] says, and so does path
    /// tracing where alpha has a meaning.
    pub fn with_glass(mut self, glass: Glass) -> Self {
        if glass.transmission > 0.0 && self.alpha == AlphaMode::Opaque {
            self.glass = Some(glass);
        }
        self.with_transmission(glass.transmission)
    }

    /// The glass that a ray meets, if rays stop at it at all.
    pub fn solid_glass(&self) -> Option<&Glass> {
        self.glass.as_ref().filter(|_| !self.can_be_passed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_has_the_colour_of_the_glass_after_the_distance_that_it_is_given_for() {
        let colour = Vec3::new(0.25, 0.5, 1.0);
        let left = (-Glass::absorption_of(colour, 0.2) * 0.2).map(f32::exp);
        assert!((left - colour).abs().max_element() < 1e-6, "{left}");
        assert_eq!(Glass::absorption_of(colour, f32::INFINITY), Vec3::ZERO);
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
