//! Jacobi iteration of radiosities to convergence, on any backend.

use glam::{DVec3, Vec3};

use super::backend::{CONVERGED, StepError, StepReport};

/// Maximum number of iterations. A closed room with a reflectance of one does not converge.
const MAX_ITERATIONS: u32 = 2_000;

/// Backend of a Jacobi iteration: it holds the current radiosities and the next ones.
pub trait Sweeps {
    /// Computes the next radiosities of all elements from the current ones: `reflectance * mean over hits + source`.
    ///
    /// # Errors
    /// Returns an error if the sweep is canceled, or if the device fails.
    fn sweep(&mut self) -> Result<Sweep, StepError>;

    /// Adds the last change, multiplied by `series` per channel, to the next radiosities.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn extrapolate(&mut self, series: Vec3) -> Result<(), StepError>;

    /// Makes the next radiosities the current ones.
    fn accept(&mut self);
}

/// Statistics of a sweep.
pub struct Sweep {
    /// Sum of the elements' absolute changes per channel, weighted by area over adaptation level. A change thus counts
    /// in a dim room as much as it is visible there.
    pub change: DVec3,
    /// Sum of the elements' radiosities with the same weights.
    pub total: DVec3,
}

/// Returns the smallest number of storing steps with `rays` rays an element together. `stored` is the number of hits of
/// each step.
pub fn steps_to_read(stored: impl Iterator<Item = u64>, elements: usize, rays: u32) -> usize {
    let (mut have, enough) = (0, u64::from(rays) * elements as u64);
    stored
        .take_while(|hits| {
            let is_needed = have < enough;
            have += hits;
            is_needed
        })
        .count()
}

/// Sweeps until the remaining light is at most [`CONVERGED`], or until the number of bounces is reached.
///
/// # Errors
/// Returns an error if a sweep fails.
pub fn converge(sweeps: &mut dyn Sweeps, bounces: Option<u32>) -> Result<StepReport, StepError> {
    let mut previous_change = DVec3::ZERO;
    let mut previous_ratio = DVec3::ZERO;
    // Change at the last extrapolation; `None` once extrapolation has not reduced the change.
    let mut change_at_series = Some(DVec3::INFINITY);
    // The gather after the iteration adds one more bounce.
    let max_iterations = bounces.map_or(MAX_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let (mut iterations, mut share_left) = (0, 0.0);
    while iterations < max_iterations {
        let Sweep { change, total } = sweeps.sweep()?;
        iterations += 1;
        let ratio = (change / previous_change.max(DVec3::splat(f64::MIN_POSITIVE))).min(DVec3::splat(0.999));
        // Changes shrink by the ratio each time, so the remaining light is a geometric series.
        let remaining = change * ratio / (DVec3::ONE - ratio);
        share_left = (remaining / total.max(DVec3::splat(f64::MIN_POSITIVE))).max_element();
        let steady = (ratio - previous_ratio).abs().max_element() < 0.01;
        if total == DVec3::ZERO || (iterations > 1 && share_left < CONVERGED) {
            sweeps.accept();
            share_left = share_left.min(CONVERGED);
            break;
        }
        // Light that mostly alternates between two sides (negative eigenvalues) diverges further with each
        // extrapolation.
        if steady && change_at_series.is_some_and(|before| change.cmpgt(0.5 * before).any()) {
            change_at_series = None;
        }
        if steady && bounces.is_none() && change_at_series.is_some() {
            // The change has converged to the slowest mode, so the whole series is added at once.
            change_at_series = Some(change);
            sweeps.extrapolate((ratio / (DVec3::ONE - ratio)).as_vec3())?;
            previous_change = DVec3::ZERO;
            previous_ratio = DVec3::ZERO;
        } else {
            previous_change = change;
            previous_ratio = ratio;
        }
        sweeps.accept();
    }
    // Later bounces were not requested, so they do not count as unshot.
    let unshot = if bounces.is_some() { 0.0 } else { share_left as f32 };
    Ok(StepReport { rays: 0, iterations, unshot })
}
