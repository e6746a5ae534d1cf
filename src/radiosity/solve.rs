//! From a scene to its light: which method does it, who watches, and what may go wrong.

use std::sync::Arc;

use glam::Vec3;

use super::backend::{Reading, StepError, TransportBackend};
use super::cpu::{CpuBackend, Transport};
use super::partial::Partial;
use super::passes::Passes;
use super::residual::{Claim, rays_for, residual};
use super::{Method, Solution, SolverSettings, progressive};
use crate::geometry::RayQuery;
use crate::lightmap::Elements;
use crate::partition::PartitionError;
use crate::progress::{Cancelled, Monitor, Unmonitored};
use crate::scene::Scene;

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The monitor asked for it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The checkpoint belongs to another bake.
    #[error("the checkpoint is of another scene or other settings; bake without it")]
    OtherInputs,
    /// The scene cannot be cut into such subscenes.
    #[error(transparent)]
    Subscenes(#[from] PartitionError),
    /// What the backend runs on has failed: a graphics card that was lost, or has too little memory.
    #[error("{0}")]
    Device(String),
}

impl From<StepError> for SolveError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            StepError::Device(reason) => Self::Device(reason),
        }
    }
}

/// What a pass has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// How many passes have been done.
    pub number: u32,
    /// Estimated error, as [`Solution::error_estimate`] is.
    pub error: f32,
    /// Estimated error of the whole scene, as [`Solution::error_of_mean`] is.
    pub error_of_mean: f32,
    /// Gather rays of each element so far.
    pub gather_rays: u32,
    /// Rays traced so far.
    pub rays: u64,
}

/// Asks for all that a solver knows.
pub type Snapshot<'a> = dyn Fn() -> Result<Partial<'a>, StepError> + 'a;

/// Watches a solver.
pub trait SolveObserver: Monitor {
    /// Told after each pass. `state` answers all that the solver knows, which waits meanwhile; it may have to be fetched
    /// from a graphics card.
    ///
    /// # Errors
    /// What `state` answers when it cannot be had.
    fn pass_finished(&self, _pass: &Pass, _state: &Snapshot<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Told after each shot of progressive refinement, which follows when its passes are done. `state` as after a pass.
    ///
    /// # Errors
    /// What `state` answers when it cannot be had.
    fn shot_finished(&self, _state: &Snapshot<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Asked where stopping would leave work undone that cannot be kept: true once somebody wants the work to stop, even
    /// if [`Monitor::is_cancelled`] is yet to wait for the end of a pass or a shot.
    fn wants_to_stop(&self) -> bool {
        self.is_cancelled()
    }

    /// Told after each pass and each shot that the light is better than before; `light` answers it.
    fn light_improved(&self, _light: &dyn Fn() -> LightSoFar) {}
}

/// What the [`Solution`] would be were this the end, by element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LightSoFar {
    /// Irradiance straight from lights, sky and emissive surfaces, lux.
    pub direct: Vec<Vec3>,
    /// Irradiance that was reflected at least once, lux.
    pub indirect: Vec<Vec3>,
    /// How much of each element is open to light.
    pub visible_fraction: Vec<f32>,
}

impl LightSoFar {
    pub(super) fn of(readings: &[Reading]) -> Self {
        Self {
            direct: readings.iter().map(|reading| reading.aimed + reading.met).collect(),
            indirect: readings.iter().map(|reading| reading.indirect).collect(),
            visible_fraction: readings.iter().map(|reading| reading.visible_fraction).collect(),
        }
    }
}

impl SolveObserver for Unmonitored {}

/// Solves for the irradiance of all elements on the processor's cores.
///
/// # Errors
/// When the observer cancels, or the checkpoint to resume from belongs to another bake.
pub fn solve(
    scene: &Arc<Scene>,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    resume: Option<Partial<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    let mut backend = CpuBackend::new(scene, world, elements, settings.seed);
    solve_with(&mut backend, scene, world, elements, settings, resume, observer)
}

/// Solves for the irradiance of all elements of a scene on a backend that was made for them and the settings' seed.
///
/// # Errors
/// When the observer cancels, the checkpoint to resume from belongs to another bake, or the backend's device fails.
pub fn solve_with(
    backend: &mut dyn TransportBackend,
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    resume: Option<Partial<'_>>,
    observer: &dyn SolveObserver,
) -> Result<Solution, SolveError> {
    match settings.method {
        Method::Progressive => progressive::solve(backend, scene, world, elements, settings, resume, observer),
        Method::Gather | Method::Stochastic | Method::Path => {
            let solution = Passes::new(backend, scene, world, elements, settings, resume, observer)?.solve(observer)?;
            judged(scene, world, elements, settings, solution, observer)
        }
    }
}

/// The same solution with its residual, unless bounces were cut off: then it is not meant to solve the equation.
fn judged(
    scene: &Scene,
    world: &dyn RayQuery,
    elements: &Elements,
    settings: &SolverSettings,
    solution: Solution,
    monitor: &dyn Monitor,
) -> Result<Solution, SolveError> {
    if settings.bounces.is_some() {
        return Ok(solution);
    }
    let transport = Transport::new(scene, world, elements, settings.seed);
    let Solution { ref direct, ref indirect, visible_fraction: ref visible, .. } = solution;
    let rays = rays_for(solution.rays, elements.len());
    let found = residual(&transport, &Claim { direct, indirect, visible, adaptation: &[], rays }, monitor)?;
    Ok(Solution { residual: found.relative, residual_standard_error: found.standard_error, ..solution })
}
