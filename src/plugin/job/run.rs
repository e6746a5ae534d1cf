//! State of the running bake, and its steps.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use bevy::diagnostic::Diagnostics;
use bevy::prelude::*;

use super::events::{Bake, BakeFailed, BakeFailure, BakeFinished, CancelBake};
use super::preview::{PreviewingWatch, Previews};
use super::progress::{BAKE_MAIN_THREAD, BakeConvergence, BakePhase, BakeProgress, Watch};
use super::solve::{BakedPlace, Solved};
#[cfg(not(target_arch = "wasm32"))]
use super::thread::Solver;
#[cfg(target_arch = "wasm32")]
use super::web_worker::Solver;
use crate::bake::{BakeError, Progress, Stage};
use crate::clock;
use crate::plugin::assets::AssetFolder;
use crate::plugin::background::RadiosityThreads;
use crate::plugin::state::LitLights;
use crate::plugin::sync::{
    AssetCache, Loading, LoadingAssets, Purpose, SceneReader, SceneStatus, WorldReading, WorldScene, list_names,
};
use crate::plugin::write_back::{Batch, Batches, NewBake, Owner, exchange_volume};
use crate::radiosity::Content;

/// State of the running bake.
#[derive(Resource, Default)]
pub enum Job {
    #[default]
    Idle,
    Reading(Reading),
    Solving(Solving),
    Showing,
}

pub struct Reading {
    bake: Box<Bake>,
    world: WorldReading,
    /// True while assets are still loading.
    is_waiting: bool,
    frames_of_spawning: u32,
}

pub struct Solving {
    solver: Solver,
    watch: Arc<Watch>,
    previews: Arc<Previews>,
    new_bake: NewBake,
    warnings: Vec<String>,
}

impl Drop for Solving {
    fn drop(&mut self) {
        self.watch.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Run condition: a bake reads the world, or is being solved.
pub fn has_work(job: Res<Job>) -> bool {
    matches!(*job, Job::Reading(_) | Job::Solving(_))
}

/// Starts a bake.
pub fn start(
    bake: On<Bake>,
    mut commands: Commands,
    mut job: ResMut<Job>,
    mut progress: ResMut<BakeProgress>,
    threads: Res<RadiosityThreads>,
    assets: Res<AssetFolder>,
) {
    if !matches!(*job, Job::Idle) {
        warn!("{}", BakeFailure::Busy);
        commands.trigger(BakeFailed { error: Arc::new(BakeFailure::Busy) });
        return;
    }
    *progress = BakeProgress { phase: BakePhase::Reading, ..default() };
    let folder = bake.folder.as_ref().map(|folder| assets.join(folder));
    let bake = Bake { threads: bake.threads.or(threads.max), folder, ..bake.clone() };
    *job = Job::Reading(Reading {
        bake: Box::new(bake),
        world: WorldReading::new(Purpose::Bake),
        is_waiting: false,
        frames_of_spawning: 0,
    });
}

/// Stops the bake.
pub fn cancel(_: On<CancelBake>, mut commands: Commands, mut job: ResMut<Job>, mut progress: ResMut<BakeProgress>) {
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

/// Maximum number of frames in which a bake waits for the entities of files that have loaded.
const FRAMES_TO_SPAWN: u32 = 120;

/// Lets the bake wait for assets that are still loading.
pub fn wait_for_assets(mut job: ResMut<Job>, assets: LoadingAssets) {
    let Job::Reading(reading) = job.bypass_change_detection() else {
        return;
    };
    let Loading { loading, spawning, all } = assets.count();
    reading.frames_of_spawning = if loading == 0 && spawning > 0 { reading.frames_of_spawning + 1 } else { 0 };
    let waits = loading > 0 || (1..=FRAMES_TO_SPAWN).contains(&reading.frames_of_spawning);
    if waits && !reading.is_waiting {
        info!("the bake waits: {} of {all} assets are still loading", loading + spawning);
    }
    if reading.is_waiting && !waits {
        // The world has other entities now.
        reading.world = WorldReading::new(Purpose::Bake);
    }
    reading.is_waiting = waits;
}

/// Reads the world within the frame's budget, then starts the solver.
pub fn read_world(
    mut commands: Commands,
    mut job: ResMut<Job>,
    mut cache: ResMut<AssetCache>,
    mut status: ResMut<SceneStatus>,
    mut progress: ResMut<BakeProgress>,
    mut diagnostics: Diagnostics,
    reader: SceneReader,
) {
    let Job::Reading(reading) = &mut *job else {
        return;
    };
    if reading.is_waiting {
        return;
    }
    let started = clock::now();
    let read = reading.world.advance(&reader, &mut cache);
    diagnostics.add_measurement(&BAKE_MAIN_THREAD, || 1e3 * started.elapsed().as_secs_f64());
    let Some((scene, read)) = read else {
        return;
    };
    status.forget_changes();
    status.last_read = Some(read);
    let bake = (*reading.bake).clone();
    info!("a bake begins: surfaces {}, lights {}", scene.scene.surfaces.len(), scene.scene.lights.len());
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
        let is_direct = bake.settings.solver.content == Content::Full;
        let lit = LitLights { ambient: ambient && is_direct, is_direct };
        let lights = if is_direct { world.lights.clone() } else { Vec::new() };
        let padding = bake.settings.layout.padding;
        let new_bake = NewBake { owner: Owner::App, lit, lights, padding };
        let warnings = world.warnings.clone();
        let (watch, previews) = (Arc::new(Watch::default()), Arc::new(Previews::new(bake.preview)));
        let observer = PreviewingWatch { watch: Arc::clone(&watch), previews: Arc::clone(&previews) };
        let solver = Solver::start(bake, world, observer)?;
        Ok(Self { solver, watch, previews, new_bake, warnings })
    }
}

/// Tolerance for transforms of surfaces that have not moved.
const ROUNDING: f32 = 1e-5;

/// Returns warnings about surfaces that were despawned or moved during the bake.
fn changes_since(places: &[BakedPlace], transforms: &Query<&GlobalTransform, With<Mesh3d>>) -> Vec<String> {
    let (mut gone, mut moved) = (Vec::new(), Vec::new());
    for BakedPlace { entity, name, to_world } in places {
        match transforms.get(*entity) {
            Err(_) => gone.push(name.as_str()),
            Ok(now) if !now.affine().abs_diff_eq(*to_world, ROUNDING) => moved.push(name.as_str()),
            Ok(_) => {}
        }
    }
    let say = |names: Vec<&str>, change: &str| {
        let names = list_names(&names)?;
        Some(format!("{change} during the bake: {names}; their shadows and reflected light are as before it"))
    };
    [say(gone, "despawned"), say(moved, "moved")].into_iter().flatten().collect()
}

/// Polls the solver, and passes its result to the write-back.
pub fn poll_solver(
    mut commands: Commands,
    mut job: ResMut<Job>,
    mut batches: ResMut<Batches>,
    mut progress: ResMut<BakeProgress>,
    mut convergence: ResMut<BakeConvergence>,
    transforms: Query<&GlobalTransform, With<Mesh3d>>,
) {
    let Job::Solving(solving) = &mut *job else {
        return;
    };
    // The solver has ended before its passes are read, so that none is missed.
    let ended = solving.solver.poll();
    let passes = solving.watch.passes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    convergence.set_if_neq(BakeConvergence { passes });
    let Some(ended) = ended else {
        let latest = *solving.watch.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Progress { stage, total, seconds_left, .. }) = latest {
            progress.set_if_neq(BakeProgress { phase: BakePhase::Solving(stage), fraction: total, seconds_left });
        }
        if let Some(batch) = solving.previews.take(&solving.new_bake) {
            batches.drop_levels();
            batches.push(batch);
        }
        return;
    };
    let (new_bake, warnings) = (core::mem::take(&mut solving.new_bake), core::mem::take(&mut solving.warnings));
    *job = Job::Idle;
    match ended {
        Ok(solved) => {
            *job = Job::Showing;
            *progress = BakeProgress { phase: BakePhase::Showing, fraction: 1.0, seconds_left: None };
            let Solved { targets, pages, mut report, volume, validity, tree, relight, places } = solved;
            report.warnings.splice(0..0, warnings);
            report.warnings.extend(changes_since(&places, &transforms));
            report.warnings.iter().for_each(|warning| warn!("{warning}"));
            info!(
                "a bake ends: backend {}, surfaces {}, elements {}, error {:.1} %, time {:.1} s",
                report.backend,
                report.surfaces,
                report.elements,
                100.0 * report.error_estimate,
                report.seconds.get("total").copied().unwrap_or_default()
            );
            batches.drop_levels();
            batches.push(Batch::bake(new_bake, targets, pages).on_attached(move |world, entity, times| {
                exchange_volume(world, entity, volume.as_ref(), None);
                world.entity_mut(entity).insert(validity);
                world.insert_resource(tree);
                relight.set(world, entity);
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
