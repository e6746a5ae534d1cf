//! Lights that are not surfaces, with Bevy's parameters.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// Light with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Light {
    /// Name for messages.
    pub name: String,
    /// Shape and strength.
    pub kind: LightKind,
}

/// Shape and strength of a light.
///
/// Point and spot lights fade to zero at their range by Bevy's window `saturate(1 - (d / range)^4)^2`. So baked light
/// equals the light that Bevy draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LightKind {
    /// Point light: equal intensity in all directions.
    Point {
        /// Position, in meters.
        position: Vec3,
        /// Luminous intensity per channel in candela (lumens / 4 pi).
        intensity: Vec3,
        /// Radius in meters of the sphere that casts soft shadows; zero for a point.
        radius: f32,
        /// Range in meters at which the light ends; infinite for no limit.
        range: f32,
    },
    /// Spot light: shines into a cone.
    Spot {
        /// Position, in meters.
        position: Vec3,
        /// Unit vector along the axis, away from the lamp.
        direction: Vec3,
        /// Luminous intensity per channel in candela (lumens / 4 pi, as in Bevy).
        intensity: Vec3,
        /// Radius in meters of the sphere that casts soft shadows; zero for a point.
        radius: f32,
        /// Range in meters at which the light ends; infinite for no limit.
        range: f32,
        /// Half angle in radians of the cone with full intensity.
        inner_angle: f32,
        /// Half angle in radians beyond which there is no light.
        outer_angle: f32,
    },
    /// Directional light: the sun.
    Directional {
        /// Unit vector along which the light travels.
        direction: Vec3,
        /// Illuminance in lux per channel on a surface that faces the light.
        illuminance: Vec3,
        /// Angular diameter of the disc in radians; zero for sharp shadows.
        angular_diameter: f32,
    },
    /// Rectangular area light that emits from one side.
    Rectangle {
        /// Center, in meters.
        center: Vec3,
        /// Vector in meters from the center to the middle of one edge.
        half_width: Vec3,
        /// Vector in meters from the center to the middle of the next edge, perpendicular to `half_width`.
        half_height: Vec3,
        /// Unit normal of the emitting side.
        normal: Vec3,
        /// Emitted radiance per channel, cd/m2.
        radiance: Vec3,
    },
}

impl LightKind {
    /// Returns the name of the kind, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Point { .. } => "point light",
            Self::Spot { .. } => "spot light",
            Self::Directional { .. } => "sun",
            Self::Rectangle { .. } => "rectangle light",
        }
    }

    /// Returns the intensity, illuminance or radiance.
    pub fn strength_mut(&mut self) -> &mut Vec3 {
        match self {
            Self::Point { intensity, .. } | Self::Spot { intensity, .. } => intensity,
            Self::Directional { illuminance, .. } => illuminance,
            Self::Rectangle { radiance, .. } => radiance,
        }
    }

    /// Returns the position in meters, or the unit vector along which the light of a sun travels.
    pub fn place(&self) -> LightPlace {
        match *self {
            Self::Point { position, .. } | Self::Spot { position, .. } => LightPlace::Position(position.to_array()),
            Self::Directional { direction, .. } => LightPlace::Direction(direction.to_array()),
            Self::Rectangle { center, .. } => LightPlace::Position(center.to_array()),
        }
    }
}

/// Place of a light.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LightPlace {
    /// Position of a lamp, in meters, in the space of the scene.
    Position([f32; 3]),
    /// Unit vector along which the light of a sun travels, in the space of the scene.
    Direction([f32; 3]),
}
