//! Budget of an update, and its report.

/// Budget and smoothing of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateSettings {
    /// Ray budget. At least one part of one light is traced, whatever its cost. Default 30,000.
    pub rays: u32,
    /// Fraction of the previous state that stays, from 0 to below 1: temporal smoothing. Default 0.
    pub keep: f32,
    /// Number of per-element bounces after a light has settled, one per update. 0 keeps the coarse patch solution.
    /// Default 3.
    ///
    /// Higher values reduce the error where patches are large. Later updates add adaptive direct light, one more
    /// bounce, rays to the brightest elements and noise filtering. Eight lights cache their own refined result for any
    /// strength. All other lights share one cache entry, which any change of them invalidates.
    pub bounces: u32,
}

impl Default for UpdateSettings {
    fn default() -> Self {
        Self { rays: 30_000, keep: 0.0, bounces: 3 }
    }
}

/// Report of one update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Number of rays traced, or the equivalent cost.
    pub rays: u64,
    /// Number of lights that need further updates.
    pub waiting: usize,
    /// Estimated mean difference between the shown pages and pages of the current lights, as a fraction of their light.
    ///
    /// 1 while a light has no samples. It covers temporal smoothing, unsampled receivers, and the error of the patch
    /// solution until a light has a refined result. It leaves out the error of refined results, and that of the bake.
    pub behind: f32,
    /// True while the shown light approaches its target, by temporal smoothing.
    pub is_smoothing: bool,
    /// True while the refined result of settled lights is incomplete.
    pub is_refining: bool,
    /// True when pages must be drawn again.
    pub is_new: bool,
    /// Indices of pages that have changed, if pages have been drawn.
    pub pages: Vec<usize>,
}

impl Update {
    /// Returns true when further updates would change nothing.
    pub fn is_settled(&self) -> bool {
        self.waiting == 0 && !self.is_smoothing && !self.is_refining
    }
}
