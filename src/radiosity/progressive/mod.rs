//! Progressive refinement: the patch with the most unshot power shoots, until little is left (`000` S1).
//!
//! Patches shoot, and elements receive. The transferred fraction is an analytic form factor times the visible fraction
//! of the patch. The form factor is that from an element's point to the patch's polygons. Rays find the visible
//! fraction. A shaft between both patches gives the triangles that may occlude them. Most shafts are empty and need no
//! rays. Results of a pair are kept, so repeated shots of a patch are cheap.
//!
//! ```text
//! patches       groups of neighboring elements, with emitting polygons
//! groups        hierarchy of patch halves: near receivers use small ones
//! receivers     points at which elements receive light
//! unmapped      patches of unmapped surfaces
//! start         all patches before any shot
//! shaft         volume between two patches             occluders     triangles in a shaft
//! exchanges     form-factor rows, cached within the memory limit
//! shooter       one shot                               refinement    all shots
//! blocked       refinement subscene by subscene
//!
//! correction    error of the form factors, found by gather rays
//! bounces       from direct light to a solution        schedule      shooting schedule and its end
//! ```
//!
//! Direct light comes from light-sampled rays, as in other methods. Every element starts with its reflected direct
//! light as unshot power. The light received so far may be shown after each shot.
//!
//! Elements receive light at a few points, and visibility comes from a few rays. If texels are as large as the objects
//! between them, the error is a few percent of the light. After shooting, gather rays therefore measure the light of
//! all elements. The difference is shot too, until the error is the requested one.

mod blocked;
mod bounces;
mod correction;
mod exchanges;
mod groups;
mod occluders;
mod patches;
mod receivers;
mod refinement;
mod schedule;
mod shaft;
mod shooter;
mod start;
#[cfg(test)]
mod tally;
#[cfg(test)]
mod tests;
mod unmapped;

use glam::Vec3;

pub(crate) use self::blocked::max_mask_bytes_in_flight;
use self::bounces::{Bounces, with_shortfall};
pub(super) use self::correction::{FIRST_RAYS, MAX_GROWTH};
pub(crate) use self::patches::facets_of;
pub(crate) use self::patches::{MAX_PATCHES, PatchId};
pub(crate) use self::refinement::{Options, Place};

use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::solver_checkpoint::{Shots, SolverCheckpoint};
use super::{Content, Solution, SolveError, SolveObserver, SolverSettings, TransportBackend};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::scene::Scene;

/// Maximum number of triangles in a shaft that rays test directly. With more, rays query the scene's tree, which is
/// equally fast with one triangle and faster with more.
const MAX_CANDIDATES: usize = 1;

/// Fraction of a bake's time for direct light.
const DIRECT_SHARE: f32 = 0.3;

/// Sequence of shots.
trait Refine {
    /// Returns the number of patches.
    fn patches(&self) -> usize;

    /// Returns the number of shots so far.
    fn shots(&self) -> u32;

    /// Returns the number of traced rays.
    fn rays(&self) -> u64;

    /// Returns the total weighted unshot power, in lumens, as mean of the channels.
    fn unshot_power(&self) -> f64;

    /// Returns the total unshot power without weights, in lumens, as mean of the channels.
    fn unshot_lumens(&self) -> f64;

    /// Returns the maximum weighted unshot power of a patch, in lumens, or `None` if all power has been shot.
    fn strongest_power(&self) -> Option<f64>;

    /// Shoots the strongest power above a tolerance, in lumens. `go_on` is called before each shot, and before light is
    /// transferred elsewhere. Returns false if `go_on` returned false. Light in transit then counts as unshot, and
    /// [`Refine::undo`] must be called before anything else.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> bool;

    /// Restores the state before the last [`Refine::shoot_on`], if that returned false.
    fn undo(&mut self);

    /// Adds irradiance to all elements, in lux. The reflected part becomes unshot power.
    fn add(&mut self, light: &[Vec3]);

    /// Returns the irradiance that each element has received, in lux.
    fn received(&self) -> Vec<Vec3>;

    /// Returns the state of all shots, for a checkpoint.
    fn state(&self) -> Shots;

    /// Resumes from a result of [`Refine::state`]. Returns false without changes if the state belongs to other patches.
    fn resume(&mut self, from: &Shots) -> bool;
}

/// Computes direct light on a backend, and then all bounces by progressive refinement.
///
/// # Errors
/// Returns an error if the observer cancels, the checkpoint belongs to another bake, or the backend's device fails.
/// Also returns an error if the scene cannot be divided into the requested subscenes.
pub(super) fn solve(
    backend: &mut dyn TransportBackend,
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    mut resume: Option<SolverCheckpoint<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    let shots = resume.as_mut().and_then(|partial| partial.shots.take());
    let for_direct = SolverSettings {
        content: Content::Full,
        error: settings.error * core::f32::consts::FRAC_1_SQRT_2,
        ..*settings
    };
    let share = ProgressShare::first(observer, DIRECT_SHARE);
    let mut passes = Passes::new(backend, scene, world, elements, &for_direct, resume, observer)?;
    // Existing shots are based on the saved direct light, which must not change now.
    let lit = if shots.is_some() { passes.as_it_is(true)? } else { passes.solve(&share, DIRECT_SHARE)? };
    if elements.is_empty() || settings.bounces == Some(0) {
        return Ok(with_shortfall(lit, settings));
    }
    let bounces = Bounces { scene, world, elements, settings, passes: &passes, lit };
    let solution = bounces.follow(shots, &share.next(1.0))?;
    observer.progress(1.0);
    Ok(solution)
}
