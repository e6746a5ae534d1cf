//! Drives a backend through passes until the error is as small as was asked for.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;

use super::allot::{Allotment, ask_the_buried_again};
use super::backend::{CONVERGED, Hits, Reading, Step, StepError, TransportBackend, UNSHOT};
use super::cpu::MOST_BOUNCES;
use super::estimate::{self, Estimate, Groups};
use super::partial::{Ledger, Partial, fingerprint};
use super::progress_share::ProgressShare;
use super::shown::Covers;
use super::solve::{LightSoFar, Pass, SolveError, SolveObserver};
use super::{HALVES, Method, Solution, SolverSettings};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::{Scene, luminance};

/// Samples of direct light and gather rays of the first pass, for each half of an element.
const FIRST_SAMPLES: u32 = 8;
const FIRST_RAYS: u32 = 16;

/// Gather rays that one pass adds at most, so that it ends soon and error and time are looked at again: so many, or a
/// power of two below a quarter of what there are.
const MOST_RAYS_A_PASS: u32 = 128;

/// Gather rays of each half of an element after which the solver gives up on the error that was asked for.
const MOST_RAYS: u32 = 1 << 17;

/// Samples of direct light of each half of an element after which the solver gives up on the error that was asked for:
/// a lamp that touches a wall is never smooth.
const MOST_LIGHT_SAMPLES: u32 = 1 << 14;

/// Stored rays that iterations read; more of them would lose nothing but time.
const ITERATED_RAYS: u32 = 128;

/// Stored rays below which it is better to shoot.
const FEWEST_STORED_RAYS: u32 = FIRST_RAYS;

/// Elements so few that iterations may read all of their stored rays.
const FEW_HITS: usize = 1 << 22;

/// How bounces are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Following {
    /// By iterating stored hits.
    Iterating,
    /// By shooting, and gathering what that brought.
    Shooting,
    /// Not at all: others do that.
    Nothing,
    /// By paths.
    Paths,
}

/// Runs passes on a backend.
pub(super) struct Passes<'a> {
    backend: &'a mut dyn TransportBackend,
    elements: &'a Elements,
    settings: &'a SolverSettings,
    fingerprint: [u8; 32],
    following: Following,
    /// The part of each element that rays meet; empty where nothing is shot.
    shown: Arc<[f32]>,
    groups: Groups,
    /// Made for the first rays that are dealt out.
    allotment: OnceCell<Allotment>,
    ledger: Ledger,
    /// Most rays of each half of an element whose hits fit into memory.
    storable_rays: u32,
    warnings: Vec<String>,
}

impl<'a> Passes<'a> {
    /// Starts anew, or from a checkpoint.
    ///
    /// # Errors
    /// When the checkpoint belongs to another bake, or the backend's device fails.
    pub fn new(
        backend: &'a mut dyn TransportBackend,
        scene: &Scene,
        world: &dyn RayQuery,
        elements: &'a Elements,
        settings: &'a SolverSettings,
        resume: Option<Partial<'_>>,
    ) -> Result<Self, SolveError> {
        let storable_rays = storable_rays(elements.len(), settings.memory_mib);
        let mut warnings = Vec::new();
        let mut following = match settings.method {
            Method::Gather => Following::Iterating,
            Method::Stochastic => Following::Shooting,
            Method::Progressive => Following::Nothing,
            Method::Path => Following::Paths,
        };
        if following == Following::Iterating && storable_rays < FEWEST_STORED_RAYS {
            following = Following::Shooting;
            warnings.push(format!(
                "the hits of {} elements do not fit into {} MiB: solved by shooting instead; allow more memory, or bake \
                 with fewer texels",
                elements.len(),
                settings.memory_mib
            ));
        }
        let shown = match following {
            Following::Shooting => Covers { scene, world, elements }.shown(),
            Following::Iterating | Following::Nothing | Following::Paths => Vec::new(),
        };
        let ledger = Ledger { following: following as u32, ..Ledger::default() };
        let mut passes = Self {
            backend,
            elements,
            settings,
            fingerprint: fingerprint(scene, elements, settings),
            following,
            shown: shown.into(),
            groups: Groups::new(elements),
            allotment: OnceCell::new(),
            ledger,
            storable_rays,
            warnings,
        };
        resume.map_or(Ok(()), |partial| passes.resume(partial))?;
        Ok(passes)
    }

    fn resume(&mut self, partial: Partial<'_>) -> Result<(), SolveError> {
        let fits = partial.halves.iter().all(|half| half.fits(self.elements.len()));
        if partial.fingerprint != self.fingerprint || !fits || partial.ledger.following != self.ledger.following {
            return Err(SolveError::OtherInputs);
        }
        self.ledger = partial.ledger;
        Ok(self.backend.restore(partial.halves.into_owned())?)
    }

    /// Runs passes until the error is small enough or the time is over.
    ///
    /// # Errors
    /// When the observer cancels, or the backend's device fails.
    pub fn solve(&mut self, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
        if self.elements.is_empty() {
            return Ok(Solution::default());
        }
        let start = Instant::now();
        let clock = Clock { start, limit: self.settings.time_seconds };
        let mut progress = ProgressShare { observer, from: 0.0, to: 0.1 };
        if self.ledger.passes == 0 {
            self.first_pass(&progress)?;
        }
        let mut traced_before = 0;
        loop {
            let readings = [self.read(0)?, self.read(1)?];
            let estimate = self.estimate(&readings)?;
            self.finish_pass(&readings, &estimate, observer, traced_before)?;
            traced_before = self.ledger.rays;
            let plan = self.plan(&estimate);
            if plan.is_empty() || !clock.allows(&self.ledger, plan.rays(self.elements.len())) {
                self.report_shortfall(&estimate, plan.is_empty());
                observer.progress(1.0);
                return self.finish(&readings, &estimate);
            }
            progress = progress.next(self.remaining_share(&estimate));
            self.run_pass(&plan, &readings, &progress)?;
        }
    }

    /// The solution that is known so far.
    ///
    /// # Errors
    /// When the backend's device fails.
    pub fn as_it_is(&mut self) -> Result<Solution, SolveError> {
        if self.elements.is_empty() {
            return Ok(Solution::default());
        }
        let readings = [self.read(0)?, self.read(1)?];
        let estimate = self.estimate(&readings)?;
        self.finish(&readings, &estimate)
    }

    fn first_pass(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Direct { samples: FIRST_SAMPLES, tolerance: 0.0 }, monitor)?;
        self.ledger.light_samples = FIRST_SAMPLES;
        match self.following {
            Following::Iterating => {
                self.gather_evenly(FIRST_RAYS, Hits::Store, monitor)?;
                self.iterate(monitor)?;
            }
            Following::Shooting => {
                self.gather_evenly(FIRST_RAYS, Hits::Forget, monitor)?;
                self.shoot(monitor)?;
                self.gather_evenly(FIRST_RAYS, Hits::Read, monitor)?;
            }
            Following::Nothing => self.gather_evenly(FIRST_RAYS, Hits::Forget, monitor)?,
            Following::Paths => self.gather_evenly(FIRST_RAYS, self.paths(), monitor)?,
        }
        self.ledger.passes = 1;
        Ok(())
    }

    fn run_pass(
        &mut self,
        plan: &Plan,
        readings: &[Vec<Reading>; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        if let Some((samples, tolerance)) = plan.direct {
            self.run(&Step::Direct { samples, tolerance }, monitor)?;
            self.ledger.light_samples = samples;
            self.ledger.light_tolerance = tolerance;
        }
        let mean = plan.gather_rays;
        match self.following {
            _ if mean == 0 => {}
            // What was shot is as noisy for all.
            Following::Shooting => {
                self.shoot(monitor)?;
                self.gather_where_open(mean, readings, Hits::Read, monitor)?;
            }
            Following::Iterating => {
                let stores = self.ledger.stored_rays + mean <= self.storable_rays;
                self.gather_where_noisy(mean, readings, if stores { Hits::Store } else { Hits::Read }, monitor)?;
            }
            Following::Nothing => self.gather_where_noisy(mean, readings, Hits::Forget, monitor)?,
            Following::Paths => self.gather_where_noisy(mean, readings, self.paths(), monitor)?,
        }
        if self.following == Following::Iterating {
            self.iterate(monitor)?;
        }
        self.ledger.passes += 1;
        Ok(())
    }

    fn paths(&self) -> Hits {
        Hits::Follow { bounces: self.settings.bounces.unwrap_or(u32::MAX) }
    }

    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let report = self.backend.run(step, monitor)?;
        self.ledger.rays += report.rays;
        if report.iterations > 0 {
            self.ledger.iterations = self.ledger.iterations.max(report.iterations);
            self.ledger.unshot = report.unshot;
        }
        Ok(())
    }

    fn shoot(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Shoot { shown: self.shown.clone(), bounces: self.settings.bounces }, monitor)
    }

    /// Traces the same number of rays for each element.
    fn gather_evenly(&mut self, each: u32, hits: Hits, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.gather(vec![each; self.elements.len()], each, hits, monitor)
    }

    /// Traces the same number of rays for each element that light reaches, and few for others.
    fn gather_where_open(
        &mut self,
        each: u32,
        readings: &[Vec<Reading>; HALVES],
        hits: Hits,
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let mut rays = vec![each; self.elements.len()];
        ask_the_buried_again(&mut rays, readings, self.ledger.gather_rays + each);
        self.gather(rays, each, hits, monitor)
    }

    /// Traces most rays for elements among noisy neighbours, `mean` on average.
    fn gather_where_noisy(
        &mut self,
        mean: u32,
        readings: &[Vec<Reading>; HALVES],
        hits: Hits,
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let allotment = self.allotment.get_or_init(|| Allotment::new(self.elements));
        let mut rays = allotment.deal(self.elements, readings, self.settings.content, mean);
        ask_the_buried_again(&mut rays, readings, self.ledger.gather_rays + mean);
        self.gather(rays, mean, hits, monitor)
    }

    fn gather(&mut self, rays: Vec<u32>, mean: u32, hits: Hits, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Gather { rays, hits }, monitor)?;
        self.ledger.gather_rays += mean;
        if hits == Hits::Store {
            self.ledger.stored_rays += mean;
        }
        Ok(())
    }

    fn iterate(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let few = (FEW_HITS / self.elements.len()) as u32;
        let rays = ITERATED_RAYS.max(few);
        self.run(&Step::Iterate { rays, bounces: self.settings.bounces }, &Silent(monitor))
    }

    fn read(&self, half: usize) -> Result<Vec<Reading>, StepError> {
        let mut readings = self.backend.read(half)?;
        if self.settings.bounces == Some(0) {
            // Light by way of surfaces without elements was found along with the sky; it is one bounce too many.
            readings.iter_mut().for_each(|reading| reading.indirect = Vec3::ZERO);
        }
        Ok(readings)
    }

    fn estimate(&self, readings: &[Vec<Reading>; HALVES]) -> Result<Estimate, StepError> {
        let mut estimate = estimate::estimate(&self.elements.area, readings, self.settings.content);
        if self.following == Following::Nothing {
            estimate = estimate.over(estimate::all_light(self.elements, readings, self.settings.bounces));
        }
        if self.ledger.stored_rays > 0 {
            estimate.discretisation =
                estimate::discretisation(&*self.backend, self.elements, &self.groups, &readings[0], estimate.mean)?;
        }
        Ok(estimate)
    }

    /// All that is known, for a checkpoint.
    ///
    /// # Errors
    /// When it cannot be fetched from the backend's device.
    pub fn state(&self) -> Result<Partial<'_>, StepError> {
        let Self { fingerprint, ledger, .. } = *self;
        Ok(Partial { fingerprint, ledger, halves: self.backend.snapshot()?, shots: None })
    }

    fn finish_pass(
        &self,
        readings: &[Vec<Reading>; HALVES],
        estimate: &Estimate,
        observer: &dyn SolveObserver,
        traced_before: u64,
    ) -> Result<(), StepError> {
        if self.ledger.rays == traced_before {
            return Ok(());
        }
        let pass = Pass {
            number: self.ledger.passes,
            error: estimate.total(),
            gather_rays: self.ledger.gather_rays * HALVES as u32,
            rays: self.ledger.rays,
        };
        observer.pass_finished(&pass, &|| self.state())?;
        observer.light_improved(&|| LightSoFar::of(&estimate::merge(readings, self.settings.content).0));
        Ok(())
    }

    /// The noise that leaves the whole error at what was asked for, as far as that can be had.
    fn noise_goal(&self, estimate: &Estimate) -> f32 {
        let goal = self.settings.error;
        (goal * goal - estimate.discretisation * estimate.discretisation).max(0.25 * goal * goal).sqrt()
    }

    /// What the next pass is to do: nothing when the error is small enough.
    ///
    /// Light found by aimed rays and by gather rays may each have half of the noise's square.
    fn plan(&self, estimate: &Estimate) -> Plan {
        let goal = self.noise_goal(estimate);
        let mut plan = Plan::default();
        if estimate.noise <= goal {
            return plan;
        }
        let share = goal * core::f32::consts::FRAC_1_SQRT_2;
        let aimed_is_worse = estimate.aimed > estimate.gathered;
        let can_aim = self.ledger.light_samples < MOST_LIGHT_SAMPLES;
        let can_gather = self.ledger.gather_rays < MOST_RAYS;
        if can_aim && (estimate.aimed > share || aimed_is_worse) {
            let tolerance = match self.ledger.light_tolerance {
                0.0 => goal * estimate.mean,
                before => 0.5 * before,
            };
            plan.direct = Some((self.ledger.light_samples * 2, tolerance));
        }
        if can_gather && (estimate.gathered > share || !aimed_is_worse) {
            let rays = self.ledger.gather_rays;
            plan.gather_rays = rays.min(MOST_RAYS_A_PASS.max(1 << (rays / 4).ilog2()));
        }
        plan
    }

    /// The share of what is left to do that the next pass will have done; noise shrinks a little faster than with the
    /// root of the rays.
    fn remaining_share(&self, estimate: &Estimate) -> f32 {
        let more = (estimate.noise / self.noise_goal(estimate)).max(1.0).powf(1.0 / 0.75);
        (1.0 / (more - 1.0)).clamp(0.02, 0.9)
    }

    fn report_shortfall(&mut self, estimate: &Estimate, gave_up: bool) {
        let asked = self.settings.error;
        if self.following == Following::Nothing {
            // Whoever follows bounces says how good all is together.
        } else if estimate.discretisation > asked {
            self.warnings.push(format!(
                "the texels are too coarse for an error of {asked}: evenly bright texels alone cost about {:.3}; raise the \
                 density",
                estimate.discretisation
            ));
        } else if estimate.total() > asked * 1.05 {
            let why = if gave_up { "the most rays that a texel may get" } else { "the time limit" };
            self.warnings
                .push(format!("the error of {asked} was not reached within {why}: it is {:.3}", estimate.total()));
        }
    }

    /// True when so much more light is reflected again and again than once that paths must have ended before it was gone.
    fn are_paths_cut_off(&self, merged: &[Reading]) -> bool {
        let Elements { area, reflectance, .. } = self.elements;
        let reflected = |light: &dyn Fn(&Reading) -> Vec3| -> f64 {
            let of = |(element, reading): (usize, &Reading)| {
                f64::from(area[element] * reading.visible_fraction * luminance(reflectance[element] * light(reading)))
            };
            merged.iter().enumerate().map(of).sum()
        };
        let once = reflected(&|reading| reading.aimed + reading.met);
        reflected(&|reading| reading.indirect) > most_reflections() * once
    }

    fn finish(&mut self, readings: &[Vec<Reading>; HALVES], estimate: &Estimate) -> Result<Solution, SolveError> {
        let (merged, standard_error) = estimate::merge(readings, self.settings.content);
        let delivered = |reading: &Reading| estimate::delivered(reading, self.settings.content);
        let halves = readings.each_ref().map(|half| half.iter().map(delivered).collect());
        let limit = if self.following == Following::Iterating { CONVERGED } else { UNSHOT };
        if self.settings.bounces.is_none() && f64::from(self.ledger.unshot) > 2.0 * limit {
            self.warnings.push(format!(
                "{:.2} % of the light still moved when the iterations ended: reflectances near one in a closed room",
                self.ledger.unshot * 100.0
            ));
        }
        if self.following == Following::Paths && self.settings.bounces.is_none() && self.are_paths_cut_off(&merged) {
            self.warnings.push(format!(
                "light still moved where paths ended, after {MOST_BOUNCES} bounces: reflectances near one in a closed room"
            ));
        }
        let LightSoFar { direct, indirect, visible_fraction } = LightSoFar::of(&merged);
        Ok(Solution {
            direct,
            indirect,
            halves,
            visible_fraction,
            standard_error,
            // A solution claims its error over its own light.
            error_estimate: estimate.total() * estimate.all_light,
            energy_balance: estimate::energy_balance(&*self.backend, self.elements, readings),
            unshot: self.ledger.unshot,
            iterations: self.ledger.iterations,
            rays: self.ledger.rays,
            warnings: core::mem::take(&mut self.warnings),
            ..Solution::default()
        })
    }
}

/// How many times the light that is reflected once is reflected in all where a thousandth is left after the most bounces
/// that paths have.
fn most_reflections() -> f64 {
    let reflectance = UNSHOT.powf(1.0 / f64::from(MOST_BOUNCES));
    1.0 / (1.0 - reflectance)
}

/// Rays of each half of an element whose hits fit into half of the memory, a power of two.
pub fn storable_rays(elements: usize, memory_mib: u32) -> u32 {
    let bytes = u64::from(memory_mib) << 19;
    let rays = bytes / (HALVES * elements.max(1) * size_of::<u32>()) as u64;
    let rays = u32::try_from(rays).unwrap_or(u32::MAX).min(MOST_RAYS);
    if rays == 0 { 0 } else { 1 << rays.ilog2() }
}

/// What a pass adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Plan {
    /// Samples of direct light that each element has afterwards, and the standard error that more are worth.
    direct: Option<(u32, f32)>,
    /// More gather rays for each half of an element.
    gather_rays: u32,
}

impl Plan {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// About how many rays the pass will trace.
    fn rays(&self, elements: usize) -> u64 {
        let each = self.gather_rays + self.direct.map_or(0, |(samples, _)| samples);
        u64::from(each) * (elements * HALVES) as u64
    }
}

/// Whether there is time for another pass.
struct Clock {
    start: Instant,
    limit: Option<f32>,
}

impl Clock {
    /// True when so many more rays will be done before the time is over, going by those that were traced.
    fn allows(&self, ledger: &Ledger, rays: u64) -> bool {
        let Some(limit) = self.limit else { return true };
        let elapsed = self.start.elapsed().as_secs_f32();
        elapsed * (1.0 + rays as f32 / ledger.rays.max(1) as f32) <= limit
    }
}

/// Passes on the wish to stop, and no progress.
struct Silent<'a>(&'a dyn Monitor);

impl Monitor for Silent<'_> {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
