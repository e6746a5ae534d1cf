//! Point, spot and directional lights, as bright as Bevy draws them.

use glam::{Vec2, Vec3};

use super::emission::{BoundingSphere, disc};
use super::{Emission, LightNode, LightSample, Place};
use crate::geometry::sampling::{uniform_cone, uniform_sphere};
use crate::geometry::{Aabb, Ray, sin_cos_turns};
use crate::scene::LightKind;
use crate::scene::luminance;

/// Light without an emitting surface. Its radius or angular diameter blurs shadows but leaves unoccluded irradiance
/// unchanged, as in Bevy.
pub(super) struct Lamp(pub LightKind);

impl Lamp {
    /// Returns the strength: illuminance in lux for directional lights, luminous intensity in candela otherwise.
    pub fn strength(&self) -> f32 {
        match self.0 {
            LightKind::Point { intensity, .. } | LightKind::Spot { intensity, .. } => luminance(intensity),
            LightKind::Directional { illuminance, .. } => luminance(illuminance),
            LightKind::Rectangle { .. } => 0.0,
        }
    }

    /// Returns the luminous flux in lumens sent into a scene. `disc` is the scene's projected area in square meters for
    /// distant light.
    pub fn power(&self, disc: impl FnOnce() -> f32) -> f32 {
        use core::f32::consts::{PI, TAU};
        match self.0 {
            LightKind::Point { .. } => 4.0 * PI * self.strength(),
            LightKind::Spot { inner_angle, outer_angle, .. } => {
                let [inner, outer] = cone_cosines(inner_angle, outer_angle);
                // Integral of the squared ramp between the two angles: a third.
                TAU * self.strength() * (1.0 - inner + (inner - outer).max(0.0) / 3.0)
            }
            LightKind::Directional { .. } => self.strength() * disc(),
            LightKind::Rectangle { .. } => 0.0,
        }
    }

    /// Returns the approximate unoccluded illuminance in lux at a receiver.
    pub fn expected(&self, place: &Place) -> f32 {
        let local = |position: Vec3, range: f32| {
            let (distance_squared, facing) = place.view_of(position);
            let nearest = (distance_squared.sqrt() - place.radius).max(0.0);
            self.strength() * facing * range_window(nearest * nearest, range) / distance_squared
        };
        match self.0 {
            LightKind::Point { position, range, .. } => local(position, range),
            LightKind::Spot { position, direction, range, inner_angle, outer_angle, .. } => {
                let along = (place.at - position).normalize_or(direction).dot(direction);
                local(position, range) * cone_falloff(along, inner_angle, outer_angle).max(MIN_IN_CONE)
            }
            LightKind::Directional { direction, .. } => self.strength() * place.facing(-direction),
            LightKind::Rectangle { .. } => 0.0,
        }
    }

    /// Returns the leaf for the light tree.
    pub fn node(&self) -> LightNode {
        let local = |position: Vec3, axis: Vec3, cosines: [f32; 2], range: f32| {
            LightNode::near(Aabb { min: position, max: position }, self.strength(), axis, cosines).within(range)
        };
        match self.0 {
            LightKind::Point { position, range, .. } => local(position, Vec3::Y, [-1.0, 0.0], range),
            LightKind::Spot { position, direction, range, inner_angle, outer_angle, .. } => {
                let [_, outer] = cone_cosines(inner_angle, outer_angle);
                local(position, direction, [outer, 1.0 - 1e-4], range)
            }
            LightKind::Directional { direction, .. } => LightNode::far(self.strength(), direction, 1.0),
            LightKind::Rectangle { center, normal, .. } => local(center, normal, [1.0, 0.0], f32::INFINITY),
        }
    }

    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        match self.0 {
            LightKind::Point { position, intensity, radius, range } => {
                Local { position, intensity, radius, range }.sample(at, normal, u, |_| 1.0)
            }
            LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle } => {
                Local { position, intensity, radius, range }
                    .sample(at, normal, u, |toward| cone_falloff(-toward.dot(direction), inner_angle, outer_angle))
            }
            LightKind::Directional { direction, illuminance, angular_diameter } => {
                let irradiance = illuminance * normal.dot(-direction).max(0.0);
                let toward = uniform_cone(-direction, 0.5 * angular_diameter, Vec2::from_array(u));
                Some(LightSample { ray: Ray::new(at, toward), direction: toward, irradiance, pdf: None })
            }
            LightKind::Rectangle { .. } => None,
        }
    }

    /// Samples an emitted ray by four numbers in `[0, 1)`.
    pub fn emit(&self, bounding_sphere: &BoundingSphere, u: [f32; 4]) -> Option<Emission> {
        use core::f32::consts::TAU;
        let (place, towards) = ([u[0], u[1]], Vec2::new(u[2], u[3]));
        let from = |position: Vec3, radius: f32, direction: Vec3| {
            Ray::new(position + disc(direction, place) * radius, direction)
        };
        match self.0 {
            LightKind::Point { position, intensity, radius, range } => {
                let ray = from(position, radius, uniform_sphere(towards));
                Some(Emission { ray, power: intensity * (2.0 * TAU), radiance: None, range })
            }
            LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle } => {
                let [_, outer] = cone_cosines(inner_angle, outer_angle);
                let ray = from(position, radius, uniform_cone(direction, outer_angle.min(TAU / 4.0), towards));
                let falloff = cone_falloff(ray.direction.dot(direction), inner_angle, outer_angle);
                Some(Emission { ray, power: intensity * (falloff * TAU * (1.0 - outer)), radiance: None, range })
            }
            LightKind::Directional { direction, illuminance, angular_diameter } => {
                let ray = bounding_sphere.ray(uniform_cone(direction, 0.5 * angular_diameter, towards), place);
                let power = illuminance * bounding_sphere.disc();
                Some(Emission { ray, power, radiance: None, range: f32::INFINITY })
            }
            LightKind::Rectangle { .. } => None,
        }
    }
}

/// Position and strength of a point or spot light.
struct Local {
    position: Vec3,
    intensity: Vec3,
    radius: f32,
    range: f32,
}

impl Local {
    fn sample(self, at: Vec3, normal: Vec3, u: [f32; 2], falloff: impl Fn(Vec3) -> f32) -> Option<LightSample> {
        let offset = self.position - at;
        let distance_squared = offset.length_squared();
        let toward = offset.try_normalize()?;
        let strength = normal.dot(toward).max(0.0) * range_window(distance_squared, self.range) * falloff(toward)
            / distance_squared.max(NEAREST_SQUARED);
        if strength <= 0.0 {
            return None;
        }
        let target = self.position + disc(toward, u) * self.radius;
        Some(LightSample {
            ray: Ray::between(at, target),
            direction: (target - at).normalize_or(toward),
            irradiance: self.intensity * strength,
            pdf: None,
        })
    }
}

/// Minimum cone factor for a receiver whose center is outside a spot's cone.
const MIN_IN_CONE: f32 = 0.05;

/// Lower bound of squared distance in square meters, so that irradiance stays finite. Bevy clamps at one centimeter,
/// but a ceiling 5 mm above a lamp would then lack most of its light.
const NEAREST_SQUARED: f32 = 1e-8;

/// Returns Bevy's window, which fades a light to zero at its range.
pub(super) fn range_window(distance_squared: f32, range: f32) -> f32 {
    let ratio = distance_squared / (range * range);
    (1.0 - ratio * ratio).clamp(0.0, 1.0).powi(2)
}

/// Returns the cone factor: one within the inner angle, zero beyond the outer. Between them it is Filament's squared
/// ramp over the cosine, as in Bevy.
fn cone_falloff(cosine: f32, inner_angle: f32, outer_angle: f32) -> f32 {
    let [inner, outer] = cone_cosines(inner_angle, outer_angle);
    ((cosine - outer) / (inner - outer).max(1e-4)).clamp(0.0, 1.0).powi(2)
}

/// Returns the cosines of a spot's two angles, each clamped to at most 90 degrees.
fn cone_cosines(inner_angle: f32, outer_angle: f32) -> [f32; 2] {
    [inner_angle, outer_angle]
        .map(|angle| sin_cos_turns(angle.min(core::f32::consts::FRAC_PI_2) / core::f32::consts::TAU).1)
}
