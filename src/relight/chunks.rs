//! Values of receivers, computed in chunks within a ray budget.

use rayon::prelude::*;

/// Receivers per chunk.
const CHUNK: usize = 512;

/// Cost in rays of rejecting the receivers of a chunk.
pub const MIN_RAYS: u64 = CHUNK as u64 / 16;

/// Minimum number of receivers per thread.
const MIN_LEN: usize = 32;

/// Computes the values of further receivers until `rays` are used up or there are `count` values. `value` returns the
/// value of a row and its cost in rays; a chunk costs at least `min_rays`. Returns the number of rays.
pub fn extend<T: Send>(
    values: &mut Vec<T>,
    count: usize,
    rays: u64,
    min_rays: u64,
    value: impl Fn(u32) -> (T, u64) + Sync,
) -> u64 {
    let mut used = 0;
    while used < rays && values.len() < count {
        let end = (values.len() + CHUNK).min(count);
        let rows = (values.len() as u32..end as u32).into_par_iter().with_min_len(MIN_LEN);
        let found: Vec<(T, u64)> = rows.map(&value).collect();
        used += found.iter().map(|(_, rays)| rays).sum::<u64>().max(min_rays);
        values.extend(found.into_iter().map(|(value, _)| value));
    }
    used
}
