//! Energy loss of single scattering at rough dielectric interfaces, tabulated on first use. Light is lost to masking,
//! and to facets that scatter towards other facets.

use std::sync::LazyLock;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::MIN_ROUGHNESS;
use super::dielectric::{bending, mirrored, refracted};
use super::energy::place;
use super::microfacet::Microfacets;
use crate::geometry::sobol::OwenSobol;

/// Number of entries over the square root of the cosine to the viewer, perceptual roughness, and strength of
/// refraction.
const COSINES: usize = 16;
const ROUGHNESSES: usize = 12;
const BENDS: usize = 12;
/// Number of directions averaged for each entry.
const SAMPLES: u32 = 256;
/// Number of angles averaged for each mean.
const ANGLES: usize = 256;

/// Lost fractions of light, between 0 and 1. Entries for light entering the denser side come first, then entries for
/// light leaving.
pub(super) struct Losses {
    rows: Vec<[f32; COSINES]>,
    means: Vec<f32>,
}

/// Returns the global table.
pub(super) fn table() -> &'static Losses {
    static TABLE: LazyLock<Losses> = LazyLock::new(Losses::new);
    &TABLE
}

/// Four rows (or means) with their bilinear interpolation weights.
type Corners = [(usize, f32); 4];

impl Losses {
    fn new() -> Self {
        let rows: Vec<[f32; COSINES]> = (0..2 * BENDS * ROUGHNESSES)
            .into_par_iter()
            .map(|row| {
                let (side, bend) = (row / ROUGHNESSES / BENDS, row / ROUGHNESSES % BENDS);
                let roughness = step(row % ROUGHNESSES, ROUGHNESSES);
                let denser = ior_of(step(bend, BENDS));
                let relative_ior = if side == 0 { denser } else { 1.0 / denser };
                core::array::from_fn(|cosine| measure(step(cosine, COSINES).powi(2), roughness, relative_ior))
            })
            .collect();
        let means = rows.iter().map(mean_over_angles).collect();
        Self { rows, means }
    }

    /// Returns the lost fraction towards a direction with the given cosine to the normal.
    pub fn toward(&self, cosine: f32, perceptual_roughness: f32, relative_ior: f32) -> f32 {
        let (column, across) = place(cosine.max(0.0).sqrt(), COSINES);
        let at = |row: usize| self.rows[row][column] + (self.rows[row][column + 1] - self.rows[row][column]) * across;
        corners(perceptual_roughness, relative_ior).iter().map(|&(row, part)| at(row) * part).sum()
    }

    /// Returns the cosine-weighted mean over all directions.
    pub fn mean(&self, perceptual_roughness: f32, relative_ior: f32) -> f32 {
        corners(perceptual_roughness, relative_ior).iter().map(|&(row, part)| self.means[row] * part).sum()
    }

    /// Returns all rows and then the means, in the layout of the shaders.
    #[cfg(feature = "gpu")]
    pub fn numbers(&self) -> Vec<f32> {
        self.rows.as_flattened().iter().chain(&self.means).copied().collect()
    }
}

fn corners(perceptual_roughness: f32, relative_ior: f32) -> Corners {
    let (denser, first) =
        if relative_ior < 1.0 { (1.0 / relative_ior, BENDS * ROUGHNESSES) } else { (relative_ior, 0) };
    let (bend, further) = place((2.0 * (denser - 1.0) / (denser + 1.0)).sqrt(), BENDS);
    let (roughness, down) = place(perceptual_roughness, ROUGHNESSES);
    let row = first + bend * ROUGHNESSES + roughness;
    [
        (row, (1.0 - further) * (1.0 - down)),
        (row + 1, (1.0 - further) * down),
        (row + ROUGHNESSES, further * (1.0 - down)),
        (row + ROUGHNESSES + 1, further * down),
    ]
}

/// Returns the index of refraction at a coordinate of the refraction axis: 1 at 0, 3 at 1.
fn ior_of(place: f32) -> f32 {
    let mirrored_root = 0.5 * place * place;
    (1.0 + mirrored_root) / (1.0 - mirrored_root)
}

fn step(index: usize, steps: usize) -> f32 {
    index as f32 / (steps - 1) as f32
}

fn mean_over_angles(row: &[f32; COSINES]) -> f32 {
    let sum: f32 = (0..ANGLES)
        .map(|angle| {
            // The squared cosine of cosine-weighted directions is uniformly distributed.
            let cosine = ((angle as f32 + 0.5) / ANGLES as f32).sqrt();
            let (column, across) = place(cosine.sqrt(), COSINES);
            row[column] + (row[column + 1] - row[column]) * across
        })
        .sum();
    sum / ANGLES as f32
}

fn measure(cosine: f32, perceptual_roughness: f32, relative_ior: f32) -> f32 {
    let cosine = cosine.max(1e-3);
    let relative_ior = bending(relative_ior);
    let outgoing = Vec3::new((1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, cosine);
    let microfacets = Microfacets { alpha: perceptual_roughness.max(MIN_ROUGHNESS).powi(2) };
    let points = OwenSobol::new(0);
    let kept: f64 = (0..SAMPLES)
        .map(|index| {
            let [x, y, ..] = points.point(index);
            let facet = microfacets.visible_normal(outgoing, Vec2::new(x, y));
            let share = mirrored(outgoing.dot(facet), relative_ior);
            let reflected = facet * (2.0 * outgoing.dot(facet)) - outgoing;
            let before = Some(reflected).filter(|reflected| reflected.z > 0.0);
            let behind = refracted(outgoing, facet, relative_ior).filter(|refracted| refracted.z < 0.0);
            let lit = |direction: Option<Vec3>| direction.map_or(0.0, |it| microfacets.lit_of_seen(outgoing, it));
            f64::from(share * lit(before) + (1.0 - share) * lit(behind))
        })
        .sum();
    (1.0 - kept / f64::from(SAMPLES)).clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_borders_lose_nothing_and_rough_ones_more_from_within() {
        let losses = table();
        assert!(losses.mean(0.0, 1.5) < 1e-3 && losses.mean(0.0, 1.0 / 1.5) < 1e-3);
        // An independent integration (numpy, 1024 directions at each of 64 angles) gave 0.0291, 0.1353, 0.2009 and
        // 0.5189.
        for (roughness, relative_ior, expected) in
            [(0.5, 1.5, 0.0291), (0.5, 1.0 / 1.5, 0.1353), (1.0, 1.5, 0.2009), (1.0, 1.0 / 1.5, 0.5189)]
        {
            let found = losses.mean(roughness, relative_ior);
            assert!((found - expected).abs() < 0.004, "{roughness} {relative_ior}: {found}, not {expected}");
        }
    }

    #[test]
    fn between_its_entries_the_table_is_what_is_measured_there() {
        for (cosine, roughness, relative_ior) in
            [(0.9, 0.42, 1.45), (0.35, 0.77, 1.33), (0.6, 0.95, 1.0 / 1.52), (0.2, 0.6, 2.2), (0.75, 0.53, 1.0 / 1.8)]
        {
            let (found, expected) =
                (table().toward(cosine, roughness, relative_ior), measure(cosine, roughness, relative_ior));
            assert!((found - expected).abs() < 0.015, "{cosine} {roughness} {relative_ior}: {found}, not {expected}");
        }
    }
}
