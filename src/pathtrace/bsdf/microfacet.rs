//! GGX microfacet distribution (Trowbridge and Reitz) with Smith's height-correlated masking.
//!
//! Directions are unit vectors in a frame whose z axis is the surface normal.

use core::f32::consts::PI;

use glam::{Vec2, Vec3};

use crate::geometry::sin_cos_turns;

/// Microfacets of an isotropic surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Microfacets {
    /// Width of the slope distribution: the square of perceptual roughness.
    pub alpha: f32,
}

impl Microfacets {
    /// Returns the normal distribution: facet area per solid angle of normals and per surface area.
    fn distribution(&self, half: Vec3) -> f32 {
        let alpha_squared = self.alpha * self.alpha;
        // The sine stays precise where the cosine is nearly one.
        let sine_squared = half.x * half.x + half.y * half.y;
        let spread = sine_squared + alpha_squared * half.z * half.z;
        alpha_squared / (PI * spread * spread)
    }

    /// Returns Smith's lambda: the ratio of masked to visible facets.
    fn hidden(&self, direction: Vec3) -> f32 {
        let cosine_squared = direction.z * direction.z;
        let sine_squared = direction.x * direction.x + direction.y * direction.y;
        0.5 * ((1.0 + self.alpha * self.alpha * sine_squared / cosine_squared).sqrt() - 1.0)
    }

    /// Returns the fraction of visible facets that are also unshadowed in another direction, on either side.
    pub fn lit_of_seen(&self, outgoing: Vec3, incoming: Vec3) -> f32 {
        (1.0 + self.hidden(outgoing)) / (1.0 + self.hidden(outgoing) + self.hidden(incoming))
    }

    /// Returns the single-scattering BRDF of perfectly reflecting facets, per steradian.
    pub fn evaluate(&self, outgoing: Vec3, incoming: Vec3, half: Vec3) -> f32 {
        let visible = 1.0 / (1.0 + self.hidden(outgoing) + self.hidden(incoming));
        self.distribution(half) * visible / (4.0 * outgoing.z * incoming.z)
    }

    /// Returns the PDF of reflection at [`Microfacets::visible_normal`], per steradian.
    pub fn pdf(&self, outgoing: Vec3, incoming: Vec3) -> f32 {
        let half = (outgoing + incoming).normalize_or(Vec3::Z);
        self.distribution(half) / ((1.0 + self.hidden(outgoing)) * 4.0 * outgoing.z)
    }

    /// Samples a facet normal in proportion to visible area (Dupuy and Benyoub 2023, "Sampling Visible GGX Normals with
    /// Spherical Caps").
    pub fn visible_normal(&self, outgoing: Vec3, u: Vec2) -> Vec3 {
        let stretch = Vec3::new(self.alpha, self.alpha, 1.0);
        let toward = (outgoing * stretch).normalize();
        let z = (1.0 - u.x) * (1.0 + toward.z) - toward.z;
        let radius = (1.0 - z * z).max(0.0).sqrt();
        let (sine, cosine) = sin_cos_turns(u.y);
        let cap = Vec3::new(radius * cosine, radius * sine, z) + toward;
        (cap * stretch).normalize_or(Vec3::Z)
    }
}
