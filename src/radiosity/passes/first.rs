//! The first pass, after which a bake can end with a result.

use std::borrow::Cow;

use super::super::backend::{Hits, Step, StepError};
use super::super::bright;
use super::super::clock::{Limited, Work};
use super::super::cpu::Transport;
use super::super::plan::FIRST_RAYS;
use super::super::solve::SolveError;
use super::super::solver_checkpoint::SolverCheckpoint;
use super::super::{Accumulators, HALVES, Sums};
use super::{BounceIntegrator, Passes};
use crate::progress::{Monitor, Part, Silent};

/// Share of the first pass that direct light takes, for progress.
const FIRST_DIRECT: f32 = 0.4;

/// Light samples in the first pass, for each half of an element.
const FIRST_SAMPLES: u32 = 8;

impl Passes<'_> {
    /// Runs the first pass. If it ends early, only its direct light can be resumed from.
    pub(super) fn first_pass(&mut self, limited: &Limited) -> Result<(), SolveError> {
        if self.solver_progress.light_samples == 0 {
            self.first_direct_light(limited)?;
            self.solver_progress.light_samples = FIRST_SAMPLES;
        }
        let known = self.solver_progress;
        if let Err(error) = self.first_bounces(limited) {
            self.solver_progress = known;
            return Err(error);
        }
        self.solver_progress.passes = 1;
        Ok(())
    }

    fn first_direct_light(&mut self, limited: &Limited) -> Result<(), SolveError> {
        let step = Step::Direct { samples: FIRST_SAMPLES, tolerance: [].into() };
        let samples = (HALVES * self.elements.len()) as u64 * u64::from(FIRST_SAMPLES);
        let part = Part { monitor: limited, from: 0.0, to: FIRST_DIRECT };
        self.timed(limited, (Work::LightSamples, samples), |passes| passes.run(&step, &part))?;
        self.find_bright(&Silent(limited))
    }

    fn first_bounces(&mut self, limited: &Limited) -> Result<(), SolveError> {
        let part = |from: f32, to: f32| Part { monitor: limited, from, to };
        let gather = |passes: &mut Self, hits: Hits, part: &dyn Monitor| {
            let rays = (HALVES * passes.elements.len()) as u64 * u64::from(FIRST_RAYS);
            passes.timed(limited, (Work::Gather, rays), |passes| passes.gather_evenly(FIRST_RAYS, hits, part))
        };
        match self.integrator {
            BounceIntegrator::Iterating => {
                gather(self, Hits::Store, &part(FIRST_DIRECT, 1.0))?;
                self.iterate(self.predicted()?, limited)
            }
            BounceIntegrator::Shooting => {
                let middle = 0.5 * (FIRST_DIRECT + 1.0);
                gather(self, Hits::Forget, &part(FIRST_DIRECT, middle))?;
                self.shoot(self.predicted()?, &Silent(limited))?;
                gather(self, Hits::Read, &part(middle, 1.0))
            }
            BounceIntegrator::Nothing => gather(self, Hits::Forget, &part(FIRST_DIRECT, 1.0)),
            BounceIntegrator::Paths => {
                let hits = self.paths();
                gather(self, hits, &part(FIRST_DIRECT, 1.0))
            }
        }
    }

    /// Finds bright elements to sample as lights. Used only with an unlimited number of bounces, because light of such
    /// elements arrives one bounce later than other light.
    fn find_bright(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        if !matches!(self.integrator, BounceIntegrator::Iterating | BounceIntegrator::Shooting)
            || self.settings.bounces.is_some()
        {
            return Ok(());
        }
        let transport = Transport::new(self.scene, self.world, self.elements, self.settings.seed);
        let halves = self.backend.snapshot()?;
        self.bright = bright::find(&transport, &self.cell_views, &halves);
        let sums = |half: &Accumulators| self.bright.iter().map(|bright| half.sums[bright.element as usize]).collect();
        let before: [Vec<Sums>; HALVES] = halves.each_ref().map(sums);
        drop(halves);
        self.backend.sample_as_lights(&self.bright)?;
        if self.bright.is_empty() {
            return Ok(());
        }
        // The first samples may have missed most of the light. The following ones tell how many are needed.
        let step = bright::more_direct_light(&self.bright, self.elements);
        let rays = self.solver_progress.rays;
        let done = self.run(&step, monitor).and_then(|()| self.run(&step, monitor));
        if matches!(done, Err(SolveError::Cancelled(_))) {
            // They must be found again from the same samples.
            self.solver_progress.rays = rays;
            self.forget_bright(&before)?;
        }
        done
    }

    fn forget_bright(&mut self, before: &[Vec<Sums>; HALVES]) -> Result<(), SolveError> {
        let mut halves = self.backend.snapshot()?.into_owned();
        for (half, before) in halves.iter_mut().zip(before) {
            half.bright.clear();
            for (bright, sums) in self.bright.iter().zip(before) {
                half.sums[bright.element as usize] = *sums;
            }
        }
        Ok(self.backend.restore(halves)?)
    }

    /// Returns the direct light of a first pass that ended early, for a checkpoint.
    pub(super) fn state_of_first_pass(&self) -> Result<SolverCheckpoint<'_>, StepError> {
        let Self { fingerprint, solver_progress, .. } = *self;
        let halves = self.backend.snapshot()?.each_ref().map(Accumulators::light_sampled);
        Ok(SolverCheckpoint { fingerprint, solver_progress, halves: Cow::Owned(halves), shots: None })
    }
}
