//! What is more than matt: a matt base under a glossy layer, a coat over both, and glass.
//!
//! All directions are unit vectors in a frame whose z is the surface's normal.

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use super::LEAST_ROUGHNESS;
use super::border::Border;
use super::coat::Coat;
use super::energy::{self, Albedo};
use super::microfacet::Microfacets;
use crate::geometry::sampling::cosine_about_z;
use crate::scene::{Appearance, luminance};

/// Perceptual roughness up to which a surface counts as smooth.
const SMOOTH: f32 = 0.2;

/// How layers scatter light toward one direction.
pub(super) struct Layers {
    /// Toward the viewer.
    outgoing: Vec3,
    /// Perceptual roughness.
    roughness: f32,
    microfacets: Microfacets,
    /// Reflectance of a microfacet that light falls on straight, and at a grazing angle.
    fresnel: Fresnel,
    /// Colour of light that microfacets have scattered several times.
    multiple: Vec3,
    /// Reflectance of the matt base.
    base: Vec3,
    /// What share of light the glossy layer reflects: all angles, this angle.
    albedo: Albedo,
    albedo_outgoing: Albedo,
    /// Chance of sampling the microfacets rather than the base.
    glossy_chance: f32,
    /// What lies over the rest, unless that is glass, and the chance of sampling it.
    coat: Option<Coat>,
    coat_chance: f32,
    /// The share of glass, the rest is as opaque as plastic.
    glass: f32,
    pub border: Border,
    /// Colour of light that goes through the surface.
    tint: Vec3,
}

/// A direction that light may come from, before the layers or behind them.
pub(super) enum Direction {
    Before(Vec3),
    /// With what radiance from there counts toward the viewer, divided by the density of the choice.
    Behind(Vec3, Vec3),
}

/// Schlick's approximation with Bevy's grazing reflectance.
#[derive(Clone, Copy)]
struct Fresnel {
    straight: Vec3,
    grazing: f32,
}

impl Fresnel {
    fn new(appearance: &Appearance) -> Self {
        let dielectric = 0.16 * appearance.reflectance * appearance.reflectance;
        let straight = dielectric.lerp(appearance.base_color, appearance.metallic).clamp(Vec3::ZERO, Vec3::ONE);
        // What reflects next to nothing straight on does not flare up at the rim either (Filament, "Occlusion").
        let grazing = straight.dot(Vec3::splat(50.0 * 0.33)).min(1.0);
        Self { straight, grazing }
    }

    fn at(&self, cosine: f32) -> Vec3 {
        self.straight + (Vec3::splat(self.grazing) - self.straight) * (1.0 - cosine).clamp(0.0, 1.0).powi(5)
    }

    /// The mean over all directions, weighted by their cosine.
    fn mean(&self) -> Vec3 {
        self.straight + (Vec3::splat(self.grazing) - self.straight) / 21.0
    }

    /// The share of light that a layer reflects in one go.
    fn albedo(&self, albedo: Albedo) -> Vec3 {
        self.straight * (albedo.white - albedo.rim) + self.grazing * albedo.rim
    }
}

impl Layers {
    /// What is seen along `outgoing`.
    pub fn new(appearance: &Appearance, outgoing: Vec3) -> Self {
        let roughness = appearance.perceptual_roughness.max(LEAST_ROUGHNESS);
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
            glossy_chance: 0.0,
            coat,
            coat_chance: 0.0,
            glass,
            border: if glass > 0.0 {
                Border::new(appearance.relative_ior, roughness, outgoing)
            } else {
                Border::none(outgoing)
            },
            tint: appearance.base_color,
        };
        let glossy = luminance(fresnel.albedo(albedo_outgoing));
        let matt = luminance(
            layers.base * (Vec3::ONE - layers.layer_albedo(albedo_outgoing)) + multiple * (1.0 - albedo_outgoing.white),
        );
        layers.glossy_chance = if glossy + matt > 0.0 { glossy / (glossy + matt) } else { 0.0 };
        let coat = layers.coat.as_ref().map_or(0.0, |coat| coat.albedo_outgoing);
        layers.coat_chance = if coat > 0.0 { coat / (coat + (1.0 - coat) * (glossy + matt)) } else { 0.0 };
        layers
    }

    /// Radiance toward the viewer per irradiance from a direction before the surface, per steradian.
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
        let glossy = if self.glossy_chance > 0.0 { self.glossy(incoming) } else { Vec3::ZERO };
        let matt = self.matt(incoming);
        self.coat.as_ref().map_or(glossy + matt, |coat| {
            let passed = coat.passes(incoming);
            coat.evaluate(incoming) + glossy * passed.glossy + matt * passed.matt
        })
    }

    /// What microfacets scatter several times, and the base under them.
    fn matt(&self, incoming: Vec3) -> Vec3 {
        if self.glossy_chance == 0.0 {
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

    /// What microfacets mirror in one go.
    fn glossy(&self, incoming: Vec3) -> Vec3 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        self.fresnel.at(incoming.dot(half)) * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    /// [`Layers::evaluate`] without what microfacets mirror in one go.
    pub fn evaluate_matt(&self, incoming: Vec3) -> Vec3 {
        let passed = self.coat.as_ref().map_or(1.0, |coat| coat.passes(incoming).matt);
        (1.0 - self.glass) * self.matt(incoming) * passed
    }

    /// Probability density per steradian with which [`Layers::sample`] chooses a direction before the surface.
    pub fn density(&self, incoming: Vec3) -> f32 {
        let mut below = (1.0 - self.glossy_chance) * incoming.z * FRAC_1_PI;
        if self.glossy_chance > 0.0 {
            below += self.glossy_chance * self.microfacets.density(self.outgoing, incoming);
        }
        let opaque = self
            .coat
            .as_ref()
            .map_or(below, |coat| self.coat_chance * coat.density(incoming) + (1.0 - self.coat_chance) * below);
        let glass = if self.glass > 0.0 { self.glass * self.border.density(incoming) } else { 0.0 };
        glass + (1.0 - self.glass) * opaque
    }

    /// A direction that light may come from, chosen by three numbers in `[0, 1)`.
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
        if let Some(coat) = self.coat.as_ref().filter(|_| choice < self.coat_chance) {
            self.mirrored_at(coat.facet(u))
        } else if choice < self.coat_chance + (1.0 - self.coat_chance) * self.glossy_chance {
            self.mirrored_at(self.microfacets.visible_normal(self.outgoing, u))
        } else {
            cosine_about_z(u)
        }
    }

    fn mirrored_at(&self, facet: Vec3) -> Vec3 {
        facet * (2.0 * self.outgoing.dot(facet)) - self.outgoing
    }

    /// True when one ray can stand for what they show.
    pub fn are_smooth(&self) -> bool {
        let coat_is_smooth = self.coat.as_ref().is_some_and(|coat| coat.roughness <= SMOOTH);
        coat_is_smooth || self.roughness <= SMOOTH && (self.glass > 0.0 || self.glossy_chance > 0.0)
    }

    /// True when they let light through.
    pub fn are_glass(&self) -> bool {
        self.glass > 0.0
    }

    /// What perfectly smooth layers show of the radiance in their mirror direction: the direction and the share.
    pub fn mirror(&self) -> (Vec3, Vec3) {
        let layer = self.coated(self.fresnel.albedo(self.albedo_outgoing)) * (1.0 - self.glass);
        (self.mirrored_at(Vec3::Z), layer + self.glass * self.border.mirrored())
    }

    /// What perfectly smooth layers show of the radiance behind them: from which direction, and what share.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let share = self.glass * (1.0 - self.border.mirrored());
        let direction = self.border.refracted()?;
        (share > 0.0).then(|| (direction, self.tint * share))
    }

    /// What they reflect of light that comes alike from everywhere before them, and let through of light from behind.
    pub fn albedo(&self) -> Vec3 {
        let layer = self.layer_albedo(self.albedo_outgoing);
        let opaque = self.coated(layer + self.base * (Vec3::ONE - layer));
        let mirrored = self.border.mirrored();
        opaque * (1.0 - self.glass) + (self.tint * (1.0 - mirrored) + mirrored) * self.glass
    }

    /// The albedo of a coat over something of an albedo.
    fn coated(&self, below: Vec3) -> Vec3 {
        let coat = self.coat.as_ref().map_or(0.0, |coat| coat.albedo_outgoing);
        below * (1.0 - coat) + coat
    }

    /// What share the glossy layer reflects, in one go and in several.
    fn layer_albedo(&self, albedo: Albedo) -> Vec3 {
        self.fresnel.albedo(albedo) + self.multiple * (1.0 - albedo.white)
    }
}
