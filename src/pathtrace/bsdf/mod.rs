//! How surfaces scatter light: a matt base under a glossy layer, or glass.
//!
//! [`Bsdf`] is the metallic-roughness material of Bevy at one point, seen from one direction. Its Fresnel term is
//! Bevy's; energy is kept where real-time formulas lose or invent some: light that microfacets scatter more than once
//! is added (Kulla and Conty 2017), and the base gets what the layer above it lets through. A white material in white
//! surroundings is therefore white at every roughness and angle.
//!
//! Glass mirrors and refracts at microfacets (Walter and others 2007). Radiance in it is counted divided by the square of
//! the index of refraction, as it would be outside, so that a path may be followed either way with the same numbers.

mod dielectric;
mod energy;
mod microfacet;

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use self::dielectric::{bending, mirrored, refracted};
use self::energy::Albedo;
use self::microfacet::Microfacets;
use crate::geometry::sampling::{cosine_about_z, orthonormal_basis};
use crate::scene::{Appearance, luminance};

/// Smallest perceptual roughness. Mirrors have some too, narrower than a pixel, so that every lamp has a highlight and no
/// light needs to be treated apart.
const LEAST_ROUGHNESS: f32 = 0.03;
/// Perceptual roughness up to which a surface counts as smooth.
const SMOOTH: f32 = 0.2;
/// Smallest cosine toward the viewer; shading normals that turn away further are bent.
const LEAST_COSINE: f32 = 1e-3;

/// The table of albedos that shaders look up, as [`energy::Table::words`] lists it.
#[cfg(feature = "gpu")]
pub(crate) fn layer_albedos() -> Vec<[f32; 2]> {
    energy::table().words()
}

/// How a point of a surface scatters light toward one direction.
pub struct Bsdf {
    /// Tangent, bitangent and shading normal.
    frame: [Vec3; 3],
    /// Toward the viewer, in the frame.
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
    /// The share of glass, the rest is as opaque as plastic.
    glass: f32,
    /// Index of refraction beyond the surface over that before it.
    relative_ior: f32,
    /// Colour of light that goes through the surface.
    tint: Vec3,
}

/// A direction that light may come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scattered {
    /// Unit vector away from the surface, on either side of it.
    pub direction: Vec3,
    /// What radiance from there counts toward the viewer, divided by the density of the choice.
    pub weight: Vec3,
    /// Density of the choice per steradian; `None` for light that comes through the surface, which only such choices find.
    pub density: Option<f32>,
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

impl Bsdf {
    /// What is seen along `outgoing`, a unit vector away from the surface, where it has the unit normal `normal`.
    #[inline]
    pub fn new(appearance: &Appearance, normal: Vec3, outgoing: Vec3) -> Self {
        let normal = facing_viewer(normal, outgoing);
        let (tangent, bitangent) = orthonormal_basis(normal);
        let frame = [tangent, bitangent, normal];
        let outgoing = to_local(&frame, outgoing);
        let roughness = appearance.perceptual_roughness.max(LEAST_ROUGHNESS);
        let fresnel = Fresnel::new(appearance);
        let (albedo, albedo_outgoing) = if fresnel.straight == Vec3::ZERO {
            (Albedo::default(), Albedo::default())
        } else {
            let energy = energy::table();
            (energy.mean(roughness), energy.toward(outgoing.z, roughness))
        };
        let mean = fresnel.mean();
        let multiple = mean * mean * albedo.white / (Vec3::ONE - mean * (1.0 - albedo.white));
        let mut bsdf = Self {
            frame,
            outgoing,
            roughness,
            microfacets: Microfacets { alpha: roughness * roughness },
            fresnel,
            multiple,
            base: appearance.base_color * (1.0 - appearance.metallic),
            albedo,
            albedo_outgoing,
            glossy_chance: 0.0,
            glass: appearance.transmission * (1.0 - appearance.metallic),
            relative_ior: bending(appearance.relative_ior),
            tint: appearance.base_color,
        };
        let glossy = luminance(fresnel.albedo(albedo_outgoing));
        let matt = luminance(
            bsdf.base * (Vec3::ONE - bsdf.layer_albedo(albedo_outgoing)) + multiple * (1.0 - albedo_outgoing.white),
        );
        bsdf.glossy_chance = if glossy + matt > 0.0 { glossy / (glossy + matt) } else { 0.0 };
        bsdf
    }

    /// The shading normal that is in effect.
    pub fn normal(&self) -> Vec3 {
        self.frame[2]
    }

    /// Radiance toward the viewer per irradiance from a direction (a unit vector away from the surface), per steradian.
    /// Light that comes through the surface is not counted.
    #[inline]
    pub fn evaluate(&self, incoming: Vec3) -> Vec3 {
        self.evaluate_in_frame(to_local(&self.frame, incoming))
    }

    #[inline]
    fn evaluate_in_frame(&self, incoming: Vec3) -> Vec3 {
        if incoming.z <= 0.0 {
            return Vec3::ZERO;
        }
        let mut sum = Vec3::ZERO;
        if self.glass < 1.0 {
            sum += (1.0 - self.glass) * self.opaque(incoming);
        }
        if self.glass > 0.0 {
            sum += self.glass * self.mirrored_by_glass(incoming) * self.facets_toward(incoming);
        }
        sum
    }

    /// Fresnel's reflectance of the facets that mirror light from a direction toward the viewer.
    fn mirrored_by_glass(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        mirrored(incoming.dot(half), self.relative_ior)
    }

    fn facets_toward(&self, incoming: Vec3) -> f32 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    fn opaque(&self, incoming: Vec3) -> Vec3 {
        if self.glossy_chance == 0.0 {
            return self.base * FRAC_1_PI;
        }
        let glossy = self.fresnel_weighted(incoming);
        let albedo_incoming = energy::table().toward(incoming.z, self.roughness);
        let scattered_often = self.multiple
            * ((1.0 - self.albedo_outgoing.white) * (1.0 - albedo_incoming.white)
                / (PI * (1.0 - self.albedo.white).max(1e-6)));
        let through = (Vec3::ONE - self.layer_albedo(self.albedo_outgoing))
            * (Vec3::ONE - self.layer_albedo(albedo_incoming))
            / (Vec3::ONE - self.layer_albedo(self.albedo)).max(Vec3::splat(1e-6));
        glossy + scattered_often + self.base * through / PI
    }

    /// Probability density per steradian with which [`Bsdf::sample`] chooses a direction before the surface.
    #[inline]
    pub fn density(&self, incoming: Vec3) -> f32 {
        self.density_in_frame(to_local(&self.frame, incoming))
    }

    #[inline]
    fn density_in_frame(&self, incoming: Vec3) -> f32 {
        if incoming.z <= 0.0 {
            return 0.0;
        }
        let by_glass = if self.glass > 0.0 { self.glass * self.mirrored_by_glass(incoming) } else { 0.0 };
        let by_facets = by_glass + (1.0 - self.glass) * self.glossy_chance;
        let facets = if by_facets > 0.0 { self.microfacets.density(self.outgoing, incoming) } else { 0.0 };
        by_facets * facets + (1.0 - self.glass) * (1.0 - self.glossy_chance) * incoming.z * FRAC_1_PI
    }

    /// A direction that light may come from, chosen by three numbers in `[0, 1)`; `None` where it would come from
    /// within an opaque surface.
    #[inline]
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<Scattered> {
        let local = if choice < self.glass {
            let facet = self.microfacets.visible_normal(self.outgoing, u);
            let mirrored = mirrored(self.outgoing.dot(facet), self.relative_ior);
            if choice >= mirrored * self.glass {
                return self.through(facet);
            }
            self.mirrored_at(facet)
        } else if choice - self.glass < self.glossy_chance * (1.0 - self.glass) {
            self.mirrored_at(self.microfacets.visible_normal(self.outgoing, u))
        } else {
            cosine_about_z(u)
        };
        if local.z <= 0.0 {
            return None;
        }
        let direction = self.to_world(local);
        let density = self.density_in_frame(local);
        let weight = self.evaluate_in_frame(local) * (local.z / density);
        (density > 0.0).then_some(Scattered { direction, weight, density: Some(density) })
    }

    fn mirrored_at(&self, facet: Vec3) -> Vec3 {
        facet * (2.0 * self.outgoing.dot(facet)) - self.outgoing
    }

    /// Light that a facet refracts toward the viewer.
    fn through(&self, facet: Vec3) -> Option<Scattered> {
        let local = refracted(self.outgoing, facet, self.relative_ior).filter(|local| local.z < 0.0)?;
        let weight = self.tint * self.microfacets.lit_of_seen(self.outgoing, local);
        Some(Scattered { direction: self.to_world(local), weight, density: None })
    }

    fn to_world(&self, local: Vec3) -> Vec3 {
        let [tangent, bitangent, normal] = self.frame;
        (tangent * local.x + bitangent * local.y + normal * local.z).normalize()
    }

    /// True when it mirrors or refracts so clearly that one ray can stand for what is seen there.
    pub fn is_smooth(&self) -> bool {
        self.roughness <= SMOOTH && (self.glass > 0.0 || self.glossy_chance > 0.0)
    }

    /// [`Bsdf::evaluate`] without what microfacets mirror in one go.
    pub fn evaluate_matt(&self, incoming: Vec3) -> Vec3 {
        let incoming = to_local(&self.frame, incoming);
        let glossy = if self.glossy_chance > 0.0 { self.fresnel_weighted(incoming) } else { Vec3::ZERO };
        if incoming.z > 0.0 {
            (1.0 - self.glass) * (self.opaque(incoming) - glossy).max(Vec3::ZERO)
        } else {
            Vec3::ZERO
        }
    }

    /// What a perfectly smooth surface shows of the radiance in its mirror direction: the direction and the share.
    pub fn mirror(&self) -> (Vec3, Vec3) {
        let layer = self.fresnel.albedo(self.albedo_outgoing) * (1.0 - self.glass);
        let glass = self.glass * mirrored(self.outgoing.z, self.relative_ior);
        (self.to_world(self.mirrored_at(Vec3::Z)), layer + glass)
    }

    /// What a perfectly smooth surface shows of the radiance behind it: from which direction, and what share. `None` where
    /// nothing comes through.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let share = self.glass * (1.0 - mirrored(self.outgoing.z, self.relative_ior));
        let direction = refracted(self.outgoing, Vec3::Z, self.relative_ior)?;
        (share > 0.0).then(|| (self.to_world(direction), self.tint * share))
    }

    /// What the surface reflects of light that comes alike from everywhere before it; what glass lets through of light
    /// from behind counts as well.
    #[inline]
    pub fn albedo(&self) -> Vec3 {
        let layer = self.layer_albedo(self.albedo_outgoing);
        let opaque = layer + self.base * (Vec3::ONE - layer);
        let mirrored = mirrored(self.outgoing.z, self.relative_ior);
        opaque * (1.0 - self.glass) + (self.tint * (1.0 - mirrored) + mirrored) * self.glass
    }

    fn fresnel_weighted(&self, incoming: Vec3) -> Vec3 {
        let half = (self.outgoing + incoming).normalize_or(Vec3::Z);
        self.fresnel.at(incoming.dot(half)) * self.microfacets.evaluate(self.outgoing, incoming, half)
    }

    /// What share the layer reflects, in one go and in several.
    fn layer_albedo(&self, albedo: Albedo) -> Vec3 {
        self.fresnel.albedo(albedo) + self.multiple * (1.0 - albedo.white)
    }
}

fn to_local([tangent, bitangent, normal]: &[Vec3; 3], direction: Vec3) -> Vec3 {
    Vec3::new(direction.dot(*tangent), direction.dot(*bitangent), direction.dot(*normal))
}

/// The normal, or the nearest to it that the viewer is in front of: interpolated normals turn away at silhouettes.
fn facing_viewer(normal: Vec3, outgoing: Vec3) -> Vec3 {
    let cosine = normal.dot(outgoing);
    if cosine >= LEAST_COSINE {
        return normal;
    }
    (normal + outgoing * (LEAST_COSINE - cosine) * 1.01).normalize_or(outgoing)
}

#[cfg(test)]
mod tests;
