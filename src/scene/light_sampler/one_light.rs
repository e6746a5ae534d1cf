//! A single light, whatever else shines.

use glam::Vec3;

use super::{EmissiveSurface, Emitter, Lamp, LightSample, RectangleLight};
use crate::geometry::{Hit, Ray, SurfaceId};
use crate::scene::{LightKind, Scene};

/// Aims at one light as [`LightSampler`](super::LightSampler) does at each of many.
pub struct OneLight<'a> {
    scene: &'a Scene,
    emitter: Emitter,
}

impl<'a> OneLight<'a> {
    /// A light that is not a surface; `None` for a rectangle without area.
    pub fn of_kind(scene: &'a Scene, kind: &LightKind) -> Option<Self> {
        let emitter = match kind {
            LightKind::Rectangle { .. } => Emitter::Rectangle(RectangleLight::new(kind)?),
            kind => Emitter::Lamp(Lamp(*kind)),
        };
        Some(Self { scene, emitter })
    }

    /// A surface that shines in its scene; `None` for one that is dark.
    pub fn of_surface(scene: &'a Scene, surface: SurfaceId) -> Option<Self> {
        Some(Self { scene, emitter: Emitter::Surface(EmissiveSurface::new(scene, surface)?) })
    }

    /// Aims at a point of it, from a receiver at `at` with unit normal `normal`: as
    /// [`LightSampler::sample_emitter`](super::LightSampler::sample_emitter).
    #[inline]
    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        self.emitter.sample(self.scene, at, normal, u)
    }

    /// True when rays can meet it by chance.
    pub fn can_be_met(&self) -> bool {
        matches!(self.emitter, Emitter::Surface(_))
    }

    /// Where a ray met it: the radiance that it sends toward the ray's origin, cd/m2, and the density per steradian with which
    /// [`OneLight::sample`] would have chosen that direction. `None` for a ray that met something else.
    pub fn met(&self, ray: &Ray, hit: &Hit) -> Option<(Vec3, f32)> {
        match &self.emitter {
            Emitter::Surface(surface) if surface.surface == hit.surface => {
                Some((surface.radiance(self.scene, hit), surface.density(ray, hit)))
            }
            _ => None,
        }
    }
}
