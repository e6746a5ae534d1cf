//! Progress of background bakes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bevy::diagnostic::{DiagnosticPath, Diagnostics};
use bevy::prelude::*;

use crate::bake::{BakePass, Observer, Progress, Stage};

/// Fraction of the running bake that is done, in percent.
pub const BAKE_PROGRESS: DiagnosticPath = DiagnosticPath::const_new("bake/progress");

/// Estimated relative error after each pass of the running bake, in percent; see [`BakeConvergence`].
pub const BAKE_ERROR: DiagnosticPath = DiagnosticPath::const_new("bake/error");

/// Main thread time per frame that reads the world for a bake, in milliseconds.
pub const BAKE_MAIN_THREAD: DiagnosticPath = DiagnosticPath::const_new("bake/main_thread");

/// Phase of a bake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Default, Debug, Clone, PartialEq)]
pub enum BakePhase {
    /// No bake is running. The default.
    #[default]
    Idle,
    /// The Bevy world is being read.
    Reading,
    /// The bake is being solved, in this stage.
    Solving(Stage),
    /// Lightmaps are being attached to entities.
    Showing,
}

/// Progress of the running bake.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct BakeProgress {
    /// Current phase.
    pub phase: BakePhase,
    /// Fraction that is done, from 0 to 1.
    pub fraction: f32,
    /// Estimated remaining time, in seconds. `None` before an estimate exists.
    pub seconds_left: Option<f32>,
}

impl BakeProgress {
    /// Returns true while a bake is running.
    pub fn is_baking(&self) -> bool {
        self.phase != BakePhase::Idle
    }
}

/// Convergence of the running or latest bake.
#[derive(Resource, Clone, Debug, Default, PartialEq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct BakeConvergence {
    /// Error and time after each pass of the solver, in order.
    pub passes: Vec<BakePass>,
}

/// Measures the progress and the error of the running bake.
pub fn measure(progress: Res<BakeProgress>, convergence: Res<BakeConvergence>, mut diagnostics: Diagnostics) {
    diagnostics.add_measurement(&BAKE_PROGRESS, || 100.0 * f64::from(progress.fraction));
    if convergence.is_changed()
        && let Some(pass) = convergence.passes.last()
    {
        diagnostics.add_measurement(&BAKE_ERROR, || 100.0 * f64::from(pass.error));
    }
}

/// Run condition: a bake is running.
pub fn bake_running(progress: Option<Res<BakeProgress>>) -> bool {
    progress.is_some_and(|progress| progress.is_baking())
}

/// Shared state of the solver's thread and the main thread: progress one way, cancellation the other.
#[derive(Default)]
pub struct Watch {
    pub progress: Mutex<Option<Progress>>,
    pub passes: Mutex<Vec<BakePass>>,
    pub cancelled: AtomicBool,
}

impl Observer for Watch {
    fn progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    fn pass_finished(&self, pass: BakePass) {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner).push(pass);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
