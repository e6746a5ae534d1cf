//! Clear coat over a surface.

use glam::{Vec2, Vec3};

use super::MIN_ROUGHNESS;
use super::energy::{self, Albedo};
use super::microfacet::Microfacets;
use crate::scene::Appearance;

/// Reflectance at normal incidence of a coat with an index of refraction of 1.5.
const STRAIGHT: f32 = 0.04;

/// Clear coat for one viewing direction, with Bevy's Fresnel term. Light that the coat does not reflect reaches the
/// layers below.
pub(super) struct Coat {
    strength: f32,
    /// Perceptual roughness.
    pub roughness: f32,
    microfacets: Microfacets,
    /// Direction to the viewer, in a frame whose z axis is the normal.
    outgoing: Vec3,
    /// Directional albedo towards the viewer, and mean albedo over all directions.
    pub albedo_outgoing: f32,
    albedo: f32,
}

/// Transmittance of a coat for light that enters and leaves again.
pub(super) struct Passed {
    /// Factor of glossy reflection below the coat.
    pub glossy: f32,
    /// Factor of diffuse reflection below the coat.
    pub diffuse: f32,
}

impl Coat {
    /// Creates the coat of an appearance, or `None` without one.
    pub fn new(appearance: &Appearance, outgoing: Vec3) -> Option<Self> {
        let strength = appearance.clearcoat;
        if strength <= 0.0 {
            return None;
        }
        let roughness = appearance.clearcoat_perceptual_roughness.max(MIN_ROUGHNESS);
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

    /// Returns the BSDF between two directions, per steradian.
    pub fn evaluate(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        let rim = (1.0 - incoming.dot(half)).clamp(0.0, 1.0).powi(5);
        let fresnel = STRAIGHT + (1.0 - STRAIGHT) * rim;
        self.strength * fresnel * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    /// Returns the PDF of reflection at [`Coat::facet`], per steradian.
    pub fn pdf(&self, incoming: Vec3) -> f32 {
        self.microfacets.pdf(self.outgoing, incoming)
    }

    /// Samples a microfacet normal.
    pub fn facet(&self, u: Vec2) -> Vec3 {
        self.microfacets.visible_normal(self.outgoing, u)
    }

    /// Returns the transmittance for light that enters from a direction and leaves to the viewer. Diffuse reflection
    /// loses the direction, so both transmittances multiply. Mirrored light leaves at its angle of incidence, so only
    /// the smaller transmittance counts.
    pub fn passes(&self, incoming: Vec3) -> Passed {
        let albedo = mirrored(self.strength, energy::table().toward(incoming.z, self.roughness));
        let (there, back) = (1.0 - albedo, 1.0 - self.albedo_outgoing);
        Passed { glossy: there.min(back), diffuse: there * back / (1.0 - self.albedo).max(1e-6) }
    }
}

fn mirrored(strength: f32, albedo: Albedo) -> f32 {
    strength * (STRAIGHT * (albedo.white - albedo.rim) + albedo.rim)
}
