//! Light as it leaves where it shines: how paths from lights begin.

use core::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};

use super::{AliasTable, Emitter, LightSampler, distant_disc};
use crate::geometry::Ray;
use crate::geometry::sampling::{orthonormal_basis, uniform_sphere};
use crate::geometry::sin_cos_turns;
use crate::scene::{Sky, luminance};

/// A ray of light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Which way it goes; of unit length.
    pub ray: Ray,
    /// Luminous flux in lumens per channel that it stands for, divided by the density of the choice: its mean is what
    /// everything in the scene sends out.
    pub power: Vec3,
    /// Radiance in cd/m2 of the surface that it leaves; `None` where there is no surface.
    pub radiance: Option<Vec3>,
    /// Where a lamp's light ends, metres; infinite for all else.
    pub range: f32,
}

impl Emission {
    /// What is left of the power at a distance in metres: a lamp's window, as Bevy has it, fades it to its range.
    pub fn power_at(&self, distance: f32) -> Vec3 {
        self.power * super::lamp::range_window(distance * distance, self.range)
    }
}

/// Draws rays of light from all that shines in a scene, a uniform sky included.
pub struct EmissionSampler<'a> {
    lights: &'a LightSampler<'a>,
    /// All emitters, and the sky if it is uniform.
    by_power: AliasTable,
    surroundings: Surroundings,
}

/// The sphere around a scene that light from far away comes through.
#[derive(Clone, Copy)]
pub(super) struct Surroundings {
    pub centre: Vec3,
    pub radius: f32,
}

impl Surroundings {
    /// A ray into the sphere along a direction, from a point of its disc that two numbers choose.
    pub fn ray(&self, direction: Vec3, u: [f32; 2]) -> Ray {
        let across = disc(direction, u) * self.radius;
        Ray::new(self.centre + across - direction * self.radius, direction)
    }

    /// Area in square metres of the disc that it shows from every side.
    pub fn disc(&self) -> f32 {
        PI * self.radius * self.radius
    }
}

/// A point of the unit disc that faces along `axis`.
pub(super) fn disc(axis: Vec3, u: [f32; 2]) -> Vec3 {
    let (tangent, bitangent) = orthonormal_basis(axis);
    let (sine, cosine) = sin_cos_turns(u[1]);
    (tangent * cosine + bitangent * sine) * u[0].sqrt()
}

/// Luminous flux in lumens that each emitter sends into the scene, and a uniform sky as the last one.
fn powers(lights: &LightSampler, surroundings: &Surroundings) -> Vec<f64> {
    let mut powers = lights.powers_into(|| surroundings.disc());
    if let Sky::Uniform(radiance) = lights.scene.sky {
        powers.push(f64::from(2.0 * TAU * luminance(radiance) * surroundings.disc()));
    }
    powers
}

impl<'a> EmissionSampler<'a> {
    /// Of the same emitters as `lights`.
    pub fn new(lights: &'a LightSampler<'a>) -> Self {
        let surroundings = distant_disc(lights.scene);
        let powers = powers(lights, &surroundings);
        Self { lights, by_power: AliasTable::new(&powers), surroundings }
    }

    /// The table that emitters are drawn from; the last entry may be the sky's.
    #[cfg(feature = "gpu")]
    pub(crate) fn by_power(&self) -> &AliasTable {
        &self.by_power
    }

    /// Luminous flux in lumens that all of them send into the scene.
    #[cfg(feature = "gpu")]
    pub(crate) fn power(&self) -> f64 {
        powers(self.lights, &self.surroundings).iter().sum()
    }

    /// The middle and the radius in metres of the sphere around the scene that light from far away comes through.
    #[cfg(feature = "gpu")]
    pub(crate) fn sphere(&self) -> (Vec3, f32) {
        (self.surroundings.centre, self.surroundings.radius)
    }

    /// Draws a ray by five numbers in `[0, 1)`; `None` where nothing shines.
    pub fn sample(&self, choice: f32, u: [f32; 4]) -> Option<Emission> {
        let (emitter, chance) = self.by_power.draw(choice)?;
        let emission = match self.lights.emitters.get(emitter) {
            Some(Emitter::Lamp(lamp)) => lamp.emit(&self.surroundings, u),
            Some(Emitter::Rectangle(rectangle)) => Some(rectangle.emit(u)),
            Some(Emitter::Surface(surface)) => surface.emit(self.lights.scene, u),
            Some(Emitter::Environment(environment)) => environment.emit(&self.surroundings, u),
            None => Some(self.emit_sky(u)),
        }?;
        let power = emission.power / chance;
        (power.is_finite() && power.max_element() > 0.0).then_some(Emission { power, ..emission })
    }

    fn emit_sky(&self, u: [f32; 4]) -> Emission {
        let ray = self.surroundings.ray(uniform_sphere(Vec2::new(u[2], u[3])), [u[0], u[1]]);
        let radiance = self.lights.scene.sky.radiance(-ray.direction);
        Emission { ray, power: radiance * (2.0 * TAU * self.surroundings.disc()), radiance: None, range: f32::INFINITY }
    }
}
