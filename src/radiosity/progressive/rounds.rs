//! Shots and corrections in turn, from direct light to a solution.

use glam::Vec3;

use super::blocked::{Blocked, OnRanks, refine_on_ranks};
use super::correction::{Correction, Light};
use super::refinement::Refinement;
use super::schedule::ShootingSchedule;
use super::{Options, Place, Refine, faithful};
use crate::radiosity::bounces::{Bounces, End, Found, mean_over, sum, with_shortfall};
use crate::radiosity::cpu::Transport;
use crate::radiosity::progress_share::ProgressShare;
use crate::radiosity::solver_checkpoint::{Rounds, Shots, SolverCheckpoint};
use crate::radiosity::{Solution, SolveError, SolveObserver, StepError};
use crate::scene::luminance;

/// Fraction of the requested error that noise of the corrections may cause.
const CORRECTION_SHARE: f32 = 0.5;

/// Fraction of shooting in the reported progress of shooting and corrections.
pub const SHOOTING_PROGRESS: f32 = 0.4;

impl Bounces<'_> {
    /// Computes all bounces by progressive refinement, continuing from the shots of a checkpoint if there are any.
    pub fn refine_in_rounds(self, resume: Option<Shots>, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
        let Self { scene, world, elements, settings, ref lit, .. } = self;
        let reflected = |index: usize| elements.reflectance[index] * (lit.direct[index] + lit.indirect[index]);
        let (sources, weights) = if settings.faithful {
            (faithful::emitted(elements), Vec::new())
        } else {
            ((0..elements.len()).map(reflected).collect(), self.weights())
        };
        let place = Place { scene, world, elements, visible: &lit.visible_fraction, weights: &weights };
        let options = Options::of(settings);
        let found = match &settings.subscenes {
            Some(subscenes) if subscenes.ranks => {
                let team = self.passes.team();
                let refine = |refinement: &mut OnRanks| self.refine(refinement, resume, observer);
                refine_on_ranks(place, &sources, &options, subscenes, team, refine)?
            }
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

    /// Runs shots and corrections. Returns `None` without direct light.
    fn refine(
        &self,
        refinement: &mut dyn Refine,
        resume: Option<Shots>,
        observer: &dyn SolveObserver,
    ) -> Result<Option<Found>, SolveError> {
        let Self { scene, world, elements, settings, .. } = *self;
        let Some(first) = refinement.strongest_power() else { return Ok(None) };
        let new_schedule = if settings.faithful { ShootingSchedule::to_part_of_first } else { ShootingSchedule::new };
        let mut schedule = new_schedule(refinement, first, settings.error);
        if let Some(shots) = &resume
            && !(refinement.resume(shots)? && shots.rounds.fits(elements.len()) && schedule.can_leave(refinement))
        {
            return Err(SolveError::OtherInputs);
        }
        let transport = Transport::new(scene, world, elements, settings.seed);
        let rounds = resume.map_or_else(Rounds::default, |shots| shots.rounds);
        let mut correction = Correction::new(transport, self.passes.team(), CORRECTION_SHARE * settings.error, rounds);
        let mut part = ProgressShare::first(observer, SHOOTING_PROGRESS);
        let end = loop {
            if let Some(early) = self.shoot(refinement, &mut schedule, &correction, &part)? {
                break early;
            }
            if settings.faithful {
                break End::Shot;
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
            received: self.beyond_sampled(refinement.received()),
            halves: correction.rounds().last.clone(),
            gathered: correction.rounds().last_rays.clone(),
            end,
            // Light in transit counts in full, although the part already reflected counts twice then.
            unshot: schedule.share_of(refinement.unshot_power()) as f32,
            shots: refinement.shots(),
            rays: refinement.rays() + correction.rounds().traced,
        }))
    }

    /// Returns the light of shots that is not sampled too. Where emission is shot, shots bring direct light again.
    fn beyond_sampled(&self, mut received: Vec<Vec3>) -> Vec<Vec3> {
        if self.settings.faithful {
            let sampled = self.lit.direct.iter().zip(&self.lit.indirect);
            received.iter_mut().zip(sampled).for_each(|(received, (direct, more))| *received -= *direct + *more);
        }
        received
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
            let is_through = refinement.shoot_on(schedule.tolerance, &go_on)?;
            observer.check()?;
            if self.is_time_over(observer) {
                return Ok(Some(End::TimeOver));
            }
            if !is_through {
                // The checkpoint would miss light in transit.
                refinement.undo();
            }
            observer.step_finished(&|| self.state(refinement, correction))?;
            observer.light_improved(&|| self.light_so_far(&self.beyond_sampled(refinement.received())));
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
            refinement.add(more)?;
        }
        Ok(more.is_some())
    }

    /// Returns the complete state, for a checkpoint.
    fn state(&self, refinement: &dyn Refine, correction: &Correction) -> Result<SolverCheckpoint<'_>, StepError> {
        let shots = Shots { rounds: correction.rounds().clone(), ..refinement.state() };
        Ok(SolverCheckpoint { shots: Some(shots), ..self.passes.state()? })
    }
}
