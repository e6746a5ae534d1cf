//! The bake as the page sees it.

use std::sync::mpsc::TryRecvError;
use std::sync::{Arc, PoisonError};

use bevy::prelude::error;

use super::message::{Line, Message};
use super::read::{ReadError, read};
use super::request::{Damaged, encode};
use crate::bake::{BakeError, Observer};
use crate::plugin::background::{Fault, RadiosityThreads, Task};
use crate::plugin::job::events::{Bake, BakeFailure};
use crate::plugin::job::preview::PreviewingWatch;
use crate::plugin::job::progress::Watch;
use crate::plugin::job::solve::{Solved, open};
use crate::plugin::job::targets::Originals;
use crate::plugin::sync::WorldScene;
use crate::progress::Cancelled;
use crate::radiosity::Content;
use crate::scene::Scene;

/// Function that starts a worker with the parts of a request. Its error is a sentence for the user.
pub type Start<Worker> = fn(Vec<Vec<u8>>) -> Result<Line<Worker>, String>;

/// Bake that a worker solves.
pub struct WorkerSolver<Worker> {
    start: Start<Worker>,
    watch: Arc<Watch>,
    content: Content,
    state: State<Worker>,
}

/// Scene that was sent, with the entities of its surfaces.
struct Sent {
    scene: Scene,
    originals: Originals,
}

enum State<Worker> {
    Encoding(Task<Result<(Vec<Vec<u8>>, Box<Sent>), Damaged>>),
    Solving { line: Line<Worker>, has_begun: bool, parts: Vec<Vec<u8>>, sent: Box<Sent> },
    Reading(Task<Result<Solved, ReadError>>),
    Over,
}

#[cfg(target_arch = "wasm32")]
pub type Solver = WorkerSolver<super::page::WebWorker>;

#[cfg(target_arch = "wasm32")]
impl Solver {
    /// Starts the bake.
    ///
    /// # Errors
    ///
    /// Returns an error if its folder or device cannot be had.
    pub fn start(bake: Bake, world: WorldScene, observer: PreviewingWatch) -> Result<Self, BakeFailure> {
        Self::start_by(super::page::start, bake, world, observer)
    }
}

impl<Worker> WorkerSolver<Worker> {
    pub fn start_by(
        start: Start<Worker>,
        bake: Bake,
        world: WorldScene,
        observer: PreviewingWatch,
    ) -> Result<Self, BakeFailure> {
        open(&bake)?;
        let content = bake.settings.solver.content;
        let sent = Box::new(Sent { scene: world.scene, originals: world.surfaces });
        let work = move || async move {
            let parts = encode(&sent.scene, &bake.settings).await?;
            Ok((parts, sent))
        };
        let task = Task::start("request of a bake", RadiosityThreads::default(), work).map_err(BakeFailure::Threads)?;
        Ok(Self { start, watch: observer.watch, content, state: State::Encoding(task) })
    }

    /// Returns the result once the bake has ended, and `None` before.
    pub fn poll(&mut self) -> Option<Result<Solved, BakeFailure>> {
        let result = if self.watch.is_cancelled() {
            Err(BakeFailure::Bake(BakeError::Cancelled(Cancelled)))
        } else {
            self.advance().transpose()?
        };
        self.state = State::Over;
        Some(result)
    }

    fn advance(&mut self) -> Result<Option<Solved>, BakeFailure> {
        match &mut self.state {
            State::Encoding(task) => {
                let Some(ended) = task.poll() else { return Ok(None) };
                let (parts, sent) = of_task(ended)?;
                let line = (self.start)(parts).map_err(BakeFailure::Threads)?;
                self.state = State::Solving { line, has_begun: false, parts: Vec::new(), sent };
            }
            State::Solving { line, has_begun, parts, .. } => {
                if !hear(line, &self.watch, has_begun, parts)? {
                    return Ok(None);
                }
                let State::Solving { line, parts, sent, .. } = core::mem::replace(&mut self.state, State::Over) else {
                    return Err(BakeFailure::Fault);
                };
                // The worker's memory is free before the page needs more.
                drop(line);
                let content = self.content;
                let work = move || async move { read(parts, &sent.originals, sent.scene, content).await };
                let task = Task::start("result of a bake", RadiosityThreads::default(), work);
                self.state = State::Reading(task.map_err(BakeFailure::Threads)?);
            }
            State::Reading(task) => return task.poll().map(of_task).transpose(),
            State::Over => return Err(BakeFailure::Fault),
        }
        Ok(None)
    }
}

/// Returns the result of a task. Its errors are faults of this crate.
fn of_task<T, E: core::fmt::Display>(ended: Result<Result<T, E>, Fault>) -> Result<T, BakeFailure> {
    let done = ended.map_err(|Fault| BakeFailure::Fault)?;
    done.map_err(|fault| {
        error!("{fault}");
        BakeFailure::Fault
    })
}

/// Takes all messages that have arrived. Returns true once all parts of the result are there.
fn hear<Worker>(
    line: &mut Line<Worker>,
    watch: &Watch,
    has_begun: &mut bool,
    parts: &mut Vec<Vec<u8>>,
) -> Result<bool, BakeFailure> {
    let messages = line.messages.get_mut().unwrap_or_else(PoisonError::into_inner);
    loop {
        let bytes = match messages.try_recv() {
            Ok(bytes) => bytes,
            Err(TryRecvError::Empty) => return Ok(false),
            // The worker is gone.
            Err(TryRecvError::Disconnected) if *has_begun => return Err(BakeFailure::Fault),
            Err(TryRecvError::Disconnected) => return Err(BakeFailure::Threads(REFUSED.to_owned())),
        };
        let message = postcard::from_bytes(&bytes).map_err(|fault| {
            error!("{}", Damaged::from(fault));
            BakeFailure::Fault
        })?;
        match message {
            Message::Begun => *has_begun = true,
            Message::Progress(progress) => watch.progress(progress),
            Message::Pass(pass) => watch.pass_finished(pass),
            Message::Part(part) => parts.push(part),
            Message::Done => return Ok(true),
            Message::Failed(reason) => return Err(BakeFailure::Worker(reason)),
        }
    }
}

/// Reason of a worker that never began.
const REFUSED: &str = "the browser did not run its worker, and the console may say why; if the page has a \
                       `Content-Security-Policy`, let it allow `worker-src blob:`";
