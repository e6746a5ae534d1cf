//! From direct light to a solution: shots, what corrects them, and how good both together are.

use std::time::Instant;

use glam::Vec3;

use super::blocked::Blocked;
use super::correction::{Correction, Light};
use super::refinement::Refinement;
use super::way::Way;
use super::{MOST_CANDIDATES, Options, Place, Refine};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::cpu::Transport;
use crate::radiosity::partial::{Partial, Rounds, Shots};
use crate::radiosity::passes::Passes;
use crate::radiosity::progress_share::ProgressShare;
use crate::radiosity::residual::{Claim, MANY_RAYS, rays_for, residual};
use crate::radiosity::{Content, HALVES, LightSoFar, Solution, SolveError, SolveObserver, SolverSettings, StepError};
use crate::scene::{Scene, luminance};

/// The share of the wanted error that asking for what is in sight may cause, and the error below which that is not worth
/// its rays: what form factors get wrong besides is more.
const VISIBILITY_SHARE: f32 = 0.3;
const LEAST_VISIBILITY_ERROR: f32 = 0.01;

/// The share of the wanted error that noise of the rays may cause which correct form factors.
const CORRECTION_SHARE: f32 = 0.5;

/// The part of shooting and correcting that shooting is, as far as progress is told.
pub const SHOOTING_PROGRESS: f32 = 0.4;

/// Direct light that is to be followed.
pub struct Bounces<'a> {
    pub scene: &'a Scene,
    pub world: &'a dyn RayQuery,
    pub elements: &'a Elements,
    pub settings: &'a SolverSettings,
    /// What found the direct light.
    pub passes: &'a Passes<'a>,
    pub lit: Solution,
    /// When the time began, and how many seconds there are.
    pub ends: Option<(Instant, f32)>,
}

impl Bounces<'_> {
    /// Shoots, going on from shots that a checkpoint held.
    pub fn follow(self, resume: Option<Shots>, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
        let Self { scene, world, elements, settings, ref lit, .. } = self;
        let reflected = |index: usize| elements.reflectance[index] * (lit.direct[index] + lit.indirect[index]);
        let sources: Vec<Vec3> = (0..elements.len()).map(reflected).collect();
        let place = Place { scene, world, elements, visible: &lit.visible_fraction };
        let options = Options {
            most_candidates: MOST_CANDIDATES,
            noise: (VISIBILITY_SHARE * settings.error).max(LEAST_VISIBILITY_ERROR),
            most_bytes: (settings.memory_mib as usize) << 18,
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

    /// Follows direct light; `None` when there is none.
    fn refine(
        &self,
        refinement: &mut dyn Refine,
        resume: Option<Shots>,
        observer: &dyn SolveObserver,
    ) -> Result<Option<Found>, SolveError> {
        let Self { scene, world, elements, settings, .. } = *self;
        let Some(first) = refinement.strongest_power() else { return Ok(None) };
        let mut way = Way::new(refinement, first, settings.error);
        if let Some(shots) = &resume
            && !(refinement.resume(shots) && shots.rounds.fits(elements.len()))
        {
            return Err(SolveError::OtherInputs);
        }
        let transport = Transport::new(scene, world, elements, settings.seed);
        let rounds = resume.map_or_else(Rounds::default, |shots| shots.rounds);
        let mut correction = Correction::new(transport, CORRECTION_SHARE * settings.error, rounds);
        let mut part = ProgressShare { observer, from: 0.0, to: SHOOTING_PROGRESS };
        let end = loop {
            if let Some(early) = self.shoot(refinement, &mut way, &correction, &part)? {
                break early;
            }
            let indirect = sum(&self.lit.indirect, &refinement.received());
            let Solution { direct, visible_fraction: visible, .. } = &self.lit;
            let light = Light { direct, indirect: &indirect, visible, content: settings.content };
            let Some(share) = correction.begin(&light) else { break End::Done };
            part = part.next(share);
            if !self.correct(refinement, &mut correction, &light, &part)? {
                break End::TimeOver;
            }
        };
        Ok(Some(Found {
            received: refinement.received(),
            halves: correction.rounds().last.clone(),
            end,
            // Light on its way counts in full, and what of it has been reflected already counts again.
            unshot: way.share_of(refinement.unshot_power()) as f32,
            shots: refinement.shots(),
            rays: refinement.rays() + correction.rounds().traced,
        }))
    }

    /// Shoots what is worth it; why that ended early, if it did.
    fn shoot(
        &self,
        refinement: &mut dyn Refine,
        way: &mut Way,
        correction: &Correction,
        observer: &dyn SolveObserver,
    ) -> Result<Option<End>, SolveError> {
        let go_on = || !observer.wants_to_stop() && !self.is_time_over();
        let is_first = correction.rounds().count == 0;
        while let Some(power) = refinement.strongest_power().filter(|&power| power > way.tolerance) {
            let is_through = refinement.shoot_on(way.tolerance, &go_on);
            observer.check()?;
            if self.is_time_over() {
                return Ok(Some(End::TimeOver));
            }
            if !is_through {
                // Light on its way would be missing from the checkpoint.
                refinement.undo();
            }
            observer.shot_finished(&|| self.state(refinement, correction))?;
            observer.light_improved(&|| self.light_so_far(&refinement.received()));
            if is_first {
                observer.progress(way.done(power));
                if way.is_endless(refinement) {
                    return Ok(Some(End::Endless));
                }
            }
        }
        Ok(None)
    }

    /// Makes a round of corrections; false when the time is over.
    fn correct(
        &self,
        refinement: &mut dyn Refine,
        correction: &mut Correction,
        light: &Light,
        observer: &dyn SolveObserver,
    ) -> Result<bool, SolveError> {
        let more = correction.run(light, |correction| {
            observer.shot_finished(&|| self.state(refinement, correction))?;
            observer.check()?;
            observer.progress(correction.progress());
            Ok(!self.is_time_over())
        })?;
        if let Some(more) = &more {
            refinement.add(more);
        }
        Ok(more.is_some())
    }

    /// All that is known, for a checkpoint.
    fn state(&self, refinement: &dyn Refine, correction: &Correction) -> Result<Partial<'_>, StepError> {
        let shots = Shots { rounds: correction.rounds().clone(), ..refinement.state() };
        Ok(Partial { shots: Some(shots), ..self.passes.state()? })
    }

    fn is_time_over(&self) -> bool {
        self.ends.is_some_and(|(start, seconds)| start.elapsed().as_secs_f32() > seconds)
    }

    fn light_so_far(&self, received: &[Vec3]) -> LightSoFar {
        let Solution { direct, indirect, visible_fraction, .. } = &self.lit;
        let (direct, visible_fraction) = (direct.clone(), visible_fraction.clone());
        LightSoFar { direct, indirect: sum(indirect, received), visible_fraction }
    }

    /// Joins direct light and what was shot, and judges both.
    fn complete(self, shot: Found, monitor: &dyn Monitor) -> Result<Solution, Cancelled> {
        let Self { scene, world, elements, settings, lit, .. } = self;
        let received = &shot.received;
        let mean = |light: &dyn Fn(usize) -> Vec3| mean_over(elements, &lit.visible_fraction, light);
        let brought = mean(&|index| received[index]);
        let indirect = sum(&lit.indirect, received);
        let (direct, visible) = (&lit.direct, &lit.visible_fraction);
        let rays = lit.rays + shot.rays;
        // Where the end came early, more of them would take yet more time.
        let checks = match shot.end {
            End::Done => rays_for(rays, elements.len()).max(MANY_RAYS),
            End::TimeOver | End::Endless => MANY_RAYS,
        };
        let claim = Claim { direct, indirect: &indirect, visible, rays: checks };
        let residual = residual(&Transport::new(scene, world, elements, settings.seed), &claim, monitor)?;
        let direct_error = match settings.content {
            Content::Full => lit.error_estimate * mean(&|index| lit.direct[index] + lit.indirect[index]),
            Content::Indirect => 0.0,
        };
        let delivered = match settings.content {
            Content::Full => mean(&|index| lit.direct[index] + indirect[index]),
            Content::Indirect => mean(&|index| indirect[index]),
        };
        let noise = |element: usize, half: usize| {
            shot.halves.get(element).map_or(Vec3::ZERO, |found| 0.5 * (found[half] - found[1 - half]))
        };
        let half = |half: usize| {
            let of = |element: usize| match settings.content {
                Content::Full => lit.halves[half][element] + received[element] + noise(element, half),
                Content::Indirect => indirect[element] + noise(element, half),
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        let halves = [half(0), half(1)];
        let noise_of_bounces = shot.noise(elements, &lit.visible_fraction);
        let error = |element: usize| 0.5 * luminance(halves[0][element] - halves[1][element]).abs();
        let standard_error = (0..elements.len()).map(error).collect();
        let bounce_error = residual.bounce.max(noise_of_bounces);
        let error_estimate = direct_error.hypot(bounce_error) / delivered.max(f32::MIN_POSITIVE);
        let mut warnings = lit.warnings;
        warnings.extend(shot.end.warning(settings, error_estimate, shot.unshot));
        Ok(Solution {
            indirect,
            halves,
            standard_error,
            error_estimate,
            warnings,
            residual: residual.relative,
            residual_standard_error: residual.standard_error,
            energy_balance: residual.surplus / (brought - residual.surplus).max(f32::MIN_POSITIVE),
            unshot: shot.unshot,
            iterations: shot.shots,
            rays,
            ..lit
        })
    }
}

/// Why no more is shot and corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The error is as small as was asked for, or rays have been traced that must do.
    Done,
    /// The time is over.
    TimeOver,
    /// Light does not become less by being shot.
    Endless,
}

impl End {
    /// What a user should know of an end with some error, over the mean, and some share of the light not shot.
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

/// Says that the error is larger than was asked for, if it is.
fn shortfall(settings: &SolverSettings, error: f32) -> Option<String> {
    let asked = settings.error;
    let within = if settings.time_seconds.is_some() { "the time limit" } else { "the most rays that a texel may get" };
    (error > 1.05 * asked).then(|| format!("the error of {asked} was not reached within {within}: it is {error:.3}"))
}

/// Direct light that is all there is.
pub fn with_shortfall(mut lit: Solution, settings: &SolverSettings) -> Solution {
    lit.warnings.extend(shortfall(settings, lit.error_estimate));
    lit
}

/// What all shots together came to.
struct Found {
    /// Irradiance that each element received, lux.
    received: Vec<Vec3>,
    /// What either half of the rays of the last correction found, lux.
    halves: Vec<[Vec3; HALVES]>,
    end: End,
    /// Share of the power that was not shot.
    unshot: f32,
    shots: u32,
    /// Rays traced.
    rays: u64,
}

impl Found {
    /// Root mean square of what the halves of the last correction tell of its noise: luminance, lux.
    fn noise(&self, elements: &Elements, visible: &[f32]) -> f32 {
        let square = |index: usize| {
            let noise = |[first, second]: &[Vec3; HALVES]| 0.5 * luminance(*first - *second);
            Vec3::splat(self.halves.get(index).map_or(0.0, noise).powi(2))
        };
        mean_over(elements, visible, &square).sqrt()
    }
}

fn sum(light: &[Vec3], more: &[Vec3]) -> Vec<Vec3> {
    light.iter().zip(more).map(|(light, more)| *light + *more).collect()
}

/// Mean luminance over all elements, weighed by the area that light reaches.
fn mean_over(elements: &Elements, visible: &[f32], light: &dyn Fn(usize) -> Vec3) -> f32 {
    let (sum, area) = (0..elements.len()).fold((0.0, 0.0), |(sum, area), index| {
        let weight = f64::from(elements.area[index] * visible[index]);
        (sum + weight * f64::from(luminance(light(index))), area + weight)
    });
    if area > 0.0 { (sum / area) as f32 } else { 0.0 }
}
