//! How surfaces scatter light: a matt base under a glossy layer, or glass.
//!
//! [`Bsdf`] is the metallic-roughness material of Bevy at one point, seen from one direction. Its Fresnel term is
//! Bevy's; energy is kept where real-time formulas lose or invent some: light that microfacets scatter more than once
//! is added (Kulla and Conty 2017), and the base gets what the layer above it lets through. A white material in white
//! surroundings is therefore white at every roughness and angle.
//!
//! Glass mirrors and refracts at microfacets (Walter and others 2007), and loses nothing between them either. Radiance in it
//! is counted divided by the square of the index of refraction, as it would be outside, so that a path may be followed either
//! way with the same numbers. A clear coat lies over all that is no glass. All this is [`Layers`]; most surfaces are matt and
//! have none.

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

/// Smallest perceptual roughness. Mirrors have some too, narrower than a pixel, so that every lamp has a highlight and no
/// light needs to be treated apart.
const LEAST_ROUGHNESS: f32 = 0.03;
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
    /// Reflectance of what is matt and nothing else.
    matt: Vec3,
    /// What is more than that.
    layers: Option<Layers>,
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

impl Bsdf {
    /// What is seen along `outgoing`, a unit vector away from the surface, where it has the unit normal `normal`.
    #[inline(always)]
    pub fn new(appearance: &Appearance, normal: Vec3, outgoing: Vec3) -> Self {
        let matt = Self::matt(appearance.base_color, normal, outgoing);
        let layers = (!appearance.is_matt()).then(|| Layers::new(appearance, to_local(&matt.frame, outgoing)));
        Self { layers, ..matt }
    }

    /// The same of what is matt and has some reflectance.
    #[inline(always)]
    pub fn matt(reflectance: Vec3, normal: Vec3, outgoing: Vec3) -> Self {
        let normal = facing_viewer(normal, outgoing);
        let (tangent, bitangent) = orthonormal_basis(normal);
        Self { frame: [tangent, bitangent, normal], matt: reflectance, layers: None }
    }

    /// The shading normal that is in effect.
    pub fn normal(&self) -> Vec3 {
        self.frame[2]
    }

    /// Radiance toward the viewer per irradiance from a direction (a unit vector away from the surface), per steradian.
    /// Light that comes through the surface is not counted.
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
            None => self.matt * FRAC_1_PI,
            Some(layers) => layers.evaluate(incoming),
        }
    }

    /// [`Bsdf::evaluate`] without what microfacets mirror in one go.
    pub fn evaluate_matt(&self, incoming: Vec3) -> Vec3 {
        let incoming = to_local(&self.frame, incoming);
        match &self.layers {
            Some(layers) if incoming.z > 0.0 => layers.evaluate_matt(incoming),
            _ => self.evaluate_in_frame(incoming),
        }
    }

    /// Probability density per steradian with which [`Bsdf::sample`] chooses a direction before the surface.
    #[inline(always)]
    pub fn density(&self, incoming: Vec3) -> f32 {
        self.density_in_frame(to_local(&self.frame, incoming))
    }

    #[inline(always)]
    fn density_in_frame(&self, incoming: Vec3) -> f32 {
        if incoming.z <= 0.0 {
            return 0.0;
        }
        match &self.layers {
            None => incoming.z * FRAC_1_PI,
            Some(layers) => layers.density(incoming),
        }
    }

    /// A direction that light may come from, chosen by three numbers in `[0, 1)`; `None` where it would come from
    /// within an opaque surface.
    #[inline(always)]
    pub fn sample(&self, u: Vec2, choice: f32) -> Option<Scattered> {
        let Some(layers) = &self.layers else {
            let local = cosine_about_z(u);
            // As long as one but for rounding, and density goes as what is reflected does.
            let (direction, density) = (self.in_world(local), Some(local.z * FRAC_1_PI));
            return (local.z > 0.0).then_some(Scattered { direction, weight: self.matt, density });
        };
        let local = match layers.sample(u, choice)? {
            Direction::Before(local) => local,
            Direction::Behind(local, weight) => {
                return Some(Scattered { direction: self.to_world(local), weight, density: None });
            }
        };
        if local.z <= 0.0 {
            return None;
        }
        let direction = self.to_world(local);
        let density = layers.density(local);
        let weight = layers.evaluate(local) * (local.z / density);
        (density > 0.0).then_some(Scattered { direction, weight, density: Some(density) })
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

    /// True when it mirrors or refracts so clearly that one ray can stand for what is seen there.
    pub fn is_smooth(&self) -> bool {
        self.layers.as_ref().is_some_and(Layers::are_smooth)
    }

    /// True when paths from the eye are better at finding what is seen there than paths from lights: mirrors, and glass
    /// however rough, since nothing joins a point within it to the camera.
    pub fn is_for_eye_paths(&self) -> bool {
        self.layers.as_ref().is_some_and(|layers| layers.are_smooth() || layers.are_glass())
    }

    /// What a perfectly smooth surface shows of the radiance in its mirror direction: the direction and the share. `None`
    /// where there is nothing to mirror it.
    pub fn mirror(&self) -> Option<(Vec3, Vec3)> {
        let (direction, share) = self.layers.as_ref()?.mirror();
        Some((self.to_world(direction), share))
    }

    /// What a perfectly smooth surface shows of the radiance behind it: from which direction, and what share. `None` where
    /// nothing comes through.
    pub fn refraction(&self) -> Option<(Vec3, Vec3)> {
        let (direction, share) = self.layers.as_ref()?.refraction()?;
        Some((self.to_world(direction), share))
    }

    /// What the surface reflects of light that comes alike from everywhere before it; what glass lets through of light
    /// from behind counts as well.
    #[inline]
    pub fn albedo(&self) -> Vec3 {
        self.layers.as_ref().map_or(self.matt, Layers::albedo)
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
