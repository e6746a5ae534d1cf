//! Steps of a pass, as the backend runs them.

use std::sync::Arc;

use super::super::HALVES;
use super::super::backend::{ElementEstimate, Hits, Step, StepError};
use super::super::bands::Bands;
use super::super::clock::{Limited, Work};
use super::super::estimate::Estimate;
use super::super::plan::{Gather, LightSamples, Plan};
use super::super::ray_allocation::{RayAllocator, RayBudget, add_rays_to_invisible};
use super::super::solve::SolveError;
use super::{BounceIntegrator, Passes};
use crate::progress::{Monitor, Part, Silent};

/// Most stored rays that iterations read. More would only cost time.
const ITERATED_RAYS: u32 = 128;

/// Most stored hits that iterations may read completely.
const FEW_HITS: usize = 1 << 22;

impl Passes<'_> {
    pub(super) fn run_pass(
        &mut self,
        plan: &Plan<'_>,
        estimate: &Estimate,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        limited: &Limited,
    ) -> Result<(), SolveError> {
        let traced_before = self.solver_progress.rays;
        let levels = &plan.judged.grouping;
        let part = |from: f32, to: f32| Part { monitor: limited, from, to };
        let middle = plan.samples() as f32 / plan.rays().max(1) as f32;
        if let Some(LightSamples { samples, tolerance, ref bands }) = plan.light_samples {
            let of =
                |(level, band): (&f32, &u8)| if bands[usize::from(*band)] { tolerance * level } else { f32::INFINITY };
            let each = levels.adaptation.iter().zip(&levels.of_element).map(of).collect();
            let step = Step::Direct { samples, tolerance: each };
            self.timed(limited, (Work::LightSamples, plan.samples()), |passes| passes.run(&step, &part(0.0, middle)))?;
            if plan.is_local {
                (self.solver_progress.local_samples, self.solver_progress.local_tolerance) = (samples, tolerance);
            } else {
                (self.solver_progress.light_samples, self.solver_progress.light_tolerance) = (samples, tolerance);
            }
        }
        let adaptation = &self.levels_of_transport(estimate, element_estimates);
        if let Some(gather) = &plan.gather {
            if self.integrator == BounceIntegrator::Shooting {
                self.shoot(adaptation.clone(), &Silent(limited))?;
            }
            let part = part(middle, 1.0);
            self.timed(limited, (Work::Gather, plan.gather_rays()), |passes| {
                let mean = gather.mean(passes.elements.len());
                match passes.integrator {
                    // The noise of shooting is equal for all elements.
                    BounceIntegrator::Shooting => passes.gather_where_open(gather, levels, element_estimates, &part),
                    BounceIntegrator::Iterating => {
                        let hits = if passes.stores(mean) { Hits::Store } else { Hits::Read };
                        passes.gather_where_noisy(gather, levels, element_estimates, hits, &part)
                    }
                    BounceIntegrator::Nothing => {
                        passes.gather_where_noisy(gather, levels, element_estimates, Hits::Forget, &part)
                    }
                    BounceIntegrator::Paths => {
                        passes.gather_where_noisy(gather, levels, element_estimates, passes.paths(), &part)
                    }
                }
            })?;
        }
        if self.integrator == BounceIntegrator::Iterating {
            self.iterate(adaptation.clone(), limited)?;
        }
        if plan.is_local {
            self.solver_progress.local_rays += self.solver_progress.rays - traced_before;
        }
        self.solver_progress.passes += 1;
        Ok(())
    }

    /// Does some work and measures its time.
    pub(super) fn timed(
        &mut self,
        limited: &Limited,
        (work, units): (Work, u64),
        run: impl FnOnce(&mut Self) -> Result<(), SolveError>,
    ) -> Result<(), SolveError> {
        let before = limited.seconds_left();
        run(self)?;
        if let (Some(before), Some(now)) = (before, limited.seconds_left()) {
            self.times.learn(work, units, before - now);
        }
        Ok(())
    }

    pub(super) fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let done = self.backend.run(step, monitor);
        if let Err(StepError::CutShort { rays }) = done {
            self.solver_progress.rays += rays;
        }
        let report = done?;
        self.solver_progress.rays += report.rays;
        if report.iterations > 0 {
            self.solver_progress.iterations = self.solver_progress.iterations.max(report.iterations);
            self.solver_progress.unshot = report.unshot;
        }
        Ok(())
    }

    pub(super) fn shoot(&mut self, adaptation: Arc<[f32]>, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Shoot { shown: self.shown.clone(), adaptation, bounces: self.settings.bounces }, monitor)
    }

    /// Traces the same number of rays for each element.
    pub(super) fn gather_evenly(&mut self, each: u32, hits: Hits, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.gather(vec![each; self.elements.len()], each, hits, monitor)
    }

    /// Traces the same number of rays for each element of the bands that light reaches, and few for others.
    fn gather_where_open(
        &mut self,
        gather: &Gather,
        levels: &Bands,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let mean = gather.mean(self.elements.len());
        let of = |band: &u8| if gather.bands[usize::from(*band)] { gather.each } else { 0 };
        let mut rays: Vec<u32> = levels.of_element.iter().map(of).collect();
        add_rays_to_invisible(&mut rays, element_estimates, self.solver_progress.gather_rays + mean);
        self.gather(rays, mean, Hits::Read, monitor)
    }

    /// Traces most rays for elements of the bands with noisy neighbors.
    fn gather_where_noisy(
        &mut self,
        gather: &Gather,
        levels: &Bands,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        hits: Hits,
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let mean = gather.mean(self.elements.len());
        let budget = RayBudget {
            adaptation: &levels.adaptation,
            takes_part: &|element| gather.bands[usize::from(levels.of_element[element])],
            rays: gather.rays(),
        };
        let ray_allocator = self.ray_allocator.get_or_init(|| RayAllocator::new(self.elements));
        let mut rays = ray_allocator.allocate(self.elements, element_estimates, self.settings.content, &budget);
        add_rays_to_invisible(&mut rays, element_estimates, self.solver_progress.gather_rays + mean);
        self.gather(rays, mean, hits, monitor)
    }

    fn gather(&mut self, rays: Vec<u32>, mean: u32, hits: Hits, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Gather { rays, hits }, monitor)?;
        self.solver_progress.gather_rays += mean;
        if hits == Hits::Store {
            self.solver_progress.stored_rays += mean;
        }
        Ok(())
    }

    pub(super) fn iterate(&mut self, adaptation: Arc<[f32]>, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let few = (FEW_HITS / self.elements.len()) as u32;
        let rays = ITERATED_RAYS.max(few);
        self.run(&Step::Iterate { rays, adaptation, bounces: self.settings.bounces }, &Silent(monitor))
    }

    /// Returns true if the hits of `rays` more rays in each half of an element fit into memory.
    fn stores(&self, rays: u32) -> bool {
        self.solver_progress.stored_rays + rays <= self.storable_rays
    }

    /// Returns the bytes of all stored hits after a pass that stores more. `None` if it stores none.
    pub(super) fn bytes_of_hits(&self, plan: &Plan<'_>) -> Option<u64> {
        let elements = self.elements.len();
        let rays = plan.gather.as_ref().filter(|_| self.integrator == BounceIntegrator::Iterating)?.mean(elements);
        let all = u64::from(self.solver_progress.stored_rays + rays) * (HALVES * elements * size_of::<u32>()) as u64;
        self.stores(rays).then_some(all)
    }

    pub(super) fn paths(&self) -> Hits {
        Hits::Follow { bounces: self.settings.bounces.unwrap_or(u32::MAX) }
    }
}
