//! Reference solutions of small scenes by textbook methods, for comparison with the solvers.
//!
//! All methods return the irradiance of each element in one color channel, so results compare element by element.
//! [`Room`] is the input. [`Exchange`] is its form-factor matrix, computed by counting rays. `direct` solves the
//! matrix, and `hierarchy` groups it (Hanrahan, Salzman and Aupperle 1991). `walks` needs no matrix. Particles travel
//! from element to element (`000` 1.22 to 1.24), or from point to point as photons (`000` 1.25).

mod direct;
mod exchange;
mod hierarchy;
mod random_walks;
mod tests;

use std::sync::Arc;

use glam::Vec2;

use crate::accel::{Preset, World};
use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::{Ray, RayQuery};
use crate::lightmap::{ElementSampler, Elements, SurfacePoint};
use crate::scene::Scene;

/// Scene divided into elements, in one color channel.
struct Room {
    world: World,
    elements: Elements,
    samplers: Vec<ElementSampler>,
    area: Vec<f64>,
    reflectance: Vec<f64>,
    /// Emitted radiosity of each element, in lm/m2.
    emitted: Vec<f64>,
}

impl Room {
    fn new(scene: &Scene, elements: Elements, channel: usize) -> Self {
        let world = World::build(Arc::new(scene.clone()), Preset::fast());
        Self {
            world,
            samplers: elements.ids().map(|id| elements.sampler(scene, id)).collect(),
            area: elements.area.iter().map(|area| f64::from(*area)).collect(),
            reflectance: elements.reflectance.iter().map(|reflectance| f64::from(reflectance[channel])).collect(),
            emitted: (elements.emission.iter())
                .map(|emission| core::f64::consts::PI * f64::from(emission[channel]))
                .collect(),
            elements,
        }
    }

    fn len(&self) -> usize {
        self.area.len()
    }

    /// Returns the element and point that a ray hits, unless it escapes or hits a back face.
    fn arrival(&self, ray: &Ray) -> Option<(usize, SurfacePoint)> {
        let hit = self.world.closest(ray).filter(|hit| !hit.back)?;
        let element = self.elements.element_at(&hit)?;
        Some((element.index(), SurfacePoint::from_hit(self.world.scene(), &hit)))
    }

    /// Returns the radiosities of elements with the given irradiances.
    fn radiosity(&self, irradiance: &[f64]) -> Vec<f64> {
        (0..self.len()).map(|i| self.emitted[i] + self.reflectance[i] * irradiance[i]).collect()
    }

    /// Returns the area-weighted mean over reflecting elements. Random walks give no irradiance of the others.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        let reflecting = || (0..self.len()).filter(|&i| self.reflectance[i] > 0.0);
        reflecting().map(|i| self.area[i] * of(i)).sum::<f64>() / reflecting().map(|i| self.area[i]).sum::<f64>()
    }

    /// Returns the root mean square difference, relative to the mean.
    fn difference(&self, found: &[f64], expected: &[f64]) -> f64 {
        self.mean(|i| (found[i] - expected[i]).powi(2)).sqrt() / self.mean(|i| expected[i])
    }
}

/// Creates a cosine-weighted ray from a point.
fn departure(point: &SurfacePoint, u: f32, v: f32) -> Ray {
    point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(u, v)))
}
