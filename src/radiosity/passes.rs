//! Passes of a backend, repeated until the requested error is reached.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use glam::Vec3;

use super::backend::{CONVERGED, ElementEstimate, Hits, Step, StepError, TransportBackend, UNSHOT};
use super::bands::{Bands, exposed_areas, say_hopeless, worst};
use super::bright::{self, BrightElement};
use super::cell_views::CellViews;
use super::clock::{Limited, Times, Work};
use super::cpu::{MAX_BOUNCES, Transport};
use super::estimate::{self, Estimate, Groups};
use super::exposed_area::CoincidentSurfaces;
use super::plan::{FIRST_RAYS, Gather, LightSamples, MAX_RAYS, Plan, Planner};
use super::progress_share::ProgressShare;
use super::ray_allocation::{RayAllocator, RayBudget, add_rays_to_invisible};
use super::residual::{checked_of, rays_for};
use super::solve::{LightSoFar, Pass, SolveError, SolveObserver};
use super::solver_checkpoint::{MAX_RAYS_OF_SAMPLE, SolverCheckpoint, SolverProgress, fingerprint};
use super::{Accumulators, Content, Counters, HALVES, Method, Solution, SolverSettings, SubsceneElements, Sums};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::partition::CellTracer;
use crate::progress::{Monitor, Part, Silent};
use crate::scene::{Scene, luminance};

/// Share of the first pass that direct light takes, for progress.
const FIRST_DIRECT: f32 = 0.4;

/// Light samples in the first pass, for each half of an element.
const FIRST_SAMPLES: u32 = 8;

/// Most stored rays that iterations read. More would only cost time.
const ITERATED_RAYS: u32 = 128;

/// Least number of stored rays in each half. With fewer, shooting is better.
const MIN_STORED_RAYS: u32 = FIRST_RAYS;

/// Most stored hits that iterations may read completely.
const FEW_HITS: usize = 1 << 22;

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

    /// Runs the first pass. If it ends early, only its direct light can be resumed from.
    fn first_pass(&mut self, limited: &Limited) -> Result<(), SolveError> {
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

    /// Does some work and measures its time.
    fn timed(
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
    fn state_of_first_pass(&self) -> Result<SolverCheckpoint<'_>, StepError> {
        let Self { fingerprint, solver_progress, .. } = *self;
        let halves = self.backend.snapshot()?.each_ref().map(Accumulators::light_sampled);
        Ok(SolverCheckpoint { fingerprint, solver_progress, halves: Cow::Owned(halves), shots: None })
    }

    fn run_pass(
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

    /// Returns true if the hits of `rays` more rays in each half of an element fit into memory.
    fn stores(&self, rays: u32) -> bool {
        self.solver_progress.stored_rays + rays <= self.storable_rays
    }

    /// Returns the bytes of all stored hits after a pass that stores more. `None` if it stores none.
    fn bytes_of_hits(&self, plan: &Plan<'_>) -> Option<u64> {
        let elements = self.elements.len();
        let rays = plan.gather.as_ref().filter(|_| self.integrator == BounceIntegrator::Iterating)?.mean(elements);
        let all = u64::from(self.solver_progress.stored_rays + rays) * (HALVES * elements * size_of::<u32>()) as u64;
        self.stores(rays).then_some(all)
    }

    fn paths(&self) -> Hits {
        Hits::Follow { bounces: self.settings.bounces.unwrap_or(u32::MAX) }
    }

    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<(), SolveError> {
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

    fn shoot(&mut self, adaptation: Arc<[f32]>, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Shoot { shown: self.shown.clone(), adaptation, bounces: self.settings.bounces }, monitor)
    }

    /// Traces the same number of rays for each element.
    fn gather_evenly(&mut self, each: u32, hits: Hits, monitor: &dyn Monitor) -> Result<(), SolveError> {
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

    fn iterate(&mut self, adaptation: Arc<[f32]>, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let few = (FEW_HITS / self.elements.len()) as u32;
        let rays = ITERATED_RAYS.max(few);
        self.run(&Step::Iterate { rays, adaptation, bounces: self.settings.bounces }, &Silent(monitor))
    }

    fn read(&self, half: usize) -> Result<Vec<ElementEstimate>, StepError> {
        let mut element_estimates = self.backend.read(half)?;
        if self.settings.bounces == Some(0) {
            // Light by way of unmapped surfaces was found along with the sky; it is one bounce too many.
            element_estimates.iter_mut().for_each(|element_estimate| element_estimate.indirect = Vec3::ZERO);
        }
        Ok(element_estimates)
    }

    /// Returns adaptation levels before any bounce has been computed.
    fn predicted(&self) -> Result<Arc<[f32]>, StepError> {
        let (visible, light) = self.light(&[self.read(0)?, self.read(1)?], Content::Full, true);
        Ok(self.cell_views.adaptation(self.elements, &visible, &light))
    }

    /// Returns adaptation levels by all light, which weigh the transport. A surface may reflect much light, and receive
    /// none of the content that is delivered.
    fn levels_of_transport(
        &self,
        estimate: &Estimate,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
    ) -> Arc<[f32]> {
        match self.settings.content {
            Content::Full => estimate.local.grouping.adaptation.clone(),
            Content::Indirect => {
                let (visible, light) = self.light(element_estimates, Content::Full, false);
                self.cell_views.adaptation(self.elements, &visible, &light)
            }
        }
    }

    /// Returns the visible fraction of each element, and the luminance of its irradiance in lux. `predicts` adds an
    /// estimate of the bounces.
    fn light(
        &self,
        [first, second]: &[Vec<ElementEstimate>; HALVES],
        content: Content,
        predicts: bool,
    ) -> (Vec<f32>, Vec<f32>) {
        let merged: Vec<ElementEstimate> =
            first.iter().zip(second).map(|(a, b)| estimate::mean_estimate(a, b)).collect();
        let visible: Vec<f32> = merged.iter().map(|element_estimate| element_estimate.visible_fraction).collect();
        let light: Vec<f32> = merged
            .iter()
            .map(|element_estimate| luminance(estimate::delivered(element_estimate, content)).max(0.0))
            .collect();
        let bounces = self.settings.bounces;
        let light =
            if predicts { self.cell_views.predict_light(self.elements, &visible, &light, bounces) } else { light };
        (visible, light)
    }

    fn estimate(&self, element_estimates: &[Vec<ElementEstimate>; HALVES]) -> Result<Estimate, StepError> {
        let predicts = self.integrator == BounceIntegrator::Nothing;
        let (visible, light) = self.light(element_estimates, self.settings.content, predicts);
        let adaptation = self.cell_views.adaptation(self.elements, &visible, &light);
        let (mut estimate, weights) =
            estimate::estimate(&self.exposed_areas, adaptation, &light, element_estimates, self.settings.content);
        if self.solver_progress.stored_rays > 0 {
            let errors = estimate::discretization(&*self.backend, self.elements, &self.groups, &element_estimates[0])?;
            estimate.whole.add_discretization(&weights, &errors);
            estimate.local.add_discretization(&weights, &errors);
        }
        Ok(estimate)
    }

    /// Returns the complete state, for a checkpoint.
    ///
    /// # Errors
    /// When it cannot be read back from the backend's device.
    pub fn state(&self) -> Result<SolverCheckpoint<'_>, StepError> {
        let Self { fingerprint, solver_progress, .. } = *self;
        Ok(SolverCheckpoint { fingerprint, solver_progress, halves: self.backend.snapshot()?, shots: None })
    }

    fn finish_pass(
        &self,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        estimate: &Estimate,
        observer: &dyn SolveObserver,
        traced_before: u64,
    ) -> Result<(), StepError> {
        if self.solver_progress.rays == traced_before {
            return Ok(());
        }
        let pass = Pass {
            number: self.solver_progress.passes,
            error: estimate.local.error(),
            error_of_mean: estimate.whole.error(),
            gather_rays: self.solver_progress.gather_rays * HALVES as u32,
            rays: self.solver_progress.rays,
        };
        observer.pass_finished(&pass, &|| self.state())?;
        observer.light_improved(&|| LightSoFar::of(&estimate::merge(element_estimates, self.settings.content).0));
        Ok(())
    }

    fn report_shortfall(&mut self, estimate: &Estimate, gave_up: bool) {
        let asked = self.settings.error;
        self.warnings.extend(say_hopeless(&estimate.local.bands, self.scene, self.elements, asked));
        // If another solver computes the bounces, that solver judges the whole result.
        let is_judged_here = self.integrator != BounceIntegrator::Nothing;
        let Some(whole) = estimate.whole.bands.first().filter(|_| is_judged_here) else { return };
        let are_texels_too_coarse = whole.discretization > asked;
        if are_texels_too_coarse {
            self.warnings.push(format!(
                "the texels are too coarse for an error of {asked}: evenly bright texels alone cost about {:.3}; raise the \
                 density",
                whole.discretization
            ));
        }
        if whole.total() > asked * 1.05 && !(are_texels_too_coarse && gave_up) {
            let why = match gave_up {
                false => "the time limit",
                true if whole.is_hopeless() => "a sensible number of rays",
                true => "the most rays that a texel may get",
            };
            self.warnings
                .push(format!("the error of {asked} was not reached within {why}: it is {:.3}", whole.total()));
        }
    }

    /// Returns true if there is so much more indirect than direct light that paths must have ended before their light
    /// was absorbed.
    fn are_paths_cut_off(&self, merged: &[ElementEstimate]) -> bool {
        let Elements { area, reflectance, .. } = self.elements;
        let reflected = |light: &dyn Fn(&ElementEstimate) -> Vec3| -> f64 {
            let of = |(element, element_estimate): (usize, &ElementEstimate)| {
                f64::from(
                    area[element]
                        * element_estimate.visible_fraction
                        * luminance(reflectance[element] * light(element_estimate)),
                )
            };
            merged.iter().enumerate().map(of).sum()
        };
        let once = reflected(&|element_estimate| element_estimate.light_sampled + element_estimate.bsdf_sampled);
        reflected(&|element_estimate| element_estimate.indirect) > max_reflections() * once
    }

    fn finish(
        &mut self,
        element_estimates: &[Vec<ElementEstimate>; HALVES],
        estimate: &Estimate,
    ) -> Result<Solution, SolveError> {
        let (merged, standard_error) = estimate::merge(element_estimates, self.settings.content);
        let delivered =
            |element_estimate: &ElementEstimate| estimate::delivered(element_estimate, self.settings.content);
        let halves = element_estimates.each_ref().map(|half| half.iter().map(delivered).collect());
        let limit = if self.integrator == BounceIntegrator::Iterating { CONVERGED } else { UNSHOT };
        if self.settings.bounces.is_none() && f64::from(self.solver_progress.unshot) > 2.0 * limit {
            self.warnings.push(format!(
                "{:.2} % of the light still moved when the iterations ended: reflectances near one in a closed room",
                self.solver_progress.unshot * 100.0
            ));
        }
        if self.integrator == BounceIntegrator::Paths
            && self.settings.bounces.is_none()
            && self.are_paths_cut_off(&merged)
        {
            self.warnings.push(format!(
                "light still moved where paths ended, after {MAX_BOUNCES} bounces: reflectances near one in a closed room"
            ));
        }
        let LightSoFar { direct, indirect, visible_fraction } = LightSoFar::of(&merged);
        Ok(Solution {
            direct,
            indirect,
            halves,
            visible_fraction,
            standard_error,
            error_estimate: estimate.local.error(),
            worst_irradiance: worst(&estimate.local.bands).map_or(0.0, |band| band.light),
            error_of_mean: estimate.whole.error(),
            energy_balance: estimate::energy_balance(&*self.backend, self.elements, element_estimates, &self.bright),
            unshot: self.solver_progress.unshot,
            iterations: self.solver_progress.iterations,
            rays: self.solver_progress.rays,
            warnings: core::mem::take(&mut self.warnings),
            ..Solution::default()
        })
    }
}

/// Returns the maximum plausible ratio of all reflected light to light that is reflected once. At this ratio, the
/// fraction [`UNSHOT`] is left after the most bounces of a path.
fn max_reflections() -> f64 {
    let reflectance = libm::pow(UNSHOT, 1.0 / f64::from(MAX_BOUNCES));
    1.0 / (1.0 - reflectance)
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
