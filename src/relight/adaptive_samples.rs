//! Direct light of a unit-strength light with adaptive sampling, once lights have settled.
//!
//! A sample at its center misrepresents a receiver where irradiance varies over it: close to a lamp, or at a shadow
//! edge. Such receivers pass their error on to the room. So they are sampled over their footprints until the estimate
//! converges.

use glam::Vec3;

use super::chunks::{self, MIN_RAYS};
use super::receiving::Receiving;
use super::response::Received;
use crate::lights::OneLight;
use crate::low_rank::Patches;
use crate::scene::luminance;

/// Numbers of samples at which a receiver is tested for convergence. The first is for patches that seem dark.
const ROUNDS: [u32; 4] = [4, 16, 64, 256];

/// Relative standard error at which a receiver has converged.
const TOLERANCE: f32 = 0.02;

/// Direct light with adaptive sampling.
#[derive(Clone, Debug, PartialEq)]
pub enum AdaptiveSamples {
    /// Irradiance of the receivers sampled so far, by row.
    Partial {
        light: Vec<Vec3>,
        /// True for each row if no receiver of its patch was lit at its center. Empty before the first sample.
        seems_dark: Vec<bool>,
    },
    /// All lit receivers, by row.
    Complete(Vec<Received>),
}

impl Default for AdaptiveSamples {
    fn default() -> Self {
        Self::Partial { light: Vec::new(), seems_dark: Vec::new() }
    }
}

impl AdaptiveSamples {
    /// Samples further receivers within a ray budget. `centers` are those that were lit at their centers. Returns the
    /// number of rays traced, or the equivalent cost.
    pub fn step(&mut self, centers: &[Received], source: Option<&OneLight>, receiving: &Receiving, budget: u64) -> u64 {
        let Self::Partial { light, seems_dark } = self else { return 0 };
        let Some(source) = source else {
            *self = Self::Complete(Vec::new());
            return MIN_RAYS;
        };
        if seems_dark.is_empty() {
            *seems_dark = seem_dark(centers, &receiving.level.precomputed.transport.patches);
        }
        let count = receiving.level.precomputed.receivers.visible.len();
        let mean = |row: u32| mean(source, row, seems_dark[row as usize], receiving);
        let rays = chunks::extend(light, count, budget, MIN_RAYS, mean);
        if light.len() == count {
            let lit = (0..).zip(&*light).map(|(row, &light)| Received { row, light });
            *self = Self::Complete(lit.filter(|received| received.light != Vec3::ZERO).collect());
        }
        rays
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
