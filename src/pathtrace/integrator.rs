//! Ways to find out what a camera sees.

use glam::Vec3;

use super::Bsdf;
use super::surroundings::Vertex;
use crate::geometry::Ray;

/// Finds what rays bring; one sample at a time, so that pictures are means of as many as one likes.
pub trait Integrator: Sync {
    /// What one sample brings along a ray, whose direction has unit length. A function of the scene, the ray, `sample` and
    /// `seed`; the samples of one seed are stratified.
    fn trace(&self, ray: &Ray, sample: u32, seed: u32) -> Seen;
}

/// What a ray brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Radiance in cd/m2: the estimate of one path.
    pub radiance: Vec3,
    /// The surface that was seen; `None` where the sky was.
    pub surface: Option<SeenSurface>,
}

/// The surface that a ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenSurface {
    /// The share of light from all around that it reflects.
    pub albedo: Vec3,
    /// Its unit shading normal.
    pub normal: Vec3,
    /// How far along the ray it is, metres.
    pub distance: f32,
}

impl SeenSurface {
    pub(super) fn new(vertex: &Vertex, bsdf: Option<&Bsdf>, distance: f32) -> Self {
        Self { albedo: bsdf.map_or(Vec3::ZERO, Bsdf::albedo), normal: vertex.shading_normal, distance }
    }
}
