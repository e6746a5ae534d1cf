//! A clear coat over a surface.

use glam::{Vec2, Vec3};

use super::LEAST_ROUGHNESS;
use super::energy::{self, Albedo};
use super::microfacet::Microfacets;
use crate::scene::Appearance;

/// What varnish, of an index of refraction of 1.5, mirrors straight on.
const STRAIGHT: f32 = 0.04;

/// A layer of varnish, seen from one direction, with Bevy's Fresnel term. What it does not mirror gets below.
pub(super) struct Coat {
    strength: f32,
    /// Perceptual roughness.
    pub roughness: f32,
    microfacets: Microfacets,
    /// Toward the viewer, in a frame whose z is the normal.
    outgoing: Vec3,
    /// What share of light it mirrors: toward the viewer, and over all directions.
    pub albedo_outgoing: f32,
    albedo: f32,
}

/// What gets through a coat twice, on the way in and out again.
pub(super) struct Passed {
    /// Of what glossy layers mirror below it.
    pub glossy: f32,
    /// Of what is scattered all over.
    pub matt: f32,
}

impl Coat {
    /// `None` where there is no coat.
    pub fn new(appearance: &Appearance, outgoing: Vec3) -> Option<Self> {
        let strength = appearance.clearcoat;
        if strength <= 0.0 {
            return None;
        }
        let roughness = appearance.clearcoat_perceptual_roughness.max(LEAST_ROUGHNESS);
        let (energy, mirrored) = (energy::table(), |albedo| mirrored(strength, albedo));
        Some(Self {
            strength,
            roughness,
            microfacets: Microfacets { alpha: roughness * roughness },
            outgoing,
            albedo_outgoing: mirrored(energy.toward(outgoing.z, roughness)),
            albedo: mirrored(energy.mean(roughness)),
        })
    }

    /// What it mirrors between two directions, per steradian.
    pub fn evaluate(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        let rim = (1.0 - incoming.dot(half)).clamp(0.0, 1.0).powi(5);
        let fresnel = STRAIGHT + (1.0 - STRAIGHT) * rim;
        self.strength * fresnel * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    /// Density per steradian of the directions that [`Coat::facet`] mirrors to.
    pub fn density(&self, incoming: Vec3) -> f32 {
        self.microfacets.density(self.outgoing, incoming)
    }

    /// A facet's normal.
    pub fn facet(&self, u: Vec2) -> Vec3 {
        self.microfacets.visible_normal(self.outgoing, u)
    }

    /// What gets to the layers below from a direction and to the viewer again. Scattered light forgets where it came from, so
    /// that both ways count; mirrored light leaves at the angle that it came at, and counts by the longer.
    pub fn passes(&self, incoming: Vec3) -> Passed {
        let albedo = mirrored(self.strength, energy::table().toward(incoming.z, self.roughness));
        let (there, back) = (1.0 - albedo, 1.0 - self.albedo_outgoing);
        Passed { glossy: there.min(back), matt: there * back / (1.0 - self.albedo).max(1e-6) }
    }
}

fn mirrored(strength: f32, albedo: Albedo) -> f32 {
    strength * (STRAIGHT * (albedo.white - albedo.rim) + albedo.rim)
}
