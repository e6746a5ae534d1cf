//! Interface between solvers and the hardware that runs them.
//!
//! A solver chooses [`Step`]s, and a [`TransportBackend`] runs them. Sums of the steps stay with the backend, in CPU or
//! GPU memory. Only per-element results come back, once a pass.

use std::borrow::Cow;
use std::sync::Arc;

use glam::Vec3;

use super::bright::BrightElement;
use super::{Accumulators, Counters, SubsceneElements};
use crate::cluster::{Team, TeamError};
use crate::partition::CellTracer;
use crate::progress::{Cancelled, Monitor};

/// Reason why a step was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Cancellation by the monitor.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The monitor asked for it; some elements have all of the step and others none.
    #[error("{Cancelled}")]
    CutShort {
        /// Rays traced.
        rays: u64,
    },
    /// Failure of a device or a rank: a lost graphics card, one with too little memory, or a rank that is gone.
    #[error("{0}")]
    Device(String),
}

impl StepError {
    /// Adds the rays that were traced before the monitor canceled.
    pub fn after(self, rays: u64) -> Self {
        match self {
            Self::Cancelled(_) => Self::CutShort { rays },
            other => other,
        }
    }
}

impl From<TeamError> for StepError {
    fn from(fault: TeamError) -> Self {
        match fault {
            TeamError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            TeamError::Failed(reason) => Self::Device(reason),
        }
    }
}

/// Batch of work over all elements, for both halves.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Traces rays to emitters until each element has `samples` of them. An element gets up to sixteen times as many if
    /// its standard error exceeds `tolerance`. The other half estimates this error, from the element and its neighbors.
    /// A quarter is enough for elements whose samples all agree.
    Direct {
        /// Minimum number of samples that most elements have afterwards.
        samples: u32,
        /// Accepted standard error of each element, in lux. Infinite for elements that need no more samples. Empty if
        /// all elements get `samples`.
        tolerance: Arc<[f32]>,
    },
    /// Traces gather rays.
    Gather {
        /// Number of additional rays for each half of each element.
        rays: Vec<u32>,
        /// Treatment of the hits.
        hits: Hits,
    },
    /// Iterates the radiosities on stored hits to convergence.
    Iterate {
        /// Minimum number of stored rays that the iteration reads for each element, if there are as many.
        rays: u32,
        /// Adaptation level of each element, in lux. Changes are relative to this level.
        adaptation: Arc<[f32]>,
        /// Maximum number of indirect bounces, or `None` without a limit.
        bounces: Option<u32>,
    },
    /// Shoots all power until less than `UNSHOT` of it is left (`000` S11). Radiosities become the mean over all
    /// shooting runs.
    Shoot {
        /// Exposed area fraction of each element. Of coincident surfaces only one emits light.
        shown: Arc<[f32]>,
        /// Adaptation level of each element, in lux. Rays from dim surroundings carry less power. Dim rooms therefore
        /// get as many rays as sunlit ground.
        adaptation: Arc<[f32]>,
        /// Maximum number of indirect bounces, or `None` without a limit.
        bounces: Option<u32>,
    },
}

/// Treatment of the hits of gather rays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Stores hits for later iterations.
    Store,
    /// Adds the present radiosity at the hits.
    Read,
    /// Drops hits, and keeps only direct light that the rays hit.
    Forget,
    /// Continues rays as paths with light sampling. Reads and stores no radiosity.
    Follow {
        /// Maximum number of bounces.
        bounces: u32,
    },
}

impl Hits {
    /// Returns true if rays carry the radiosity of the hit element, now or later.
    pub(crate) fn carry(self) -> bool {
        matches!(self, Self::Store | Self::Read)
    }
}

/// Fraction of the first iteration's power below which shooting stops.
pub const UNSHOT: f64 = 1e-3;

/// Remaining fraction of the light below which iterations stop.
pub const CONVERGED: f64 = 1e-5;

/// Statistics of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Number of traced rays.
    pub rays: u64,
    /// Number of iterations of the radiosities, or of shooting.
    pub iterations: u32,
    /// Fraction of the reflected power that was not propagated to the end.
    pub unshot: f32,
}

impl StepReport {
    /// Merges the report of another half.
    pub(crate) fn join(&mut self, half: Self) {
        self.rays += half.rays;
        self.iterations = self.iterations.max(half.iterations);
        self.unshot = self.unshot.max(half.unshot);
    }
}

/// Estimates of one half for an element, averaged over the visible part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElementEstimate {
    /// Direct irradiance from light-sampled rays, in lux.
    pub light_sampled: Vec3,
    /// Direct irradiance from emitters and sky that gather rays hit, in lux.
    pub bsdf_sampled: Vec3,
    /// Indirect irradiance, in lux.
    pub indirect: Vec3,
    /// Visible fraction of the element.
    pub visible_fraction: f32,
    /// Number of traced gather rays.
    pub gathered: u32,
    /// Fraction of the gather rays that escaped or were absorbed.
    pub lost: f32,
}

impl ElementEstimate {
    /// Returns the total irradiance, in lux.
    pub fn total(&self) -> Vec3 {
        self.light_sampled + self.bsdf_sampled + self.indirect
    }
}

/// Runner of [`Step`]s, which keeps its data on its own device.
pub trait TransportBackend {
    /// Returns the team with which the backend shares rays, if there is one.
    fn team(&self) -> Option<&dyn Team> {
        None
    }

    /// Runs a step to its end.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or if the device fails. The sums are invalid then.
    fn run(&mut self, step: &Step, monitor: &dyn Monitor) -> Result<StepReport, StepError>;

    /// Sets the elements that gather rays sample as lights from now on.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn sample_as_lights(&mut self, bright: &[BrightElement]) -> Result<(), StepError>;

    /// Returns the present estimates of a half for each element.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn read(&self, half: usize) -> Result<Vec<ElementEstimate>, StepError>;

    /// Returns the reflected radiosity of each element, in lm/m2, read by gathering.
    fn radiosity(&self, half: usize) -> Vec<Vec3>;

    /// Returns the indirect irradiance of each element, in lux, for given element radiosities. This is one product with
    /// the form-factor matrix of stored hits.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn apply(&self, half: usize, radiosity: &[Vec3]) -> Result<Vec<Vec3>, StepError>;

    /// Returns counters of rays between the elements of a partition, on the backend's device.
    ///
    /// # Errors
    /// Returns an error if the device has no room for them.
    fn counters<'a>(
        &self,
        tracer: &'a CellTracer,
        elements: &'a SubsceneElements,
    ) -> Result<Box<dyn Counters + 'a>, StepError>;

    /// Returns the number of gather rays of both halves with stored hits.
    fn stored_rays(&self) -> u64;

    /// Returns all accumulated state, for a checkpoint.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn snapshot(&self) -> Result<Cow<'_, [Accumulators; super::HALVES]>, StepError>;

    /// Restores the state of a checkpoint.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn restore(&mut self, accumulators: [Accumulators; super::HALVES]) -> Result<(), StepError>;
}
