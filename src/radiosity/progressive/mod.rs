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
//! start         all patches before any shot
//! shaft         the space between two patches          occluders     triangles within it
//! exchanges     what share of a patch's light others get, kept as long as memory lasts
//! shooter       one shot                               refinement    all of them
//! blocked       the same, subscene by subscene
//!
//! correction    what form factors get wrong, found by gather rays
//! bounces       from direct light to a solution            way    when that ends
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
mod bounces;
mod correction;
mod exchanges;
mod groups;
mod occluders;
mod patches;
mod receivers;
mod refinement;
mod shaft;
mod shooter;
mod start;
#[cfg(test)]
mod tally;
#[cfg(test)]
mod tests;
mod way;

use std::time::Instant;

use glam::Vec3;

pub(crate) use self::blocked::most_mask_bytes_on_their_way;
use self::bounces::{Bounces, with_shortfall};
pub(super) use self::patches::facets_of;
pub(crate) use self::patches::{MOST_PATCHES, PatchId};
pub(crate) use self::refinement::{Options, Place};

use super::partial::{Partial, Shots};
use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::{Content, Solution, SolveError, SolveObserver, SolverSettings, TransportBackend};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::scene::Scene;

/// Rays are tested against the triangles in a shaft where there are no more of them, else by the scene's tree: that is as
/// fast with one triangle and faster with more.
const MOST_CANDIDATES: usize = 1;

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

    /// All weighted power that has not been shot, lumens, the mean of the channels.
    fn unshot_power(&self) -> f64;

    /// All power that has not been shot, without weights, lumens, the mean of the channels.
    fn unshot_lumens(&self) -> f64;

    /// The most weighted power that a patch has not shot, lumens; `None` when all has been shot.
    fn strongest_power(&self) -> Option<f64>;

    /// Shoots a little of what is above a tolerance, lumens: what is strongest. Before each shot, and before its light
    /// arrives elsewhere, `go_on` is asked; once it wants no more, light on its way does not arrive, and counts as unshot:
    /// the answer is false then, and there is nothing to go on from until that is undone.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> bool;

    /// Goes back to where it was before the last [`Refine::shoot_on`] if that was given up.
    fn undo(&mut self);

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
    let share = ProgressShare { observer, from: 0.0, to: DIRECT_SHARE };
    let mut passes = Passes::new(backend, scene, world, elements, &for_direct, resume, observer)?;
    // What has been shot began with light as it was: that must not become better now.
    let lit = if shots.is_some() { passes.as_it_is()? } else { passes.solve(&share)? };
    if elements.is_empty() || settings.bounces == Some(0) {
        return Ok(with_shortfall(lit, settings));
    }
    let ends = settings.time_seconds.map(|seconds| (start, seconds));
    let bounces = Bounces { scene, world, elements, settings, passes: &passes, lit, ends };
    let solution = bounces.follow(shots, &share.next(1.0))?;
    observer.progress(1.0);
    Ok(solution)
}
