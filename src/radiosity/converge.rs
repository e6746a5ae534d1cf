//! Iterating radiosities until they stand still, whoever computes the sweeps.

use glam::{DVec3, Vec3};

use super::backend::{CONVERGED, StepError, StepReport};

/// Iterations after which a scene counts as one that does not converge: reflectances of one in a closed room.
const MOST_ITERATIONS: u32 = 2_000;

/// Radiosities and those that follow from them.
pub trait Sweeps {
    /// Computes the next radiosities of all elements from the current ones: `reflectance * mean over hits + source`.
    ///
    /// # Errors
    /// When it is cancelled, or the device fails.
    fn sweep(&mut self) -> Result<Sweep, StepError>;

    /// Adds so many times the last change, per channel, to the next radiosities.
    ///
    /// # Errors
    /// When the device fails.
    fn extrapolate(&mut self, series: Vec3) -> Result<(), StepError>;

    /// Makes the next radiosities the current ones.
    fn accept(&mut self);
}

/// What a sweep did.
pub struct Sweep {
    /// Sum of the elements' absolute changes, per channel, weighted by area over adaptation level: a change counts in a
    /// dim room for as much as it would be seen there.
    pub change: DVec3,
    /// Sum of their radiosities with the same weights.
    pub total: DVec3,
}

/// The fewest storing steps, told by how many hits each has stored, that have so many rays an element together.
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

/// Sweeps until what is still to come is [`CONVERGED`], or so many bounces are there.
///
/// # Errors
/// When a sweep fails.
pub fn converge(sweeps: &mut dyn Sweeps, bounces: Option<u32>) -> Result<StepReport, StepError> {
    let mut previous_change = DVec3::ZERO;
    let mut previous_ratio = DVec3::ZERO;
    // Change when a series was last added; `None` once that has done no good.
    let mut change_at_series = Some(DVec3::INFINITY);
    // The first gather afterwards is a bounce of its own.
    let most = bounces.map_or(MOST_ITERATIONS, |bounces| bounces.saturating_sub(1));
    let (mut iterations, mut share_left) = (0, 0.0);
    while iterations < most {
        let Sweep { change, total } = sweeps.sweep()?;
        iterations += 1;
        let ratio = (change / previous_change.max(DVec3::splat(f64::MIN_POSITIVE))).min(DVec3::splat(0.999));
        // Changes shrink by the ratio each time: what is still to come is a geometric series.
        let remaining = change * ratio / (DVec3::ONE - ratio);
        share_left = (remaining / total.max(DVec3::splat(f64::MIN_POSITIVE))).max_element();
        let steady = (ratio - previous_ratio).abs().max_element() < 0.01;
        if total == DVec3::ZERO || (iterations > 1 && share_left < CONVERGED) {
            sweeps.accept();
            share_left = share_left.min(CONVERGED);
            break;
        }
        // Light that mostly goes to and fro between two sides (negative eigenvalues) is thrown further off by each series.
        if steady && change_at_series.is_some_and(|before| change.cmpgt(0.5 * before).any()) {
            change_at_series = None;
        }
        if steady && bounces.is_none() && change_at_series.is_some() {
            // The change has taken the shape of the slowest mode: the whole series is added at once.
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
    // Nobody asked for what comes after so many bounces.
    let unshot = if bounces.is_some() { 0.0 } else { share_left as f32 };
    Ok(StepReport { rays: 0, iterations, unshot })
}
