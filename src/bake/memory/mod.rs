//! Memory of a bake: the estimate, the limit, and the measured peak.
//!
//! [`MemoryEstimate`] computes bytes from [`Amounts`] of a scene, and from [`Refined`] for progressive refinement and
//! counted rays. A bake estimates twice: from surface areas before unwrapping, and from counts once there are elements.
//! Many small charts raise the second estimate.

mod amounts;
mod machine;
mod peak;
mod refined;
mod relit;
#[cfg(test)]
mod tests;

use crate::geometry::SurfaceId;
use crate::lightmap::{Layout, filter, rounded_down};
use crate::low_rank::RELIGHT_RAYS;
use crate::partition::{Partition, PartitionSettings};
use crate::radiosity::{Accumulators, HALVES, HITS_SHARE, Method, SolverSettings, SubsceneSettings, storable_rays};
use crate::scene::Scene;

use super::{BakeError, BakeSettings, RelightPatches};
use amounts::Amounts;
use refined::{KEPT_SHARE, Kept, Refined};

pub use machine::usual_memory_mib;
pub use peak::peak_memory_bytes;

/// Bytes of a process that has just begun.
const BYTES_OF_PROCESS: f64 = 12.0 * MIB;
/// Bytes of one element besides the solver's sums: its properties, footprint, solution, temporary data of the solver,
/// and its texel.
const BYTES_PER_ELEMENT: f64 = 400.0;
/// Bytes of one texel while charts are laid out, before elements are known.
#[cfg(feature = "cli")]
const BYTES_PER_LAID_OUT_TEXEL: f64 = 110.0;
/// Bytes of one triangle: acceleration structure, world-space copy, unwrapped mesh.
const BYTES_PER_TRIANGLE: f64 = 550.0;
/// Bytes of one vertex of a surface with texels: charts, and their boundaries for stitching seams.
const BYTES_PER_VERTEX: f64 = 400.0;
/// Rays in either half of an element whose hits are stored at an error of `USUAL_ERROR`. The square of the error falls
/// in proportion to their number. Scenes differ by a factor of about two.
const USUAL_RAYS: f64 = 20.0;
const USUAL_ERROR: f64 = 0.05;
/// Least number of stored rays in each half. The solver stores none where there is no room for as many.
const MIN_RAYS: f64 = 16.0;
/// Bytes of one element in a preview. A preview also holds texels with their validity, and its viewer keeps a copy.
const PREVIEW_BYTES_PER_ELEMENT: f64 = 40.0;
const PREVIEW_BYTES_PER_TEXEL: f64 = 24.0;

const MIB: f64 = 1024.0 * 1024.0;

/// Estimate of a bake's memory. The memory of a graphics card's driver comes on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Number of elements.
    pub elements: f64,
    /// Area of all surfaces that own lightmap texels, square meters.
    pub area: f64,
    /// Bytes of the whole bake.
    pub bytes: f64,
    /// Least bytes with which the bake can begin.
    pub min_bytes: f64,
    /// Bytes of all but stored hits.
    without_hits: f64,
    amounts: Amounts,
    /// Part of `min_bytes` that is kept only to save time.
    kept: Kept,
}

/// Memory limits of the parts of a bake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    /// Solver's settings with its memory limit.
    pub solver: SolverSettings,
    /// Limit of stored hits, bytes; above it the bake ends. Unlimited where the solver itself stores fewer.
    pub hits_bytes: u64,
    /// Rays in each half of an element that relighting is precomputed from.
    pub relight_rays: u32,
    /// Predicted peak memory of the bake, bytes.
    pub expected_bytes: u64,
    /// True if previews fit into memory besides `expected_bytes`.
    pub previews_fit: bool,
    /// Point pairs that fit into memory while seams are stitched: at the end, and besides `expected_bytes`.
    pub max_seam_pairs: usize,
    pub rehearsed_seam_pairs: usize,
}

/// Rays for precomputing relighting, and the bytes besides their hits.
#[derive(Clone, Copy)]
struct Relight {
    rays: u32,
    bytes: f64,
    /// Further bytes at most, if more rays hit more patches.
    unseen_bytes: f64,
}

impl MemoryEstimate {
    /// Estimates the memory of baking a scene from its areas. `two_sided` tells the surfaces with texels for each side.
    pub fn new(scene: &Scene, settings: &BakeSettings, two_sided: impl Fn(SurfaceId) -> bool) -> Self {
        Self::of(Amounts::expected(scene, settings, two_sided), settings)
    }

    /// Estimates the memory again once charts are laid out and divided into `elements`.
    pub fn counted(&self, settings: &BakeSettings, layout: &Layout, elements: usize) -> Self {
        Self::of(self.amounts.counted(layout, elements), settings)
    }

    fn of(amounts: Amounts, settings: &BakeSettings) -> Self {
        let solver = &settings.solver_within_memory();
        let elements = amounts.elements();
        let usual = USUAL_RAYS * (USUAL_ERROR / f64::from(solver.error)).max(1.0).powi(2);
        let refined = Refined::new(solver, &amounts, solver.subscenes);
        let bytes = |rays: f64| {
            // The volume is made after the solver's sums are freed.
            let of_solver = elements * Accumulators::bytes_per_element(rays) + refined.bytes();
            fixed_bytes(&amounts) + elements * BYTES_PER_ELEMENT + of_solver.max(amounts.of_volume)
        };
        let [bytes_with_hits, min_bytes] = [usual, MIN_RAYS].map(|rays| bytes(stored_rays(rays, solver, elements)));
        Self {
            elements,
            area: amounts.area,
            bytes: bytes_with_hits,
            min_bytes,
            without_hits: bytes(0.0),
            amounts,
            kept: refined.kept,
        }
    }

    /// Returns the bytes that laying out charts takes.
    #[cfg(feature = "cli")]
    pub fn layout_bytes(&self) -> f64 {
        fixed_bytes(&self.amounts) + self.elements * BYTES_PER_LAID_OUT_TEXEL
    }

    /// Divides the memory among the parts of a bake, once elements are known.
    ///
    /// # Errors
    /// When the bake needs more memory than it may use.
    pub(super) fn shares(&self, settings: &BakeSettings) -> Result<Shares, BakeError> {
        self.check(settings)?;
        let relight =
            settings.relight.map_or(Ok(None), |RelightPatches(patches)| self.relight(patches, settings).map(Some))?;
        let room = f64::from(settings.max_memory_mib()) * MIB - self.without_hits;
        let hits_bytes = relight.map_or(room, |it| {
            // Relighting reads all hits that a bake has stored, and more hits show more patches.
            let room = room - it.bytes;
            (room * relit::SHARE_OF_HITS).max(room - it.unseen_bytes).max(self.bytes_of_hits(it.rays))
        });
        let mut solver = settings.solver_within_memory();
        let is_limited = settings.memory_mib.is_some() && solver.method == Method::Gather;
        if is_limited {
            solver.memory_mib = solver.memory_mib.min((hits_bytes / MIB / HITS_SHARE).ceil() as u32);
        }
        let with_relight = relight.map_or(0.0, |it| self.without_hits + it.bytes + self.bytes_of_hits(it.rays));
        let expected = self.bytes.max(with_relight);
        let preview = self.elements * PREVIEW_BYTES_PER_ELEMENT + self.amounts.page_texels * PREVIEW_BYTES_PER_TEXEL;
        let allowed = f64::from(settings.max_memory_mib()) * MIB;
        // Only a limit that the user set, so that the machine's memory does not change the result.
        let bytes_per_pair = filter::bytes_per_pair(settings.layout.padding) as f64;
        let seam_pairs = |beside: f64| match settings.memory_mib {
            Some(_) => ((allowed - beside).max(0.0) / bytes_per_pair) as usize,
            None => usize::MAX,
        };
        // The solver's sums and hits are free when the seams are stitched.
        let at_the_end =
            fixed_bytes(&self.amounts) + self.elements * BYTES_PER_ELEMENT + relight.map_or(0.0, |it| it.bytes);
        Ok(Shares {
            solver,
            max_seam_pairs: seam_pairs(at_the_end),
            rehearsed_seam_pairs: seam_pairs(expected + preview),
            hits_bytes: if is_limited { u64::MAX } else { hits_bytes.max(0.0) as u64 },
            relight_rays: relight.map_or(0, |it| it.rays),
            expected_bytes: expected as u64,
            previews_fit: expected + preview <= allowed,
        })
    }

    /// Returns the rays and bytes of relighting with `patches` patches. Fewer rays are used only if the user set the
    /// memory limit, so that the machine's memory does not change the result.
    fn relight(&self, patches: u32, settings: &BakeSettings) -> Result<Relight, BakeError> {
        let solver = settings.solver_within_memory();
        let allowed_mib = settings.max_memory_mib();
        let of = |patches: u32, rays: u32| {
            let (all_rays, count) = (f64::from(HALVES as u32 * rays), f64::from(patches));
            let bytes = relit::bytes(self.elements, all_rays, count, self.amounts.contributions);
            Relight { rays, bytes, unseen_bytes: relit::unseen_bytes(self.elements, all_rays, count) }
        };
        let needed = |it: &Relight| self.without_hits + it.bytes + self.bytes_of_hits(it.rays);
        let fits = |it: &Relight| needed(it) <= f64::from(allowed_mib) * MIB;
        let max_rays = RELIGHT_RAYS.min(storable_rays(self.elements as usize, solver.memory_mib)).max(1);
        let min_rays = if settings.memory_mib.is_some() { max_rays.min(MIN_RAYS as u32) } else { max_rays };
        let with_rays = core::iter::successors(Some(max_rays), |rays| Some(rays / 2));
        let mut tried = with_rays.take_while(|&rays| rays >= min_rays).map(|rays| of(patches, rays));
        tried.find(fits).ok_or_else(|| {
            let (mut fitting, mut too_many) = (0, patches);
            while too_many - fitting > 1 {
                let between = fitting + (too_many - fitting) / 2;
                if fits(&of(between, min_rays)) { fitting = between } else { too_many = between }
            }
            match fitting {
                0 => BakeError::RelightBeyondMemory { needed_mib: needed(&of(1, min_rays)) / MIB, allowed_mib },
                _ => BakeError::PatchesBeyondMemory {
                    asked: patches,
                    needed_mib: needed(&of(patches, min_rays)) / MIB,
                    allowed_mib,
                    fitting,
                },
            }
        })
    }

    /// Returns the bytes of the hits of `rays` rays in each half of an element.
    fn bytes_of_hits(&self, rays: u32) -> f64 {
        self.elements * f64::from(rays) * bytes_of_hit()
    }

    /// Refuses a bake that needs more than it may use.
    ///
    /// # Errors
    /// Names the memory that the bake needs, and a setting that would fit.
    pub fn check(&self, settings: &BakeSettings) -> Result<(), BakeError> {
        let Self { elements, area, .. } = *self;
        let allowed_mib = f64::from(settings.max_memory_mib());
        if self.min_bytes <= allowed_mib * MIB {
            return Ok(());
        }
        let needed_mib = (self.needed_bytes() / MIB).ceil();
        let density = settings.layout.texels_per_meter;
        Err(match (count(&settings.solver), self.fitting_subscenes(settings)) {
            (None, Some(subscenes)) => BakeError::WholeTooLarge { elements, needed_mib, allowed_mib, subscenes },
            (Some(asked), Some(fitting)) => BakeError::TooManySubscenes { asked, needed_mib, allowed_mib, fitting },
            (_, None) => match self.fitting_scale(settings) {
                Some(scale) => {
                    let fitting_density = rounded_down(f64::from(density) * scale);
                    BakeError::TooMuchMemory { elements, area, density, needed_mib, allowed_mib, fitting_density }
                }
                None => BakeError::TooLittleMemory { elements, needed_mib, allowed_mib },
            },
        })
    }

    /// Returns the least memory limit that suffices. A higher limit also raises the data kept to save time.
    fn needed_bytes(&self) -> f64 {
        let without = self.min_bytes - self.kept.had;
        (without / (1.0 - KEPT_SHARE)).min(without + self.kept.wanted)
    }

    /// Returns a number of subscenes with which the bake fits: the fewest if none were requested, else the most below
    /// the request.
    fn fitting_subscenes(&self, settings: &BakeSettings) -> Option<u32> {
        let solver = &settings.solver_within_memory();
        if solver.method != Method::Progressive {
            return None;
        }
        let refined = |subscenes| Refined::new(solver, &self.amounts, subscenes).bytes();
        let now = refined(solver.subscenes);
        let fits = |subscenes: &SubsceneSettings| {
            let saved = now - refined(Some(*subscenes));
            subscenes.partition.check().is_ok() && self.min_bytes - saved <= f64::from(settings.max_memory_mib()) * MIB
        };
        let wanted = solver.subscenes.unwrap_or_default();
        // A power of two is valid for every kind of partition, except for the smallest of the hybrid kind.
        let cut = (1..=Partition::MAX_CELLS.ilog2()).map(|power| SubsceneSettings {
            partition: PartitionSettings { count: 1 << power, ..wanted.partition },
            ..wanted
        });
        let fitting = match count(solver) {
            None => cut.into_iter().find(fits),
            Some(asked) => cut.rev().filter(|fewer| fewer.partition.count < asked).find(fits),
        };
        fitting.map(|subscenes| subscenes.partition.count)
    }

    /// Returns the factor for the density at which the bake needs 95 % of the memory limit. `None` where no density is
    /// low enough.
    fn fitting_scale(&self, settings: &BakeSettings) -> Option<f64> {
        let solver = &settings.solver_within_memory();
        let allowed = f64::from(settings.max_memory_mib()) * MIB;
        let refined = |elements| Refined::new(solver, &self.amounts.of_elements(elements), solver.subscenes).minimum;
        let [none, one] = [0.0, 1.0].map(refined);
        let is_refined = solver.method == Method::Progressive;
        let kept = if is_refined { KEPT_SHARE * f64::from(solver.memory_mib) * MIB } else { 0.0 };
        let bytes_of_element = BYTES_PER_ELEMENT + Accumulators::bytes_per_element(MIN_RAYS) + one - none;
        self.amounts.scale_for((0.95 * allowed - fixed_bytes(&self.amounts) - none - kept) / bytes_of_element)
    }
}

/// Returns the bytes of a scene and its acceleration structure.
#[cfg(feature = "cli")]
pub fn bytes_of_scene(scene: &Scene) -> f64 {
    BYTES_OF_PROCESS + scene.triangle_count() as f64 * BYTES_PER_TRIANGLE + amounts::bytes_of_textures(scene)
}

/// Returns the number of subscenes; `None` without subscenes.
fn count(settings: &SolverSettings) -> Option<u32> {
    settings.subscenes.map(|subscenes| subscenes.partition.count)
}

/// Returns the bytes that do not depend on the density.
fn fixed_bytes(amounts: &Amounts) -> f64 {
    let of_meshes = amounts.triangles * BYTES_PER_TRIANGLE + amounts.vertices * BYTES_PER_VERTEX;
    BYTES_OF_PROCESS + of_meshes + amounts.of_textures
}

/// Returns the bytes of one hit in each half of an element.
fn bytes_of_hit() -> f64 {
    Accumulators::bytes_per_element(1.0) - Accumulators::bytes_per_element(0.0)
}

/// Returns the number of rays in each half of an element whose hits are stored, at most `wanted`.
fn stored_rays(wanted: f64, settings: &SolverSettings, elements: f64) -> f64 {
    let storable = HITS_SHARE * f64::from(settings.memory_mib) * MIB / (elements * bytes_of_hit());
    if settings.method == Method::Gather && storable >= MIN_RAYS { wanted.min(storable) } else { 0.0 }
}
