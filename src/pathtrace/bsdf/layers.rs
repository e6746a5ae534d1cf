//! Layered surfaces: a diffuse base under a glossy layer, a clear coat over both, and glass.
//!
//! All directions are unit vectors in a frame whose z axis is the surface normal.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::MIN_ROUGHNESS;
use super::border::Border;
use super::coat::Coat;
use super::energy::{self, Albedo};
use super::microfacet::Microfacets;
use crate::geometry::sampling::cosine_about_z;
use crate::scene::{Appearance, luminance};

/// Perceptual roughness up to which a surface counts as smooth.
const SMOOTH: f32 = 0.2;

/// BSDF of layered surfaces for one viewing direction.
pub(super) struct Layers {
    /// Direction to the viewer.
    outgoing: Vec3,
    /// Perceptual roughness.
    roughness: f32,
    microfacets: Microfacets,
    /// Schlick parameters of the microfacets' reflectance.
    fresnel: Fresnel,
    /// Color of light scattered several times by microfacets.
    multiple: Vec3,
    /// Albedo of the diffuse base.
    base: Vec3,
    /// Mean albedo of the glossy layer, and directional albedo towards the viewer.
    albedo: Albedo,
    albedo_outgoing: Albedo,
    /// Probability of sampling the microfacets instead of the base.
    glossy_probability: f32,
    /// Clear coat over the opaque part, and the probability of sampling the coat.
    coat: Option<Coat>,
    coat_probability: f32,
    /// Fraction of glass. The remaining fraction is opaque.
    glass: f32,
    pub border: Border,
    /// Color of transmitted light.
    tint: Vec3,
}

/// Sampled direction of incident light, before or behind the layers.
pub(super) enum Direction {
    Before(Vec3),
    /// Direction, and weight of its radiance towards the viewer divided by the PDF.
    Behind(Vec3, Vec3),
}

/// Schlick's Fresnel approximation with Bevy's grazing reflectance.
#[derive(Clone, Copy)]
struct Fresnel {
    straight: Vec3,
    grazing: f32,
}

impl Fresnel {
    fn new(appearance: &Appearance) -> Self {
        let dielectric = 0.16 * appearance.reflectance * appearance.reflectance;
        let straight = dielectric.lerp(appearance.base_color, appearance.metallic).clamp(Vec3::ZERO, Vec3::ONE);
        // Materials that reflect almost nothing at normal incidence have no bright rim either (Filament, "Occlusion").
        let grazing = straight.dot(Vec3::splat(50.0 * 0.33)).min(1.0);
        Self { straight, grazing }
    }

    fn at(&self, cosine: f32) -> Vec3 {
        self.straight + (Vec3::splat(self.grazing) - self.straight) * (1.0 - cosine).clamp(0.0, 1.0).powi(5)
    }

    /// Returns the cosine-weighted mean reflectance.
    fn mean(&self) -> Vec3 {
        self.straight + (Vec3::splat(self.grazing) - self.straight) / 21.0
    }

    /// Returns the single-scattering albedo of a layer.
    fn albedo(&self, albedo: Albedo) -> Vec3 {
        self.straight * (albedo.white - albedo.rim) + self.grazing * albedo.rim
    }
}

impl Layers {
    /// Creates the layers of an appearance, seen along `outgoing`.
    pub fn new(appearance: &Appearance, outgoing: Vec3) -> Self {
        let roughness = appearance.perceptual_roughness.max(MIN_ROUGHNESS);
        let fresnel = Fresnel::new(appearance);
        let (albedo, albedo_outgoing) = if fresnel.straight == Vec3::ZERO {
            (Albedo::default(), Albedo::default())
        } else {
            let energy = energy::table();
            (energy.mean(roughness), energy.toward(outgoing.z, roughness))
        };
        let coat = Coat::new(appearance, outgoing);
        let glass = appearance.transmission * (1.0 - appearance.metallic);
        let mean = fresnel.mean();
        let multiple = mean * mean * albedo.white / (Vec3::ONE - mean * (1.0 - albedo.white));
        let mut layers = Self {
            outgoing,
            roughness,
            microfacets: Microfacets { alpha: roughness * roughness },
            fresnel,
            multiple,
            base: appearance.base_color * ((1.0 - appearance.metallic) * (1.0 - appearance.diffuse_transmission)),
            albedo,
            albedo_outgoing,
            glossy_probability: 0.0,
            coat,
            coat_probability: 0.0,
            glass,
            border: if glass > 0.0 {
                Border::new(appearance.relative_ior, roughness, outgoing)
            } else {
                Border::none(outgoing)
            },
            tint: appearance.base_color,
        };
        let glossy = luminance(fresnel.albedo(albedo_outgoing));
        let diffuse = luminance(
            layers.base * (Vec3::ONE - layers.layer_albedo(albedo_outgoing)) + multiple * (1.0 - albedo_outgoing.white),
        );
        layers.glossy_probability = if glossy + diffuse > 0.0 { glossy / (glossy + diffuse) } else { 0.0 };
        let coat = layers.coat.as_ref().map_or(0.0, |coat| coat.albedo_outgoing);
        layers.coat_probability = if coat > 0.0 { coat / (coat + (1.0 - coat) * (glossy + diffuse)) } else { 0.0 };
        layers
    }

    /// Returns the BSDF for a direction before the surface, per steradian.
    pub fn evaluate(&self, incoming: Vec3) -> Vec3 {
        let mut sum = Vec3::ZERO;
        if self.glass < 1.0 {
            sum += (1.0 - self.glass) * self.opaque(incoming);
        }
        if self.glass > 0.0 {
            sum += self.glass * self.border.evaluate(incoming);
        }
        sum
    }

    fn opaque(&self, incoming: Vec3) -> Vec3 {
        let glossy = if self.glossy_probability > 0.0 { self.glossy(incoming) } else { Vec3::ZERO };
        let diffuse = self.diffuse(incoming);
        self.coat.as_ref().map_or(glossy + diffuse, |coat| {
            let passed = coat.passes(incoming);
            coat.evaluate(incoming) + glossy * passed.glossy + diffuse * passed.diffuse
        })
    }

    /// Returns the diffuse part: multiple scattering by microfacets, and the base below.
    fn diffuse(&self, incoming: Vec3) -> Vec3 {
        if self.glossy_probability == 0.0 {
            return self.base * FRAC_1_PI;
        }
        let albedo_incoming = energy::table().toward(incoming.z, self.roughness);
        let scattered_often = self.multiple
            * ((1.0 - self.albedo_outgoing.white) * (1.0 - albedo_incoming.white)
                / (PI * (1.0 - self.albedo.white).max(1e-6)));
        let through = (Vec3::ONE - self.layer_albedo(self.albedo_outgoing))
            * (Vec3::ONE - self.layer_albedo(albedo_incoming))
            / (Vec3::ONE - self.layer_albedo(self.albedo)).max(Vec3::splat(1e-6));
        scattered_often + self.base * through / PI
    }

    /// Returns the single scattering of microfacets.
    fn glossy(&self, incoming: Vec3) -> Vec3 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        self.fresnel.at(incoming.dot(half)) * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    /// Returns [`Layers::evaluate`] without single scattering of microfacets.
    pub fn evaluate_diffuse(&self, incoming: Vec3) -> Vec3 {
        let passed = self.coat.as_ref().map_or(1.0, |coat| coat.passes(incoming).diffuse);
        (1.0 - self.glass) * self.diffuse(incoming) * passed
    }

    /// Returns the PDF of [`Layers::sample`] for a direction before the surface, per steradian.
    pub fn pdf(&self, incoming: Vec3) -> f32 {
        let mut below = (1.0 - self.glossy_probability) * incoming.z * FRAC_1_PI;
        if self.glossy_probability > 0.0 {
            below += self.glossy_probability * self.microfacets.pdf(self.outgoing, incoming);
        }
        let opaque = self
            .coat
            .as_ref()
            .map_or(below, |coat| self.coat_probability * coat.pdf(incoming) + (1.0 - self.coat_probability) * below);
        let glass = if self.glass > 0.0 { self.glass * self.border.pdf(incoming) } else { 0.0 };
        glass + (1.0 - self.glass) * opaque
    }

    /// Samples a direction of incident light with three numbers in `[0, 1)`.
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<Direction> {
        if choice < self.glass {
            let (direction, weight) = self.border.sample(u, choice / self.glass)?;
            let is_behind = direction.z < 0.0;
            return Some(match is_behind {
                true => Direction::Behind(direction, self.tint * weight),
                false => Direction::Before(direction),
            });
        }
        Some(Direction::Before(self.sample_opaque(u, (choice - self.glass) / (1.0 - self.glass))))
    }

    fn sample_opaque(&self, u: Vec2, choice: f32) -> Vec3 {
        if let Some(coat) = self.coat.as_ref().filter(|_| choice < self.coat_probability) {
            self.mirrored_at(coat.facet(u))
        } else if choice < self.coat_probability + (1.0 - self.coat_probability) * self.glossy_probability {
            self.mirrored_at(self.microfacets.visible_normal(self.outgoing, u))
        } else {
            cosine_about_z(u)
        }
    }

    fn mirrored_at(&self, facet: Vec3) -> Vec3 {
        facet * (2.0 * self.outgoing.dot(facet)) - self.outgoing
    }

    /// Returns true if single mirrored and refracted rays approximate the appearance well.
    pub fn are_smooth(&self) -> bool {
        let coat_is_smooth = self.coat.as_ref().is_some_and(|coat| coat.roughness <= SMOOTH);
        coat_is_smooth || self.roughness <= SMOOTH && (self.glass > 0.0 || self.glossy_probability > 0.0)
    }

    /// Returns true if the layers transmit light.
    pub fn are_glass(&self) -> bool {
        self.glass > 0.0
    }

    /// Returns the mirror direction and reflectance of perfectly smooth layers.
    pub fn mirror(&self) -> (Vec3, Vec3) {
        let layer = self.coated(self.fresnel.albedo(self.albedo_outgoing)) * (1.0 - self.glass);
        (self.mirrored_at(Vec3::Z), layer + self.glass * self.border.mirrored())
    }

    /// Returns the refracted direction and transmittance of perfectly smooth layers, or `None` without transmission.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let share = self.glass * (1.0 - self.border.mirrored());
        let direction = self.border.refracted()?;
        (share > 0.0).then(|| (direction, self.tint * share))
    }

    /// Returns the albedo under uniform illumination from before, with transmittance from behind included.
    pub fn albedo(&self) -> Vec3 {
        let layer = self.layer_albedo(self.albedo_outgoing);
        let opaque = self.coated(layer + self.base * (Vec3::ONE - layer));
        let mirrored = self.border.mirrored();
        opaque * (1.0 - self.glass) + (self.tint * (1.0 - mirrored) + mirrored) * self.glass
    }

    /// Returns the albedo of a coat over something of the given albedo.
    fn coated(&self, below: Vec3) -> Vec3 {
        let coat = self.coat.as_ref().map_or(0.0, |coat| coat.albedo_outgoing);
        below * (1.0 - coat) + coat
    }

    /// Returns the albedo of the glossy layer, multiple scattering included.
    fn layer_albedo(&self, albedo: Albedo) -> Vec3 {
        self.fresnel.albedo(albedo) + self.multiple * (1.0 - albedo.white)
    }
}
