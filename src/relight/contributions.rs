//! Changes of baked lights that pages hold: of stored contributions, and of direct light.
//!
//! A light that changes in its place scales its stored contribution, without rays.

use core::f32::consts::PI;
use std::collections::BTreeSet;
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::input::RelightInput;
use super::lights::{baked_lights, plain};
use super::response::Received;
use super::tracked_light::TrackedLight;
use crate::low_rank::{BakedLightId, Contributions, LightContribution, Precomputed};
use crate::radiosity::Content;
use crate::scene::Scene;

/// Largest error of a light's low-rank indirect irradiance that passes without a warning.
pub const MAX_TRANSPORT_ERROR: f32 = 0.25;

/// Upper bound of the factor between the baked pages and the sum of all contributions. Texels beyond it are mostly lit
/// by filters, from their neighbors.
const MAX_FACTOR: f32 = 4.0;

/// Minimum number of elements per thread.
const MIN_CHUNK: usize = 4096;

/// Contributions of baked lights, and the shown changes.
///
/// Each contribution has factors that make up for the filters of pages. Times the baked strengths, contributions and
/// the rest sum up to the baked pages, up to [`MAX_FACTOR`].
pub struct BakedChanges {
    precomputed: Arc<Precomputed>,
    /// Number of lights of the scene. Contributions of others are ignored.
    baked: usize,
    /// Factor of each row. All rows of a texel share it, since pages show their mean.
    factors: Vec<Vec3>,
    shown: Changes,
    /// Lights with a contribution that are shown by a response instead, whole or in part.
    by_response: Vec<BakedLightId>,
    /// True when better samples of the shown direct light exist than those added last.
    pub has_better_samples: bool,
}

/// Baked lights whose light in the pages has changed.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    /// Factors of direct light, for pages that hold it.
    direct: Vec<(BakedLightId, Vec3)>,
    /// Changes of strength of stored contributions.
    scaled: Vec<(BakedLightId, Vec3)>,
}

impl BakedChanges {
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
        let (shown, by_response) = (Changes::default(), Vec::new());
        Self { precomputed, baked: baked.len(), factors, shown, by_response, has_better_samples: false }
    }

    /// Returns the baked lights with a stored contribution.
    fn lights(&self) -> impl Iterator<Item = BakedLightId> {
        self.precomputed.contributions.lights.iter().map(|one| one.light).filter(|light| light.index() < self.baked)
    }

    /// Chooses the lights that show their stored contribution. With displaced or recolored surfaces, responses replace
    /// contributions once they are complete. Returns true when the choice is new.
    pub fn choose(&self, lights: &mut [TrackedLight], has_contributions: bool) -> bool {
        let choose = |light: BakedLightId| lights[light.index()].choose_contribution(has_contributions);
        self.lights().map(choose).fold(false, |is_new, other| is_new | other)
    }

    /// Returns true when a light has crossed between its contribution and a response.
    pub fn have_crossed(&mut self, lights: &[TrackedLight], is_enabled: bool) -> bool {
        let is_by_response = |light: &BakedLightId| is_enabled && lights[light.index()].is_by_response();
        let now: Vec<BakedLightId> = self.lights().filter(is_by_response).collect();
        core::mem::replace(&mut self.by_response, now) != self.by_response
    }

    /// Finds the changes to show. Returns true when they are new.
    pub fn update(&mut self, lights: &[TrackedLight], content: Content, is_enabled: bool) -> bool {
        let mut now = Changes::default();
        if is_enabled && content == Content::Full {
            let direct = |(index, light): (usize, &TrackedLight)| Some((BakedLightId(index as u32), light.direct()?.0));
            now.direct = lights.iter().enumerate().filter_map(direct).collect();
        }
        if is_enabled {
            let before = |light| self.shown.scaled.iter().find(|(of, _)| *of == light).map(|(_, change)| *change);
            let change = |light: BakedLightId| (light, lights[light.index()].contribution_change(before(light)));
            now.scaled = self.lights().map(change).filter(|(_, change)| *change != Vec3::ZERO).collect();
        }
        core::mem::replace(&mut self.shown, now) != self.shown
    }

    /// Notes that better samples of direct light exist.
    pub fn note_better_samples(&mut self) {
        self.has_better_samples |= !self.shown.direct.is_empty();
    }

    /// Returns the shown changes of stored contributions.
    pub fn scaled(&self) -> &[(BakedLightId, Vec3)] {
        &self.shown.scaled
    }

    /// Adds the changes to the irradiance of `count` elements, in lux by row; an empty list counts as zeros.
    pub fn add(&mut self, lights: &[TrackedLight], count: usize, elements: &mut Vec<Vec3>) {
        let Changes { direct, scaled } = &self.shown;
        if !direct.is_empty() || !scaled.is_empty() {
            elements.resize(count, Vec3::ZERO);
        }
        for (light, factor) in direct {
            let receivers = lights[light.index()].direct().map_or(&[][..], |(_, receivers)| receivers);
            receivers.iter().for_each(|&Received { row, light }| elements[row as usize] += light * *factor);
        }
        for (light, change) in scaled {
            let one = self.precomputed.contributions.lights.iter().filter(|one| one.light == *light);
            one.for_each(|one| add_product(&one.irradiance, |row| self.factors[row] * *change, elements));
        }
        self.has_better_samples = false;
    }

    /// Returns the ids of moved lamps whose direct light was removed from pages that hold it.
    pub fn moved(&self, lights: &[TrackedLight], content: Content) -> Vec<u64> {
        let changed = self.shown.direct.iter().chain(&self.shown.scaled).filter(|_| content == Content::Full);
        let changed: BTreeSet<usize> = changed.map(|(light, _)| light.index()).collect();
        let moved = changed.into_iter().map(|index| &lights[index]).filter(|light| light.has_moved());
        moved.filter_map(|light| light.entity).collect()
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
