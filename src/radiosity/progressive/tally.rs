//! Statistics of form-factor computations, for `docs/notes/subscenes.md`.

use core::sync::atomic::{AtomicU64, Ordering};

use super::occluders::Candidates;

/// Counters of shaft queries and their results.
#[derive(Debug, Default)]
pub struct Tally {
    shafts: AtomicU64,
    empty: AtomicU64,
    lists: AtomicU64,
    listed: AtomicU64,
    tested: AtomicU64,
}

/// Sums of counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Number of shafts.
    pub shafts: u64,
    /// Number of empty shafts.
    pub empty: u64,
    /// Number of shafts with a list of triangles.
    pub lists: u64,
    /// Number of triangles in these lists.
    pub listed: u64,
    /// Number of triangles tested against shafts.
    pub tested: u64,
}

impl Tally {
    /// Counts a shaft with the number of triangles tested against it.
    pub fn add(&self, found: &Candidates, tested: u64) {
        let more = |counter: &AtomicU64, by: u64| _ = counter.fetch_add(by, Ordering::Relaxed);
        more(&self.shafts, 1);
        more(&self.tested, tested);
        match found {
            Candidates::Triangles(none) if none.is_empty() => more(&self.empty, 1),
            Candidates::Triangles(some) => {
                more(&self.lists, 1);
                more(&self.listed, some.len() as u64);
            }
            Candidates::Many => {}
        }
    }
}

impl Sums {
    /// Sums the counters of some tallies.
    pub fn of<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Self {
        let mut sums = Self::default();
        for Tally { shafts, empty, lists, listed, tested } in tallies {
            let counted = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            sums.shafts += counted(shafts);
            sums.empty += counted(empty);
            sums.lists += counted(lists);
            sums.listed += counted(listed);
            sums.tested += counted(tested);
        }
        sums
    }
}
