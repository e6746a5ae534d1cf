//! Low-rank radiosity for dynamic light in a static level (`001`).
//!
//! Elements exchange light with patches, which are groups of neighboring elements. The form-factor matrix is
//! approximated by `U V^T`. U has a row for each element and a column for each patch, and V averages over patches. All
//! bounces between patches are then one small matrix, inverted in advance. A change of light costs one pass over U.
//!
//! ```text
//! patches      assignment of elements to patches                     (V)
//! uniform      patches of one size, by charts or by halving       coherent   patches of one view        kind   either
//! rows         form factors from elements to patches              (U), from stored hits, rays, or form factors
//! packed       large matrices, in sixteen bits a value and without zeros
//! inverse      all bounces between patches                        (K)
//! relighting   indirect light from direct light: start here, with [`LowRank`]
//! receivers    positions and texels of elements
//! moved        updates after an occluder moved, such as a door
//! precompute   all data from a bake                               file       serialization beside the level
//! contributions   of single baked lights
//! smoothing    filter over elements with similar views, against the noise of rays
//! stored       transport without patches, by [`StoredTransport`]: a sweep over stored hits for each bounce
//! ```
//!
//! [`relight`](crate::relight) runs all this in a game.
//!
//! Direct light comes from shadow rays for each element. A patch thus averages only light that has been reflected once,
//! and shadow edges within patches stay sharp. The averaged reflected light has an error. Next to a bright spot,
//! patches of one meter are about 20 % off. A few sweeps over stored hits, started from the low-rank solution, remove
//! this error. They take more time, so [`relight`](crate::relight) runs them only after lights have stopped changing.
//! In levels with patches of several meters the sweeps converge equally fast from zero. A table in
//! `docs/validation/relighting.md` compares the methods for different levels.

mod coherent;
mod contributions;
mod file;
mod halving;
mod inverse;
mod kind;
mod moved;
mod packed;
mod patches;
mod precompute;
mod product;
mod receivers;
mod relighting;
mod rows;
mod smoothing;
mod stored;
#[cfg(test)]
mod tests;
mod uniform;

use core::ops::Range;

pub use coherent::Coherence;
pub use contributions::{BakedLightId, Contributions, LightContribution, MAX_LUX};
pub use file::{Precomputed, PrecomputedError};
pub(crate) use inverse::seconds_of_bounces;
pub use kind::PatchKind;
pub use moved::{Followed, MovedSurfaces};
pub use packed::{LANES, Packed, PackedParts, Tile, tiles};
pub use patches::{PatchId, Patches};
pub use precompute::{Precompute, RELIGHT_RAYS, deviation};
pub use receivers::{ReceiverTexel, Receivers};
pub use relighting::LowRank;
pub use rows::{ElementFormFactors, PatchFormFactors, Rows};
pub use smoothing::Smoothing;
pub use stored::StoredTransport;

/// Number of elements whose rows are made before they are appended to the others. Making all rows at once would take
/// twice the memory.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Returns ranges of elements that together cover `elements`.
fn parts(elements: usize) -> impl Iterator<Item = Range<usize>> {
    (0..elements).step_by(ROWS_AT_ONCE).map(move |first| first..elements.min(first + ROWS_AT_ONCE))
}
