//! Directional albedo table of single scattering by microfacets, computed on first use.

use std::sync::LazyLock;

use glam::{Vec2, Vec3};

use super::MIN_ROUGHNESS;
use super::microfacet::Microfacets;
use crate::geometry::sobol::OwenSobol;

/// Single-scattering albedo of a microfacet layer, in parts for Schlick's Fresnel term. Values lie between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Albedo {
    /// Albedo of facets with a reflectance of 1.
    pub white: f32,
    /// Albedo of facets with a reflectance of `(1 - cosine)^5`.
    pub rim: f32,
}

impl Albedo {
    fn lerp(self, other: Self, blend: f32) -> Self {
        Self { white: self.white + (other.white - self.white) * blend, rim: self.rim + (other.rim - self.rim) * blend }
    }
}

/// Number of table entries on each axis.
const STEPS: usize = 32;
/// Number of directions averaged for each entry.
const SAMPLES: u32 = 1024;
/// Number of angles averaged for each mean.
const ANGLES: usize = 256;

/// Albedo table over perceptual roughness and the square root of the cosine to the viewer.
pub(super) struct Table {
    entries: Vec<[Albedo; STEPS]>,
    means: [Albedo; STEPS],
}

/// Returns the global table.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(Table::new);
    &TABLE
}

impl Table {
    fn new() -> Self {
        let step = |index: usize| index as f32 / (STEPS - 1) as f32;
        let row = |roughness: usize| core::array::from_fn(|angle| measure(step(angle).powi(2), step(roughness)));
        let mut table = Self { entries: (0..STEPS).map(row).collect(), means: [Albedo::default(); STEPS] };
        table.means = core::array::from_fn(|roughness| table.mean_over_angles(step(roughness)));
        table
    }

    /// Returns the directional albedo for a cosine to the normal.
    pub fn toward(&self, cosine: f32, perceptual_roughness: f32) -> Albedo {
        let (row, down) = place(perceptual_roughness, STEPS);
        let (column, across) = place(cosine.max(0.0).sqrt(), STEPS);
        let at = |row: usize| self.entries[row][column].lerp(self.entries[row][column + 1], across);
        at(row).lerp(at(row + 1), down)
    }

    /// Returns all entries, grouped by roughness, and then the means, in the layout of the shaders.
    #[cfg(feature = "gpu")]
    pub fn words(&self) -> Vec<[f32; 2]> {
        self.entries.as_flattened().iter().chain(&self.means).map(|albedo| [albedo.white, albedo.rim]).collect()
    }

    /// Returns the cosine-weighted mean albedo over all directions.
    pub fn mean(&self, perceptual_roughness: f32) -> Albedo {
        let (row, down) = place(perceptual_roughness, STEPS);
        self.means[row].lerp(self.means[row + 1], down)
    }

    fn mean_over_angles(&self, perceptual_roughness: f32) -> Albedo {
        (0..ANGLES).fold(Albedo::default(), |sum, angle| {
            // The squared cosine of cosine-weighted directions is uniformly distributed.
            let cosine = ((angle as f32 + 0.5) / ANGLES as f32).sqrt();
            let albedo = self.toward(cosine, perceptual_roughness);
            Albedo { white: sum.white + albedo.white / ANGLES as f32, rim: sum.rim + albedo.rim / ANGLES as f32 }
        })
    }
}

/// Returns the index of the entry before a value in [0, 1], and the interpolation weight of the next entry.
pub(super) fn place(value: f32, entries: usize) -> (usize, f32) {
    let position = value.clamp(0.0, 1.0) * (entries - 1) as f32;
    let before = (position as usize).min(entries - 2);
    (before, position - before as f32)
}

fn measure(cosine: f32, perceptual_roughness: f32) -> Albedo {
    let cosine = cosine.max(1e-4);
    let outgoing = Vec3::new((1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, cosine);
    let microfacets = Microfacets { alpha: perceptual_roughness.max(MIN_ROUGHNESS).powi(2) };
    let points = OwenSobol::new(0);
    let (mut white, mut rim) = (0.0f64, 0.0f64);
    for index in 0..SAMPLES {
        let [x, y, ..] = points.point(index);
        let half = microfacets.visible_normal(outgoing, Vec2::new(x, y));
        let incoming = half * (2.0 * outgoing.dot(half)) - outgoing;
        if incoming.z <= 0.0 {
            continue;
        }
        let weight = microfacets.evaluate(outgoing, incoming, half) * incoming.z / microfacets.pdf(outgoing, incoming);
        white += f64::from(weight);
        rim += f64::from(weight * (1.0 - incoming.dot(half)).clamp(0.0, 1.0).powi(5));
    }
    Albedo { white: (white / f64::from(SAMPLES)) as f32, rim: (rim / f64::from(SAMPLES)) as f32 }
}
