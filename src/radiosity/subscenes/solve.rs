//! Solver that counts rays, bounce by bounce.

use glam::Vec3;

use super::counters::{Bounce, light_of};
use super::stages::CHANNELS;
use super::{Counters, Stages, SubsceneElements};
use crate::geometry::sobol::hash2;
use crate::progress::Monitor;
use crate::radiosity::StepError;
use crate::radiosity::shooting::{MAX_ITERATIONS, allocate_rays};

/// Result of shooting all power.
#[derive(Clone, Debug, PartialEq)]
pub struct SubsceneSolution {
    /// Total power that each element emits and reflects, in lumens.
    pub power: Vec<Vec3>,
    /// Total power that arrived at each element before reflection, in lumens.
    pub received: Vec<Vec3>,
    /// Number of bounces.
    pub bounces: u32,
    /// Total power of the first bounce after reflection, in lumens.
    pub first_bounce: Vec3,
    /// Number of rays.
    pub rays: u64,
    /// Power of each ray, in lumens.
    pub power_of_ray: f32,
    /// Number of rays that left the scene.
    pub escaped: u64,
    /// Number of rays that hit backs without elements.
    pub absorbed: u64,
    /// Fraction of the emitted power that was not shot.
    pub unshot: f64,
}

impl SubsceneElements {
    /// Shoots all emitted power, until little is left. A stage shoots `of_each` elements of each subscene, or all with `None`.
    /// Stages do not change the result.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the device fails.
    pub fn solve(
        &self,
        counters: &mut dyn Counters,
        seed: u32,
        of_each: Option<u32>,
        monitor: &dyn Monitor,
    ) -> Result<SubsceneSolution, StepError> {
        counters.restart()?;
        let mut unshot = counters.all_unshot()?;
        let first_power = total(&unshot);
        let mut power = first_power;
        let mut solution = SubsceneSolution {
            power: Vec::new(),
            received: vec![Vec3::ZERO; self.len()],
            bounces: 0,
            first_bounce: Vec3::ZERO,
            rays: 0,
            power_of_ray: self.power_of_ray as f32,
            escaped: 0,
            absorbed: 0,
            unshot: 0.0,
        };
        while power > self.epsilon * first_power && solution.bounces < MAX_ITERATIONS {
            let of_scene = allocate_channels(&unshot, power, self.power_of_ray, hash2(seed, solution.bounces));
            let ray_counts = self.own(&of_scene);
            let bounce = Bounce {
                seed: hash2(seed, !solution.bounces),
                ray_counts: &ray_counts,
                stages: Stages::new(self, of_each),
                power_of_ray: solution.power_of_ray,
            };
            counters.shoot(&bounce, monitor)?;
            let counts = counters.counts()?;
            solution.bounces += 1;
            solution.rays += of_scene.iter().map(|&rays| u64::from(rays)).sum::<u64>();
            for (received, arrived) in solution.received.iter_mut().zip(counts.arrived.chunks_exact(CHANNELS)) {
                *received += light_of(arrived) * solution.power_of_ray;
            }
            solution.escaped += u64::from(counts.escaped);
            solution.absorbed += u64::from(counts.absorbed);
            unshot = counters.all_unshot()?;
            if solution.bounces == 1 {
                solution.first_bounce = unshot.iter().sum();
            }
            power = total(&unshot);
        }
        solution.unshot = if first_power > 0.0 { power / first_power } else { 0.0 };
        solution.power = counters.power()?;
        Ok(solution)
    }

    /// Selects the numbers of these elements' channels from those of the whole scene.
    fn own(&self, of_scene: &[u32]) -> Vec<u32> {
        let channels = |&number: &u32| CHANNELS * number as usize..CHANNELS * (number as usize + 1);
        self.numbers.iter().flat_map(|number| &of_scene[channels(number)]).copied().collect()
    }
}

/// Returns the number of rays for each channel of each element. Channels are allocated one after the other, so that the
/// total of each is exact to within one ray. With interleaved channels, rounding would favor the same channel of many
/// equal elements.
fn allocate_channels(unshot: &[Vec3], power: f64, power_of_ray: f64, seed: u32) -> Vec<u32> {
    let shares = (0..CHANNELS).flat_map(|channel| unshot.iter().map(move |unshot| f64::from(unshot[channel])));
    let by_channel = allocate_rays(shares, power, power_of_ray, seed);
    let count = unshot.len();
    (0..CHANNELS * count).map(|number| by_channel[number % CHANNELS * count + number / CHANNELS]).collect()
}

/// Returns the sum over all elements and channels.
fn total(power: &[Vec3]) -> f64 {
    power.iter().map(|power| f64::from(power.element_sum())).sum()
}
