//! Emission sampling: the start of light paths.

use core::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};

use super::{AliasTable, Emitter, LightSampler, distant_disc};
use crate::geometry::Ray;
use crate::geometry::sampling::{orthonormal_basis, uniform_sphere};
use crate::geometry::sin_cos_turns;
use crate::scene::{Sky, luminance};

/// Light ray that leaves an emitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Ray along the emitted direction, of unit length.
    pub ray: Ray,
    /// Luminous flux in lumens per channel, divided by the probability density of the choice. Its mean is the total
    /// flux emitted in the scene.
    pub power: Vec3,
    /// Radiance in cd/m2 of the emitting surface; `None` for emitters without a surface.
    pub radiance: Option<Vec3>,
    /// Range in meters at which a lamp's light ends; infinite for all other emitters.
    pub range: f32,
}

impl Emission {
    /// Returns the power that remains at a distance in meters, after Bevy's range window.
    pub fn power_at(&self, distance: f32) -> Vec3 {
        self.power * super::lamp::range_window(distance * distance, self.range)
    }
}

/// Sampler of light rays from all emitters of a scene, including a uniform sky.
pub struct EmissionSampler<'a> {
    lights: &'a LightSampler<'a>,
    /// Table of all emitters, and of the sky if it is uniform.
    by_power: AliasTable,
    bounding_sphere: BoundingSphere,
}

/// Bounding sphere of a scene, through which distant light enters.
#[derive(Clone, Copy)]
pub(super) struct BoundingSphere {
    pub center: Vec3,
    pub radius: f32,
}

impl BoundingSphere {
    /// Returns a ray into the sphere along a direction, from a random point of the facing disc.
    pub fn ray(&self, direction: Vec3, u: [f32; 2]) -> Ray {
        let across = disc(direction, u) * self.radius;
        Ray::new(self.center + across - direction * self.radius, direction)
    }

    /// Returns the area in square meters of the sphere's projected disc.
    pub fn disc(&self) -> f32 {
        PI * self.radius * self.radius
    }
}

/// Returns a point of the unit disc perpendicular to `axis`.
pub(super) fn disc(axis: Vec3, u: [f32; 2]) -> Vec3 {
    let (tangent, bitangent) = orthonormal_basis(axis);
    let (sine, cosine) = sin_cos_turns(u[1]);
    (tangent * cosine + bitangent * sine) * u[0].sqrt()
}

/// Returns the luminous flux in lumens that each emitter sends into the scene, with a uniform sky last.
fn powers(lights: &LightSampler, bounding_sphere: &BoundingSphere) -> Vec<f64> {
    let mut powers = lights.powers_into(|| bounding_sphere.disc());
    if let Sky::Uniform(radiance) = lights.scene.sky {
        powers.push(f64::from(2.0 * TAU * luminance(radiance) * bounding_sphere.disc()));
    }
    powers
}

impl<'a> EmissionSampler<'a> {
    /// Builds a sampler of the emitters of `lights`.
    pub fn new(lights: &'a LightSampler<'a>) -> Self {
        let bounding_sphere = distant_disc(lights.scene);
        let powers = powers(lights, &bounding_sphere);
        Self { lights, by_power: AliasTable::new(&powers), bounding_sphere }
    }

    /// Returns the alias table of emitters. The last entry may be the sky.
    #[cfg(feature = "gpu")]
    pub(crate) fn by_power(&self) -> &AliasTable {
        &self.by_power
    }

    /// Returns the total luminous flux in lumens sent into the scene.
    #[cfg(feature = "gpu")]
    pub(crate) fn power(&self) -> f64 {
        powers(self.lights, &self.bounding_sphere).iter().sum()
    }

    /// Returns the center and the radius in meters of the scene's bounding sphere.
    #[cfg(feature = "gpu")]
    pub(crate) fn sphere(&self) -> (Vec3, f32) {
        (self.bounding_sphere.center, self.bounding_sphere.radius)
    }

    /// Samples a light ray by five numbers in `[0, 1)`; `None` if the ray carries no light.
    pub fn sample(&self, choice: f32, u: [f32; 4]) -> Option<Emission> {
        let (emitter, probability) = self.by_power.draw(choice)?;
        let emission = match self.lights.emitters.get(emitter) {
            Some(Emitter::Lamp(lamp)) => lamp.emit(&self.bounding_sphere, u),
            Some(Emitter::Rectangle(rectangle)) => Some(rectangle.emit(u)),
            Some(Emitter::Surface(surface)) => surface.emit(self.lights.scene, u),
            Some(Emitter::Environment(environment)) => environment.emit(&self.bounding_sphere, u),
            None => Some(self.emit_sky(u)),
        }?;
        let power = emission.power / probability;
        (power.is_finite() && power.max_element() > 0.0).then_some(Emission { power, ..emission })
    }

    fn emit_sky(&self, u: [f32; 4]) -> Emission {
        let ray = self.bounding_sphere.ray(uniform_sphere(Vec2::new(u[2], u[3])), [u[0], u[1]]);
        let radiance = self.lights.scene.sky.radiance(-ray.direction);
        Emission {
            ray,
            power: radiance * (2.0 * TAU * self.bounding_sphere.disc()),
            radiance: None,
            range: f32::INFINITY,
        }
    }
}
