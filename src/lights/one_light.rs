//! Sampling of a single light.

use glam::Vec3;

use super::{EmissiveSurface, Emitter, Lamp, LightSample, RectangleLight, distant_disc};
use crate::geometry::{Hit, Ray, SurfaceId};
use crate::scene::{LightKind, Scene};

/// Sampler of one light, with the methods of [`LightSampler`](super::LightSampler) for one of many.
pub struct OneLight<'a> {
    scene: &'a Scene,
    emitter: Emitter,
}

impl<'a> OneLight<'a> {
    /// Creates a sampler of a light that is not a surface; `None` for a rectangle without area.
    pub fn of_kind(scene: &'a Scene, kind: &LightKind) -> Option<Self> {
        let emitter = match kind {
            LightKind::Rectangle { .. } => Emitter::Rectangle(RectangleLight::new(kind)?),
            kind => Emitter::Lamp(Lamp(*kind)),
        };
        Some(Self { scene, emitter })
    }

    /// Creates a sampler of an emissive surface of the scene; `None` if the surface emits nothing.
    pub fn of_surface(scene: &'a Scene, surface: SurfaceId) -> Option<Self> {
        Some(Self { scene, emitter: Emitter::Surface(EmissiveSurface::new(scene, surface)?) })
    }

    /// Returns the approximate luminous flux that the light sends into its scene, in lumens.
    pub fn power(&self) -> f32 {
        self.emitter.power(|| distant_disc(self.scene).disc())
    }

    /// Samples a point of the light, from a receiver at `at` with unit normal `normal`, as
    /// [`LightSampler::sample_emitter`](super::LightSampler::sample_emitter) does.
    #[inline]
    pub fn sample(&self, at: Vec3, normal: Vec3, u: [f32; 2]) -> Option<LightSample> {
        self.emitter.sample(self.scene, at, normal, u)
    }

    /// Returns true if BSDF-sampled rays can hit the light.
    pub fn can_be_hit(&self) -> bool {
        matches!(self.emitter, Emitter::Surface(_))
    }

    /// Evaluates the light at a hit. Returns the radiance toward the ray's origin, cd/m2, and the PDF of
    /// [`OneLight::sample`] for that direction, per steradian. `None` if the ray hit something else.
    pub fn eval_hit(&self, ray: &Ray, hit: &Hit) -> Option<(Vec3, f32)> {
        match &self.emitter {
            Emitter::Surface(surface) if surface.surface == hit.surface => {
                Some((surface.radiance(self.scene, hit), surface.pdf(ray, hit)))
            }
            _ => None,
        }
    }
}
