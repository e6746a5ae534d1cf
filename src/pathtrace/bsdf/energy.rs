//! How much light a layer of microfacets reflects in one go, by angle and roughness, from a table made when first used.

use std::sync::LazyLock;

use glam::{Vec2, Vec3};

use super::LEAST_ROUGHNESS;
use super::microfacet::Microfacets;
use crate::geometry::sobol::OwenSobol;

/// Shares of the light that a layer of microfacets reflects in one go, between zero and one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Albedo {
    /// When each facet reflects everything.
    pub white: f32,
    /// When each facet reflects the fifth power of one minus the cosine that it is seen under.
    pub rim: f32,
}

impl Albedo {
    fn lerp(self, other: Self, blend: f32) -> Self {
        Self { white: self.white + (other.white - self.white) * blend, rim: self.rim + (other.rim - self.rim) * blend }
    }
}

/// Entries along each axis.
const STEPS: usize = 32;
/// Directions that each entry averages.
const SAMPLES: u32 = 1024;
/// Angles that the mean over all of them is taken at.
const ANGLES: usize = 256;

/// Albedos over perceptual roughness and the square root of the cosine toward the viewer.
pub(super) struct Table {
    entries: Vec<[Albedo; STEPS]>,
    means: [Albedo; STEPS],
}

/// The only table there is.
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

    /// The albedo toward a direction with this cosine to the normal.
    pub fn toward(&self, cosine: f32, perceptual_roughness: f32) -> Albedo {
        let (row, down) = place(perceptual_roughness, STEPS);
        let (column, across) = place(cosine.max(0.0).sqrt(), STEPS);
        let at = |row: usize| self.entries[row][column].lerp(self.entries[row][column + 1], across);
        at(row).lerp(at(row + 1), down)
    }

    /// All entries, rows of the same roughness one after another, and then the means: what shaders look up.
    #[cfg(feature = "gpu")]
    pub fn words(&self) -> Vec<[f32; 2]> {
        self.entries.as_flattened().iter().chain(&self.means).map(|albedo| [albedo.white, albedo.rim]).collect()
    }

    /// The mean over all directions, weighted by their cosine.
    pub fn mean(&self, perceptual_roughness: f32) -> Albedo {
        let (row, down) = place(perceptual_roughness, STEPS);
        self.means[row].lerp(self.means[row + 1], down)
    }

    fn mean_over_angles(&self, perceptual_roughness: f32) -> Albedo {
        (0..ANGLES).fold(Albedo::default(), |sum, angle| {
            // The squared cosine of directions that are weighted by their cosine is uniform.
            let cosine = ((angle as f32 + 0.5) / ANGLES as f32).sqrt();
            let albedo = self.toward(cosine, perceptual_roughness);
            Albedo { white: sum.white + albedo.white / ANGLES as f32, rim: sum.rim + albedo.rim / ANGLES as f32 }
        })
    }
}

/// The entry before a number between zero and one, and how far beyond it the number is, along an axis of some entries.
pub(super) fn place(value: f32, entries: usize) -> (usize, f32) {
    let position = value.clamp(0.0, 1.0) * (entries - 1) as f32;
    let before = (position as usize).min(entries - 2);
    (before, position - before as f32)
}

fn measure(cosine: f32, perceptual_roughness: f32) -> Albedo {
    let cosine = cosine.max(1e-4);
    let outgoing = Vec3::new((1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, cosine);
    let microfacets = Microfacets { alpha: perceptual_roughness.max(LEAST_ROUGHNESS).powi(2) };
    let points = OwenSobol::new(0);
    let (mut white, mut rim) = (0.0f64, 0.0f64);
    for index in 0..SAMPLES {
        let [x, y, ..] = points.point(index);
        let half = microfacets.visible_normal(outgoing, Vec2::new(x, y));
        let incoming = half * (2.0 * outgoing.dot(half)) - outgoing;
        if incoming.z <= 0.0 {
            continue;
        }
        let weight =
            microfacets.evaluate(outgoing, incoming, half) * incoming.z / microfacets.density(outgoing, incoming);
        white += f64::from(weight);
        rim += f64::from(weight * (1.0 - incoming.dot(half)).clamp(0.0, 1.0).powi(5));
    }
    Albedo { white: (white / f64::from(SAMPLES)) as f32, rim: (rim / f64::from(SAMPLES)) as f32 }
}
