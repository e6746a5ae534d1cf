//! How far a solution is from solving its equation, judged by rays that have not led to it.

use glam::Vec3;
use rayon::prelude::*;

use super::shots::{End, Shots};
use super::{SubsceneElements, SubsceneSolution};
use crate::geometry::sobol::hash2;
use crate::partition::CellTracer;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::HALVES;
use crate::radiosity::residual::{Spread, choose};
use crate::scene::luminance;

/// Tells seeds of rays that check from those of bounces, of which there are fewer.
const CHECK: u32 = 1 << 16;

/// Rays of either half of each element that is looked at. Solvers that count rays shoot far fewer, but these are to tell how
/// large the noise is of a small lamp's light, which few rays meet.
const RAYS: u32 = 2048;

/// How far radiosities are from what fresh rays find, root mean squares over area, relative to the mean radiosity that the
/// first bounce brings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubsceneResidual {
    /// Of the radiosity equation (`000` equation 2.13), free of the rays' noise.
    pub relative: f64,
    /// By how much it would be larger if the mean square were larger by its standard error.
    pub standard_error: f64,
    /// What it should be by the numbers of rays that arrived: of n rays, the root of n is by chance.
    pub claimed: f64,
}

impl SubsceneElements {
    /// Judges a solution by rays that it has not used: from a thousand elements, drawn in proportion to their area, through a
    /// KD-tree, so that mistakes of a partition show as well. Nothing is found where no light was reflected.
    ///
    /// # Errors
    /// When the monitor cancels.
    pub fn residual(
        &self,
        tracer: &CellTracer,
        solution: &SubsceneSolution,
        seed: u32,
        monitor: &dyn Monitor,
    ) -> Result<SubsceneResidual, Cancelled> {
        let areas: Vec<f64> = self.area.iter().copied().map(f64::from).collect();
        let first_bounce = f64::from(luminance(solution.first_bounce)) / areas.iter().sum::<f64>();
        if first_bounce.is_nan() || first_bounce <= 0.0 {
            return Ok(SubsceneResidual::default());
        }
        let radiosity: Vec<Vec3> = solution.power.iter().zip(&self.area).map(|(power, area)| power / area).collect();
        let shots = Shots::through_tree(tracer, self);
        let missed = |&element: &usize| -> Result<[f64; HALVES], Cancelled> {
            monitor.check()?;
            let reflected = radiosity[element] - self.emitted[element] / self.area[element];
            Ok([0, 1].map(|half| {
                let seed = hash2(hash2(seed, CHECK + half), element as u32);
                let found = self.reflectance[element] * gathered(&shots, &radiosity, element, seed);
                f64::from(luminance(reflected - found))
            }))
        };
        let chosen = choose(&areas);
        let missed: Vec<_> = chosen.par_iter().map(missed).collect::<Result<_, _>>()?;
        let spread = Spread::of(missed.into_iter());
        let by_chance = chosen.iter().map(|&element| self.variance(solution, element)).sum::<f64>();
        Ok(SubsceneResidual {
            relative: spread.rms() / first_bounce,
            standard_error: (spread.upper_rms() - spread.rms()) / first_bounce,
            claimed: (by_chance / chosen.len() as f64).sqrt() / first_bounce,
        })
    }

    /// Variance of an element's radiosity that comes of counting rays: as many as arrived, each with what one brings.
    fn variance(&self, solution: &SubsceneSolution, element: usize) -> f64 {
        let reflected = solution.power[element] - self.emitted[element];
        let of_ray = self.reflectance[element] * solution.power_of_ray;
        let weights = Vec3::AXES.map(luminance);
        let variance = Vec3::from_array(weights.map(|weight| weight * weight)).dot(of_ray * reflected);
        f64::from(variance) / f64::from(self.area[element]).powi(2)
    }
}

/// Irradiance that rays of an element find, lux.
fn gathered(shots: &Shots, radiosity: &[Vec3], element: usize, seed: u32) -> Vec3 {
    let arrived = (0..RAYS).map(|index| match shots.end(element, seed, index) {
        End::Element(met) => radiosity[met as usize],
        End::Escaped | End::Absorbed => Vec3::ZERO,
    });
    arrived.sum::<Vec3>() / RAYS as f32
}
