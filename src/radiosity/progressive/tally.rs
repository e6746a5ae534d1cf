//! What finding form factors takes: counts, for the table in `BENCHMARKS.md`.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::occluders::Candidates;

static ASKS_ALL: AtomicBool = AtomicBool::new(false);

/// From now on every shaft asks all triangles, as in the thesis, and not a tree.
pub fn ask_all() {
    ASKS_ALL.store(true, Ordering::Relaxed);
}

/// Whether shafts ask all triangles.
pub fn asks_all() -> bool {
    ASKS_ALL.load(Ordering::Relaxed)
}

/// What shafts were asked, and what they answered.
#[derive(Debug, Default)]
pub struct Tally {
    shafts: AtomicU64,
    empty: AtomicU64,
    lists: AtomicU64,
    listed: AtomicU64,
    tested: AtomicU64,
}

/// Sums of tallies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Shafts.
    pub shafts: u64,
    /// Those with nothing in them.
    pub empty: u64,
    /// Those whose triangles were listed.
    pub lists: u64,
    /// How many triangles these were.
    pub listed: u64,
    /// Triangles that were held against shafts.
    pub tested: u64,
}

impl Tally {
    /// Counts a shaft against which so many triangles were held.
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
    /// Those of some tallies.
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
