//! Progressive refinement: the patch with most unshot power shoots, again and again, until little is left (`000` S1).
//!
//! Patches shoot and elements receive. What arrives is the analytic form factor from an element's point to the patch's
//! polygons, times the part of the patch that rays find in sight. What may hide a patch from another is looked up once: a
//! shaft between both is asked for the triangles in it. Most shafts are empty, and need no rays. All that has been found of a
//! pair is kept, so that a patch that shoots again costs next to nothing.
//!
//! ```text
//! patches       neighbouring elements, and the polygons that they shine with
//! groups        halves of patches, and halves of those: what is near looks at small ones
//! receivers     the points that elements receive light at
//! bare          patches of surfaces without texels, which reflect too
//! shaft         the space between two patches          occluders     triangles within it
//! exchanges     what share of a patch's light others get, kept as long as memory lasts
//! shooter       one shot                               refinement    all of them
//! blocked       the same, subscene by subscene
//!
//! correction    what form factors get wrong, found by gather rays
//!
//! this file     from direct light to a solution
//! ```
//!
//! Direct light is found as other methods do, by rays aimed at lights; so every element starts with the light that it
//! reflects first. After each shot the light is whole so far: all that has been received may be shown.
//!
//! Elements receive at a few points, and hide from each other by a few rays: where texels are as large as what stands among
//! them, that is wrong by a few per cent of the light. So once all has been shot, gather rays of all elements ask what each
//! should have, and what is missing is shot too, until it is as little as was asked for.

mod bare;
mod blocked;
mod correction;
mod exchanges;
mod groups;
mod occluders;
mod patches;
mod receivers;
mod refinement;
mod shaft;
mod shooter;
#[cfg(test)]
mod tally;
#[cfg(test)]
mod tests;

use std::time::Instant;

use glam::Vec3;

use self::blocked::Blocked;
use self::correction::{Correction, Light};
pub(crate) use self::patches::PatchId;
pub(super) use self::patches::facets_of;
pub(crate) use self::refinement::{Options, Place, Refinement};

use super::cpu::Transport;
use super::partial::{Partial, Rounds, Shots};
use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::residual::{Claim, MANY_RAYS, rays_for, residual};
use super::{
    Content, HALVES, LightSoFar, Solution, SolveError, SolveObserver, SolverSettings, StepError, TransportBackend,
};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::{Cancelled, Monitor, Unmonitored};
use crate::scene::{Scene, luminance};

/// Rays are tested against the triangles in a shaft where there are no more of them, else by the scene's tree: that is as
/// fast with one triangle and faster with more.
const MOST_CANDIDATES: usize = 1;

/// The share of the wanted error that power which is never shot may cause.
const UNSHOT_SHARE: f64 = 0.1;

/// The share of the wanted error that asking for what is in sight may cause, and the error below which that is not worth
/// its rays: what form factors get wrong besides is more.
const VISIBILITY_SHARE: f32 = 0.3;
const LEAST_VISIBILITY_ERROR: f32 = 0.01;

/// The share of the wanted error that noise of the rays may cause which correct form factors.
const CORRECTION_SHARE: f32 = 0.5;

/// The part of shooting and correcting that shooting is, as far as progress is told.
const SHOOTING_PROGRESS: f32 = 0.4;

/// The part of a bake's time that direct light may take.
const DIRECT_SHARE: f32 = 0.3;

/// Shots, one after another.
trait Refine {
    /// How many patches there are.
    fn patches(&self) -> usize;

    /// How many shots there were.
    fn shots(&self) -> u32;

    /// Rays traced.
    fn rays(&self) -> u64;

    /// All power that has not been shot, lumens, the mean of the channels.
    fn unshot_power(&self) -> f64;

    /// The most power that a patch has not shot, lumens; `None` when all has been shot.
    fn strongest_power(&self) -> Option<f64>;

    /// Shoots a little of what is above a tolerance, lumens: what is strongest. Before each shot, and before its light
    /// arrives elsewhere, `go_on` is asked; once it wants no more, light on its way does not arrive, and counts as unshot.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool);

    /// Adds light to all elements, lux, of which they reflect their part.
    fn add(&mut self, light: &[Vec3]);

    /// Irradiance that each element has received, lux.
    fn received(&self) -> Vec<Vec3>;

    /// All that shots have come to, for a checkpoint.
    fn state(&self) -> Shots;

    /// Goes on from what [`Refine::state`] answered; false, and nothing is changed, if that was of other patches.
    fn resume(&mut self, from: &Shots) -> bool;
}

/// Finds what comes straight from lights on a backend, and then all bounces by progressive refinement.
///
/// # Errors
/// When the observer cancels, the checkpoint to resume from belongs to another bake, or the backend's device fails.
pub(super) fn solve(
    backend: &mut dyn TransportBackend,
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    mut resume: Option<Partial<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    let start = Instant::now();
    let shots = resume.as_mut().and_then(|partial| partial.shots.take());
    let for_direct = SolverSettings {
        content: Content::Full,
        error: settings.error * core::f32::consts::FRAC_1_SQRT_2,
        time_seconds: settings.time_seconds.map(|seconds| seconds * DIRECT_SHARE),
        ..*settings
    };
    // What has been shot began with light as it was: that must not become better now.
    let as_it_was = SolverSettings { time_seconds: Some(0.0), ..for_direct };
    let share = ProgressShare { observer, from: 0.0, to: DIRECT_SHARE };
    let (for_direct, watch): (_, &dyn SolveObserver) =
        if shots.is_some() { (&as_it_was, &Unmonitored) } else { (&for_direct, &share) };
    let mut passes = Passes::new(backend, scene, world, elements, for_direct, resume)?;
    let lit = passes.solve(watch)?;
    if elements.is_empty() || settings.bounces == Some(0) {
        return Ok(lit);
    }
    let ends = settings.time_seconds.map(|seconds| (start, seconds));
    let bounces = Bounces { scene, world, elements, settings, passes: &passes, lit, ends };
    let solution = bounces.follow(shots, &share.next(1.0))?;
    observer.progress(1.0);
    Ok(solution)
}

/// Direct light that is to be followed.
struct Bounces<'a> {
    scene: &'a Scene,
    world: &'a dyn RayQuery,
    elements: &'a Elements,
    settings: &'a SolverSettings,
    /// What found the direct light.
    passes: &'a Passes<'a>,
    lit: Solution,
    /// When the time began, and how many seconds there are.
    ends: Option<(Instant, f32)>,
}

impl Bounces<'_> {
    /// Shoots, going on from shots that a checkpoint held.
    fn follow(self, resume: Option<Shots>, observer: &dyn SolveObserver) -> Result<Solution, SolveError> {
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
            None => self.lit,
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
        let all = refinement.unshot_power();
        let Some(first) = refinement.strongest_power() else { return Ok(None) };
        let mut way = Way::new(all, refinement.patches(), first, settings.error);
        if let Some(shots) = &resume
            && !(refinement.resume(shots) && shots.rounds.fits(elements.len()))
        {
            return Err(SolveError::OtherInputs);
        }
        let transport = Transport::new(scene, world, elements, settings.seed);
        let rounds = resume.map_or_else(Rounds::default, |shots| shots.rounds);
        let mut correction = Correction::new(transport, CORRECTION_SHARE * settings.error, rounds);
        let shooting = ProgressShare { observer, from: 0.0, to: SHOOTING_PROGRESS };
        let correcting = shooting.next(1.0);
        while self.shoot(refinement, &mut way, &correction, &shooting)?
            && self.correct(refinement, &mut correction, &correcting)?
        {}
        Ok(Some(Found {
            received: refinement.received(),
            halves: correction.rounds().last.clone(),
            in_time: !self.is_time_over(),
            // Light on its way counts in full, and what of it has been reflected already counts again.
            unshot: (refinement.unshot_power() / all).min(1.0) as f32,
            shots: refinement.shots(),
            rays: refinement.rays() + correction.rounds().traced,
        }))
    }

    /// Shoots what is worth it; false when the time is over.
    fn shoot(
        &self,
        refinement: &mut dyn Refine,
        way: &mut Way,
        correction: &Correction,
        observer: &dyn SolveObserver,
    ) -> Result<bool, SolveError> {
        let go_on = || observer.check().is_ok() && !self.is_time_over();
        while let Some(power) = refinement.strongest_power().filter(|&power| power > way.tolerance) {
            refinement.shoot_on(way.tolerance, &go_on);
            // Were that asked later, light on its way might be missing from the checkpoint.
            observer.check()?;
            if self.is_time_over() {
                return Ok(false);
            }
            observer.shot_finished(&|| self.state(refinement, correction))?;
            observer.light_improved(&|| self.light_so_far(&refinement.received()));
            if correction.rounds().count == 0 {
                way.tell(power, observer);
            }
        }
        Ok(true)
    }

    /// Makes a round of corrections; false when none is worth it, or the time is over.
    fn correct(
        &self,
        refinement: &mut dyn Refine,
        correction: &mut Correction,
        observer: &dyn SolveObserver,
    ) -> Result<bool, SolveError> {
        let indirect = sum(&self.lit.indirect, &refinement.received());
        let Solution { direct, visible_fraction: visible, .. } = &self.lit;
        let light = Light { direct, indirect: &indirect, visible, content: self.settings.content };
        if !correction.begin(&light) {
            return Ok(false);
        }
        let more = correction.run(&light, |correction| {
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
        // Where the time is over, more of them would take yet more.
        let checks = if shot.in_time { rays_for(rays, elements.len()).max(MANY_RAYS) } else { MANY_RAYS };
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
        if !shot.in_time {
            let (asked, unshot) = (settings.error, 100.0 * shot.unshot);
            warnings.push(format!(
                "the time limit ended the bake: {unshot:.1} % of the light was not followed to its end, and the error is \
                 {error_estimate:.3} where {asked} was asked for"
            ));
        }
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

/// From the first shot to the last.
struct Way {
    /// Power of the first, lumens.
    first: f64,
    /// Power below which none is worth it, lumens.
    tolerance: f64,
    /// How much of the way is done.
    done: f64,
}

impl Way {
    /// The way of so much power in all, lumens, in so many patches.
    ///
    /// The thesis ends at a part of the first shot (`000` #11). How much of the light is left then is another part in each
    /// scene: thousands of dim patches may keep more together than one lamp shot first. Here that part is what is asked for.
    fn new(all: f64, patches: usize, first: f64, error: f32) -> Self {
        // Were every patch left with the most that may be left, this much would be lost.
        let tolerance = UNSHOT_SHARE * f64::from(error) * all / patches as f64;
        Self { first, tolerance, done: 0.0 }
    }

    /// Says how far a shot of some power is on the way.
    fn tell(&mut self, power: f64, observer: &dyn SolveObserver) {
        // The strongest of those that are left falls geometrically.
        let done = (self.first / power).ln() / (self.first / self.tolerance).ln().max(f64::MIN_POSITIVE);
        self.done = done.clamp(self.done, 1.0);
        observer.progress(self.done as f32);
    }
}

/// What all shots together came to.
struct Found {
    /// Irradiance that each element received, lux.
    received: Vec<Vec3>,
    /// What either half of the rays of the last correction found, lux.
    halves: Vec<[Vec3; HALVES]>,
    /// False where the time was over first.
    in_time: bool,
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
