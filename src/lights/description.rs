//! Plain-data descriptions of emitters, for sampling in shaders.

use glam::Vec3;

use super::{EmissiveSurface, Emitter, LightSampler};
use crate::geometry::{Aabb, SurfaceId};
use crate::scene::{EnvironmentMap, LightKind, Scene};

/// Emitter data for shaders.
pub(crate) enum EmitterDescription<'a> {
    /// Point, spot or directional light.
    Lamp(LightKind),
    /// Rectangle that emits from the side of its normal.
    Rectangle { corner: Vec3, width: Vec3, height: Vec3, normal: Vec3, radiance: Vec3 },
    /// Emissive surface, with the cumulative probabilities of its triangles. `power` is the luminous flux in lumens,
    /// `bounds` the world-space box, `area` that of all sides in square meters.
    Surface { surface: SurfaceId, cumulative: &'a [f32], power: f32, bounds: Aabb, area: f32 },
    /// Environment map, with the cumulative probabilities of its cells in row order. `power` is the luminance
    /// integrated over the sphere, in cd sr / m2.
    Environment { map: &'a EnvironmentMap, columns: usize, rows: usize, cumulative: &'a [f32], power: f32 },
}

impl LightSampler<'_> {
    /// Returns all emitters, in index order.
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

/// Returns an emissive surface's luminous flux in lumens at its current transform, and its triangles' cumulative
/// probabilities. Used for moving emitters in shaders. `None` if the flux is zero or not finite.
pub(crate) fn weigh_surface(scene: &Scene, surface: SurfaceId) -> Option<(f32, Vec<f32>)> {
    let light = EmissiveSurface::new(scene, surface).filter(|light| light.power().is_finite())?;
    Some((light.power(), light.triangles.cumulative().to_vec()))
}
