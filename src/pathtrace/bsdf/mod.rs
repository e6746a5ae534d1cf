//! How surfaces scatter light: a matt base under a glossy layer, or glass.
//!
//! [`Bsdf`] is the metallic-roughness material of Bevy at one point, seen from one direction. Its Fresnel term is
//! Bevy's; energy is kept where real-time formulas lose or invent some: light that microfacets scatter more than once
//! is added (Kulla and Conty 2017), and the base gets what the layer above it lets through. A white material in white
//! surroundings is therefore white at every roughness and angle.
//!
//! Glass mirrors and refracts at microfacets (Walter and others 2007), and loses nothing between them either. Radiance in it
//! is counted divided by the square of the index of refraction, as it would be outside, so that a path may be followed either
//! way with the same numbers. A clear coat lies over all that is no glass.

mod border;
mod coat;
mod dielectric;
mod energy;
mod losses;
mod microfacet;

use core::f32::consts::{FRAC_1_PI, PI};

use glam::{Vec2, Vec3};

use self::border::Border;
use self::coat::Coat;
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

/// The table of what rough glass loses that shaders look up, as [`losses::Losses::numbers`] lists it.
#[cfg(feature = "gpu")]
pub(crate) fn glass_losses() -> Vec<f32> {
    losses::table().numbers()
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
    /// What lies over the rest, unless that is glass, and the chance of sampling it.
    coat: Option<Coat>,
    coat_chance: f32,
    /// The share of glass, the rest is as opaque as plastic.
    glass: f32,
    border: Border,
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
        let coat = Coat::new(appearance, outgoing);
        let glass = appearance.transmission * (1.0 - appearance.metallic);
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
            bsdf.base * (Vec3::ONE - bsdf.layer_albedo(albedo_outgoing)) + multiple * (1.0 - albedo_outgoing.white),
        );
        bsdf.glossy_chance = if glossy + matt > 0.0 { glossy / (glossy + matt) } else { 0.0 };
        let coat = bsdf.coat.as_ref().map_or(0.0, |coat| coat.albedo_outgoing);
        bsdf.coat_chance = if coat > 0.0 { coat / (coat + (1.0 - coat) * (glossy + matt)) } else { 0.0 };
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
            sum += self.glass * self.border.evaluate(incoming);
        }
        sum
    }

    #[inline]
    fn opaque(&self, incoming: Vec3) -> Vec3 {
        let glossy = if self.glossy_chance > 0.0 { self.glossy(incoming) } else { Vec3::ZERO };
        let matt = self.matt(incoming);
        self.coat.as_ref().map_or(glossy + matt, |coat| {
            let passed = coat.passes(incoming);
            coat.evaluate(incoming) + glossy * passed.glossy + matt * passed.matt
        })
    }

    /// What microfacets scatter several times, and the base under them.
    #[inline]
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

    /// A direction that light may come from, chosen by three numbers in `[0, 1)`; `None` where it would come from
    /// within an opaque surface.
    #[inline]
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<Scattered> {
        let local = if choice < self.glass {
            let (local, weight) = self.border.sample(u, choice / self.glass)?;
            if local.z < 0.0 {
                return Some(Scattered { direction: self.to_world(local), weight: self.tint * weight, density: None });
            }
            local
        } else {
            self.sample_opaque(u, (choice - self.glass) / (1.0 - self.glass))
        };
        if local.z <= 0.0 {
            return None;
        }
        let direction = self.to_world(local);
        let density = self.density_in_frame(local);
        let weight = self.evaluate_in_frame(local) * (local.z / density);
        (density > 0.0).then_some(Scattered { direction, weight, density: Some(density) })
    }

    #[inline]
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

    fn to_world(&self, local: Vec3) -> Vec3 {
        let [tangent, bitangent, normal] = self.frame;
        (tangent * local.x + bitangent * local.y + normal * local.z).normalize()
    }

    /// True when it mirrors or refracts so clearly that one ray can stand for what is seen there.
    pub fn is_smooth(&self) -> bool {
        let coat_is_smooth = self.coat.as_ref().is_some_and(|coat| coat.roughness <= SMOOTH);
        coat_is_smooth || self.roughness <= SMOOTH && (self.glass > 0.0 || self.glossy_chance > 0.0)
    }

    /// True when paths from the eye are better at finding what is seen there than paths from lights: mirrors, and glass
    /// however rough, since nothing joins a point within it to the camera.
    pub fn is_for_eye_paths(&self) -> bool {
        self.is_smooth() || self.glass > 0.0
    }

    /// [`Bsdf::evaluate`] without what microfacets mirror in one go.
    pub fn evaluate_matt(&self, incoming: Vec3) -> Vec3 {
        let incoming = to_local(&self.frame, incoming);
        if incoming.z <= 0.0 {
            return Vec3::ZERO;
        }
        let passed = self.coat.as_ref().map_or(1.0, |coat| coat.passes(incoming).matt);
        (1.0 - self.glass) * self.matt(incoming) * passed
    }

    /// What a perfectly smooth surface shows of the radiance in its mirror direction: the direction and the share.
    pub fn mirror(&self) -> (Vec3, Vec3) {
        let layer = self.coated(self.fresnel.albedo(self.albedo_outgoing)) * (1.0 - self.glass);
        (self.to_world(self.mirrored_at(Vec3::Z)), layer + self.glass * self.border.mirrored())
    }

    /// What a perfectly smooth surface shows of the radiance behind it: from which direction, and what share. `None` where
    /// nothing comes through.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let share = self.glass * (1.0 - self.border.mirrored());
        let direction = self.border.refracted()?;
        (share > 0.0).then(|| (self.to_world(direction), self.tint * share))
    }

    /// What the surface reflects of light that comes alike from everywhere before it; what glass lets through of light
    /// from behind counts as well.
    #[inline]
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

    /// What microfacets mirror in one go.
    #[inline]
    fn glossy(&self, incoming: Vec3) -> Vec3 {
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
