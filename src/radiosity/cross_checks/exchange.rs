//! The matrix of form factors.

use glam::Vec2;
use rayon::prelude::*;

use super::{Room, departure};
use crate::geometry::sobol::{OwenSobol, hash2};

/// What part of the light that leaves an element arrives at each of the others, `F_ij`. By reciprocity it is also by what part
/// the radiosity of j counts in the irradiance of i.
pub(super) struct Exchange {
    /// For each element those that it sees.
    pub rows: Vec<Vec<(usize, f64)>>,
}

impl Exchange {
    /// Counts where rays arrive that leave elements evenly, by the cosine law.
    pub fn count(room: &Room, rays: u32, seed: u32) -> Self {
        let row = |element: usize| {
            let random = OwenSobol::new(hash2(seed, element as u32));
            let mut met: Vec<usize> = (0..rays)
                .filter_map(|ray| {
                    let [x, y, u, v] = random.point(ray);
                    let (arrived, _) =
                        room.arrival(&departure(&room.samplers[element].sample(Vec2::new(x, y)), u, v))?;
                    Some(arrived)
                })
                .collect();
            met.sort_unstable();
            met.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64 / f64::from(rays))).collect()
        };
        Self { rows: (0..room.len()).into_par_iter().map(row).collect() }
    }

    /// The irradiance of an element, `sum over j of F_ij B_j`.
    pub fn irradiance(&self, element: usize, radiosity: &[f64]) -> f64 {
        self.rows[element].iter().map(|&(other, share)| share * radiosity[other]).sum()
    }

    /// Root mean square of the noise that this many rays bring into irradiances, in parts of their mean, if each ray knew
    /// nothing of the others. They do, and bring less.
    pub fn noise(&self, room: &Room, radiosity: &[f64], rays: u32) -> f64 {
        let variance = |i: usize| {
            let square: f64 = self.rows[i].iter().map(|&(j, share)| share * radiosity[j].powi(2)).sum();
            (square - self.irradiance(i, radiosity).powi(2)) / f64::from(rays)
        };
        room.mean(variance).sqrt() / room.mean(|i| self.irradiance(i, radiosity))
    }
}
