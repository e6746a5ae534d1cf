//! Lights that are not surfaces, in Bevy's terms.

use glam::Vec3;

/// A light and what messages call it.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// What messages call the light.
    pub name: String,
    /// Its shape and strength.
    pub kind: LightKind,
}

/// Shape and strength of a light.
///
/// Point and spot lights fade to zero at their range by Bevy's window `saturate(1 - (d / range)^4)^2`, so that baked
/// light equals what Bevy draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// Shines alike in all directions.
    Point {
        /// Where it stands.
        position: Vec3,
        /// Luminous intensity per channel in candela (lumens / 4 pi).
        intensity: Vec3,
        /// Radius in metres of the sphere that casts soft shadows; zero is a point.
        radius: f32,
        /// Where the light ends, metres; infinite for none.
        range: f32,
    },
    /// Shines into a cone.
    Spot {
        /// Where it stands.
        position: Vec3,
        /// Unit vector along its axis, away from the lamp.
        direction: Vec3,
        /// Luminous intensity per channel in candela (lumens / 4 pi, as Bevy has it).
        intensity: Vec3,
        /// Radius in metres of the sphere that casts soft shadows; zero is a point.
        radius: f32,
        /// Where the light ends, metres; infinite for none.
        range: f32,
        /// Half angle in radians within which it is full.
        inner_angle: f32,
        /// Half angle in radians beyond which there is nothing.
        outer_angle: f32,
    },
    /// Comes from far away: the sun.
    Directional {
        /// Unit vector that the light travels along.
        direction: Vec3,
        /// Illuminance in lux per channel on a surface that faces it.
        illuminance: Vec3,
        /// Angle in radians that its disc spans in the sky; zero for a sharp shadow.
        angular_diameter: f32,
    },
    /// A rectangle that shines from one side.
    Rectangle {
        /// Its middle.
        centre: Vec3,
        /// From the middle to the middle of one edge, metres.
        half_width: Vec3,
        /// From the middle to the middle of the next edge, metres; at a right angle to `half_width`.
        half_height: Vec3,
        /// Unit normal of the side that shines.
        normal: Vec3,
        /// Emitted radiance per channel, cd/m2.
        radiance: Vec3,
    },
}
