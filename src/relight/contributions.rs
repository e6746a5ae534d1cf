//! Stored contributions of baked lights. A light that changes in its place scales its contribution, without rays.

use core::f32::consts::PI;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::input::RelightInput;
use super::lights::{baked_lights, plain};
use crate::low_rank::{BakedLightId, Contributions, LightContribution, Precomputed};
use crate::scene::Scene;

/// Largest error of a light's low-rank indirect irradiance that passes without a warning.
pub const MAX_TRANSPORT_ERROR: f32 = 0.25;

/// Upper bound of the factor between the baked pages and the sum of all contributions. Texels beyond it are mostly lit
/// by filters, from their neighbors.
const MAX_FACTOR: f32 = 4.0;

/// Minimum number of elements per thread.
const MIN_CHUNK: usize = 4096;

/// Contributions of baked lights, with factors that make up for the filters of pages. Times the baked strengths, they
/// and the rest sum up to the baked pages, up to [`MAX_FACTOR`].
pub struct BakedContributions {
    precomputed: Arc<Precomputed>,
    /// Number of lights of the scene. Contributions of others are ignored.
    baked: usize,
    /// Factor of each row. All rows of a texel share it, since pages show their mean.
    factors: Vec<Vec3>,
}

impl BakedContributions {
    /// Compares the stored contributions of a level with its pages.
    pub fn new(level: &RelightInput) -> Self {
        let precomputed = Arc::clone(&level.precomputed);
        let Contributions { lights, rest } = &precomputed.contributions;
        let baked = baked_lights(&level.scene);
        let mut factors = Vec::new();
        if !lights.is_empty() {
            let mut sums = rest.clone();
            sums.resize(precomputed.transport.elements(), Vec3::ZERO);
            for (one, (_, emitter)) in lights.iter().filter_map(|one| Some((one, baked.get(one.light.index())?))) {
                add_product(&one.irradiance, |_| emitter.strength, &mut sums);
            }
            factors = factors_of(level, &sums);
        }
        Self { baked: baked.len(), factors, precomputed }
    }

    fn known(&self) -> impl Iterator<Item = &LightContribution> {
        self.precomputed.contributions.lights.iter().filter(|one| one.light.index() < self.baked)
    }

    /// Returns the baked lights with a stored contribution.
    pub fn lights(&self) -> impl Iterator<Item = BakedLightId> + '_ {
        self.known().map(|one| one.light)
    }

    /// Adds contributions times changes of strength to the irradiance of elements, in lux by row.
    pub fn add(&self, changes: &[(BakedLightId, Vec3)], elements: &mut [Vec3]) {
        for &(light, change) in changes {
            if let Some(one) = self.known().find(|one| one.light == light) {
                add_product(&one.irradiance, |row| self.factors[row] * change, elements);
            }
        }
    }
}

fn add_product(irradiance: &[Vec3], factor: impl Fn(usize) -> Vec3 + Sync, sums: &mut [Vec3]) {
    let rows = sums.par_iter_mut().zip(irradiance).enumerate().with_min_len(MIN_CHUNK);
    rows.for_each(|(row, (sum, light))| *sum += light * factor(row));
}

/// Returns the factor between the baked texel and the mean of `sums` over its rows, by row.
fn factors_of(level: &RelightInput, sums: &[Vec3]) -> Vec<Vec3> {
    let mut factors = vec![Vec3::ONE; sums.len()];
    let mapping = level.texel_mapping();
    for (index, (page, texels)) in level.pages.iter().zip(&mapping.texels).enumerate() {
        for (home, sources) in texels.sources() {
            let mean: Vec3 = sources.iter().map(|&(row, share)| sums[row as usize] * share).sum();
            let factor = (page.texels[home] * PI / mean).min(Vec3::splat(MAX_FACTOR));
            let factor = Vec3::select(mean.cmpgt(Vec3::ZERO), factor, Vec3::ONE);
            for &(row, _) in sources {
                let texel = level.precomputed.receivers.texel[row as usize];
                // A row that stands in for others belongs to its own texel.
                let is_own = texel.page as usize == index && page.index(texel.x.into(), texel.y.into()) == home;
                factors[row as usize] = if is_own { factor } else { factors[row as usize] };
            }
        }
    }
    factors
}

/// Returns the names of the lights with contributions, and their errors.
pub fn transport_errors(scene: &Scene, contributions: &Contributions) -> Vec<(String, f32)> {
    let baked = baked_lights(scene);
    let named = |one: &LightContribution| Some((plain(&baked.get(one.light.index())?.0).to_owned(), one.error));
    contributions.lights.iter().filter_map(named).collect()
}

/// Returns a warning if patches are too coarse for a light while it moves.
pub fn transport_warning(errors: &[(String, f32)]) -> Option<String> {
    let (name, error) =
        errors.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, error)| *error > MAX_TRANSPORT_ERROR)?;
    let count = errors.iter().filter(|(_, error)| *error > MAX_TRANSPORT_ERROR).count();
    let others = match count {
        1 => String::new(),
        2 => " and another".to_owned(),
        count => format!(" and {} others", count - 1),
    };
    Some(format!(
        "patches are too coarse for light '{name}'{others}. While it moves, its indirect light is {:.0} % off. Above \
         {:.0} % blotches may show. Raise the number of patches (--relight) or the density",
        error * 100.0,
        MAX_TRANSPORT_ERROR * 100.0
    ))
}
