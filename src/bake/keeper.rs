//! Keeps a bake's checkpoints while its solver runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::pace::Pace;
use super::preview::Previewer;
use super::stage::StageMonitor;
use super::{BakeError, BakePass, CheckpointError, Checkpoints, InputsHash};
use crate::progress::Monitor;
use crate::radiosity::{LightSoFar, Partial, Pass, Snapshot, SolveObserver, StepError};

/// Work that is worth keeping.
const WORTH_KEEPING: Duration = Duration::from_millis(500);

/// Decides when a checkpoint is due, and saves it.
pub(super) struct Keeper {
    checkpoints: Checkpoints,
    inputs: InputsHash,
    /// Goes on from what is there.
    resumes: bool,
    pace: Pace,
    /// Why the last checkpoint could not be saved.
    failure: Mutex<Option<CheckpointError>>,
}

impl Keeper {
    pub fn new(checkpoints: Checkpoints, inputs: InputsHash, resumes: bool) -> Self {
        Self { checkpoints, inputs, resumes, pace: Pace::new(WORTH_KEEPING), failure: Mutex::new(None) }
    }

    pub fn has_checkpoint(&self) -> bool {
        self.checkpoints.exist()
    }

    /// Removes what an earlier bake left, unless this one goes on from it.
    pub fn begin(&self) -> Result<(), CheckpointError> {
        if self.resumes { Ok(()) } else { self.checkpoints.remove() }
    }

    /// The checkpoint of an earlier bake, if this one goes on from it.
    pub fn resumed(&self) -> Result<Option<Partial<'static>>, BakeError> {
        if self.resumes { self.last_checkpoint() } else { Ok(None) }
    }

    /// The last checkpoint, if there is one.
    fn last_checkpoint(&self) -> Result<Option<Partial<'static>>, BakeError> {
        let payload = self.checkpoints.load(self.inputs)?;
        Ok(payload.map(|payload| Partial::from_bytes(&payload)).transpose()?)
    }

    /// Why the last checkpoint that was due could not be saved.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    fn save(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.pace.time(|| {
            let state = state()?;
            let saved = self.checkpoints.save(self.inputs, |out| state.write(out));
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = saved.err();
            Ok(())
        })
    }
}

/// Watches a solver for a bake: with a keeper, the wish to stop is granted after a checkpoint at the end of a pass or a
/// shot. Solvers whose rounds take long hear of it before, and give their round up.
pub(super) struct SolveWatch<'a> {
    monitor: &'a StageMonitor<'a>,
    keeper: Option<&'a Keeper>,
    previewer: Previewer<'a>,
    may_stop: AtomicBool,
}

impl<'a> SolveWatch<'a> {
    pub fn new(monitor: &'a StageMonitor<'a>, keeper: Option<&'a Keeper>, previewer: Previewer<'a>) -> Self {
        Self { monitor, keeper, previewer, may_stop: AtomicBool::new(keeper.is_none()) }
    }

    fn keep(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        let Some(keeper) = self.keeper else { return Ok(()) };
        let asked_to_stop = self.monitor.is_cancelled();
        if asked_to_stop || keeper.pace.is_due() {
            keeper.save(state)?;
        }
        // Only a wish that came before the save is granted now: what is done next is kept first.
        self.may_stop.store(asked_to_stop, Ordering::Relaxed);
        Ok(())
    }

    /// What to go on from after a failure, if anything has been kept.
    pub fn last_checkpoint(&self) -> Result<Option<Partial<'static>>, BakeError> {
        self.keeper.map_or(Ok(None), Keeper::last_checkpoint)
    }
}

impl Monitor for SolveWatch<'_> {
    fn progress(&self, fraction: f32) {
        self.monitor.progress(fraction);
    }

    fn is_cancelled(&self) -> bool {
        self.may_stop.load(Ordering::Relaxed) && self.monitor.is_cancelled()
    }
}

impl SolveObserver for SolveWatch<'_> {
    fn pass_finished(&self, pass: &Pass, state: &Snapshot<'_>) -> Result<(), StepError> {
        let seconds = self.monitor.bake_started.elapsed().as_secs_f32();
        let Pass { error, error_of_mean, rays, .. } = *pass;
        self.monitor.observer.pass_finished(BakePass { seconds, error, error_of_mean, rays });
        self.keep(state)
    }

    fn shot_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.keep(state)
    }

    fn wants_to_stop(&self) -> bool {
        self.monitor.is_cancelled()
    }

    fn light_improved(&self, light: &dyn Fn() -> LightSoFar) {
        if self.monitor.observer.wants_preview() && self.previewer.is_due() {
            self.monitor.observer.preview(self.previewer.draw(light));
        }
    }
}
