//! The light of small scenes, found by the methods of the textbooks: what the shipped solvers are held against.
//!
//! All of them answer with the irradiance of each element, of one channel, so that answers compare element by element.
//! [`Room`] is what they read. [`Exchange`] is its matrix of form factors, found by counting rays; `direct` solves the
//! matrix, `hierarchy` groups it (Hanrahan, Salzman and Aupperle, 1991), `walks` needs none: particles go from element
//! to element (`000` 1.22 to 1.24), or from point to point as photons (`000` 1.25).

mod direct;
mod exchange;
mod hierarchy;
mod tests;
mod walks;

use std::sync::Arc;

use glam::Vec2;

use crate::geometry::sampling::cosine_hemisphere;
use crate::geometry::sobol::{hash2, unit_float};
use crate::geometry::{Ray, RayQuery};
use crate::kdtree::{Preset, World};
use crate::lightmap::{ElementSampler, Elements, SurfacePoint};
use crate::scene::Scene;

/// A scene, cut into elements, as one channel of light sees it.
struct Room {
    world: World,
    elements: Elements,
    samplers: Vec<ElementSampler>,
    area: Vec<f64>,
    reflectance: Vec<f64>,
    /// Radiosity that elements have of themselves, lm/m2.
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

    /// Where a ray arrives, unless it leaves the scene or meets a back.
    fn arrival(&self, ray: &Ray) -> Option<(usize, SurfacePoint)> {
        let hit = self.world.closest(ray).filter(|hit| !hit.back)?;
        let element = self.elements.element_at(&hit)?;
        Some((element.index(), SurfacePoint::from_hit(self.world.scene(), &hit)))
    }

    /// What elements send off when each receives that irradiance.
    fn radiosity(&self, irradiance: &[f64]) -> Vec<f64> {
        (0..self.len()).map(|i| self.emitted[i] + self.reflectance[i] * irradiance[i]).collect()
    }

    /// Area-weighted mean over elements that reflect; what others receive, no walk tells.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        let reflecting = || (0..self.len()).filter(|&i| self.reflectance[i] > 0.0);
        reflecting().map(|i| self.area[i] * of(i)).sum::<f64>() / reflecting().map(|i| self.area[i]).sum::<f64>()
    }

    /// Root mean square of the difference, in parts of the mean.
    fn difference(&self, found: &[f64], expected: &[f64]) -> f64 {
        self.mean(|i| (found[i] - expected[i]).powi(2)).sqrt() / self.mean(|i| expected[i])
    }
}

/// A ray that leaves a point by the cosine law.
fn departure(point: &SurfacePoint, u: f32, v: f32) -> Ray {
    point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(u, v)))
}

/// Random numbers of one walk.
struct Dice {
    seed: u32,
    thrown: u32,
}

impl Dice {
    fn new(seed: u32, walk: u32) -> Self {
        Self { seed: hash2(seed, walk), thrown: 0 }
    }

    fn throw(&mut self) -> f32 {
        self.thrown += 1;
        unit_float(hash2(self.seed, self.thrown))
    }
}
