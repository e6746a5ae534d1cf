//! Saves a bake's checkpoints while its solver runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::checkpoint::CheckpointPayload;
use super::preview::Previewer;
use super::rate_limit::RateLimit;
use super::stage::StageMonitor;
use super::{BakeError, BakePass, CheckpointError, Checkpoints, InputsHash, Stage};
use crate::clock::Instant;
use crate::progress::Monitor;
use crate::radiosity::{LightSoFar, Pass, Snapshot, SolveObserver, SolverCheckpoint, StepError};

/// Least time between two checkpoints.
pub(super) const WORTH_KEEPING: Duration = Duration::from_millis(500);
/// Least ratio of the time between two checkpoints to the time that one takes.
const MIN_RATIO: u32 = 10;

/// Decides when a checkpoint is due, and saves it.
pub(super) struct CheckpointWriter {
    checkpoints: Checkpoints,
    inputs: InputsHash,
    /// Largest checkpoint that is read, bytes.
    max_bytes: u64,
    /// True if the bake resumes from an earlier checkpoint.
    resumes: bool,
    rate_limit: RateLimit,
    /// Error of the last checkpoint that could not be saved.
    failure: Mutex<Option<CheckpointError>>,
}

impl CheckpointWriter {
    pub fn new(checkpoints: Checkpoints, inputs: InputsHash, max_bytes: u64, resumes: bool) -> Self {
        Self {
            checkpoints,
            inputs,
            max_bytes,
            resumes,
            rate_limit: RateLimit::new(WORTH_KEEPING, MIN_RATIO),
            failure: Mutex::new(None),
        }
    }

    pub fn has_checkpoint(&self) -> bool {
        self.checkpoints.exist()
    }

    /// Removes the checkpoints of an earlier bake, unless this bake resumes from them.
    pub fn begin(&self) -> Result<(), CheckpointError> {
        if self.resumes { Ok(()) } else { self.checkpoints.remove() }
    }

    /// Returns the checkpoint of an earlier bake, if this bake resumes.
    pub fn resumed(&self) -> Result<Option<SolverCheckpoint<'static>>, BakeError> {
        if self.resumes { self.last_checkpoint() } else { Ok(None) }
    }

    /// Returns the last checkpoint, if there is one.
    fn last_checkpoint(&self) -> Result<Option<SolverCheckpoint<'static>>, BakeError> {
        let payload = self.checkpoints.load(self.inputs, self.max_bytes)?;
        let read = |mut payload: CheckpointPayload| {
            let bytes = payload.bytes;
            SolverCheckpoint::read(&mut payload, bytes)
        };
        Ok(payload.map(read).transpose()?)
    }

    /// Returns the error of the last checkpoint that was due, if it could not be saved.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    fn save(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.rate_limit.time(|| {
            let state = state()?;
            let saved = self.checkpoints.save(self.inputs, |out| state.write(out));
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = saved.err();
            Ok(())
        })
    }
}

/// Observer of a solver on behalf of a bake.
///
/// With a checkpoint writer, a request to stop is granted after a checkpoint at the end of a pass or a shot. Solvers
/// with long rounds learn of the request earlier and discard the running round.
pub(super) struct SolveWatch<'a> {
    monitor: &'a StageMonitor<'a>,
    checkpoint_writer: Option<&'a CheckpointWriter>,
    previewer: Option<Previewer<'a>>,
    hits_bytes: u64,
    foresight: Option<Foresight<'a>>,
    may_stop: AtomicBool,
}

/// Inputs for predicting the time of the stages after the solver, used when there is a time limit.
pub(super) struct Foresight<'a> {
    /// Trial of the later stages on the first light, to measure their time.
    pub rehearsal: Mutex<Option<Rehearsal<'a>>>,
    /// Rays that are traced for relighting after the solver.
    pub relight_rays: u64,
    /// Number of rays of the checkpoint that the solver resumed from.
    pub rays_before: u64,
    /// Start of the solver.
    pub began: Instant,
}

impl<'a> Foresight<'a> {
    fn take_rehearsal(&self) -> Option<Rehearsal<'a>> {
        self.rehearsal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Function that runs the later stages on the light so far, to measure their time.
pub(super) type Rehearsal<'a> = Box<dyn FnOnce(LightSoFar) + Send + 'a>;

impl<'a> SolveWatch<'a> {
    /// Creates an observer. Without a previewer there are no previews. Stored hits are limited to `hits_bytes`.
    pub fn new(
        monitor: &'a StageMonitor<'a>,
        checkpoint_writer: Option<&'a CheckpointWriter>,
        previewer: Option<Previewer<'a>>,
        hits_bytes: u64,
        foresight: Option<Foresight<'a>>,
    ) -> Self {
        Self {
            monitor,
            checkpoint_writer,
            previewer,
            hits_bytes,
            foresight,
            may_stop: AtomicBool::new(checkpoint_writer.is_none()),
        }
    }

    fn keep(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        let Some(checkpoint_writer) = self.checkpoint_writer else { return Ok(()) };
        let asked_to_stop = self.monitor.is_cancelled();
        if asked_to_stop || checkpoint_writer.rate_limit.is_due() {
            checkpoint_writer.save(state)?;
        }
        // Only a request that came before the save is granted: the checkpoint then holds all work.
        self.may_stop.store(asked_to_stop, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the last checkpoint, to resume from after a failure, if there is one.
    pub fn last_checkpoint(&self) -> Result<Option<SolverCheckpoint<'static>>, BakeError> {
        self.checkpoint_writer.map_or(Ok(None), CheckpointWriter::last_checkpoint)
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
        if let Some(foresight) = &self.foresight
            && rays > foresight.rays_before
        {
            let traced = (rays - foresight.rays_before) as f32;
            let of_ray = foresight.began.elapsed().as_secs_f32() / traced;
            self.monitor.limit.foresee(Stage::Relight, of_ray * foresight.relight_rays as f32);
        }
        self.keep(state)
    }

    fn step_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        self.keep(state)
    }

    fn wants_to_stop(&self) -> bool {
        self.monitor.is_cancelled()
    }

    fn has_room_for_hits(&self, bytes: u64) -> bool {
        bytes <= self.hits_bytes
    }

    fn seconds_left(&self) -> Option<f32> {
        self.monitor.seconds_left()
    }

    fn light_improved(&self, light: &dyn Fn() -> LightSoFar) {
        if let Some(rehearse) = self.foresight.as_ref().and_then(Foresight::take_rehearsal) {
            rehearse(light());
        }
        if let Some(previewer) = &self.previewer
            && self.monitor.observer.wants_preview()
            && previewer.is_due()
        {
            self.monitor.observer.preview(previewer.draw(light));
        }
    }
}
