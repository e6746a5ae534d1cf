//! Light from direct light to a solution: shots, corrections, and error estimates.

use std::sync::Arc;

use glam::Vec3;

use super::blocked::Blocked;
use super::correction::{Correction, Light};
use super::refinement::Refinement;
use super::schedule::ShootingSchedule;
use super::{MAX_CANDIDATES, Options, Place, Refine};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::backend::ElementEstimate;
use crate::radiosity::bands::{Band, Judged, root_of_squares, say_hopeless, worst};
use crate::radiosity::cpu::Transport;
use crate::radiosity::estimate::{Estimate, estimate};
use crate::radiosity::passes::Passes;
use crate::radiosity::progress_share::ProgressShare;
use crate::radiosity::residual::{Claim, MANY_RAYS, Residual, rays_for, residual};
use crate::radiosity::solver_checkpoint::{Rounds, Shots, SolverCheckpoint};
use crate::radiosity::{Content, HALVES, LightSoFar, Solution, SolveError, SolveObserver, SolverSettings, StepError};
use crate::scene::{Scene, luminance};

/// Fraction of the requested error that visibility rays may cause, and the minimum error that visibility rays aim for.
/// Other errors of form factors are larger than the minimum.
const VISIBILITY_SHARE: f32 = 0.3;
const MIN_VISIBILITY_ERROR: f32 = 0.01;

/// Fraction of the requested error that noise of the corrections may cause.
const CORRECTION_SHARE: f32 = 0.5;

/// Fraction of shooting in the reported progress of shooting and corrections.
pub const SHOOTING_PROGRESS: f32 = 0.4;

/// Direct light and the context for its bounces.
pub struct Bounces<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    pub settings: &'a SolverSettings,
    /// Passes that computed the direct light.
    pub passes: &'a Passes<'a>,
    pub lit: Solution,
}

impl Bounces<'_> {
    /// Computes all bounces, continuing from the shots of a checkpoint if there are any.
    pub fn follow(self, resume: Option<Shots>, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
        let Self { scene, world, elements, settings, ref lit, .. } = self;
        let reflected = |index: usize| elements.reflectance[index] * (lit.direct[index] + lit.indirect[index]);
        let sources: Vec<Vec3> = (0..elements.len()).map(reflected).collect();
        let weights = self.weights();
        let place = Place { scene, world, elements, visible: &lit.visible_fraction, weights: &weights };
        let options = Options {
            max_candidates: MAX_CANDIDATES,
            noise: (VISIBILITY_SHARE * settings.error).max(MIN_VISIBILITY_ERROR),
            max_bytes: (settings.memory_mib as usize) << 18,
            seed: settings.seed,
        };
        let found = match &settings.subscenes {
            Some(subscenes) => {
                self.refine(&mut Blocked::new(place, &sources, &options, subscenes)?, resume, observer)?
            }
            None => self.refine(&mut Refinement::new(place, &sources, &options), resume, observer)?,
        };
        Ok(match found {
            Some(found) => self.complete(found, observer)?,
            None => with_shortfall(self.lit, settings),
        })
    }

    /// Returns the weight of each element's power: the ratio of the mean adaptation level to its own.
    fn weights(&self) -> Vec<f32> {
        let Self { elements, lit, .. } = self;
        let visible = &lit.visible_fraction;
        let direct: Vec<f32> = lit.direct.iter().zip(&lit.indirect).map(|(a, b)| luminance(*a + *b).max(0.0)).collect();
        let cell_views = self.passes.cell_views();
        let light = cell_views.predict_light(elements, visible, &direct, None);
        let adaptation = cell_views.adaptation(elements, visible, &light);
        let mean = mean_over(elements, visible, &|index| Vec3::splat(adaptation[index]));
        adaptation.iter().map(|level| mean / level).collect()
    }

    /// Returns the irradiance of the requested content for each element, luminance in lux.
    fn wanted(&self, indirect: &[Vec3]) -> Vec<f32> {
        let wanted = |(direct, indirect): (&Vec3, &Vec3)| match self.settings.content {
            Content::Full => luminance(*direct + *indirect).max(0.0),
            Content::Indirect => luminance(*indirect).max(0.0),
        };
        self.lit.direct.iter().zip(indirect).map(wanted).collect()
    }

    /// Returns adaptation levels for an irradiance, in lux.
    fn adaptation(&self, irradiance: &[f32]) -> Arc<[f32]> {
        self.passes.cell_views().adaptation(self.elements, &self.lit.visible_fraction, irradiance)
    }

    /// Runs shots and corrections. Returns `None` without direct light.
    fn refine(
        &self,
        refinement: &mut dyn Refine,
        resume: Option<Shots>,
        observer: &dyn SolveObserver,
    ) -> Result<Option<Found>, SolveError> {
        let Self { scene, world, elements, settings, .. } = *self;
        let Some(first) = refinement.strongest_power() else { return Ok(None) };
        let mut schedule = ShootingSchedule::new(refinement, first, settings.error);
        if let Some(shots) = &resume
            && !(refinement.resume(shots) && shots.rounds.fits(elements.len()) && schedule.can_leave(refinement))
        {
            return Err(SolveError::OtherInputs);
        }
        let transport = Transport::new(scene, world, elements, settings.seed);
        let rounds = resume.map_or_else(Rounds::default, |shots| shots.rounds);
        let mut correction = Correction::new(transport, CORRECTION_SHARE * settings.error, rounds);
        let mut part = ProgressShare::first(observer, SHOOTING_PROGRESS);
        let end = loop {
            if let Some(early) = self.shoot(refinement, &mut schedule, &correction, &part)? {
                break early;
            }
            let indirect = sum(&self.lit.indirect, &refinement.received());
            let Solution { direct, visible_fraction: visible, .. } = &self.lit;
            let irradiance = self.wanted(&indirect);
            let light = Light {
                direct,
                indirect: &indirect,
                visible,
                adaptation: self.adaptation(&irradiance),
                irradiance: &irradiance,
                exposed_areas: self.passes.exposed_areas(),
            };
            let Some(share) = correction.begin(&light) else { break End::Done };
            part = part.next(share);
            if !self.correct(refinement, &mut correction, &light, &part)? {
                break End::TimeOver;
            }
        };
        Ok(Some(Found {
            received: refinement.received(),
            halves: correction.rounds().last.clone(),
            gathered: correction.rounds().last_rays.clone(),
            end,
            // Light in transit counts in full, although the part already reflected counts twice then.
            unshot: schedule.share_of(refinement.unshot_power()) as f32,
            shots: refinement.shots(),
            rays: refinement.rays() + correction.rounds().traced,
        }))
    }

    /// Shoots all power above the tolerance. Returns the reason if shooting ended early.
    fn shoot(
        &self,
        refinement: &mut dyn Refine,
        schedule: &mut ShootingSchedule,
        correction: &Correction,
        observer: &dyn SolveObserver,
    ) -> Result<Option<End>, SolveError> {
        let go_on = || !observer.wants_to_stop() && !self.is_time_over(observer);
        let is_first = correction.rounds().count == 0;
        while let Some(power) = refinement.strongest_power().filter(|&power| power > schedule.tolerance) {
            let is_through = refinement.shoot_on(schedule.tolerance, &go_on);
            observer.check()?;
            if self.is_time_over(observer) {
                return Ok(Some(End::TimeOver));
            }
            if !is_through {
                // The checkpoint would miss light in transit.
                refinement.undo();
            }
            observer.step_finished(&|| self.state(refinement, correction))?;
            observer.light_improved(&|| self.light_so_far(&refinement.received()));
            if is_first {
                observer.progress(schedule.done(power));
                if schedule.is_endless(refinement) {
                    return Ok(Some(End::Endless));
                }
            }
        }
        Ok(None)
    }

    /// Runs a round of corrections. Returns false if the time is over.
    fn correct(
        &self,
        refinement: &mut dyn Refine,
        correction: &mut Correction,
        light: &Light,
        observer: &dyn SolveObserver,
    ) -> Result<bool, SolveError> {
        let more = correction.run(light, |correction| {
            observer.step_finished(&|| self.state(refinement, correction))?;
            observer.check()?;
            observer.progress(correction.progress());
            Ok(!self.is_time_over(observer))
        })?;
        if let Some(more) = &more {
            refinement.add(more);
        }
        Ok(more.is_some())
    }

    /// Returns the complete state, for a checkpoint.
    fn state(&self, refinement: &dyn Refine, correction: &Correction) -> Result<SolverCheckpoint<'_>, StepError> {
        let shots = Shots { rounds: correction.rounds().clone(), ..refinement.state() };
        Ok(SolverCheckpoint { shots: Some(shots), ..self.passes.state()? })
    }

    /// Returns true once the time left only suffices for checking the solution.
    fn is_time_over(&self, observer: &dyn SolveObserver) -> bool {
        observer.seconds_left().is_some_and(|seconds| seconds <= self.passes.seconds_of_check(self.checks_in_a_hurry()))
    }

    /// Returns the number of rays that check each half of an element once time is over, in proportion to those of
    /// direct light.
    fn checks_in_a_hurry(&self) -> u32 {
        rays_for(self.lit.rays, self.elements.len()).min(MANY_RAYS)
    }

    fn light_so_far(&self, received: &[Vec3]) -> LightSoFar {
        let Solution { direct, indirect, visible_fraction, .. } = &self.lit;
        let (direct, visible_fraction) = (direct.clone(), visible_fraction.clone());
        LightSoFar { direct, indirect: sum(indirect, received), visible_fraction }
    }

    /// Combines direct light and shots into a solution with error estimates.
    fn complete(self, shot: Found, monitor: &dyn Monitor) -> Result<Solution, Cancelled> {
        let indirect = sum(&self.lit.indirect, &shot.received);
        let halves = self.halves(&shot, &indirect);
        let judged = self.judge(&shot, &indirect, monitor)?;
        let Self { scene, elements, settings, lit, .. } = self;
        let received = mean_over(elements, &lit.visible_fraction, &|index| shot.received[index]);
        let error = |element: usize| 0.5 * luminance(halves[0][element] - halves[1][element]).abs();
        let standard_error = (0..elements.len()).map(error).collect();
        let Accuracy { bands, residual, of_mean } = judged;
        let (error_estimate, worst_irradiance) = worst(&bands).map_or((0.0, 0.0), |band| (band.total(), band.light));
        let mut warnings = lit.warnings;
        if warnings.is_empty() {
            // Warnings of direct light already name such places.
            warnings.extend(say_hopeless(&bands, scene, elements, settings.error));
        }
        warnings.extend(shot.end.warning(settings, of_mean, shot.unshot));
        Ok(Solution {
            indirect,
            halves,
            standard_error,
            error_estimate,
            worst_irradiance,
            error_of_mean: of_mean,
            warnings,
            residual: residual.relative,
            residual_standard_error: residual.standard_error,
            energy_balance: residual.surplus / (received - residual.surplus).max(f32::MIN_POSITIVE),
            unshot: shot.unshot,
            iterations: shot.shots,
            rays: lit.rays + shot.rays,
            ..lit
        })
    }

    /// Returns the irradiance of the requested content in both halves, in lux.
    fn halves(&self, shot: &Found, indirect: &[Vec3]) -> [Vec<Vec3>; HALVES] {
        let Self { elements, settings, ref lit, .. } = *self;
        let half = |half: usize| {
            let of = |element: usize| match settings.content {
                Content::Full => lit.halves[half][element] + shot.received[element] + shot.noise(element, half),
                Content::Indirect => indirect[element] + shot.noise(element, half),
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        [half(0), half(1)]
    }

    /// Estimates the errors of all light. Noise follows from the halves of direct light and of the last correction, the
    /// residual from unused rays.
    fn judge(&self, shot: &Found, indirect: &[Vec3], monitor: &dyn Monitor) -> Result<Accuracy, Cancelled> {
        let Self { scene, world, elements, settings, ref lit, .. } = *self;
        let element_estimate = |half: usize| {
            let of = |element: usize| ElementEstimate {
                light_sampled: lit.halves[half][element],
                indirect: shot.noise(element, half),
                visible_fraction: lit.visible_fraction[element],
                gathered: shot.gathered.get(element).copied().unwrap_or(0),
                ..ElementEstimate::default()
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        let halves = [element_estimate(0), element_estimate(1)];
        let areas = self.passes.exposed_areas();
        let irradiance = self.wanted(indirect);
        let (Estimate { whole, local }, _) =
            estimate(areas, self.adaptation(&irradiance), &irradiance, &halves, settings.content);
        let Judged { grouping, mut bands } = local;
        let level = |(element, &level): (usize, &f32)| {
            let counts = areas[element] > 0.0 && !bands[usize::from(grouping.of_element[element])].is_hopeless();
            if counts { level } else { f32::INFINITY }
        };
        let adaptation: Vec<f32> = grouping.adaptation.iter().enumerate().map(level).collect();
        let rays = lit.rays + shot.rays;
        // After an early end, more checks would take additional time.
        let checks = match shot.end {
            End::Done => rays_for(rays, elements.len()).max(MANY_RAYS),
            End::TimeOver => self.checks_in_a_hurry(),
            End::Endless => MANY_RAYS,
        };
        let (direct, visible) = (&lit.direct, &lit.visible_fraction);
        let claim = Claim { direct, indirect, visible, adaptation: &adaptation, rays: checks };
        let residual = residual(&Transport::new(scene, world, elements, settings.seed), &claim, monitor)?;
        for band in &mut bands {
            band.noise = root_of_squares(band.light_sampled, band.gathered.max(residual.local));
        }
        let mean = mean_over(elements, visible, &|index| Vec3::splat(irradiance[index])).max(f32::MIN_POSITIVE);
        let of_mean = whole
            .bands
            .first()
            .map_or(0.0, |all| root_of_squares(all.light_sampled, all.gathered.max(residual.bounce / mean)));
        Ok(Accuracy { bands, residual, of_mean })
    }
}

/// Error estimate of a solution.
struct Accuracy {
    bands: Vec<Band>,
    residual: Residual,
    of_mean: f32,
}

/// Reason for the end of shots and corrections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Requested error reached, or maximum number of rays traced.
    Done,
    /// Time limit reached.
    TimeOver,
    /// Unshot power that does not decrease.
    Endless,
}

impl End {
    /// Returns the warning for an end, given the error relative to the mean, and the unshot fraction of the light.
    fn warning(self, settings: &SolverSettings, error: f32, unshot: f32) -> Option<String> {
        let asked = settings.error;
        let left = 100.0 * unshot;
        match self {
            Self::Done => shortfall(settings, error),
            Self::TimeOver => Some(format!(
                "the time limit ended the bake: {left:.1} % of the light was not followed to its end, and the error is \
                 {error:.3} where {asked} was asked for"
            )),
            Self::Endless => Some(format!(
                "{left:.2} % of the light still moved when shots ended: reflectances near one in a closed room"
            )),
        }
    }
}

/// Returns a warning if the error is larger than requested.
fn shortfall(settings: &SolverSettings, error: f32) -> Option<String> {
    let asked = settings.error;
    let within = if settings.time_limit.is_some() { "the time limit" } else { "the most rays that a texel may get" };
    (error > 1.05 * asked).then(|| format!("the error of {asked} was not reached within {within}: it is {error:.3}"))
}

/// Adds a warning about the error to a solution of direct light alone.
pub fn with_shortfall(mut lit: Solution, settings: &SolverSettings) -> Solution {
    lit.warnings.extend(shortfall(settings, lit.error_of_mean));
    lit
}

/// Result of all shots and corrections.
struct Found {
    /// Irradiance that each element received, in lux.
    received: Vec<Vec3>,
    /// Irradiance found by both halves of the last correction, in lux.
    halves: Vec<[Vec3; HALVES]>,
    /// Number of rays of each half of each element in the last correction.
    gathered: Vec<u32>,
    end: End,
    /// Unshot fraction of the power.
    unshot: f32,
    shots: u32,
    /// Number of traced rays.
    rays: u64,
}

impl Found {
    /// Returns the deviation of one half of the last correction from the mean of both, in lux.
    fn noise(&self, element: usize, half: usize) -> Vec3 {
        self.halves.get(element).map_or(Vec3::ZERO, |found| 0.5 * (found[half] - found[1 - half]))
    }
}

fn sum(light: &[Vec3], more: &[Vec3]) -> Vec<Vec3> {
    light.iter().zip(more).map(|(light, more)| *light + *more).collect()
}

/// Returns the mean luminance over all elements, weighted by visible area.
fn mean_over(elements: &Elements, visible: &[f32], light: &dyn Fn(usize) -> Vec3) -> f32 {
    let (sum, area) = (0..elements.len()).fold((0.0, 0.0), |(sum, area), index| {
        let weight = f64::from(elements.area[index] * visible[index]);
        (sum + weight * f64::from(luminance(light(index))), area + weight)
    });
    if area > 0.0 { (sum / area) as f32 } else { 0.0 }
}
