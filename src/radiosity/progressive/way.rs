//! When shots end.

use super::Refine;

/// The share of the wanted error that power which is never shot may cause.
pub const UNSHOT_SHARE: f64 = 0.1;

/// Light that becomes less by no more than this part each time that there were as many shots as patches has no end that
/// is worth waiting for.
const LEAST_LOSS: f64 = 1e-3;

/// That many times as many shots as patches are made before that is looked at.
const PATIENCE: f64 = 100.0;

/// From the first shot to the last.
pub struct Way {
    /// Weighted power of all patches together before the first, lumens.
    all: f64,
    /// Power of all patches together before the first, without weights, lumens.
    lumens: f64,
    patches: f64,
    /// Weighted power of the first, lumens.
    first: f64,
    /// Weighted power below which none is worth it, lumens.
    pub tolerance: f64,
    /// How much of the way is done.
    done: f64,
}

impl Way {
    /// The way from a first shot of some power, lumens, until what is left is worth less than an error.
    ///
    /// The thesis ends at a part of the first shot (`000` #11). How much of the light is left then is another part in each
    /// scene: thousands of dim patches may keep more together than one lamp shot first. Here that part is what is asked for.
    pub fn new(refinement: &dyn Refine, first: f64, error: f32) -> Self {
        let (all, patches) = (refinement.unshot_power(), refinement.patches() as f64);
        let lumens = refinement.unshot_lumens();
        Self { all, lumens, patches, first, tolerance: tolerance(all, patches, f64::from(error)), done: 0.0 }
    }

    /// How much of the way is done with a shot of some power.
    pub fn done(&mut self, power: f64) -> f32 {
        // The strongest of those that are left falls geometrically.
        let done = (self.first / power).ln() / (self.first / self.tolerance).ln().max(f64::MIN_POSITIVE);
        self.done = done.clamp(self.done, 1.0);
        self.done as f32
    }

    /// The part of all power that some is, no more than one.
    pub fn share_of(&self, power: f64) -> f64 {
        (power / self.all).min(1.0)
    }

    /// True where light goes to and fro without becoming less, as in a closed room of reflectance one.
    ///
    /// If walls reflect less than `1 - LEAST_LOSS`, the strongest of n patches loses at least that part of an n-th of all.
    pub fn is_endless(&self, refinement: &dyn Refine) -> bool {
        let turns = f64::from(refinement.shots()) / self.patches;
        turns >= PATIENCE && refinement.unshot_lumens() > self.lumens * (-LEAST_LOSS * turns).exp()
    }
}

/// Power below which no patch is worth a shot, lumens: were every patch left with that, so much would be lost.
pub fn tolerance(all: f64, patches: f64, error: f64) -> f64 {
    UNSHOT_SHARE * error * all / patches
}
