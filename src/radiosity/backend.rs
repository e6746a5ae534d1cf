//! The seam between how a bake is solved and what does the arithmetic.
//!
//! A solver decides on [`Step`]s and drives a [`TransportBackend`] through them. What a step adds up stays with the
//! backend, be it the processor's memory or a graphics card's; only per-element results come back, once a pass.

use std::borrow::Cow;
use std::sync::Arc;

use glam::Vec3;

use super::Accumulators;
use super::bright::BrightElement;
use crate::progress::{Cancelled, Monitor};

/// Why a step ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The monitor asked for it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// What the backend runs on has failed: a graphics card that was lost, or has too little memory.
    #[error("{0}")]
    Device(String),
}

/// A batch of work over all elements, for both halves.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Aims rays at emitters until each element has `samples` of them, and up to sixteen times as many where the other
    /// half of it and of its neighbors says that the standard error is above `tolerance`. Elements whose samples are all
    /// alike have enough with a quarter.
    Direct {
        /// Samples most elements have afterwards, at least.
        samples: u32,
        /// Standard error of each element, lux, that more samples are worth: infinite for those that have enough, empty
        /// to give all of them `samples`.
        tolerance: Arc<[f32]>,
    },
    /// Traces gather rays.
    Gather {
        /// How many more of them for each half of each element.
        rays: Vec<u32>,
        /// What becomes of what they hit.
        hits: Hits,
    },
    /// Iterates the radiosities on stored hits until they stand still.
    Iterate {
        /// Stored rays an element that the iteration reads, at least, if there are as many.
        rays: u32,
        /// Adaptation level of each element, lux, which changes are compared with.
        adaptation: Arc<[f32]>,
        /// Most bounces of indirect light; `None` follows them until nothing is left.
        bounces: Option<u32>,
    },
    /// Shoots all power until less than `UNSHOT` of it is left (`000` S11). Radiosities are the mean over all times
    /// that this was done.
    Shoot {
        /// The part of each element that rays meet: of surfaces in the very same place one sends light out.
        shown: Arc<[f32]>,
        /// Adaptation level of each element, lux. Rays from dim surroundings carry less power, so that dim rooms are
        /// shot through by as many rays as sunlit ground.
        adaptation: Arc<[f32]>,
        /// Most bounces of indirect light; `None` follows them until nothing is left.
        bounces: Option<u32>,
    },
}

/// What becomes of the hits of gather rays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// They are stored, for iterations to come.
    Store,
    /// Their present radiosity is read, once and for all.
    Read,
    /// They are forgotten; only direct light that the ray met is kept.
    Forget,
    /// Rays go on from them as paths do, and bring what lights send there; nothing is read or kept.
    Follow {
        /// Most bounces.
        bounces: u32,
    },
}

impl Hits {
    /// True for rays that bring the radiosity of the element that they hit, now or later.
    pub(crate) fn carry(self) -> bool {
        matches!(self, Self::Store | Self::Read)
    }
}

/// Shooting stops when this share of the first iteration's power is left.
pub const UNSHOT: f64 = 1e-3;

/// Iterating stops when what is still to come is this share of the whole.
pub const CONVERGED: f64 = 1e-5;

/// What a step found out besides sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Rays traced.
    pub rays: u64,
    /// Iterations of the radiosities, or of shooting.
    pub iterations: u32,
    /// Share of the reflected power that was not followed to its end.
    pub unshot: f32,
}

impl StepReport {
    /// Adds what a step found out in another half.
    pub(crate) fn join(&mut self, half: Self) {
        self.rays += half.rays;
        self.iterations = self.iterations.max(half.iterations);
        self.unshot = self.unshot.max(half.unshot);
    }
}

/// What one half says of an element, averaged over the part that light can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Direct irradiance by rays aimed at emitters, lux.
    pub aimed: Vec3,
    /// Direct irradiance met by gather rays, lux.
    pub met: Vec3,
    /// Indirect irradiance, lux.
    pub indirect: Vec3,
    /// How much of the element is open to light.
    pub visible_fraction: f32,
    /// Gather rays traced.
    pub gathered: u32,
    /// Share of the gather rays that escaped or were absorbed.
    pub lost: f32,
}

impl Reading {
    /// All irradiance, lux.
    pub fn total(&self) -> Vec3 {
        self.aimed + self.met + self.indirect
    }
}

/// Runs steps on data that stays where it is.
pub trait TransportBackend {
    /// Runs a step to its end.
    ///
    /// # Errors
    /// When the monitor asks for it, or the device fails; the sums are then of no further use.
    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<StepReport, StepError>;

    /// Makes gather rays sample some elements as lights from now on.
    ///
    /// # Errors
    /// When the device fails.
    fn sample_as_lights(&mut self, bright: &[BrightElement]) -> Result<(), StepError>;

    /// What a half says of each element so far.
    ///
    /// # Errors
    /// When the device fails.
    fn read(&self, half: usize) -> Result<Vec<Reading>, StepError>;

    /// Reflected radiosity of each element that gathering reads, lm/m2.
    fn radiosity(&self, half: usize) -> Vec<Vec3>;

    /// Indirect irradiance that the stored hits would bring if the elements had these radiosities, lux: one product
    /// with the form-factor matrix.
    ///
    /// # Errors
    /// When the device fails.
    fn apply(&self, half: usize, radiosity: &[Vec3]) -> Result<Vec<Vec3>, StepError>;

    /// How many gather rays of both halves have their hits stored.
    fn stored_rays(&self) -> u64;

    /// Everything that has been added up, for a checkpoint.
    ///
    /// # Errors
    /// When the device fails.
    fn snapshot(&self) -> Result<Cow<'_, [Accumulators; super::HALVES]>, StepError>;

    /// Goes back to a checkpoint.
    ///
    /// # Errors
    /// When the device fails.
    fn restore(&mut self, accumulators: [Accumulators; super::HALVES]) -> Result<(), StepError>;
}
