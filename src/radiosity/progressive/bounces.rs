//! From direct light to a solution: shots, what corrects them, and how good both together are.

use std::sync::Arc;
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
use crate::radiosity::backend::Reading;
use crate::radiosity::bands::{Band, Judged, say_hopeless, worst};
use crate::radiosity::cpu::Transport;
use crate::radiosity::estimate::{Estimate, estimate};
use crate::radiosity::partial::{Partial, Rounds, Shots};
use crate::radiosity::passes::Passes;
use crate::radiosity::progress_share::ProgressShare;
use crate::radiosity::residual::{Claim, MANY_RAYS, Residual, rays_for, residual};
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
        let weights = self.weights();
        let place = Place { scene, world, elements, visible: &lit.visible_fraction, weights: &weights };
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

    /// The weight of each element's power: as much more as its surroundings are dimmer than the mean.
    fn weights(&self) -> Vec<f32> {
        let Self { elements, lit, .. } = self;
        let visible = &lit.visible_fraction;
        let direct: Vec<f32> = lit.direct.iter().zip(&lit.indirect).map(|(a, b)| luminance(*a + *b).max(0.0)).collect();
        let surroundings = self.passes.surroundings();
        let light = surroundings.foresee(elements, visible, &direct, None);
        let adaptation = surroundings.adaptation(elements, visible, &light);
        let mean = mean_over(elements, visible, &|index| Vec3::splat(adaptation[index]));
        adaptation.iter().map(|level| mean / level).collect()
    }

    /// The light that is wanted of each element, luminance in lux.
    fn wanted(&self, indirect: &[Vec3]) -> Vec<f32> {
        let wanted = |(direct, indirect): (&Vec3, &Vec3)| match self.settings.content {
            Content::Full => luminance(*direct + *indirect).max(0.0),
            Content::Indirect => luminance(*indirect).max(0.0),
        };
        self.lit.direct.iter().zip(indirect).map(wanted).collect()
    }

    /// Adaptation levels by the light that is wanted, lux.
    fn adaptation(&self, irradiance: &[f32]) -> Arc<[f32]> {
        self.passes.surroundings().adaptation(self.elements, &self.lit.visible_fraction, irradiance)
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
            let irradiance = self.wanted(&indirect);
            let light = Light {
                direct,
                indirect: &indirect,
                visible,
                adaptation: self.adaptation(&irradiance),
                irradiance: &irradiance,
                shown_areas: self.passes.shown_areas(),
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
        let indirect = sum(&self.lit.indirect, &shot.received);
        let halves = self.halves(&shot, &indirect);
        let judged = self.judge(&shot, &indirect, monitor)?;
        let Self { scene, elements, settings, lit, .. } = self;
        let brought = mean_over(elements, &lit.visible_fraction, &|index| shot.received[index]);
        let error = |element: usize| 0.5 * luminance(halves[0][element] - halves[1][element]).abs();
        let standard_error = (0..elements.len()).map(error).collect();
        let Accuracy { bands, residual, of_mean } = judged;
        let (error_estimate, worst_irradiance) = worst(&bands).map_or((0.0, 0.0), |band| (band.total(), band.light));
        let mut warnings = lit.warnings;
        if warnings.is_empty() {
            // Direct light names such places already.
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
            energy_balance: residual.surplus / (brought - residual.surplus).max(f32::MIN_POSITIVE),
            unshot: shot.unshot,
            iterations: shot.shots,
            rays: lit.rays + shot.rays,
            ..lit
        })
    }

    /// Irradiance of the light that is wanted, as either half of the rays found it, lux.
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

    /// Judges all light: noise by the halves of direct light and of the last correction, and what rays find that no
    /// one has used.
    fn judge(&self, shot: &Found, indirect: &[Vec3], monitor: &dyn Monitor) -> Result<Accuracy, Cancelled> {
        let Self { scene, world, elements, settings, ref lit, .. } = *self;
        let reading = |half: usize| {
            let of = |element: usize| Reading {
                aimed: lit.halves[half][element],
                indirect: shot.noise(element, half),
                visible_fraction: lit.visible_fraction[element],
                gathered: shot.gathered.get(element).copied().unwrap_or(0),
                ..Reading::default()
            };
            (0..elements.len()).map(of).collect::<Vec<_>>()
        };
        let halves = [reading(0), reading(1)];
        let areas = self.passes.shown_areas();
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
        // Where the end came early, more of them would take yet more time.
        let checks = match shot.end {
            End::Done => rays_for(rays, elements.len()).max(MANY_RAYS),
            End::TimeOver | End::Endless => MANY_RAYS,
        };
        let (direct, visible) = (&lit.direct, &lit.visible_fraction);
        let claim = Claim { direct, indirect, visible, adaptation: &adaptation, rays: checks };
        let residual = residual(&Transport::new(scene, world, elements, settings.seed), &claim, monitor)?;
        for band in &mut bands {
            band.noise = band.aimed.hypot(band.gathered.max(residual.local));
        }
        let mean = mean_over(elements, visible, &|index| Vec3::splat(irradiance[index])).max(f32::MIN_POSITIVE);
        let of_mean = whole.bands.first().map_or(0.0, |all| all.aimed.hypot(all.gathered.max(residual.bounce / mean)));
        Ok(Accuracy { bands, residual, of_mean })
    }
}

/// The accuracy of a solution.
struct Accuracy {
    bands: Vec<Band>,
    residual: Residual,
    of_mean: f32,
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
    lit.warnings.extend(shortfall(settings, lit.error_of_mean));
    lit
}

/// What all shots together came to.
struct Found {
    /// Irradiance that each element received, lux.
    received: Vec<Vec3>,
    /// What either half of the rays of the last correction found, lux.
    halves: Vec<[Vec3; HALVES]>,
    /// Rays of either half of each element in it.
    gathered: Vec<u32>,
    end: End,
    /// Share of the power that was not shot.
    unshot: f32,
    shots: u32,
    /// Rays traced.
    rays: u64,
}

impl Found {
    /// Excess of one half of the last correction's rays over the mean of both, lux.
    fn noise(&self, element: usize, half: usize) -> Vec3 {
        self.halves.get(element).map_or(Vec3::ZERO, |found| 0.5 * (found[half] - found[1 - half]))
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
