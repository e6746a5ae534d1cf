//! Direct light of a unit-strength light with adaptive sampling, once lights have settled.
//!
//! A sample at its center misrepresents a receiver where irradiance varies over it: close to a lamp, or at a shadow
//! edge. Such receivers pass their error on to the room. So they are sampled over their footprints until the estimate
//! converges.

use glam::Vec3;
use rayon::prelude::*;

use super::response::{Received, Receiving};
use crate::lights::OneLight;
use crate::low_rank::Patches;
use crate::scene::luminance;

/// Numbers of samples at which a receiver is tested for convergence. The first is for patches that seem dark.
const ROUNDS: [u32; 4] = [4, 16, 64, 256];

/// Relative standard error at which a receiver has converged.
const TOLERANCE: f32 = 0.02;

/// Receivers per step.
const CHUNK: usize = 512;

/// Minimum number of receivers per thread.
const MIN_CHUNK: usize = 64;

/// Adaptive direct light of the receivers processed so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdaptiveSamples {
    processed: usize,
    is_done: bool,
    lit: Vec<Received>,
    /// True for each row if no receiver of its patch was lit at its center.
    seems_dark: Vec<bool>,
}

impl AdaptiveSamples {
    /// Returns true once all receivers have been processed.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns the direct light of all lit receivers, by row, or `None` before all have been processed.
    pub fn receivers(&self) -> Option<&[Received]> {
        self.is_done.then_some(&*self.lit)
    }

    /// Processes the next receivers. `centers` are those that were lit at their centers. Returns the number of rays
    /// traced, or the equivalent cost.
    pub fn step(&mut self, centers: &[Received], light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        if self.processed == 0 {
            self.seems_dark = seem_dark(centers, &receiving.level.precomputed.transport.patches);
        }
        let seems_dark = &self.seems_dark;
        let all = receiving.level.precomputed.receivers.visible.len();
        let end = if light.is_some() { (self.processed + CHUNK).min(all) } else { all };
        let rows = (self.processed as u32..end as u32).into_par_iter().with_min_len(MIN_CHUNK);
        let found: Vec<(Received, u64)> = light.map_or(Vec::new(), |light| {
            rows.map(|row| {
                let (light, rays) = mean(light, row, seems_dark[row as usize], receiving);
                (Received { row, light }, rays)
            })
            .collect()
        });
        self.lit.extend(found.iter().map(|(received, _)| *received).filter(|received| received.light != Vec3::ZERO));
        (self.processed, self.is_done) = (end, end == all);
        if self.is_done {
            self.seems_dark = Vec::new();
        }
        // Rejecting receivers takes time too.
        found.iter().map(|(_, rays)| rays).sum::<u64>().max((CHUNK / 16) as u64)
    }
}

/// Returns true for each row of a patch without lit receivers.
fn seem_dark(lit: &[Received], patches: &Patches) -> Vec<bool> {
    let mut seems_dark = vec![true; patches.order.len()];
    for rows in patches.ids().map(|patch| patches.of(patch)) {
        let first = lit.partition_point(|received| (received.row as usize) < rows.start);
        let is_dark = lit.get(first).is_none_or(|received| received.row as usize >= rows.end);
        seems_dark[rows].fill(is_dark);
    }
    seems_dark
}

/// Returns the mean irradiance over the reached part of a receiver, and the number of rays.
fn mean(light: &OneLight, row: u32, seems_dark: bool, receiving: &Receiving) -> (Vec3, u64) {
    let spread = receiving.spread(row);
    let (mut sum, mut squares, mut rays, mut processed) = (Vec3::ZERO, 0.0, 0, 0);
    let tests = &ROUNDS[usize::from(!seems_dark)..];
    for &rounds in tests.iter().filter(|_| !receiving.is_dark(row)) {
        for round in processed..rounds {
            let (found, traced) = spread.sample(light, round);
            sum += found;
            squares += luminance(found).powi(2);
            rays += traced;
        }
        processed = rounds;
        let mean = luminance(sum) / rounds as f32;
        let variance = squares / rounds as f32 - mean * mean;
        if variance <= rounds as f32 * (TOLERANCE * mean).powi(2) {
            break;
        }
    }
    (sum / (processed.max(1) as f32 * receiving.visible(row)), rays)
}
