//! Form-factor matrix.

use glam::Vec2;
use rayon::prelude::*;

use super::{Room, departure};
use crate::geometry::sobol::{OwenSobol, hash2};

/// Form factors `F_ij`: the fraction of the light from element i that arrives at element j. By reciprocity `F_ij` is
/// also the weight of the radiosity of j in the irradiance of i.
pub(super) struct Exchange {
    /// Visible elements of each element, with their form factors.
    pub rows: Vec<Vec<(usize, f64)>>,
}

impl Exchange {
    /// Estimates form factors by counting the hits of rays, uniform in area and cosine-weighted.
    pub fn count(room: &Room, rays: u32, seed: u32) -> Self {
        let row = |element: usize| {
            let random = OwenSobol::new(hash2(seed, element as u32));
            let mut hits: Vec<usize> = (0..rays)
                .filter_map(|ray| {
                    let [x, y, u, v] = random.point(ray);
                    let (arrived, _) =
                        room.arrival(&departure(&room.samplers[element].sample(Vec2::new(x, y)), u, v))?;
                    Some(arrived)
                })
                .collect();
            hits.sort_unstable();
            hits.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64 / f64::from(rays))).collect()
        };
        Self { rows: (0..room.len()).into_par_iter().map(row).collect() }
    }

    /// Returns the irradiance of an element, `sum over j of F_ij B_j`.
    pub fn irradiance(&self, element: usize, radiosity: &[f64]) -> f64 {
        self.rows[element].iter().map(|&(other, share)| share * radiosity[other]).sum()
    }

    /// Returns the root mean square noise of irradiances estimated with this many independent rays, relative to their
    /// mean. Stratified rays have less noise.
    pub fn noise(&self, room: &Room, radiosity: &[f64], rays: u32) -> f64 {
        let variance = |i: usize| {
            let square: f64 = self.rows[i].iter().map(|&(j, share)| share * radiosity[j].powi(2)).sum();
            (square - self.irradiance(i, radiosity).powi(2)) / f64::from(rays)
        };
        room.mean(variance).sqrt() / room.mean(|i| self.irradiance(i, radiosity))
    }
}
