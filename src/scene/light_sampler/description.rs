//! Emitters as plain data, for shaders that sample them on their own.

use glam::Vec3;

use super::{EmissiveSurface, Emitter, LightSampler};
use crate::geometry::{Aabb, SurfaceId};
use crate::scene::{EnvironmentMap, LightKind, Scene};

/// What a shader needs to know of an emitter.
pub(crate) enum EmitterDescription<'a> {
    /// A point or spot light, or the sun.
    Lamp(LightKind),
    /// A rectangle that shines from the side that its normal points to.
    Rectangle { corner: Vec3, width: Vec3, height: Vec3, normal: Vec3, radiance: Vec3 },
    /// An emissive surface, with the cumulative probabilities of its triangles; its luminous flux in lumens, the box around
    /// it, and the area of its sides in square metres.
    Surface { surface: SurfaceId, cumulative: &'a [f32], power: f32, bounds: Aabb, area: f32 },
    /// The environment map, with the cumulative probabilities of its cells, row by row, and the illuminance in lux that it
    /// would bring from all around.
    Environment { map: &'a EnvironmentMap, columns: usize, rows: usize, cumulative: &'a [f32], power: f32 },
}

impl LightSampler<'_> {
    /// All emitters, in the order in which they are numbered.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = EmitterDescription<'_>> {
        self.emitters.iter().map(|emitter| match emitter {
            Emitter::Lamp(lamp) => EmitterDescription::Lamp(lamp.0),
            Emitter::Rectangle(light) => EmitterDescription::Rectangle {
                corner: light.corner,
                width: light.width,
                height: light.height,
                normal: light.normal,
                radiance: light.radiance,
            },
            Emitter::Surface(light) => EmitterDescription::Surface {
                surface: light.surface,
                cumulative: light.triangles.cumulative(),
                power: light.power(),
                bounds: light.bounds,
                area: light.area,
            },
            Emitter::Environment(light) => EmitterDescription::Environment {
                map: &light.map,
                columns: light.columns,
                rows: light.rows,
                cumulative: light.cells.cumulative(),
                power: light.power(),
            },
        })
    }
}

/// Luminous flux in lumens of an emissive surface where it stands, and the cumulative probabilities of its triangles: for
/// shaders whose emitters move. `None` where it gives off no light, or more than can be weighed.
pub(crate) fn weigh_surface(scene: &Scene, surface: SurfaceId) -> Option<(f32, Vec<f32>)> {
    let light = EmissiveSurface::new(scene, surface).filter(|light| light.power().is_finite())?;
    Some((light.power(), light.triangles.cumulative().to_vec()))
}
