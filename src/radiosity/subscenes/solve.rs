//! Bounce after bounce.

use glam::Vec3;

use super::counters::Bounce;
use super::stages::CHANNELS;
use super::{Counters, Stages, SubsceneElements};
use crate::geometry::sobol::hash2;
use crate::progress::Monitor;
use crate::radiosity::StepError;
use crate::radiosity::backend::UNSHOT;
use crate::radiosity::shooting::{MOST_ITERATIONS, allot, first_rays};

/// What shooting all power came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SubsceneSolution {
    /// Power that each element sends out, emitted or reflected, lumens.
    pub power: Vec<Vec3>,
    /// Bounces that were shot.
    pub bounces: u32,
    /// Power that the first bounce brought all elements together, after reflection, lumens.
    pub first_bounce: Vec3,
    /// Rays that were shot.
    pub rays: u64,
    /// What each of them carried, lumens.
    pub power_of_ray: f32,
    /// Those that left the scene.
    pub escaped: u64,
    /// Those that met backs without elements.
    pub absorbed: u64,
    /// Share of the emitted power that was not shot in the end.
    pub unshot: f64,
}

impl SubsceneElements {
    /// Shoots all power, until little is left. `of_each` elements of each subscene are shot in a stage, all with `None`; it
    /// changes nothing but what is done at a time.
    ///
    /// # Errors
    /// When the monitor asks for it, or the device fails.
    pub fn solve(
        &self,
        counters: &mut dyn Counters,
        seed: u32,
        of_each: Option<u32>,
        monitor: &dyn Monitor,
    ) -> Result<SubsceneSolution, StepError> {
        let first_power = total(&self.emitted);
        let first_rays = CHANNELS as f64 * first_rays(&self.area, &self.reflectance);
        let power_of_ray = first_power / first_rays;
        let (mut unshot, mut power) = (self.emitted.clone(), first_power);
        let mut solution = SubsceneSolution {
            power: Vec::new(),
            bounces: 0,
            first_bounce: Vec3::ZERO,
            rays: 0,
            power_of_ray: power_of_ray as f32,
            escaped: 0,
            absorbed: 0,
            unshot: 0.0,
        };
        while power > UNSHOT * first_power && solution.bounces < MOST_ITERATIONS {
            let allotment = allot_channels(&unshot, power, power_of_ray, hash2(seed, solution.bounces));
            let bounce = Bounce {
                seed: hash2(seed, !solution.bounces),
                allotment: &allotment,
                stages: Stages::new(self, of_each),
                power_of_ray: solution.power_of_ray,
            };
            counters.shoot(&bounce, monitor)?;
            let counts = counters.counts()?;
            solution.bounces += 1;
            solution.rays += allotment.iter().map(|&rays| u64::from(rays)).sum::<u64>();
            solution.escaped += u64::from(counts.escaped);
            solution.absorbed += u64::from(counts.absorbed);
            unshot = counters.unshot()?;
            if solution.bounces == 1 {
                solution.first_bounce = unshot.iter().sum();
            }
            power = total(&unshot);
        }
        solution.unshot = if first_power > 0.0 { power / first_power } else { 0.0 };
        solution.power = counters.power()?;
        Ok(solution)
    }
}

/// Rays of each channel of each element. One channel is dealt out after the other, so that the rays of each are right to within
/// one: in turns, rounding would favour the same channel of one element after another where they are all alike.
fn allot_channels(unshot: &[Vec3], power: f64, power_of_ray: f64, seed: u32) -> Vec<u32> {
    let shares = (0..CHANNELS).flat_map(|channel| unshot.iter().map(move |unshot| f64::from(unshot[channel])));
    let by_channel = allot(shares, power, power_of_ray, seed);
    let count = unshot.len();
    (0..CHANNELS * count).map(|number| by_channel[number % CHANNELS * count + number / CHANNELS]).collect()
}

/// The sum over all elements and channels.
fn total(power: &[Vec3]) -> f64 {
    power.iter().map(|power| f64::from(power.element_sum())).sum()
}
