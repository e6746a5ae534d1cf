//! What a light of strength one brings to receivers that are asked as often as each is worth, once lights rest.
//!
//! In its middle a receiver says little of what it gets where that changes over it: close to a lamp, or where a shadow ends.
//! What such receivers pass on lights the room, so they are asked all over their footprints until they agree.

use glam::Vec3;
use rayon::prelude::*;

use super::reach::{Received, Receiving};
use crate::scene::{OneLight, luminance};

/// How often a receiver is asked: the more often, the less its answers agree.
const ROUNDS: [u32; 3] = [16, 64, 256];

/// Standard error, as a part of the mean, at which answers agree.
const TOLERANCE: f32 = 0.02;

/// Receivers that are asked at a time.
const CHUNK: usize = 512;

/// Receivers that a thread takes at least.
const FEWEST: usize = 64;

/// Direct light of the first so many receivers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finer {
    asked: usize,
    is_done: bool,
    lit: Vec<Received>,
}

impl Finer {
    /// True once all receivers have been asked.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The light of all receivers that get any, by row, once all have been asked.
    pub fn receivers(&self) -> Option<&[Received]> {
        self.is_done.then_some(&*self.lit)
    }

    /// Asks some more receivers; how many rays that took.
    pub fn step(&mut self, light: Option<&OneLight>, receiving: &Receiving) -> u64 {
        let all = receiving.level.precomputed.receivers.visible.len();
        let end = if light.is_some() { (self.asked + CHUNK).min(all) } else { all };
        let rows = (self.asked as u32..end as u32).into_par_iter().with_min_len(FEWEST);
        let found: Vec<(Received, u64)> = light.map_or(Vec::new(), |light| {
            rows.map(|row| {
                let (light, rays) = mean(light, row, receiving);
                (Received { row, light }, rays)
            })
            .collect()
        });
        self.lit.extend(found.iter().map(|(received, _)| *received).filter(|received| received.light != Vec3::ZERO));
        (self.asked, self.is_done) = (end, end == all);
        // Turning receivers away takes time too.
        found.iter().map(|(_, rays)| rays).sum::<u64>().max((CHUNK / 16) as u64)
    }
}

/// The mean over what light reaches of a receiver.
fn mean(light: &OneLight, row: u32, receiving: &Receiving) -> (Vec3, u64) {
    let spread = receiving.spread(row);
    let (mut sum, mut squares, mut rays, mut asked) = (Vec3::ZERO, 0.0, 0, 0);
    for rounds in ROUNDS.into_iter().filter(|_| !receiving.is_dark(row)) {
        for round in asked..rounds {
            let (found, traced) = spread.ask(light, round);
            sum += found;
            squares += luminance(found).powi(2);
            rays += traced;
        }
        asked = rounds;
        let mean = luminance(sum) / rounds as f32;
        let variance = squares / rounds as f32 - mean * mean;
        if variance <= rounds as f32 * (TOLERANCE * mean).powi(2) {
            break;
        }
    }
    (sum / (asked.max(1) as f32 * receiving.visible(row)), rays)
}
