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
//! faithful      refinement as the thesis has it
//! correction    error of the form factors, found by gather rays
//! rounds        shots and corrections in turn          schedule      shooting schedule and its end
//! ```
//!
//! Direct light comes from light-sampled rays, as in other methods. Every element starts with its reflected direct
//! light as unshot power. The light received so far may be shown after each shot.
//!
//! Elements receive light at a few points, and visibility comes from a few rays. If texels are as large as the objects
//! between them, the error is a few percent of the light. After shooting, gather rays therefore measure the light of
//! all elements. The difference is shot too, until the error is the requested one.

mod blocked;
mod correction;
mod exchanges;
pub(crate) mod faithful;
mod groups;
mod occluders;
mod patches;
mod receivers;
mod refinement;
mod rounds;
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

pub(crate) use self::blocked::{RefinementHelper, max_mask_bytes_in_flight};
pub(super) use self::correction::{FIRST_RAYS, MAX_GROWTH};
pub(crate) use self::occluders::CandidateSearch;
pub(crate) use self::patches::facets_of;
pub(crate) use self::patches::{MAX_PATCHES, PatchId};
pub(crate) use self::refinement::{Options, Place};

use super::StepError;
use super::solver_checkpoint::Shots;

/// Search of bakes for triangles in a shaft. With more than one, rays query the scene's tree, which is equally fast with
/// one triangle and faster with more.
const USUAL_SEARCH: CandidateSearch = CandidateSearch::Tree { max_count: 1 };

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
    ///
    /// # Errors
    /// Returns an error if a rank is lost.
    fn shoot_on(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> Result<bool, StepError>;

    /// Restores the state before the last [`Refine::shoot_on`], if that returned false.
    fn undo(&mut self);

    /// Adds irradiance to all elements, in lux. The reflected part becomes unshot power.
    ///
    /// # Errors
    /// Returns an error if a rank is lost.
    fn add(&mut self, light: &[Vec3]) -> Result<(), StepError>;

    /// Returns the irradiance that each element has received, in lux.
    fn received(&self) -> Vec<Vec3>;

    /// Returns the state of all shots, for a checkpoint.
    fn state(&self) -> Shots;

    /// Resumes from a result of [`Refine::state`]. Returns false without changes if the state belongs to other patches.
    ///
    /// # Errors
    /// Returns an error if a rank is lost.
    fn resume(&mut self, from: &Shots) -> Result<bool, StepError>;
}
