//! Rough or smooth dielectric interface of clear glass.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};
use rand::RngExt;

use super::dielectric::{bending, mirrored, refracted};
use super::losses;
use super::microfacet::Microfacets;
use crate::geometry::sobol::hash2;
use crate::geometry::{CounterRng, sin_cos_turns};

/// Reflecting and refracting microfacets of a dielectric interface, for one viewing direction.
///
/// Single scattering loses light to masking and to facets that scatter towards other facets. The lost energy leaves on
/// either side, in proportion to the loss there. The lobe is therefore reciprocal (Kulla and Conty 2017, extended to
/// two sides). A random decision selects the lobe of a path. Energy is therefore exact, and only directions depend on a
/// table.
pub(super) struct Border {
    microfacets: Microfacets,
    roughness: f32,
    /// Index of refraction beyond the surface divided by the index before the surface.
    relative_ior: f32,
    /// Direction to the viewer, in a frame whose z axis is the normal.
    outgoing: Vec3,
    /// Fraction of light towards the viewer that single scattering loses.
    lost: f32,
    /// Cosine-weighted mean loss over all directions before the interface, and behind.
    lost_before: f32,
    lost_behind: f32,
}

impl Border {
    /// Creates an interface of glass with a perceptual roughness.
    pub fn new(relative_ior: f32, roughness: f32, outgoing: Vec3) -> Self {
        let (relative_ior, losses) = (bending(relative_ior), losses::table());
        Self {
            lost: losses.toward(outgoing.z, roughness, relative_ior),
            lost_before: losses.mean(roughness, relative_ior),
            lost_behind: losses.mean(roughness, 1.0 / relative_ior),
            ..Self::without_losses(relative_ior, roughness, outgoing)
        }
    }

    /// Creates a placeholder for surfaces without glass.
    pub fn none(outgoing: Vec3) -> Self {
        Self::without_losses(1.0, 1.0, outgoing)
    }

    fn without_losses(relative_ior: f32, roughness: f32, outgoing: Vec3) -> Self {
        let microfacets = Microfacets { alpha: roughness * roughness };
        Self { microfacets, roughness, relative_ior, outgoing, lost: 0.0, lost_before: 0.0, lost_behind: 0.0 }
    }

    /// Returns the reflection BSDF between two directions before the interface, per steradian.
    pub fn evaluate(&self, incoming: Vec3) -> f32 {
        self.mirrored_once(incoming) + self.mirrored_often(incoming)
    }

    fn mirrored_once(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        mirrored(incoming.dot(half), self.relative_ior) * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    fn mirrored_often(&self, incoming: Vec3) -> f32 {
        if self.lost_mean() < MIN_LOSS {
            return 0.0;
        }
        let lost = losses::table().toward(incoming.z, self.roughness, self.relative_ior);
        self.lost * lost * FRAC_1_PI / self.lost_mean()
    }

    /// Returns the total loss on both sides. The solid angle behind scales with the squared relative index of
    /// refraction.
    fn lost_mean(&self) -> f32 {
        self.lost_before + self.relative_ior * self.relative_ior * self.lost_behind
    }

    /// Returns the PDF of [`Border::sample`] for a direction before the interface, per steradian.
    pub fn pdf(&self, incoming: Vec3) -> f32 {
        let often = if self.lost_mean() < MIN_LOSS { 0.0 } else { self.lost * self.lost_before / self.lost_mean() };
        self.mirrored_once(incoming) * incoming.z + 0.5 * often * FRAC_1_PI
    }

    /// Samples a direction on either side. Returns the direction, and the untinted weight of transmitted light.
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<(Vec3, f32)> {
        let facet = self.microfacets.visible_normal(self.outgoing, u);
        let share = mirrored(self.outgoing.dot(facet), self.relative_ior);
        // The rest of the random number decides between single and multiple scattering.
        let (direction, rest) = if choice < share {
            let reflected = facet * (2.0 * self.outgoing.dot(facet)) - self.outgoing;
            (Some(reflected).filter(|reflected| reflected.z > 0.0), choice / share)
        } else {
            let refracted = refracted(self.outgoing, facet, self.relative_ior);
            (refracted.filter(|refracted| refracted.z < 0.0), (choice - share) / (1.0 - share))
        };
        match direction.filter(|&direction| rest < self.microfacets.lit_of_seen(self.outgoing, direction)) {
            Some(direction) => Some((direction, 1.0)),
            None => self.sample_often(hash2(u.x.to_bits(), u.y.to_bits())),
        }
    }

    /// Samples a direction of multiply scattered light, with new random numbers.
    fn sample_often(&self, word: u32) -> Option<(Vec3, f32)> {
        if self.lost_mean() < MIN_LOSS {
            return None;
        }
        let [z, turns, side]: [f32; 3] = CounterRng::new(word).random();
        // Uniform over the hemisphere, because smoother facets lose most light at grazing angles, where cosine-weighted
        // samples are rare.
        let (sine, cosine) = sin_cos_turns(turns);
        let radius = (1.0 - z * z).max(0.0).sqrt();
        let local = Vec3::new(radius * cosine, radius * sine, z);
        if side * self.lost_mean() < self.lost_before {
            return Some((local, 1.0));
        }
        let lost = losses::table().toward(z, self.roughness, 1.0 / self.relative_ior);
        Some((-local, 2.0 * z * lost / self.lost_behind))
    }

    /// Returns the Fresnel reflectance of a smooth interface towards the viewer.
    pub fn mirrored(&self) -> f32 {
        mirrored(self.outgoing.z, self.relative_ior)
    }

    /// Returns the direction of refracted light towards the viewer at a smooth interface, or `None` under total
    /// reflection.
    pub fn refracted(&self) -> Option<Vec3> {
        refracted(self.outgoing, Vec3::Z, self.relative_ior)
    }

    /// Returns the multiply scattered fraction that comes from behind, for tests of the sampling.
    #[cfg(test)]
    pub fn often_from_behind(&self) -> f32 {
        self.lost * (1.0 - self.lost_before / self.lost_mean().max(MIN_LOSS))
    }
}

/// Mean loss below which an interface counts as smooth.
const MIN_LOSS: f32 = 1e-5;
