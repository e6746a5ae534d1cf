//! The border of clear glass, smooth or rough.

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};

use super::dielectric::{bending, mirrored, refracted};
use super::losses;
use super::microfacet::Microfacets;
use crate::geometry::sin_cos_turns;
use crate::geometry::sobol::{hash2, unit_float};

/// Facets that mirror and refract, seen from a direction before them.
///
/// What they do not let out in one go, being hidden or turned the wrong way, is not lost: it leaves on either side, as
/// often as what is lost there in one go, so that light may go either way (Kulla and Conty 2017, for two sides).
/// A path decides by chance what becomes of it, so that all light is there exactly, and only its directions come of a table.
pub(super) struct Border {
    microfacets: Microfacets,
    roughness: f32,
    /// Index of refraction beyond the surface over that before it.
    relative_ior: f32,
    /// Toward the viewer, in a frame whose z is the normal.
    outgoing: Vec3,
    /// Share of light toward the viewer that is lost in one go.
    lost: f32,
    /// The mean of that over all directions before and behind the border.
    lost_before: f32,
    lost_behind: f32,
}

impl Border {
    /// Glass of some perceptual roughness.
    pub fn new(relative_ior: f32, roughness: f32, outgoing: Vec3) -> Self {
        let (relative_ior, losses) = (bending(relative_ior), losses::table());
        Self {
            lost: losses.toward(outgoing.z, roughness, relative_ior),
            lost_before: losses.mean(roughness, relative_ior),
            lost_behind: losses.mean(roughness, 1.0 / relative_ior),
            ..Self::without_losses(relative_ior, roughness, outgoing)
        }
    }

    /// Where there is no glass.
    pub fn none(outgoing: Vec3) -> Self {
        Self::without_losses(1.0, 1.0, outgoing)
    }

    fn without_losses(relative_ior: f32, roughness: f32, outgoing: Vec3) -> Self {
        let microfacets = Microfacets { alpha: roughness * roughness };
        Self { microfacets, roughness, relative_ior, outgoing, lost: 0.0, lost_before: 0.0, lost_behind: 0.0 }
    }

    /// What is mirrored between two directions before the border, per steradian.
    pub fn evaluate(&self, incoming: Vec3) -> f32 {
        self.mirrored_once(incoming) + self.mirrored_often(incoming)
    }

    fn mirrored_once(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        mirrored(incoming.dot(half), self.relative_ior) * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    fn mirrored_often(&self, incoming: Vec3) -> f32 {
        if self.lost_mean() < LEAST_LOSS {
            return 0.0;
        }
        let lost = losses::table().toward(incoming.z, self.roughness, self.relative_ior);
        self.lost * lost * FRAC_1_PI / self.lost_mean()
    }

    /// What is lost on both sides. A direction behind counts as many as it bends to before the border.
    fn lost_mean(&self) -> f32 {
        self.lost_before + self.relative_ior * self.relative_ior * self.lost_behind
    }

    /// Density per steradian with which [`Border::sample`] chooses a direction before the border.
    pub fn density(&self, incoming: Vec3) -> f32 {
        let often = if self.lost_mean() < LEAST_LOSS { 0.0 } else { self.lost * self.lost_before / self.lost_mean() };
        self.mirrored_once(incoming) * incoming.z + 0.5 * often * FRAC_1_PI
    }

    /// A direction that light may come from, on either side, and how much that from behind counts before it is tinted.
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<(Vec3, f32)> {
        let facet = self.microfacets.visible_normal(self.outgoing, u);
        let share = mirrored(self.outgoing.dot(facet), self.relative_ior);
        // What is left of the number decides whether the light gets out.
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

    /// Where light comes from that facets have scattered several times, by new random numbers.
    fn sample_often(&self, word: u32) -> Option<(Vec3, f32)> {
        if self.lost_mean() < LEAST_LOSS {
            return None;
        }
        let number = |index: u32| unit_float(hash2(word, index));
        // Alike from everywhere: smoother facets lose most at grazing angles, where few cosine-distributed directions lie.
        let (sine, cosine) = sin_cos_turns(number(1));
        let z = number(0);
        let radius = (1.0 - z * z).max(0.0).sqrt();
        let local = Vec3::new(radius * cosine, radius * sine, z);
        if number(2) * self.lost_mean() < self.lost_before {
            return Some((local, 1.0));
        }
        let lost = losses::table().toward(z, self.roughness, 1.0 / self.relative_ior);
        Some((-local, 2.0 * z * lost / self.lost_behind))
    }

    /// The share that a smooth border mirrors toward the viewer.
    pub fn mirrored(&self) -> f32 {
        mirrored(self.outgoing.z, self.relative_ior)
    }

    /// Where a smooth border shows the viewer what is behind it.
    pub fn refracted(&self) -> Option<Vec3> {
        refracted(self.outgoing, Vec3::Z, self.relative_ior)
    }

    /// The share of light that is mirrored often, and of that which comes from behind, to test what is drawn.
    #[cfg(test)]
    pub fn often_from_behind(&self) -> f32 {
        self.lost * (1.0 - self.lost_before / self.lost_mean().max(LEAST_LOSS))
    }
}

/// Mean losses below which facets count as smooth.
const LEAST_LOSS: f32 = 1e-5;
