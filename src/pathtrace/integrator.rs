//! Interface of integrators, which estimate radiance along rays.

use glam::Vec3;

use super::Bsdf;
use super::context::Vertex;
use crate::geometry::Ray;

/// Radiance estimator along rays. Returns one sample at a time, so that pictures average any number of samples.
pub trait Integrator: Sync {
    /// Returns one sample of the radiance along a ray with a unit direction. The result is a function of the scene, the
    /// ray, `sample` and `seed`. Samples of one seed are stratified.
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen;
}

/// Sample of the radiance along a ray.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Radiance estimate of one path, in cd/m2.
    pub radiance: Vec3,
    /// Visible surface; `None` for the sky.
    pub surface: Option<SeenSurface>,
}

/// First surface hit by a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenSurface {
    /// Albedo under uniform illumination.
    pub albedo: Vec3,
    /// Unit shading normal, in world space.
    pub normal: Vec3,
    /// Distance along the ray, in meters.
    pub distance: f32,
}

impl SeenSurface {
    pub(super) fn new(vertex: &Vertex, bsdf: Option<&Bsdf>, distance: f32) -> Self {
        Self { albedo: bsdf.map_or(Vec3::ZERO, Bsdf::albedo), normal: vertex.shading_normal, distance }
    }
}
