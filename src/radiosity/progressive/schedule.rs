//! Schedule of shots, and its end.

use super::Refine;

/// Fraction of the requested error that unshot power may cause.
pub const UNSHOT_SHARE: f64 = 0.1;

/// Minimum decrease of light, as a fraction, after as many shots as patches. With less decrease shots would take too
/// long.
const MIN_LOSS: f64 = 1e-3;

/// Number of shots in units of the number of patches before the decrease is checked.
const PATIENCE: f64 = 100.0;

/// Progress from the first shot to the last.
pub struct ShootingSchedule {
    /// Total weighted power before the first shot, in lumens.
    all: f64,
    /// Total power without weights before the first shot, in lumens.
    lumens: f64,
    patches: f64,
    /// Weighted power of the first shot, in lumens.
    first: f64,
    /// Weighted power up to which patches do not shoot, in lumens.
    pub tolerance: f64,
    /// Finished fraction of the schedule.
    done: f64,
}

impl ShootingSchedule {
    /// Creates a schedule from a first shot of some power, in lumens. It ends when the unshot power is negligible for
    /// `error`.
    ///
    /// The thesis stops at a fraction of the first shot (`000` #11). The remaining fraction of the light then depends
    /// on the scene. Thousands of dim patches may have more power than one lamp that shot first. Here the remaining
    /// fraction is determined instead.
    pub fn new(refinement: &dyn Refine, first: f64, error: f32) -> Self {
        let (all, patches) = (refinement.unshot_power(), refinement.patches() as f64);
        let lumens = refinement.unshot_lumens();
        Self { all, lumens, patches, first, tolerance: tolerance(all, patches, f64::from(error)), done: 0.0 }
    }

    /// Creates a schedule that ends at a part of the first shot's power, as in the thesis (`000` S7).
    pub fn to_part_of_first(refinement: &dyn Refine, first: f64, part: f32) -> Self {
        Self { tolerance: f64::from(part) * first, ..Self::new(refinement, first, part) }
    }

    /// Returns the finished fraction of the schedule at a shot of some power.
    pub fn done(&mut self, power: f64) -> f32 {
        // The maximum power of the remaining patches falls geometrically.
        let done = libm::log(self.first / power) / libm::log(self.first / self.tolerance).max(f64::MIN_POSITIVE);
        self.done = done.clamp(self.done, 1.0);
        self.done as f32
    }

    /// Returns the ratio of a power to the total power, at most one.
    pub fn share_of(&self, power: f64) -> f64 {
        (power / self.all).min(1.0)
    }

    /// Returns true if a plausible amount of light is unshot: at most twice the light before the first shot.
    /// Corrections add light, but never as much again.
    pub fn can_leave(&self, refinement: &dyn Refine) -> bool {
        refinement.unshot_lumens() <= 2.0 * self.lumens
    }

    /// Returns true if light does not decrease, as in a closed room with a reflectance of one.
    ///
    /// Wall reflectances below `1 - MIN_LOSS` guarantee a decrease. A shot of the strongest of n patches then loses
    /// at least `MIN_LOSS` / n of all power.
    pub fn is_endless(&self, refinement: &dyn Refine) -> bool {
        let turns = f64::from(refinement.shots()) / self.patches;
        turns >= PATIENCE && refinement.unshot_lumens() > self.lumens * libm::exp(-MIN_LOSS * turns)
    }
}

/// Returns the maximum power that a patch may keep, in lumens. If all patches keep it, the lost light is the fraction
/// [`UNSHOT_SHARE`] of the error.
pub fn tolerance(all: f64, patches: f64, error: f64) -> f64 {
    UNSHOT_SHARE * error * all / patches
}
