//! Memory of precomputing the transport for lights that change.

use crate::low_rank::{LANES, Packed};

/// Bytes of one hit, stored as a difference from the hit before.
const BYTES_PER_STEP: f64 = 1.5;
/// Bytes of one form factor from an element to a patch that it sees, while computed and when packed.
const BYTES_PER_ENTRY: f64 = 8.0;
const BYTES_PER_VIEW: f64 = 2.0;
/// Bytes of one pair of patches: while bounces are summed for three channels, and when packed for each.
const BYTES_PER_EXCHANGE: f64 = 44.0;
const BYTES_PER_BOUNCE: f64 = 6.0;
/// Bytes of one element that do not depend on its rays: position, normals, patch.
const BYTES_PER_RECEIVER: f64 = 100.0;
/// Bytes of one element in the contribution of a light, and in the solution for one.
const BYTES_PER_CONTRIBUTION: f64 = 12.0;
const BYTES_PER_SOLUTION: f64 = 500.0;

/// Share of the memory that hits may take if each of them shows another patch: four bytes of sixteen.
pub const SHARE_OF_HITS: f64 = 0.25;

/// Returns the number of patches that an element sees by `rays` rays. Assumes that all patches are equally likely,
/// which gives the upper bound.
fn seen(rays: f64, patches: f64) -> f64 {
    patches * (1.0 - libm::exp(-rays / patches))
}

/// Returns the number of patches that an element has packed values for. The elements of a block share their tiles, so
/// an element also has values for patches that only others see.
fn packed(rays: f64, patches: f64) -> f64 {
    LANES as f64 * seen(Packed::BLOCK as f64 * rays, patches / LANES as f64)
}

/// Returns the further bytes if an element saw all patches instead of those that `rays` rays show.
pub fn unseen_bytes(elements: f64, rays: f64, patches: f64) -> f64 {
    let of_entries = (patches - seen(rays, patches)) * BYTES_PER_ENTRY;
    let of_views = (patches - packed(rays, patches)) * 2.0 * BYTES_PER_VIEW;
    elements * (of_entries + of_views)
}

/// Returns the peak bytes of relighting besides those of hits, for `rays` rays per element.
pub fn bytes(elements: f64, rays: f64, patches: f64, contributions: f64) -> f64 {
    let of_views = packed(rays, patches) * BYTES_PER_VIEW;
    let kept =
        elements * (BYTES_PER_RECEIVER + rays * BYTES_PER_STEP + of_views) + BYTES_PER_BOUNCE * patches * patches;
    let meanwhile = elements * seen(rays, patches) * BYTES_PER_ENTRY + BYTES_PER_EXCHANGE * patches * patches;
    let with_contributions = kept + elements * contributions * BYTES_PER_CONTRIBUTION;
    let solving = with_contributions + elements * BYTES_PER_SOLUTION;
    // Finally, the file is assembled in memory.
    (kept + meanwhile).max(solving).max(2.0 * with_contributions)
}
