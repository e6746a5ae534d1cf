//! Keeps a bake's checkpoints while its solver runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::stage::StageMonitor;
use super::{BakeError, BakePass, CheckpointError, Checkpoints, InputsHash};
use crate::progress::Monitor;
use crate::radiosity::{Partial, Pass, Snapshot, SolveObserver, StepError};

/// A checkpoint may cost this share of the time since the last one.
const SHARE_OF_TIME: u32 = 10;
/// Work that is worth keeping.
const WORTH_KEEPING: Duration = Duration::from_millis(500);

/// Decides when a checkpoint is due, and saves it.
pub(super) struct Keeper {
    checkpoints: Checkpoints,
    inputs: InputsHash,
    state: Mutex<State>,
}

struct State {
    last_saved: Instant,
    last_cost: Duration,
    failure: Option<CheckpointError>,
}

impl Keeper {
    pub fn new(checkpoints: Checkpoints, inputs: InputsHash) -> Self {
        let state = State { last_saved: Instant::now(), last_cost: Duration::ZERO, failure: None };
        Self { checkpoints, inputs, state: Mutex::new(state) }
    }

    pub fn has_checkpoint(&self) -> bool {
        self.checkpoints.exist()
    }

    /// Removes what an earlier bake left.
    pub fn forget(&self) -> Result<(), CheckpointError> {
        self.checkpoints.remove()
    }

    /// What to go on from, if there is something.
    pub fn resume(&self) -> Result<Option<Partial<'static>>, BakeError> {
        let payload = self.checkpoints.load(self.inputs)?;
        Ok(payload.map(|payload| Partial::from_bytes(&payload)).transpose()?)
    }

    /// Why the last checkpoint that was due could not be saved.
    pub fn failure(&self) -> Option<String> {
        self.state().failure.as_ref().map(ToString::to_string)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_due(&self) -> bool {
        let state = self.state();
        state.last_saved.elapsed() >= WORTH_KEEPING.max(SHARE_OF_TIME * state.last_cost)
    }

    fn save(&self, state: &Partial<'_>) {
        let started = Instant::now();
        let result = self.checkpoints.save(self.inputs, |out| state.write(out));
        *self.state() = State { last_saved: Instant::now(), last_cost: started.elapsed(), failure: result.err() };
    }
}

/// Watches a solver for a bake: with a keeper, the wish to stop is granted after a checkpoint at the end of a pass.
pub(super) struct SolveWatch<'a> {
    monitor: &'a StageMonitor<'a>,
    keeper: Option<&'a Keeper>,
    may_stop: AtomicBool,
}

impl<'a> SolveWatch<'a> {
    pub fn new(monitor: &'a StageMonitor<'a>, keeper: Option<&'a Keeper>) -> Self {
        Self { monitor, keeper, may_stop: AtomicBool::new(keeper.is_none()) }
    }

    /// What to go on from after a failure, if anything has been kept.
    #[cfg(feature = "gpu")]
    pub fn last_checkpoint(&self) -> Result<Option<Partial<'static>>, BakeError> {
        self.keeper.map_or(Ok(None), Keeper::resume)
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
        self.monitor.observer.pass_finished(BakePass { seconds, error: pass.error, rays: pass.rays });
        let Some(keeper) = self.keeper else { return Ok(()) };
        let asked_to_stop = self.monitor.is_cancelled();
        if asked_to_stop || keeper.is_due() {
            keeper.save(&state()?);
        }
        // Only a wish that came before the save is granted now: what is done next is kept first.
        self.may_stop.store(asked_to_stop, Ordering::Relaxed);
        Ok(())
    }

    fn passes_are_over(&self) {
        self.may_stop.store(true, Ordering::Relaxed);
    }
}
