//! Bounces by counted rays: Monte Carlo radiosity on a partition as the solver of a bake (`000` S11, S16, S18 to S20).
//!
//! Direct light comes from light-sampled rays, as in other methods. Its reflected part is the power that
//! [`SubsceneElements`] shoot. These elements are about as large as texels, and rays meet the coarse surfaces of a
//! partition's cells. `overlap.rs` carries light from texels to these elements and back.
//!
//! A run shoots all power, bounce after bounce. Runs alternate between the two halves, until the noise of their mean is
//! the requested one. All rays carry equal power, so dim places have more noise than bright ones.

mod overlap;
#[cfg(test)]
mod tests;

use glam::Vec3;

use self::overlap::Overlap;
use super::bounces::{Bounces, End, Found, sum, with_shortfall};
use super::clock::Limited;
use super::exposed_area::CoincidentSurfaces;
use super::seeds::{Stage, seed_of_stage};
use super::subscenes::SubsceneElements;
use super::{Counters, HALVES, Solution, SolveError, SolveObserver, SolverSettings, StepError};
use crate::geometry::sobol::hash2;
use crate::partition::{CellTracer, Fineness};
use crate::progress::Monitor;
use crate::scene::Scene;

/// Fraction of the requested error that noise of counted rays may cause, as that of direct light.
const NOISE_SHARE: f32 = core::f32::consts::FRAC_1_SQRT_2;

/// Maximum growth of the number of runs between two estimates of the noise.
const MAX_GROWTH: u32 = 2;

/// Maximum number of runs of each half.
const MAX_RUNS: u32 = 1 << 12;

/// Refuses scenes with surfaces that let light through, because rays that are counted take all surfaces for opaque.
///
/// # Errors
/// Returns an error that names the first such surface.
pub fn check(scene: &Scene) -> Result<(), SolveError> {
    let lets_light_through = |id: &_| {
        let material = scene.material_of(*id);
        material.can_be_passed() || material.diffuse_transmission > 0.0 || material.glass.is_some()
    };
    let mut in_bake = scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake());
    match in_bake.find(lets_light_through) {
        Some(id) => Err(SolveError::NotOpaque { surface: scene.surface(id).key.clone() }),
        None => Ok(()),
    }
}

impl Bounces<'_> {
    /// Computes all bounces by counted rays.
    pub fn count(self, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
        let Self { scene, world, elements, settings, ref lit, .. } = self;
        let mean_area = elements.area.iter().sum::<f32>() / elements.len() as f32;
        let fineness = Fineness { largest_element: mean_area, ..Fineness::default() };
        let tracer = CellTracer::new(scene, &fineness, &settings.subscenes.unwrap_or_default().partition)?;
        let shown = CoincidentSurfaces { scene, world, elements }.shown();
        let (overlap, mut subscenes) = Overlap::new(scene, elements, &tracer, lit, &shown);
        if subscenes.emitted.iter().all(|&power| power == Vec3::ZERO) {
            return Ok(with_shortfall(self.lit, settings));
        }
        let counted = settings.counted;
        if let Some(min_area) = counted.min_area {
            let largest = subscenes.area.iter().copied().fold(0.0, f32::max);
            if min_area > largest {
                return Err(SolveError::MinAreaTooLarge { min_area, largest });
            }
        }
        subscenes.set_min_area(counted.min_area);
        subscenes.epsilon = f64::from(counted.epsilon);
        let mut counters = self.passes.counters(&tracer, &subscenes)?;
        let mut runs = Runs::new(&subscenes);
        let end = self.run(&mut runs, &mut *counters, &overlap, observer)?;
        let found = self.found(&runs, &overlap, end);
        Ok(self.complete(found, observer)?)
    }

    /// Runs until the noise is small enough or the time is over.
    fn run(
        &self,
        runs: &mut Runs,
        counters: &mut dyn Counters,
        overlap: &Overlap,
        observer: &dyn SolveObserver,
    ) -> Result<End, SolveError> {
        let wanted = NOISE_SHARE * self.settings.error;
        let mut until = 1;
        loop {
            while runs.count < until {
                let limited = match runs.count {
                    0 => Limited::first_pass(observer),
                    _ => Limited::repeatable(observer, self.seconds_of_check()),
                };
                match runs.add(counters, self.settings, &limited) {
                    Err(StepError::Cancelled(cancelled)) => {
                        // A resumed bake counts all rays again.
                        observer.step_finished(&|| self.passes.state())?;
                        observer.check()?;
                        return if runs.count == 0 { Err(limited.why(cancelled)) } else { Ok(End::TimeOver) };
                    }
                    done => done?,
                }
            }
            let found = self.found(runs, overlap, End::Done);
            observer.light_improved(&|| self.light_so_far(&found.received));
            let indirect = sum(&self.lit.indirect, &found.received);
            let noise = self.noise(&found, &self.wanted(&indirect)).whole.bands.first().map_or(0.0, |all| all.gathered);
            if runs.unshot > 2.0 * self.settings.counted.epsilon {
                return Ok(End::Endless);
            }
            if noise <= wanted {
                return Ok(End::NoiseReached);
            }
            if runs.count == MAX_RUNS {
                return Ok(End::Done);
            }
            // Noise falls with the root of the number of runs.
            let done = (wanted / noise).powi(2);
            observer.progress(done);
            let needed = (runs.count as f32 / done).ceil() as u32;
            until = needed.clamp(runs.count + 1, MAX_GROWTH * runs.count).min(MAX_RUNS);
        }
    }

    /// Returns the light of all runs so far.
    fn found(&self, runs: &Runs, overlap: &Overlap, end: End) -> Found {
        let [first, second] = runs.received.each_ref().map(|received| overlap.irradiance(received));
        let scale = 1.0 / runs.count.max(1) as f32;
        let halves: Vec<[Vec3; HALVES]> =
            first.into_iter().zip(second).map(|(first, second)| [first * scale, second * scale]).collect();
        Found {
            received: halves.iter().map(|[first, second]| 0.5 * (*first + *second)).collect(),
            halves,
            gathered: Vec::new(),
            end,
            unshot: runs.unshot,
            shots: runs.bounces,
            rays: runs.rays,
        }
    }
}

/// Light of all finished runs.
struct Runs<'a> {
    elements: &'a SubsceneElements,
    /// Number of finished runs of each half.
    count: u32,
    /// Sum of the power that arrived at each element in the runs of each half, in lumens.
    received: [Vec<Vec3>; HALVES],
    rays: u64,
    /// Maximum number of bounces of a run.
    bounces: u32,
    /// Maximum fraction of the power that a run has not shot.
    unshot: f32,
}

impl<'a> Runs<'a> {
    fn new(elements: &'a SubsceneElements) -> Self {
        let received = [0, 1].map(|_| vec![Vec3::ZERO; elements.len()]);
        Self { elements, count: 0, received, rays: 0, bounces: 0, unshot: 0.0 }
    }

    /// Adds a run of each half, or nothing if the monitor cancels.
    fn add(
        &mut self,
        counters: &mut dyn Counters,
        settings: &SolverSettings,
        monitor: &dyn Monitor,
    ) -> Result<(), StepError> {
        let mut run = |half: usize| {
            let seed = hash2(seed_of_stage(settings.seed, half, Stage::Shoot), self.count);
            self.elements.solve(counters, seed, Some(settings.counted.stage), monitor)
        };
        let runs = [run(0)?, run(1)?];
        for (received, run) in self.received.iter_mut().zip(runs) {
            received.iter_mut().zip(&run.received).for_each(|(sum, power)| *sum += *power);
            self.rays += run.rays;
            self.bounces = self.bounces.max(run.bounces);
            self.unshot = self.unshot.max(run.unshot as f32);
        }
        self.count += 1;
        Ok(())
    }
}
