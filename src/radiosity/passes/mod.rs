//! Passes of a backend, repeated until the requested error is reached.
//!
//! `first` runs the first pass, after which there is light everywhere. `steps` carries out the plans of later passes.
//! `results` estimates the error after each pass, and makes the solution.

mod first;
mod results;
mod steps;

use std::cell::OnceCell;
use std::sync::Arc;

use super::backend::{StepError, TransportBackend};
use super::bands::exposed_areas;
use super::bright::BrightElement;
use super::cell_views::CellViews;
use super::clock::{Limited, Times};
use super::cpu::Transport;
use super::estimate::Groups;
use super::exposed_area::CoincidentSurfaces;
use super::plan::{FIRST_RAYS, MAX_RAYS, Planner};
use super::progress_share::ProgressShare;
use super::ray_allocation::RayAllocator;
use super::residual::{checked_of, rays_for};
use super::solve::{SolveError, SolveObserver};
use super::solver_checkpoint::{MAX_RAYS_OF_SAMPLE, SolverCheckpoint, SolverProgress, fingerprint};
use super::{Accumulators, Counters, HALVES, Method, Solution, SolverSettings, SubsceneElements, Sums};
use crate::cluster::Team;
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::partition::CellTracer;
use crate::scene::Scene;

/// Least number of stored rays in each half. With fewer, shooting is better.
const MIN_STORED_RAYS: u32 = FIRST_RAYS;

/// Method of computing bounces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum BounceIntegrator {
    /// Iteration over stored hits.
    Iterating,
    /// Shooting, followed by a gathering step.
    Shooting,
    /// None, because another solver computes them.
    Nothing,
    /// Path tracing.
    Paths,
}

/// Runner of passes on a backend.
pub(super) struct Passes<'a> {
    backend: &'a mut dyn TransportBackend,
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    settings: &'a SolverSettings,
    cell_views: CellViews,
    /// Area of each element that texels show, in square meters.
    exposed_areas: Vec<f32>,
    fingerprint: [u8; 32],
    integrator: BounceIntegrator,
    /// Exposed area fraction of each element; empty where nothing is shot.
    shown: Arc<[f32]>,
    groups: Groups,
    /// Distribution of rays among elements, created for the first rays.
    ray_allocator: OnceCell<RayAllocator>,
    solver_progress: SolverProgress,
    /// Most rays in each half of an element whose hits fit into memory.
    storable_rays: u32,
    /// Elements that gather rays sample as lights.
    bright: Vec<BrightElement>,
    times: Times,
    warnings: Vec<String>,
}

impl<'a> Passes<'a> {
    /// Starts from zero or from a checkpoint.
    ///
    /// # Errors
    /// When the observer cancels, the time is over, the checkpoint belongs to another bake, or the backend's device
    /// fails.
    pub fn new(
        backend: &'a mut dyn TransportBackend,
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        elements: &'a Elements,
        settings: &'a SolverSettings,
        resume: Option<SolverCheckpoint<'_>>,
        observer: &dyn SolveObserver,
    ) -> Result<Self, SolveError> {
        let storable_rays = storable_rays(elements.len(), settings.memory_mib);
        let mut warnings = Vec::new();
        let mut integrator = match settings.method {
            Method::Gather => BounceIntegrator::Iterating,
            Method::Stochastic => BounceIntegrator::Shooting,
            Method::Progressive | Method::Counted => BounceIntegrator::Nothing,
            Method::Path => BounceIntegrator::Paths,
        };
        if integrator == BounceIntegrator::Iterating && storable_rays < MIN_STORED_RAYS {
            integrator = BounceIntegrator::Shooting;
            warnings.push(format!(
                "the hits of {} elements do not fit into {} MiB: solved by shooting instead; allow more memory, or bake \
                 with fewer texels",
                elements.len(),
                settings.memory_mib
            ));
        }
        let shown = match integrator {
            BounceIntegrator::Shooting => CoincidentSurfaces { scene, world, elements }.shown(),
            BounceIntegrator::Iterating | BounceIntegrator::Nothing | BounceIntegrator::Paths => Vec::new(),
        };
        let solver_progress = SolverProgress { integrator: integrator as u32, ..SolverProgress::default() };
        let limited = Limited::first_pass(observer);
        let cell_views = CellViews::new(&Transport::new(scene, world, elements, settings.seed), &limited)
            .map_err(|cancelled| limited.why(cancelled))?;
        let mut passes = Self {
            backend,
            scene,
            world,
            elements,
            settings,
            cell_views,
            exposed_areas: exposed_areas(elements),
            fingerprint: fingerprint(scene, elements, settings),
            integrator,
            shown: shown.into(),
            groups: Groups::new(elements),
            ray_allocator: OnceCell::new(),
            solver_progress,
            storable_rays,
            bright: Vec::new(),
            times: Times::default(),
            warnings,
        };
        resume.map_or(Ok(()), |partial| passes.resume(partial))?;
        Ok(passes)
    }

    fn resume(&mut self, partial: SolverCheckpoint<'_>) -> Result<(), SolveError> {
        let fits = partial.halves.iter().all(|half| half.fits(self.elements.len()));
        let samples_of = |half: &Accumulators| half.sums.iter().map(Sums::samples).sum::<u64>();
        let samples: u64 = partial.halves.iter().map(samples_of).sum();
        // A first pass that was cut short has traced rays without result. Shooting traces rays that no sum counts.
        let samples = samples.max(u64::from(FIRST_RAYS) * self.elements.len() as u64);
        let is_possible = self.integrator == BounceIntegrator::Shooting
            || partial.solver_progress.rays <= MAX_RAYS_OF_SAMPLE.saturating_mul(samples);
        if partial.fingerprint != self.fingerprint
            || !fits
            || !is_possible
            || partial.solver_progress.integrator != self.solver_progress.integrator
        {
            return Err(SolveError::OtherInputs);
        }
        self.solver_progress = partial.solver_progress;
        self.bright = partial.halves[0].bright.clone();
        Ok(self.backend.restore(partial.halves.into_owned())?)
    }

    /// Runs passes until the error is small enough, or until `share` of the time is over. The first pass may take all
    /// of the time, and slightly more.
    ///
    /// # Errors
    /// When the observer cancels, the time is over before the end of the first pass, or the backend's device fails.
    pub fn solve(&mut self, observer: &dyn SolveObserver, share: f32) -> Result<Solution, SolveError> {
        if self.elements.is_empty() {
            return Ok(Solution::default());
        }
        let mut left = observer.seconds_left();
        let kept_back = left.map_or(0.0, |seconds| (1.0 - share) * seconds.max(0.0));
        let mut progress = ProgressShare::first(observer, 0.1);
        if self.solver_progress.passes == 0 {
            let limited = Limited::first_pass(&progress);
            match self.first_pass(&limited) {
                Err(SolveError::Cancelled(cancelled)) => {
                    observer.step_finished(&|| self.state_of_first_pass())?;
                    observer.check()?;
                    return Err(limited.why(cancelled));
                }
                done => done?,
            }
        }
        let mut traced_before = 0;
        loop {
            let element_estimates = [self.read(0)?, self.read(1)?];
            let estimate = self.estimate(&element_estimates)?;
            if let (Some(before), Some(now)) = (left, observer.seconds_left()) {
                self.times.end_pass(before - now);
            }
            self.finish_pass(&element_estimates, &estimate, observer, traced_before)?;
            // From here, the observer may reserve more time for later stages, which does not belong to the pass.
            left = observer.seconds_left();
            traced_before = self.solver_progress.rays;
            let planner = Planner { settings: self.settings, solver_progress: &self.solver_progress };
            let plan = planner.plan(&estimate);
            // If another solver computes the bounces, `kept_back` contains the time of its check.
            let check = match self.integrator {
                BounceIntegrator::Nothing => 0.0,
                _ => self.seconds_of_check(rays_for(traced_before + plan.rays(), self.elements.len())),
            };
            let kept_back = kept_back + check;
            progress = progress.next(planner.remaining_share(&plan));
            let limited = Limited::later_pass(&progress, kept_back);
            let has_time = limited.seconds_left().is_none_or(|seconds| self.times.seconds_of(&plan) < seconds);
            if plan.is_empty() || !has_time {
                self.report_shortfall(&estimate, plan.is_empty());
                observer.progress(1.0);
                return self.finish(&element_estimates, &estimate);
            }
            if let Some(bytes) = self.bytes_of_hits(&plan).filter(|&bytes| !observer.has_room_for_hits(bytes)) {
                return Err(SolveError::HitsBeyondMemory { bytes });
            }
            match self.run_pass(&plan, &estimate, &element_estimates, &limited) {
                // The light is valid but not saved, since a resumed solver could not reach the same result.
                Err(SolveError::Cancelled(_)) if limited.is_time_over() && !observer.is_cancelled() => {
                    observer.progress(1.0);
                    return self.as_it_is(false);
                }
                done => done?,
            }
            if self.solver_progress.rays == traced_before && plan.light_samples.is_none() {
                // Further passes would not change the result.
                self.report_shortfall(&estimate, true);
                return self.finish(&element_estimates, &estimate);
            }
        }
    }

    /// Predicts the time of checking the solution with `rays` rays, in seconds.
    pub fn seconds_of_check(&self, rays: u32) -> f32 {
        match self.settings.bounces {
            Some(_) => 0.0,
            None => self.times.seconds_of_check(checked_of(self.elements.len()), rays),
        }
    }

    /// Returns counters of rays between the elements of a partition, on the backend's device.
    ///
    /// # Errors
    /// Returns an error if the device has no room for them.
    pub fn counters<'b>(
        &self,
        tracer: &'b CellTracer,
        elements: &'b SubsceneElements,
    ) -> Result<Box<dyn Counters + 'b>, StepError> {
        self.backend.counters(tracer, elements)
    }

    /// Returns the team with which the backend shares rays, if there is one.
    pub fn team(&self) -> Option<&dyn Team> {
        self.backend.team()
    }

    /// Returns the cell views that adaptation levels are taken from.
    pub fn cell_views(&self) -> &CellViews {
        &self.cell_views
    }

    /// Returns the area of each element that texels show, in square meters.
    pub fn exposed_areas(&self) -> &[f32] {
        &self.exposed_areas
    }

    /// Returns the present solution. `gave_up` says that more time would not help.
    ///
    /// # Errors
    /// Returns an error if the backend's device fails.
    pub fn as_it_is(&mut self, gave_up: bool) -> Result<Solution, SolveError> {
        if self.elements.is_empty() {
            return Ok(Solution::default());
        }
        let element_estimates = [self.read(0)?, self.read(1)?];
        let estimate = self.estimate(&element_estimates)?;
        self.report_shortfall(&estimate, gave_up);
        self.finish(&element_estimates, &estimate)
    }

    /// Returns the complete state, for a checkpoint.
    ///
    /// # Errors
    /// When it cannot be read back from the backend's device.
    pub fn state(&self) -> Result<SolverCheckpoint<'_>, StepError> {
        let Self { fingerprint, solver_progress, .. } = *self;
        Ok(SolverCheckpoint { fingerprint, solver_progress, halves: self.backend.snapshot()?, shots: None })
    }
}

/// Fraction of a solver's memory that stored hits may take.
pub(crate) const HITS_SHARE: f64 = 0.5;

/// Returns the number of rays of each half of an element whose hits fit into their share of the memory, a power of two.
pub fn storable_rays(elements: usize, memory_mib: u32) -> u32 {
    let bytes = (HITS_SHARE * f64::from(memory_mib) * f64::from(1 << 20)) as u64;
    let rays = bytes / (HALVES * elements.max(1) * size_of::<u32>()) as u64;
    let rays = u32::try_from(rays).unwrap_or(u32::MAX).min(MAX_RAYS);
    if rays == 0 { 0 } else { 1 << rays.ilog2() }
}
