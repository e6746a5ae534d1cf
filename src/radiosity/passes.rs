//! Drives a backend through passes until the error is as small as was asked for.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;

use super::allot::{Allotment, Deal, ask_the_buried_again};
use super::backend::{CONVERGED, Hits, Reading, Step, StepError, TransportBackend, UNSHOT};
use super::bands::{Bands, say_hopeless, shown_areas, worst};
use super::bright::{self, BrightElement};
use super::cpu::{MOST_BOUNCES, Transport};
use super::estimate::{self, Estimate, Groups};
use super::partial::{Ledger, Partial, fingerprint};
use super::plan::{Aim, FIRST_RAYS, Gather, MOST_RAYS, Plan, Planner};
use super::progress_share::ProgressShare;
use super::shown::Covers;
use super::solve::{LightSoFar, Pass, SolveError, SolveObserver};
use super::surroundings::Surroundings;
use super::{Content, HALVES, Method, Solution, SolverSettings};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::{Scene, luminance};

/// Samples of direct light of the first pass, for each half of an element.
const FIRST_SAMPLES: u32 = 8;

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
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    settings: &'a SolverSettings,
    surroundings: Surroundings,
    /// The area of each element that texels show.
    shown_areas: Vec<f32>,
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
    /// Elements that gather rays sample as lights.
    bright: Vec<BrightElement>,
    warnings: Vec<String>,
}

impl<'a> Passes<'a> {
    /// Starts anew, or from a checkpoint.
    ///
    /// # Errors
    /// When the monitor cancels, the checkpoint belongs to another bake, or the backend's device fails.
    pub fn new(
        backend: &'a mut dyn TransportBackend,
        scene: &'a Scene,
        world: &'a dyn RayQuery,
        elements: &'a Elements,
        settings: &'a SolverSettings,
        resume: Option<Partial<'_>>,
        monitor: &dyn Monitor,
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
        let surroundings = Surroundings::new(&Transport::new(scene, world, elements, settings.seed), monitor)?;
        let mut passes = Self {
            backend,
            scene,
            world,
            elements,
            settings,
            surroundings,
            shown_areas: shown_areas(elements),
            fingerprint: fingerprint(scene, elements, settings),
            following,
            shown: shown.into(),
            groups: Groups::new(elements),
            allotment: OnceCell::new(),
            ledger,
            storable_rays,
            bright: Vec::new(),
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
        self.bright = partial.halves[0].bright.clone();
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
            let planner = Planner { settings: self.settings, ledger: &self.ledger };
            let plan = planner.plan(&estimate);
            if plan.is_empty() || !clock.allows(&self.ledger, plan.rays()) {
                self.report_shortfall(&estimate, plan.is_empty());
                observer.progress(1.0);
                return self.finish(&readings, &estimate);
            }
            progress = progress.next(planner.remaining_share(&plan));
            self.run_pass(&plan, &estimate, &readings, &progress)?;
            if self.ledger.rays == traced_before && plan.aim.is_none() {
                // Nothing would change from here on.
                self.report_shortfall(&estimate, true);
                return self.finish(&readings, &estimate);
            }
        }
    }

    /// The light that eyes are adapted to.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The area of each element that texels show.
    pub fn shown_areas(&self) -> &[f32] {
        &self.shown_areas
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
        self.report_shortfall(&estimate, true);
        self.finish(&readings, &estimate)
    }

    fn first_pass(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        self.run(&Step::Direct { samples: FIRST_SAMPLES, tolerance: [].into() }, monitor)?;
        self.ledger.light_samples = FIRST_SAMPLES;
        self.find_bright(monitor)?;
        match self.following {
            Following::Iterating => {
                self.gather_evenly(FIRST_RAYS, Hits::Store, monitor)?;
                self.iterate(self.foreseen()?, monitor)?;
            }
            Following::Shooting => {
                self.gather_evenly(FIRST_RAYS, Hits::Forget, monitor)?;
                self.shoot(self.foreseen()?, monitor)?;
                self.gather_evenly(FIRST_RAYS, Hits::Read, monitor)?;
            }
            Following::Nothing => self.gather_evenly(FIRST_RAYS, Hits::Forget, monitor)?,
            Following::Paths => self.gather_evenly(FIRST_RAYS, self.paths(), monitor)?,
        }
        self.ledger.passes = 1;
        Ok(())
    }

    /// Finds elements that are to be sampled as lights. Only where all bounces are followed: of those elements light would
    /// come one bounce further than of others.
    fn find_bright(&mut self, monitor: &dyn Monitor) -> Result<(), SolveError> {
        if !matches!(self.following, Following::Iterating | Following::Shooting) || self.settings.bounces.is_some() {
            return Ok(());
        }
        let transport = Transport::new(self.scene, self.world, self.elements, self.settings.seed);
        self.bright = bright::find(&transport, &self.surroundings, &*self.backend.snapshot()?);
        self.backend.sample_as_lights(&self.bright)?;
        if !self.bright.is_empty() {
            // The first samples may have missed most of the light: only the next ones tell how many are needed.
            let step = bright::more_direct_light(&self.bright, self.elements);
            self.run(&step, monitor)?;
            self.run(&step, monitor)?;
        }
        Ok(())
    }

    fn run_pass(
        &mut self,
        plan: &Plan<'_>,
        estimate: &Estimate,
        readings: &[Vec<Reading>; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let traced_before = self.ledger.rays;
        let levels = &plan.judged.grouping;
        if let Some(Aim { samples, tolerance, ref bands }) = plan.aim {
            let of =
                |(level, band): (&f32, &u8)| if bands[usize::from(*band)] { tolerance * level } else { f32::INFINITY };
            let each = levels.adaptation.iter().zip(&levels.of_element).map(of).collect();
            self.run(&Step::Direct { samples, tolerance: each }, monitor)?;
            if plan.is_local {
                (self.ledger.local_samples, self.ledger.local_tolerance) = (samples, tolerance);
            } else {
                (self.ledger.light_samples, self.ledger.light_tolerance) = (samples, tolerance);
            }
        }
        let adaptation = &self.levels_of_transport(estimate, readings);
        if let Some(gather) = &plan.gather {
            let mean = gather.mean(self.elements.len());
            match self.following {
                // The noise of shooting is alike for all.
                Following::Shooting => {
                    self.shoot(adaptation.clone(), monitor)?;
                    self.gather_where_open(gather, levels, readings, monitor)?;
                }
                Following::Iterating => {
                    let stores = self.ledger.stored_rays + mean <= self.storable_rays;
                    let hits = if stores { Hits::Store } else { Hits::Read };
                    self.gather_where_noisy(gather, levels, readings, hits, monitor)?;
                }
                Following::Nothing => self.gather_where_noisy(gather, levels, readings, Hits::Forget, monitor)?,
                Following::Paths => self.gather_where_noisy(gather, levels, readings, self.paths(), monitor)?,
            }
        }
        if self.following == Following::Iterating {
            self.iterate(adaptation.clone(), monitor)?;
        }
        if plan.is_local {
            self.ledger.local_rays += self.ledger.rays - traced_before;
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
        readings: &[Vec<Reading>; HALVES],
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let mean = gather.mean(self.elements.len());
        let of = |band: &u8| if gather.bands[usize::from(*band)] { gather.each } else { 0 };
        let mut rays: Vec<u32> = levels.of_element.iter().map(of).collect();
        ask_the_buried_again(&mut rays, readings, self.ledger.gather_rays + mean);
        self.gather(rays, mean, Hits::Read, monitor)
    }

    /// Traces most rays for elements of the bands that are among noisy neighbors.
    fn gather_where_noisy(
        &mut self,
        gather: &Gather,
        levels: &Bands,
        readings: &[Vec<Reading>; HALVES],
        hits: Hits,
        monitor: &dyn Monitor,
    ) -> Result<(), SolveError> {
        let mean = gather.mean(self.elements.len());
        let deal = Deal {
            adaptation: &levels.adaptation,
            takes_part: &|element| gather.bands[usize::from(levels.of_element[element])],
            rays: gather.rays(),
        };
        let allotment = self.allotment.get_or_init(|| Allotment::new(self.elements));
        let mut rays = allotment.deal(self.elements, readings, self.settings.content, &deal);
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

    fn iterate(&mut self, adaptation: Arc<[f32]>, monitor: &dyn Monitor) -> Result<(), SolveError> {
        let few = (FEW_HITS / self.elements.len()) as u32;
        let rays = ITERATED_RAYS.max(few);
        self.run(&Step::Iterate { rays, adaptation, bounces: self.settings.bounces }, &Silent(monitor))
    }

    fn read(&self, half: usize) -> Result<Vec<Reading>, StepError> {
        let mut readings = self.backend.read(half)?;
        if self.settings.bounces == Some(0) {
            // Light by way of surfaces without elements was found along with the sky; it is one bounce too many.
            readings.iter_mut().for_each(|reading| reading.indirect = Vec3::ZERO);
        }
        Ok(readings)
    }

    /// Adaptation levels before any bounce has been followed.
    fn foreseen(&self) -> Result<Arc<[f32]>, StepError> {
        let (visible, light) = self.light(&[self.read(0)?, self.read(1)?], Content::Full, true);
        Ok(self.surroundings.adaptation(self.elements, &visible, &light))
    }

    /// Adaptation levels by all light, which transport is weighed by: a surface may send out much light and get none of
    /// the kind that is delivered.
    fn levels_of_transport(&self, estimate: &Estimate, readings: &[Vec<Reading>; HALVES]) -> Arc<[f32]> {
        match self.settings.content {
            Content::Full => estimate.local.grouping.adaptation.clone(),
            Content::Indirect => {
                let (visible, light) = self.light(readings, Content::Full, false);
                self.surroundings.adaptation(self.elements, &visible, &light)
            }
        }
    }

    /// The open part of each element and its light, luminance in lux; `foresees` adds about as much as bounces will bring.
    fn light(
        &self,
        [first, second]: &[Vec<Reading>; HALVES],
        content: Content,
        foresees: bool,
    ) -> (Vec<f32>, Vec<f32>) {
        let merged: Vec<Reading> = first.iter().zip(second).map(|(a, b)| estimate::mean_reading(a, b)).collect();
        let visible: Vec<f32> = merged.iter().map(|reading| reading.visible_fraction).collect();
        let light: Vec<f32> =
            merged.iter().map(|reading| luminance(estimate::delivered(reading, content)).max(0.0)).collect();
        let bounces = self.settings.bounces;
        let light = if foresees { self.surroundings.foresee(self.elements, &visible, &light, bounces) } else { light };
        (visible, light)
    }

    fn estimate(&self, readings: &[Vec<Reading>; HALVES]) -> Result<Estimate, StepError> {
        let foresees = self.following == Following::Nothing;
        let (visible, light) = self.light(readings, self.settings.content, foresees);
        let adaptation = self.surroundings.adaptation(self.elements, &visible, &light);
        let (mut estimate, weights) =
            estimate::estimate(&self.shown_areas, adaptation, &light, readings, self.settings.content);
        if self.ledger.stored_rays > 0 {
            let errors = estimate::discretisation(&*self.backend, self.elements, &self.groups, &readings[0])?;
            estimate.whole.add_discretisation(&weights, &errors);
            estimate.local.add_discretisation(&weights, &errors);
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
            error: estimate.local.error(),
            error_of_mean: estimate.whole.error(),
            gather_rays: self.ledger.gather_rays * HALVES as u32,
            rays: self.ledger.rays,
        };
        observer.pass_finished(&pass, &|| self.state())?;
        observer.light_improved(&|| LightSoFar::of(&estimate::merge(readings, self.settings.content).0));
        Ok(())
    }

    fn report_shortfall(&mut self, estimate: &Estimate, gave_up: bool) {
        let asked = self.settings.error;
        self.warnings.extend(say_hopeless(&estimate.local.bands, self.scene, self.elements, asked));
        // Whoever follows bounces says how good all is together.
        let is_judged_here = self.following != Following::Nothing;
        let Some(whole) = estimate.whole.bands.first().filter(|_| is_judged_here) else { return };
        if whole.discretisation > asked {
            self.warnings.push(format!(
                "the texels are too coarse for an error of {asked}: evenly bright texels alone cost about {:.3}; raise the \
                 density",
                whole.discretisation
            ));
        } else if whole.total() > asked * 1.05 {
            let why = match gave_up {
                false => "the time limit",
                true if whole.is_hopeless() => "a sensible number of rays",
                true => "the most rays that a texel may get",
            };
            self.warnings
                .push(format!("the error of {asked} was not reached within {why}: it is {:.3}", whole.total()));
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
            error_estimate: estimate.local.error(),
            worst_irradiance: worst(&estimate.local.bands).map_or(0.0, |band| band.light),
            error_of_mean: estimate.whole.error(),
            energy_balance: estimate::energy_balance(&*self.backend, self.elements, readings, &self.bright),
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
