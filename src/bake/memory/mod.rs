//! How much memory a bake will need, and how much it had.
//!
//! [`MemoryEstimate`] adds up what [`Amounts`] of things take, and what progressive refinement takes besides
//! ([`Refined`]): first from areas, before anything but the tree is built, and again when texels have been cut into
//! elements, of which many small charts have more than areas tell.

mod amounts;
mod peak;
mod refined;
#[cfg(test)]
mod tests;

use crate::geometry::SurfaceId;
use crate::lightmap::{Layout, rounded_down};
use crate::partition::{Partition, PartitionSettings};
use crate::radiosity::{Accumulators, Method, SolverSettings, SubsceneSettings};
use crate::scene::Scene;

use super::{BakeError, BakeSettings};
use amounts::Amounts;
use refined::{KEPT_SHARE, Kept, Refined};

pub use peak::peak_memory_bytes;

/// What a process takes that has only begun.
const BYTES_OF_PROCESS: f64 = 12.0 * MIB;
/// What one element costs besides the solver's sums: its own properties, footprint and solution, what solving works with
/// on the way, and its texel.
const BYTES_PER_ELEMENT: f64 = 400.0;
/// What a triangle costs: tree, world-space copy, unwrapped mesh.
const BYTES_PER_TRIANGLE: f64 = 550.0;
/// What a vertex of a surface with texels costs: charts, and their rims where seams are stitched.
const BYTES_PER_VERTEX: f64 = 400.0;
/// Rays of either half of an element whose hits are stored where an error of `USUAL_ERROR` is asked for. The square of the
/// error shrinks with their number. Scenes differ: it may be half or twice as many.
const USUAL_RAYS: f64 = 20.0;
const USUAL_ERROR: f64 = 0.05;
/// The solver does without stored hits where there is no room for so many.
const FEWEST_RAYS: f64 = 16.0;
/// What a pair of patches costs while bounces between them are summed up for three channels, and what the form factor from an
/// element to a patch costs.
const BYTES_PER_EXCHANGE: f64 = 44.0;
const BYTES_PER_VIEW: f64 = 2.0;

const MIB: f64 = 1024.0 * 1024.0;

/// What a bake will need. What a graphics card's driver takes comes on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Elements.
    pub elements: f64,
    /// Area of all surfaces that own lightmap texels, square metres.
    pub area: f64,
    /// Bytes.
    pub bytes: f64,
    /// Bytes without which it is not begun.
    pub least_bytes: f64,
    amounts: Amounts,
    /// What of the least bytes is kept only for the sake of speed.
    kept: Kept,
}

impl MemoryEstimate {
    /// Estimates what baking a scene takes, from its areas. `two_sided` says which surfaces have texels for each side.
    pub fn new(scene: &Scene, settings: &BakeSettings, two_sided: impl Fn(SurfaceId) -> bool) -> Self {
        Self::of(Amounts::expected(scene, settings, two_sided), &settings.solver)
    }

    /// The same once charts are laid out and cut into so many elements.
    pub fn counted(&self, settings: &BakeSettings, layout: &Layout, elements: usize) -> Self {
        Self::of(self.amounts.counted(layout, elements), &settings.solver)
    }

    fn of(amounts: Amounts, settings: &SolverSettings) -> Self {
        let elements = amounts.elements();
        let usual = USUAL_RAYS * (USUAL_ERROR / f64::from(settings.error)).max(1.0).powi(2);
        let refined = Refined::new(settings, &amounts, settings.subscenes);
        let bytes = |rays: f64| {
            let sums = Accumulators::bytes_per_element(stored_rays(rays, settings, elements));
            fixed_bytes(&amounts) + elements * (BYTES_PER_ELEMENT + sums) + refined.bytes()
        };
        let [bytes, least_bytes] = [usual, FEWEST_RAYS].map(bytes);
        Self { elements, area: amounts.area, bytes, least_bytes, amounts, kept: refined.kept }
    }

    /// Refuses a bake that needs more than it may use.
    ///
    /// # Errors
    /// Says how much it needs, and what would fit.
    pub fn check(&self, settings: &BakeSettings) -> Result<(), BakeError> {
        let Self { elements, area, .. } = *self;
        let allowed_mib = f64::from(settings.solver.memory_mib);
        if self.least_bytes <= allowed_mib * MIB {
            return Ok(());
        }
        let needed_mib = (self.needed_bytes() / MIB).ceil();
        let density = settings.layout.texels_per_metre;
        Err(match (count(&settings.solver), self.fitting_subscenes(&settings.solver)) {
            (None, Some(subscenes)) => BakeError::WholeTooLarge { elements, needed_mib, allowed_mib, subscenes },
            (Some(asked), Some(fitting)) => BakeError::TooManySubscenes { asked, needed_mib, allowed_mib, fitting },
            (_, None) => match self.fitting_scale(&settings.solver) {
                Some(scale) => {
                    let fitting_density = rounded_down(f64::from(density) * scale);
                    BakeError::TooMuchMemory { elements, area, density, needed_mib, allowed_mib, fitting_density }
                }
                None => BakeError::TooLittleMemory { elements, needed_mib, allowed_mib },
            },
        })
    }

    /// How much memory would do: with more of it, more is kept.
    fn needed_bytes(&self) -> f64 {
        let without = self.least_bytes - self.kept.had;
        (without / (1.0 - KEPT_SHARE)).min(without + self.kept.wanted)
    }

    /// In how many subscenes a bake would do with its memory that does not at once, or in more of them.
    fn fitting_subscenes(&self, settings: &SolverSettings) -> Option<u32> {
        if settings.method != Method::Progressive {
            return None;
        }
        let refined = |subscenes| Refined::new(settings, &self.amounts, subscenes).bytes();
        let now = refined(settings.subscenes);
        let fits = |subscenes: &SubsceneSettings| {
            let saved = now - refined(Some(*subscenes));
            subscenes.partition.check().is_ok() && self.least_bytes - saved <= f64::from(settings.memory_mib) * MIB
        };
        let wanted = settings.subscenes.unwrap_or_default();
        // Every kind of partition but the hybrid one's smallest can have powers of two.
        let cut = (1..=Partition::MOST_CELLS.ilog2()).map(|power| SubsceneSettings {
            partition: PartitionSettings { count: 1 << power, ..wanted.partition },
            ..wanted
        });
        let fitting = match count(settings) {
            None => cut.into_iter().find(fits),
            Some(asked) => cut.rev().filter(|fewer| fewer.partition.count < asked).find(fits),
        };
        fitting.map(|subscenes| subscenes.partition.count)
    }

    /// What to multiply the density with so that nineteen twentieths of what is allowed are enough; `None` where no density
    /// is low enough.
    fn fitting_scale(&self, settings: &SolverSettings) -> Option<f64> {
        let allowed = f64::from(settings.memory_mib) * MIB;
        let refined = |elements| Refined::new(settings, &self.amounts.of_elements(elements), settings.subscenes).least;
        let [none, one] = [0.0, 1.0].map(refined);
        let kept = if settings.method == Method::Progressive { KEPT_SHARE * allowed } else { 0.0 };
        let bytes_of_element = BYTES_PER_ELEMENT + Accumulators::bytes_per_element(FEWEST_RAYS) + one - none;
        self.amounts.scale_for((0.95 * allowed - fixed_bytes(&self.amounts) - none - kept) / bytes_of_element)
    }
}

/// Bytes that a scene and the tree of its triangles take, whatever is done with it.
#[cfg(feature = "cli")]
pub fn bytes_of_scene(scene: &Scene) -> f64 {
    BYTES_OF_PROCESS + scene.triangle_count() as f64 * BYTES_PER_TRIANGLE + amounts::bytes_of_textures(scene)
}

/// How many subscenes a scene is worked on in; `None` where it is worked on at once.
fn count(settings: &SolverSettings) -> Option<u32> {
    settings.subscenes.map(|subscenes| subscenes.partition.count)
}

/// Bytes that the density does not change.
fn fixed_bytes(amounts: &Amounts) -> f64 {
    let of_meshes = amounts.triangles * BYTES_PER_TRIANGLE + amounts.vertices * BYTES_PER_VERTEX;
    BYTES_OF_PROCESS + of_meshes + amounts.of_textures
}

/// How many rays of each half of an element have their hits stored, where there should be so many: as many as fit into
/// half of the memory.
fn stored_rays(wanted: f64, settings: &SolverSettings, elements: f64) -> f64 {
    let bytes_of_hit = Accumulators::bytes_per_element(1.0) - Accumulators::bytes_per_element(0.0);
    let storable = 0.5 * f64::from(settings.memory_mib) * MIB / (elements * bytes_of_hit);
    if settings.method == Method::Gather && storable >= FEWEST_RAYS { wanted.min(storable) } else { 0.0 }
}

/// The most patches that relighting so many elements can be precomputed for within half of the memory.
pub(super) fn most_patches(elements: usize, memory_mib: u32) -> usize {
    let (elements, allowed) = (elements as f64, 0.5 * f64::from(memory_mib) * MIB);
    // What pairs of patches and pairs of an element and a patch take together is a quadratic in the number of patches.
    let half = 0.5 * BYTES_PER_VIEW * elements;
    (((half * half + BYTES_PER_EXCHANGE * allowed).sqrt() - half) / BYTES_PER_EXCHANGE) as usize
}
