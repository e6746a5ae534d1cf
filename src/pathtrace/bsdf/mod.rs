//! BSDFs: scattering of light at surfaces.
//!
//! [`Bsdf`] is Bevy's metallic-roughness material at one point, for one viewing direction. The Fresnel term is Bevy's,
//! but energy is conserved where real-time formulas lose or gain some. Multiple scattering of microfacets is added
//! (Kulla and Conty 2017), and the base receives the light that upper layers transmit. A white material in white
//! surroundings is therefore white at every roughness and angle.
//!
//! Glass reflects and refracts at microfacets (Walter and others 2007), with energy conserved too. Radiance inside
//! glass is stored divided by the squared index of refraction. Paths can therefore be followed in both directions with
//! equal weights. A clear coat covers everything but glass. [`Layers`] implement all this (`layers.rs`, `coat.rs`,
//! `border.rs`, `microfacet.rs`, with tables in `energy.rs` and `losses.rs`). Most surfaces are diffuse and have no
//! [`Layers`].

mod border;
mod coat;
mod dielectric;
mod energy;
mod layers;
mod losses;
mod microfacet;

use core::f32::consts::FRAC_1_PI;

use glam::{Vec2, Vec3};

use self::layers::{Direction, Layers};
use crate::geometry::sampling::{cosine_about_z, orthonormal_basis};
use crate::scene::Appearance;

/// Minimum perceptual roughness. Mirrors get this roughness, which is narrower than a pixel. Every light then has a
/// highlight, and no light needs special treatment.
const MIN_ROUGHNESS: f32 = 0.03;
/// Minimum cosine to the viewer. Shading normals that face away further are bent.
const MIN_COSINE: f32 = 1e-3;

/// Returns the albedo table in the layout of the shaders; see [`energy::Table::words`].
#[cfg(feature = "gpu")]
pub(crate) fn layer_albedos() -> Vec<[f32; 2]> {
    energy::table().words()
}

/// Returns the loss table of rough glass in the layout of the shaders; see [`losses::Losses::numbers`].
#[cfg(feature = "gpu")]
pub(crate) fn glass_losses() -> Vec<f32> {
    losses::table().numbers()
}

/// BSDF at a point of a surface, for one viewing direction.
pub struct Bsdf {
    /// Tangent, bitangent and shading normal.
    frame: [Vec3; 3],
    /// Albedo of a purely diffuse surface.
    diffuse: Vec3,
    /// Layers of a surface that is not purely diffuse.
    layers: Option<Layers>,
}

/// Sampled direction of incident light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scattered {
    /// Unit vector away from the surface, on either side.
    pub direction: Vec3,
    /// Weight of radiance from the direction, divided by the PDF.
    pub weight: Vec3,
    /// PDF per steradian; `None` for transmitted light, which light sampling cannot find.
    pub pdf: Option<f32>,
}

impl Bsdf {
    /// Creates the BSDF of an appearance. `outgoing` is the unit direction to the viewer, `normal` the unit shading
    /// normal.
    #[inline(always)]
    pub fn new(appearance: &Appearance, normal: Vec3, outgoing: Vec3) -> Self {
        let diffuse = Self::diffuse(appearance.base_color, normal, outgoing);
        let layers = (!appearance.is_diffuse()).then(|| Layers::new(appearance, to_local(&diffuse.frame, outgoing)));
        Self { layers, ..diffuse }
    }

    /// Creates the BSDF of a diffuse surface with the given albedo.
    #[inline(always)]
    pub fn diffuse(reflectance: Vec3, normal: Vec3, outgoing: Vec3) -> Self {
        let normal = facing_viewer(normal, outgoing);
        let (tangent, bitangent) = orthonormal_basis(normal);
        Self { frame: [tangent, bitangent, normal], diffuse: reflectance, layers: None }
    }

    /// Returns the shading normal in use, which may be bent towards the viewer.
    pub fn normal(&self) -> Vec3 {
        self.frame[2]
    }

    /// Returns the BSDF for a unit direction away from the surface, per steradian. Transmission is not included.
    #[inline(always)]
    pub fn evaluate(&self, incoming: Vec3) -> Vec3 {
        self.evaluate_in_frame(to_local(&self.frame, incoming))
    }

    #[inline(always)]
    fn evaluate_in_frame(&self, incoming: Vec3) -> Vec3 {
        if incoming.z <= 0.0 {
            return Vec3::ZERO;
        }
        match &self.layers {
            None => self.diffuse * FRAC_1_PI,
            Some(layers) => layers.evaluate(incoming),
        }
    }

    /// Returns [`Bsdf::evaluate`] without single scattering of microfacets.
    pub fn evaluate_diffuse(&self, incoming: Vec3) -> Vec3 {
        let incoming = to_local(&self.frame, incoming);
        match &self.layers {
            Some(layers) if incoming.z > 0.0 => layers.evaluate_diffuse(incoming),
            _ => self.evaluate_in_frame(incoming),
        }
    }

    /// Returns the PDF of [`Bsdf::sample`] for a direction before the surface, per steradian.
    #[inline(always)]
    pub fn pdf(&self, incoming: Vec3) -> f32 {
        self.pdf_in_frame(to_local(&self.frame, incoming))
    }

    #[inline(always)]
    fn pdf_in_frame(&self, incoming: Vec3) -> f32 {
        if incoming.z <= 0.0 {
            return 0.0;
        }
        match &self.layers {
            None => incoming.z * FRAC_1_PI,
            Some(layers) => layers.pdf(incoming),
        }
    }

    /// Samples a direction of incident light with three numbers in `[0, 1)`. Returns `None` if the direction lies
    /// inside an opaque surface.
    #[inline(always)]
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<Scattered> {
        let Some(layers) = &self.layers else {
            let local = cosine_about_z(u);
            // The vector has unit length up to rounding, and the PDF is proportional to the reflected light.
            let (direction, pdf) = (self.in_world(local), Some(local.z * FRAC_1_PI));
            return (local.z > 0.0).then_some(Scattered { direction, weight: self.diffuse, pdf });
        };
        let local = match layers.sample(u, choice)? {
            Direction::Before(local) => local,
            Direction::Behind(local, weight) => {
                return Some(Scattered { direction: self.to_world(local), weight, pdf: None });
            }
        };
        if local.z <= 0.0 {
            return None;
        }
        let direction = self.to_world(local);
        let pdf = layers.pdf(local);
        let weight = layers.evaluate(local) * (local.z / pdf);
        (pdf > 0.0).then_some(Scattered { direction, weight, pdf: Some(pdf) })
    }

    #[inline(always)]
    fn to_world(&self, local: Vec3) -> Vec3 {
        self.in_world(local).normalize()
    }

    #[inline(always)]
    fn in_world(&self, local: Vec3) -> Vec3 {
        let [tangent, bitangent, normal] = self.frame;
        tangent * local.x + bitangent * local.y + normal * local.z
    }

    /// Returns true if single mirrored and refracted rays approximate the appearance well.
    pub fn is_smooth(&self) -> bool {
        self.layers.as_ref().is_some_and(Layers::are_smooth)
    }

    /// Returns true if camera paths render the surface better than light paths. This holds for mirrors, and for glass
    /// of any roughness, because points inside glass cannot be connected to the camera.
    pub fn is_for_eye_paths(&self) -> bool {
        self.layers.as_ref().is_some_and(|layers| layers.are_smooth() || layers.are_glass())
    }

    /// Returns the mirror direction and reflectance of a perfectly smooth surface, or `None` for a diffuse surface.
    pub fn mirror(&self) -> Option<(Vec3, Vec3)> {
        let (direction, share) = self.layers.as_ref()?.mirror();
        Some((self.to_world(direction), share))
    }

    /// Returns the refracted direction and transmittance of a perfectly smooth surface, or `None` without transmission.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let (direction, share) = self.layers.as_ref()?.refraction()?;
        Some((self.to_world(direction), share))
    }

    /// Returns the albedo under uniform illumination from before, with transmittance of glass included.
    #[inline]
    pub fn albedo(&self) -> Vec3 {
        self.layers.as_ref().map_or(self.diffuse, Layers::albedo)
    }
}

fn to_local([tangent, bitangent, normal]: &[Vec3; 3], direction: Vec3) -> Vec3 {
    Vec3::new(direction.dot(*tangent), direction.dot(*bitangent), direction.dot(*normal))
}

/// Returns the normal, bent just enough to face the viewer. Interpolated normals face away at silhouettes.
fn facing_viewer(normal: Vec3, outgoing: Vec3) -> Vec3 {
    let cosine = normal.dot(outgoing);
    if cosine >= MIN_COSINE {
        return normal;
    }
    (normal + outgoing * (MIN_COSINE - cosine) * 1.01).normalize_or(outgoing)
}

#[cfg(test)]
mod tests;
