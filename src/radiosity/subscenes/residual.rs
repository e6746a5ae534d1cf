//! Residual of the radiosity equation, measured with rays that the solver has not used.

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

/// Offset between seeds of checking rays and of bounces. There are fewer bounces than this number.
const CHECK: u32 = 1 << 16;

/// Number of rays for each half of a checked element. Solvers that count rays shoot far fewer. The check must resolve
/// the noise of a small lamp's light, which few rays hit.
const RAYS: u32 = 2048;

/// Root mean square difference between the radiosities of a solution and of new rays. It is relative to the mean
/// radiosity of the first bounce.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubsceneResidual {
    /// Residual of the radiosity equation, without the noise of the checking rays. `000` equation 2.13 uses another
    /// norm.
    pub relative: f64,
    /// One-sigma error bar: the increase of `relative` if the mean square were larger by its standard error.
    pub standard_error: f64,
    /// Expected residual from the number of arrived rays: n rays have a standard deviation of sqrt(n).
    pub claimed: f64,
}

impl SubsceneElements {
    /// Computes the residual of a solution with new rays, from a thousand elements sampled in proportion to area. Rays
    /// traverse a KD-tree, so that errors of a partition are found too. The residual is zero if no light was reflected.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels.
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
        let sampling_variance = chosen.iter().map(|&element| self.variance(solution, element)).sum::<f64>();
        Ok(SubsceneResidual {
            relative: spread.rms() / first_bounce,
            standard_error: (spread.upper_rms() - spread.rms()) / first_bounce,
            claimed: (sampling_variance / chosen.len() as f64).sqrt() / first_bounce,
        })
    }

    /// Returns the variance of an element's radiosity due to counted rays. The variance of a count is the count itself.
    fn variance(&self, solution: &SubsceneSolution, element: usize) -> f64 {
        let reflected = solution.power[element] - self.emitted[element];
        let of_ray = self.reflectance[element] * solution.power_of_ray;
        let weights = Vec3::AXES.map(luminance);
        let variance = Vec3::from_array(weights.map(|weight| weight * weight)).dot(of_ray * reflected);
        f64::from(variance) / f64::from(self.area[element]).powi(2)
    }
}

/// Returns the irradiance of an element from its rays, in lux.
fn gathered(shots: &Shots, radiosity: &[Vec3], element: usize, seed: u32) -> Vec3 {
    let arrived = (0..RAYS).map(|index| match shots.end(element, seed, index) {
        End::Element(hit) => radiosity[hit as usize],
        End::Escaped | End::Absorbed => Vec3::ZERO,
    });
    arrived.sum::<Vec3>() / RAYS as f32
}
