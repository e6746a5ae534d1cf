//! Bakes the Bevy world in the background.
//!
//! ```text
//! trigger(Bake) -> read the world, a little a frame -> a thread solves -> write back, a little a frame -> BakeFinished
//! ```
//!
//! The solver's threads are its own and leave the game a core. [`BakeProgress`] says where it is; [`CancelBake`] ends it.

mod preview;
mod solve;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use bevy::prelude::*;

use super::sync::{AssetCache, Purpose, SceneCounts, SceneReader, SceneStatus, WorldReading, WorldScene};
use super::tree_cells::TreeCells;
use super::write_back::{Batch, BatchTimes, Batches, LitLights, exchange_volume};
use crate::bake::{BakeError, BakePass, BakeSettings, Observer, Progress, Report, Stage};
use crate::radiosity::Content;
use preview::Previews;
use solve::Solved;
pub use solve::uv_rect;

/// Trigger it to bake the world as it is: `commands.trigger(Bake::default())`.
///
/// It ends in [`BakeFinished`] or [`BakeFailed`]. A bake that is triggered while one is running is refused.
#[derive(Event, Clone, Debug, Default)]
pub struct Bake {
    /// How to bake.
    pub settings: BakeSettings,
    /// Threads that solve; `None` takes all of the machine's but one, which is the game's.
    pub threads: Option<usize>,
    /// Where to write the level as well, for a later [`BakedLevel`](super::BakedLevel). `None` writes nothing.
    pub folder: Option<PathBuf>,
    /// Shows the light so far while it is being solved for, again and again, in place of what was baked before.
    pub preview: bool,
}

/// Trigger it to end the bake that is running. What is shown stays: a preview, or what has been baked before.
#[derive(Event, Clone, Copy, Debug, Default)]
pub struct CancelBake;

/// Triggered in the frame in which the lightmaps come.
#[derive(Event, Clone, Debug)]
pub struct BakeFinished {
    /// How the bake went. Its warnings name what was left out.
    pub report: Report,
    /// What it took of the main thread.
    pub times: BatchTimes,
}

/// Triggered when a bake ends without lightmaps. What is shown stays: a preview, or what has been baked before.
#[derive(Event, Clone, Debug)]
pub struct BakeFailed {
    /// Why.
    pub error: Arc<BakeFailure>,
}

/// Why a bake in the background ended without lightmaps.
#[derive(Debug, thiserror::Error)]
pub enum BakeFailure {
    /// The bake itself failed, or was cancelled.
    #[error(transparent)]
    Bake(#[from] BakeError),
    /// The system gave no threads.
    #[error("the bake could not start its threads: {0}")]
    Threads(String),
    /// A fault of this crate.
    #[error("the bake stopped by a fault of its own; please report it with the scene")]
    Fault,
}

impl BakeFailure {
    /// True when it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Bake(BakeError::Cancelled(_)))
    }
}

/// What a bake is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BakePhase {
    /// No bake is running.
    #[default]
    Idle,
    /// The Bevy world is being read.
    Reading,
    /// Light is being solved for.
    Solving(Stage),
    /// Lightmaps are on their way to the entities.
    Showing,
}

/// Where the running bake is.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct BakeProgress {
    /// What it is doing.
    pub phase: BakePhase,
    /// How much of it is done, from 0 to 1.
    pub fraction: f32,
    /// Seconds that the rest will take, once that can be judged.
    pub seconds_left: Option<f32>,
}

impl BakeProgress {
    /// True while a bake is running.
    pub fn is_baking(&self) -> bool {
        self.phase != BakePhase::Idle
    }
}

/// How the light of the running bake, or else of the last one, has become better.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct BakeConvergence {
    /// One for each pass of the solver, in order.
    pub passes: Vec<BakePass>,
}

/// Bakes in the background.
pub struct BakePlugin;

impl Plugin for BakePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<BakeProgress>()
            .init_resource::<BakeConvergence>()
            .init_resource::<TreeCells>()
            .init_resource::<Job>()
            // At the end of a frame what was spawned in it has its place and is visible. In this order every bake,
            // however quick, is seen to be solving for a frame.
            .add_systems(Last, (poll_solver, read_world).chain())
            .add_observer(start)
            .add_observer(cancel);
    }
}

/// The bake that is running.
#[derive(Resource, Default)]
enum Job {
    #[default]
    Idle,
    Reading(Reading),
    Solving(Solving),
    Showing,
}

struct Reading {
    bake: Bake,
    world: WorldReading,
}

struct Solving {
    /// Taken when it is joined.
    thread: Option<JoinHandle<Result<Solved, BakeFailure>>>,
    watch: Arc<Watch>,
    lights: LitLights,
    warnings: Vec<String>,
}

impl Drop for Solving {
    fn drop(&mut self) {
        self.watch.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Carries progress and previews out of the solver's thread and the wish to stop into it.
#[derive(Default)]
struct Watch {
    progress: Mutex<Option<Progress>>,
    passes: Mutex<Vec<BakePass>>,
    previews: Previews,
    cancelled: AtomicBool,
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

fn start(bake: On<Bake>, mut job: ResMut<Job>, mut progress: ResMut<BakeProgress>) {
    if !matches!(*job, Job::Idle) {
        warn!("a bake is running already; cancel it with `CancelBake` before starting another");
        return;
    }
    *progress = BakeProgress { phase: BakePhase::Reading, ..default() };
    *job = Job::Reading(Reading { bake: bake.clone(), world: WorldReading::new(Purpose::Bake) });
}

fn cancel(_: On<CancelBake>, mut commands: Commands, mut job: ResMut<Job>, mut progress: ResMut<BakeProgress>) {
    match &*job {
        Job::Reading(_) => {
            *job = Job::Idle;
            *progress = BakeProgress::default();
            let cancelled = BakeFailure::Bake(BakeError::Cancelled(crate::progress::Cancelled));
            commands.trigger(BakeFailed { error: Arc::new(cancelled) });
        }
        Job::Solving(solving) => solving.watch.cancelled.store(true, Ordering::Relaxed),
        Job::Idle | Job::Showing => {}
    }
}

/// Reads what the bake needs, as far as the frame's budget goes; then starts the solver.
fn read_world(
    mut commands: Commands,
    mut job: ResMut<Job>,
    mut cache: ResMut<AssetCache>,
    mut status: ResMut<SceneStatus>,
    mut progress: ResMut<BakeProgress>,
    reader: SceneReader,
) {
    let Job::Reading(reading) = &mut *job else {
        return;
    };
    let Some((scene, read)) = reading.world.advance(&reader, &mut cache) else {
        return;
    };
    status.changed = SceneCounts::default();
    status.last_read = Some(read);
    let bake = reading.bake.clone();
    match Solving::start(bake, scene, reader.has_baked_ambient()) {
        Ok(solving) => {
            *progress = BakeProgress { phase: BakePhase::Solving(Stage::Check), ..default() };
            *job = Job::Solving(solving);
        }
        Err(error) => {
            error!("{error}");
            *progress = BakeProgress::default();
            *job = Job::Idle;
            commands.trigger(BakeFailed { error: Arc::new(error) });
        }
    }
}

impl Solving {
    fn start(bake: Bake, world: WorldScene, ambient: bool) -> Result<Self, BakeFailure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = bake.threads.unwrap_or(cores.saturating_sub(1)).max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("bake {index}"))
            .build()
            .map_err(|error| BakeFailure::Threads(error.to_string()))?;
        let full = bake.settings.solver.content == Content::Full;
        let lights = world.lights.clone();
        let lights = if full { LitLights { lights, ambient, is_direct: true } } else { LitLights::default() };
        let warnings = world.warnings.clone();
        let previews = if bake.preview { Previews::wanted() } else { Previews::default() };
        let watch = Arc::new(Watch { previews, ..Watch::default() });
        let observer = Arc::clone(&watch);
        let thread = std::thread::Builder::new()
            .name("bake".to_owned())
            .spawn(move || pool.install(|| solve::solve(&bake, world, &observer)))
            .map_err(|error| BakeFailure::Threads(error.to_string()))?;
        Ok(Self { thread: Some(thread), watch, lights, warnings })
    }
}

/// Looks whether the solver is done, and hands its result to the write-back.
fn poll_solver(
    mut commands: Commands,
    mut job: ResMut<Job>,
    mut batches: ResMut<Batches>,
    mut progress: ResMut<BakeProgress>,
    mut convergence: ResMut<BakeConvergence>,
) {
    let Job::Solving(solving) = &*job else {
        return;
    };
    let passes = solving.watch.passes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    convergence.set_if_neq(BakeConvergence { passes });
    if !solving.thread.as_ref().is_none_or(JoinHandle::is_finished) {
        let latest = *solving.watch.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Progress { stage, total, seconds_left, .. }) = latest {
            progress.set_if_neq(BakeProgress { phase: BakePhase::Solving(stage), fraction: total, seconds_left });
        }
        if let Some(batch) = solving.watch.previews.take(&solving.lights) {
            batches.push(batch);
        }
        return;
    }
    let Job::Solving(solving) = core::mem::take(&mut *job) else {
        return;
    };
    match solving.finish() {
        Ok((solved, lights, warnings)) => {
            *job = Job::Showing;
            *progress = BakeProgress { phase: BakePhase::Showing, fraction: 1.0, seconds_left: None };
            let Solved { targets, pages, mut report, volume, validity, tree, relight } = solved;
            report.warnings.splice(0..0, warnings);
            batches.push(Batch::bake(targets, pages, lights).on_attached(move |world, times| {
                exchange_volume(world, volume.as_deref());
                world.insert_resource(validity);
                world.insert_resource(tree);
                world.insert_resource(relight);
                *world.resource_mut::<Job>() = Job::Idle;
                *world.resource_mut::<BakeProgress>() = BakeProgress::default();
                world.trigger(BakeFinished { report, times });
            }));
        }
        Err(error) => {
            *progress = BakeProgress::default();
            if !error.is_cancelled() {
                error!("{error}");
            }
            commands.trigger(BakeFailed { error: Arc::new(error) });
        }
    }
}

impl Solving {
    fn finish(mut self) -> Result<(Solved, LitLights, Vec<String>), BakeFailure> {
        let lights = core::mem::take(&mut self.lights);
        let warnings = core::mem::take(&mut self.warnings);
        let thread = self.thread.take().ok_or(BakeFailure::Fault)?;
        let solved = thread.join().unwrap_or(Err(BakeFailure::Fault))?;
        Ok((solved, lights, warnings))
    }
}
