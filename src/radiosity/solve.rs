//! Entry points of the solvers, with their errors and observers.

use std::sync::Arc;

use glam::Vec3;

use super::backend::{ElementEstimate, StepError, TransportBackend};
use super::cpu::{CpuBackend, Transport};
use super::passes::Passes;
use super::progress_share::ProgressShare;
use super::residual::{Claim, rays_for, residual};
use super::solver_checkpoint::SolverCheckpoint;
use super::{Method, Solution, SolverSettings, bounces};
use crate::cluster::Team;
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::partition::PartitionError;
use crate::progress::{Cancelled, Monitor, Unmonitored};
use crate::scene::{Scene, SurfaceKey};

/// Error of a solver.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The monitor cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The checkpoint belongs to another bake.
    #[error("the checkpoint is of another scene or other settings; bake without it")]
    OtherInputs,
    /// The time was over before all elements had light.
    #[error("the time was over with {:.0} % of the first light: allow more, or solve for fewer elements", .done * 100.0)]
    TooLittleTime {
        /// Finished part of the first pass, from 0 to 1.
        done: f32,
    },
    /// The scene cannot be divided into the requested subscenes.
    #[error(transparent)]
    Subscenes(#[from] PartitionError),
    /// Counted rays were requested for a scene with a surface that lets light through.
    #[error(
        "counted rays take all surfaces for opaque, and '{surface}' lets light through: use another method, or exclude \
         the surface"
    )]
    NotOpaque {
        /// Key of the surface.
        surface: SurfaceKey,
    },
    /// Emission was to be shot, and no element emits light.
    #[error(
        "no texel shines, so that nothing can be shot as printed: leave out --faithful (SolverSettings::faithful), or \
         light the scene by luminous surfaces"
    )]
    NothingShines,
    /// No element is as large as the minimum area of those that determine the number of counted rays.
    #[error("no element has the {min_area} m2 of --min-area: the largest has {largest} m2, so give no more than that")]
    MinAreaTooLarge {
        /// Minimum area, in square meters.
        min_area: f32,
        /// Area of the largest element, in square meters.
        largest: f32,
    },
    /// The device failed: a lost graphics card, or one with too little memory.
    #[error("{0}")]
    Device(String),
    /// The observer has no memory for the hits of the requested rays.
    #[error("hits of gather rays need {bytes} bytes, more than there is memory for; ask for a larger error")]
    HitsBeyondMemory {
        /// Bytes of all hits.
        bytes: u64,
    },
}

impl From<StepError> for SolveError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            StepError::CutShort { .. } => Self::Cancelled(Cancelled),
            StepError::Device(reason) => Self::Device(reason),
        }
    }
}

/// State after a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Number of finished passes.
    pub number: u32,
    /// Estimated error, as in [`Solution::error_estimate`].
    pub error: f32,
    /// Estimated error of the whole scene, as in [`Solution::error_of_mean`].
    pub error_of_mean: f32,
    /// Mean number of gather rays of an element so far.
    pub gather_rays: u32,
    /// Number of rays traced so far.
    pub rays: u64,
}

/// Function that returns the complete state of a solver.
pub type Snapshot<'a> = dyn Fn() -> Result<SolverCheckpoint<'a>, StepError> + 'a;

/// Observer of a solver.
pub trait SolveObserver: Monitor {
    /// Reports a finished pass. `state` returns the solver's state, possibly read back from a graphics card. The solver
    /// waits meanwhile.
    ///
    /// # Errors
    /// Returns the error of `state` if the state is unavailable.
    fn pass_finished(&self, _pass: &Pass, _state: &Snapshot<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Reports a finished shot of progressive refinement, which follows the passes, or the direct light of a first pass
    /// that ends early. `state` is as in [`Self::pass_finished`].
    ///
    /// # Errors
    /// Returns the error of `state` if the state is unavailable.
    fn step_finished(&self, _state: &Snapshot<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Returns true once the work should stop. Solvers ask before work whose result could not be kept if they were
    /// stopped. [`Monitor::is_cancelled`] may still be false then, until the end of a pass or a shot.
    fn wants_to_stop(&self) -> bool {
        self.is_cancelled()
    }

    /// Returns true if there is memory for the given bytes of stored hits. Asked before hits are stored; if false, the
    /// work ends.
    fn has_room_for_hits(&self, _bytes: u64) -> bool {
        true
    }

    /// Returns the seconds left for the solver, zero or negative once it has to end. `None` if only
    /// [`SolverSettings::time_limit`] limits the time.
    fn seconds_left(&self) -> Option<f32> {
        None
    }

    /// Reports improved light after each pass and each shot. `light` returns it.
    fn light_improved(&self, _light: &dyn Fn() -> LightSoFar) {}
}

/// Present light of each element, as the [`Solution`] would contain it if the solver ended now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LightSoFar {
    /// Direct irradiance from lights, sky and emissive surfaces, in lux.
    pub direct: Vec<Vec3>,
    /// Irradiance that was reflected at least once, in lux.
    pub indirect: Vec<Vec3>,
    /// Visible fraction of each element.
    pub visible_fraction: Vec<f32>,
}

impl LightSoFar {
    pub(super) fn of(element_estimates: &[ElementEstimate]) -> Self {
        Self {
            direct: element_estimates
                .iter()
                .map(|element_estimate| element_estimate.light_sampled + element_estimate.bsdf_sampled)
                .collect(),
            indirect: element_estimates.iter().map(|element_estimate| element_estimate.indirect).collect(),
            visible_fraction: element_estimates
                .iter()
                .map(|element_estimate| element_estimate.visible_fraction)
                .collect(),
        }
    }
}

impl SolveObserver for Unmonitored {}

/// Computes the irradiance of all elements on the CPU.
///
/// # Errors
/// Returns an error if the observer cancels, or the checkpoint belongs to another bake. Also returns an error if the
/// scene cannot be divided into the requested subscenes.
pub fn solve(
    scene: &Arc<Scene>,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    resume: Option<SolverCheckpoint<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    let mut backend = CpuBackend::new(scene, world, elements, settings.seed);
    solve_with(&mut backend, scene, world, elements, settings, resume, observer)
}

/// Computes the irradiance of all elements on a backend, which must have been created for them and the settings' seed.
///
/// # Errors
/// Returns an error if the observer cancels, the checkpoint belongs to another bake, or the backend's device fails.
/// Also returns an error if the scene cannot be divided into the requested subscenes.
pub fn solve_with(
    backend: &mut dyn TransportBackend,
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    resume: Option<SolverCheckpoint<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    let observer = &ProgressShare::within(observer, settings.time_limit);
    match settings.method {
        Method::Progressive | Method::Counted => {
            bounces::solve(backend, scene, world, elements, settings, resume, observer)
        }
        Method::Gather | Method::Stochastic | Method::Path => {
            let mut passes = Passes::new(backend, scene, world, elements, settings, resume, observer)?;
            let solution = passes.solve(observer, 1.0)?;
            judged(scene, world, elements, settings, solution, backend.team(), observer)
        }
    }
}

/// Adds the residual to a solution. With a limited number of bounces it does not solve the equation, and has no
/// residual.
fn judged(
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    solution: Solution,
    team: Option<&dyn Team>,
    monitor: &dyn Monitor,
) -> Result<Solution, SolveError> {
    if settings.bounces.is_some() {
        return Ok(solution);
    }
    let transport = Transport::new(scene, world, elements, settings.seed);
    let Solution { ref direct, ref indirect, visible_fraction: ref visible, .. } = solution;
    let rays = rays_for(solution.rays, elements.len());
    let found = residual(&transport, &Claim { direct, indirect, visible, adaptation: &[], rays }, team, monitor)?;
    Ok(Solution { residual: found.relative, residual_standard_error: found.standard_error, ..solution })
}
