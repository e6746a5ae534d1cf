//! Progressive refinement: the patch with most unshot power shoots, again and again, until little is left (`000` S1).
//!
//! Patches shoot and elements receive. What arrives is the analytic form factor from an element's point to the patch's
//! polygons, times the part of the patch that rays find in sight. What may hide a patch from another is looked up once: a
//! shaft between both is asked for the triangles in it. Most shafts are empty, and need no rays.
//!
//! ```text
//! patches       groups of elements, and the polygons that they shine with
//! receivers     the points that elements receive light at
//! bare          patches of surfaces without texels, which reflect too
//! shaft         the space between two patches          occluders     triangles within it
//! interactions  what a patch may send light to, kept as long as memory lasts
//! shooter       one shot                               refinement    all of them
//! blocked       the same, subscene by subscene
//!
//! this file     from direct light to a solution
//! ```
//!
//! Direct light is found as other methods do, by rays aimed at lights; so every element starts with the light that it
//! reflects first. After each shot the light is whole so far: all that has been received may be shown.

mod bare;
mod blocked;
mod interactions;
mod occluders;
mod patches;
mod receivers;
mod refinement;
mod shaft;
mod shooter;
#[cfg(test)]
mod tests;

use std::time::Instant;

use glam::Vec3;

use self::blocked::Blocked;
pub(crate) use self::patches::PatchId;
pub(super) use self::patches::facets_of;
pub(crate) use self::refinement::{Options, Place, Refinement};

use super::cpu::Transport;
use super::partial::{Partial, Shots};
use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::residual::{Claim, MOST_RAYS, residual};
use super::{Content, LightSoFar, Solution, SolveError, SolveObserver, SolverSettings, TransportBackend};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::progress::Unmonitored;
use crate::scene::{Scene, luminance};

/// How the part of a patch is found that an element sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Rays are tested against the triangles in the shaft where those are few, else by the scene's tree.
    #[default]
    ShaftsAndTree,
    /// Rays are tested against the triangles in the shaft, however many, unless some let light through.
    #[cfg(test)]
    Shafts,
    /// Rays are asked of the scene's tree wherever a shaft is not empty.
    #[cfg(test)]
    Tree,
}

impl Visibility {
    /// The longest list of triangles that is kept.
    fn most_candidates(self) -> usize {
        match self {
            // About as many as a ray through the scene's tree has to be tested against.
            Self::ShaftsAndTree => 16,
            #[cfg(test)]
            Self::Shafts => usize::MAX,
            #[cfg(test)]
            Self::Tree => 0,
        }
    }
}

/// The share of the wanted error that power which is never shot may cause.
const UNSHOT_SHARE: f64 = 0.1;

/// The share of the wanted error that asking for what is in sight may cause.
const VISIBILITY_SHARE: f32 = 0.3;

/// The part of a bake's time that direct light may take.
const DIRECT_SHARE: f32 = 0.3;

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
    let mut passes = Passes::new(backend, scene, elements, for_direct, resume)?;
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
            visibility: Visibility::default(),
            noise: VISIBILITY_SHARE * settings.error,
            most_bytes: (settings.memory_mib as usize) << 18,
            seed: settings.seed,
        };
        let found = match &settings.subscenes {
            Some(subscenes) => self.shoot_in(Blocked::new(place, &sources, &options, subscenes)?, observer)?,
            None => self.shoot(Refinement::new(place, &sources, &options), resume, observer)?,
        };
        Ok(match found {
            Some(found) => self.complete(found),
            None => self.lit,
        })
    }

    /// Follows direct light through the whole scene; `None` when there is none.
    fn shoot(
        &self,
        mut refinement: Refinement,
        resume: Option<Shots>,
        observer: &dyn SolveObserver,
    ) -> Result<Option<Found>, SolveError> {
        let all = refinement.unshot_power();
        let Some(first) = refinement.strongest() else { return Ok(None) };
        let mut way = Way::new(all, refinement.patches(), first.power, self.settings.error);
        if resume.is_some_and(|shots| !refinement.resume(&shots)) {
            return Err(SolveError::OtherInputs);
        }
        while let Some(shot) = refinement.strongest().filter(|shot| shot.power > way.tolerance) {
            observer.check()?;
            if self.is_time_over() {
                break;
            }
            refinement.shoot(shot.patch);
            observer.shot_finished(&|| Ok(Partial { shots: Some(refinement.state()), ..self.passes.state()? }))?;
            observer.light_improved(&|| self.light_so_far(&refinement.received()));
            way.tell(shot.power, observer);
        }
        Ok(Some(refinement.found(all)))
    }

    /// Follows direct light subscene by subscene; `None` when there is none. A checkpoint keeps the direct light alone.
    fn shoot_in(&self, mut blocked: Blocked, observer: &dyn SolveObserver) -> Result<Option<Found>, SolveError> {
        let all = blocked.unshot_power();
        let Some(first) = blocked.strongest() else { return Ok(None) };
        let mut way = Way::new(all, blocked.patches(), first, self.settings.error);
        let tolerance = way.tolerance;
        let mut go_on = |power: f64| {
            observer.shot_finished(&|| self.passes.state())?;
            observer.check()?;
            way.tell(power, observer);
            Ok(!self.is_time_over())
        };
        while blocked.go_round(tolerance, &mut go_on)? {
            observer.light_improved(&|| self.light_so_far(&blocked.received()));
        }
        Ok(Some(blocked.found(all)))
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
    fn complete(self, shot: Found) -> Solution {
        let Self { scene, world, elements, settings, lit, .. } = self;
        let received = &shot.received;
        let mean = |light: &dyn Fn(usize) -> Vec3| mean_over(elements, &lit.visible_fraction, light);
        let brought = mean(&|index| received[index]);
        let indirect = sum(&lit.indirect, received);
        let (direct, visible) = (&lit.direct, &lit.visible_fraction);
        let claim = Claim { direct, indirect: &indirect, visible, rays: MOST_RAYS };
        let residual = residual(&Transport::new(scene, world, elements, settings.seed), &claim);
        let direct_error = match settings.content {
            Content::Full => lit.error_estimate * mean(&|index| lit.direct[index] + lit.indirect[index]),
            Content::Indirect => 0.0,
        };
        let delivered = match settings.content {
            Content::Full => mean(&|index| lit.direct[index] + indirect[index]),
            Content::Indirect => mean(&|index| indirect[index]),
        };
        let halves = lit.halves.map(|half| match settings.content {
            Content::Full => sum(&half, received),
            Content::Indirect => indirect.clone(),
        });
        let standard_error = match settings.content {
            Content::Full => lit.standard_error,
            Content::Indirect => vec![0.0; elements.len()],
        };
        Solution {
            indirect,
            halves,
            standard_error,
            error_estimate: direct_error.hypot(residual.bounce) / delivered.max(f32::MIN_POSITIVE),
            residual: residual.relative,
            residual_standard_error: residual.standard_error,
            energy_balance: residual.surplus / (brought - residual.surplus).max(f32::MIN_POSITIVE),
            unshot: shot.unshot,
            iterations: shot.shots,
            rays: lit.rays + shot.rays,
            ..lit
        }
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
    /// Share of the power that was not shot.
    unshot: f32,
    shots: u32,
    /// Rays traced.
    rays: u64,
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
