//! Light that changes, in a level that does not: low-rank radiosity (`001`).
//!
//! Elements see patches, groups of neighbouring elements, rather than each other: the form-factor matrix is taken for
//! `U V^T`, where U has a row for each element and a column for each patch, and V averages over patches. Then all bounces
//! between patches are one small matrix, which is inverted beforehand, and light that changes costs one pass over U.
//!
//! ```text
//! patches      which elements make up which patch                 (V)
//! uniform      patches of one size, by charts or by halving       coherent   patches of one view        kind   either
//! rows         what elements see of patches                       (U), from stored hits, by rays, or from form factors
//! packed       large matrices, in sixteen bits a value and without what is dark
//! inverse      all bounces between patches                        (K)
//! relighting   from direct light to indirect light: start here, with [`LowRank`]
//! receivers    where light is asked for
//! moved        what is to be redone when a door opens
//! precompute   all of that from a bake                            file       as bytes beside the level
//! smoothing    neighbours that see alike, against the noise of rays
//! stored       the same without patches, by [`StoredTransport`]: a sweep over stored hits for each bounce
//! ```
//!
//! [`relight`](crate::relight) does that while a game runs.
//!
//! Direct light comes from shadow rays, element by element, so what a patch averages is light that has been reflected once:
//! a lamp whose light does not end where patches do is not smeared. What it comes to is: next to a bright spot patches of a
//! metre are some twenty per cent off. A few sweeps over stored hits that start from low rank see to that; they take more
//! time, so [`relight`](crate::relight) leaves them until lights rest. In levels of patches of several metres they may as well
//! start from darkness. `BENCHMARKS.md` has the table that tells which of them suits which level.

mod coherent;
mod file;
mod halving;
mod inverse;
mod kind;
mod moved;
mod packed;
mod patches;
mod precompute;
mod receivers;
mod relighting;
mod rows;
mod smoothing;
mod stored;
#[cfg(test)]
mod tests;
mod uniform;

pub use coherent::Coherence;
pub use file::{Precomputed, PrecomputedError};
pub use kind::PatchKind;
pub use moved::{Followed, Moved};
pub use packed::{LANES, Packed, PackedParts, Tile, tiles};
pub use patches::{PatchId, Patches};
pub use precompute::{Precompute, deviation};
pub use receivers::{ReceiverTexel, Receivers};
pub use relighting::LowRank;
pub use rows::{ElementFormFactors, Rows};
pub use smoothing::Smoothing;
pub use stored::StoredTransport;
