//! A bake from scene to pages.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::checkpoint_writer::{CheckpointWriter, Foresight, Rehearsal, SolveWatch};
use super::contributions;
use super::finite::{Finite, check_volume};
use super::limit::{TimeLimit, shortened};
use super::memory::Shares;
use super::page_maker::PageMaker;
use super::preview::Previewer;
use super::relighting::RelightTask;
use super::stage::StageMonitor;
use super::{
    BakeError, BakeSettings, InputsHash, MemoryEstimate, Observer, OutputFolder, RelightPatches, RelightReport, Report,
    Stage, peak_memory_bytes,
};
use crate::Device;
use crate::accel::World;
use crate::clock::{self, Instant};
use crate::cluster::Team;
use crate::geometry::SurfaceId;
use crate::lightmap::files::{Level, LevelContent};
use crate::lightmap::{Elements, Layout, OpenSides, Page, Voxels};
use crate::low_rank::Precomputed;
use crate::output::{InTheWay, Overwrite, WriteError, write_atomic};
use crate::pathtrace::{VolumeSettings, VolumeTime, solve_volume};
use crate::progress::{Cancelled, Monitor, Silent};
use crate::radiosity::{
    CpuBackend, HALVES, Solution, SolverCheckpoint, SolverSettings, StepError, TransportBackend, solve_with,
};
use crate::relight::{transport_errors, transport_warning};
use crate::scene::check::darkness;
use crate::scene::{self, CheckedScene, Problem, Role, Scene, dedup_warnings};

/// Result of a bake.
#[derive(Clone, Debug)]
pub struct BakeOutput {
    /// Settings of the bake.
    pub settings: BakeSettings,
    /// Scene that was baked.
    pub scene: Arc<Scene>,
    /// Acceleration structure that answered the bake's rays, for further queries.
    pub world: Arc<World>,
    /// Rectangle of each surface on the pages, and the unwrapped meshes.
    pub layout: Layout,
    /// Texels, and parts of texels, that were solved for.
    pub elements: Arc<Elements>,
    /// Lightmap pages.
    pub pages: Vec<Page>,
    /// Irradiance volume, if one was requested.
    pub volume: Option<Arc<Voxels>>,
    /// Precomputed transport for lights that change, if requested.
    pub relight: Option<Arc<Precomputed>>,
    /// PNG file with a picture of the lit level, if one was [drawn](BakeOutput::draw_preview).
    pub preview: Option<Vec<u8>>,
    /// Report of the bake.
    pub report: Report,
}

/// Bakes a scene on the device of [`BakeSettings::device`], opened for this bake.
///
/// # Errors
/// When there is no such device, a setting is invalid, the scene has nothing to bake or does not fit into memory, or the
/// observer cancels.
pub fn run(scene: CheckedScene, settings: &BakeSettings, observer: &dyn Observer) -> Result<BakeOutput, BakeError> {
    run_on(&Device::open(settings.device)?, scene, settings, observer)
}

/// Bakes a scene as [`run`] does, on an open device in place of [`BakeSettings::device`]. If the device fails, the
/// processor continues, and the report has a warning.
///
/// # Errors
/// The errors of [`run`], except those of the device.
pub fn run_on(
    device: &Device,
    scene: CheckedScene,
    settings: &BakeSettings,
    observer: &dyn Observer,
) -> Result<BakeOutput, BakeError> {
    Job::new(settings, device, observer).run(scene, None)
}

/// Bakes a scene as [`run_on`] does and saves checkpoints in a folder. Resumes from an existing checkpoint if `resume`
/// is true.
///
/// When the observer cancels, the solver finishes the running pass or shot and saves a checkpoint. The caller removes
/// the checkpoints after writing the bake.
///
/// # Errors
/// The errors of [`run_on`]; also when the checkpoint to resume from belongs to another bake or cannot be read.
pub fn run_with_checkpoints(
    scene: CheckedScene,
    settings: &BakeSettings,
    device: &Device,
    observer: &dyn Observer,
    folder: &OutputFolder,
    resume: bool,
) -> Result<BakeOutput, BakeError> {
    let mut job = Job::new(settings, device, observer);
    let checkpoint_writer = checkpoint_writer(&mut job, &scene, folder, resume);
    job.run(scene, Some(&checkpoint_writer))
}

/// Returns the writer of a job's checkpoints. Warns if there is none to resume from.
pub(super) fn checkpoint_writer(job: &mut Job, scene: &Scene, folder: &OutputFolder, resume: bool) -> CheckpointWriter {
    let inputs = InputsHash::new(scene::hash(scene), job.settings);
    let max_bytes = u64::from(job.settings.max_memory_mib()) << 20;
    let checkpoint_writer = CheckpointWriter::new(folder.checkpoints(), inputs, max_bytes, resume);
    if resume && !checkpoint_writer.has_checkpoint() {
        let folder = folder.path().display();
        job.report.warnings.push(format!("there is no checkpoint in {folder} to resume from: baked from the start"));
    }
    checkpoint_writer
}

impl BakeOutput {
    /// Writes the level and its `report.json` into a folder. An older level is replaced atomically: at any moment the
    /// folder holds the old level or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written, the disk is full, or a file that no bake wrote is in the way.
    pub fn write(&mut self, folder: &Path) -> Result<(), BakeError> {
        self.write_over(folder, Overwrite::Own).map(drop)
    }

    /// Writes the level as [`write`](Self::write) does, and replaces all files that `overwrite` allows. Returns the level:
    /// its files may have other names than usual.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_over(&mut self, folder: &Path, overwrite: Overwrite) -> Result<Level, BakeError> {
        let started = clock::now();
        let report_path = folder.join(Report::FILE);
        InTheWay::check(&report_path, overwrite, Report::is_at)?;
        let settings = serde_json::to_value(self.settings).unwrap_or_default();
        let content_hash = scene::hash(&self.scene);
        let relight = self.relight.as_ref().map(|relight| relight.to_bytes(content_hash.0));
        let relight_error = self.report.relight.as_ref().map_or(0.0, |relight| relight.error);
        let content = LevelContent {
            content_hash: &content_hash.to_string(),
            settings: &settings,
            error: self.report.error_of_mean,
            scene: &self.scene,
            layout: &self.layout,
            pages: &self.pages,
            volume: self.volume.as_deref(),
            relight: relight.as_deref().map(|bytes| (bytes, relight_error)),
            preview: self.preview.as_deref(),
        };
        let written = Level::write(folder, content, overwrite)?;
        if written.clamped > 0 {
            let clamped = written.clamped;
            self.report.warnings.push(format!("{clamped} texels are brighter than textures can hold and were clamped"));
        }
        self.report.add_write_seconds(started.elapsed());
        match write_atomic(&report_path, self.report.sealed().as_bytes()) {
            // The level is complete without its report.
            Err(fault @ WriteError::InTheWay(_)) => {
                self.report.warnings.push(format!("the report is still that of the bake before: {fault}"));
                Ok(written.level)
            }
            done => Ok(done.map(|()| written.level)?),
        }
    }
}

/// Returns the reason why a scene has nothing to bake, and the remedy.
fn why_nothing(scene: &Scene) -> String {
    let of_role = |role| {
        let surfaces = scene.surfaces.iter().filter(move |surface| surface.role == role);
        surfaces.map(|surface| surface.key.object().to_owned()).collect::<Vec<_>>()
    };
    let named = |objects: &[String]| match objects {
        [only] => format!("'{only}' is"),
        [first, ..] => format!("'{first}' and {} more are", objects.len() - 1),
        [] => String::new(),
    };
    let all = scene.surfaces.len();
    let [movers, occluders, excluded] = [Role::Mover, Role::Occluder, Role::Excluded].map(of_role);
    if all == 0 {
        "it has no mesh with triangles".to_owned()
    } else if movers.len() + occluders.len() + excluded.len() < all {
        "none of its triangles has an area".to_owned()
    } else if !movers.is_empty() {
        format!(
            "{} skinned, morphed, animated or marked as a mover; the extra radiosity_role = \"static\" bakes the rest pose",
            named(&movers)
        )
    } else if !occluders.is_empty() {
        format!(
            "{} marked as an occluder, which has no lightmap; set the extra radiosity_role to \"static\"",
            named(&occluders)
        )
    } else {
        format!("{} excluded; set the extra radiosity_role to \"static\"", named(&excluded))
    }
}

/// Returns a problem for surfaces that are seen from both sides although their texels show only one.
fn shown_from_one_side(scene: &Scene, layout: &Layout, two_sided: impl Fn(SurfaceId) -> bool) -> Vec<Problem> {
    let is_missing = |&id: &SurfaceId| {
        two_sided(id) && layout.placement(id).is_some_and(|placement| !placement.unwrap.is_two_sided())
    };
    let problem = |id| Problem::OneSideShown { surface: scene.surface(id).key.clone() };
    scene.surface_ids().filter(is_missing).map(problem).collect()
}

/// A bake that is being done.
pub(super) struct Job<'a> {
    settings: &'a BakeSettings,
    device: &'a Device,
    observer: &'a dyn Observer,
    /// Processes that share the rays.
    team: Option<&'a dyn Team>,
    started: Instant,
    limit: Arc<TimeLimit>,
    report: Report,
    /// Memory budget of each part, known once there are elements.
    shares: Shares,
}

/// Level that is ready to be lit.
pub(super) struct Unlit {
    pub scene: Arc<Scene>,
    pub world: Arc<World>,
    pub layout: Layout,
    pub elements: Arc<Elements>,
    /// Checkpoint to go on from.
    resumed: Option<SolverCheckpoint<'static>>,
}

impl<'a> Job<'a> {
    pub fn new(settings: &'a BakeSettings, device: &'a Device, observer: &'a dyn Observer) -> Self {
        let report =
            Report { backend: device.name().to_owned(), memory_mib: settings.max_memory_mib(), ..Report::default() };
        let started = clock::now();
        let limit = Arc::new(TimeLimit::new(observer.began().unwrap_or(started), settings.solver.time_limit));
        Self { settings, device, observer, team: None, started, limit, report, shares: Shares::default() }
    }

    fn run(
        mut self,
        scene: CheckedScene,
        checkpoint_writer: Option<&CheckpointWriter>,
    ) -> Result<BakeOutput, BakeError> {
        let unlit = self.prepare(scene, checkpoint_writer)?;
        self.bake(unlit, checkpoint_writer)
    }

    /// Bakes a level together with other processes.
    pub fn bake_on(
        self,
        team: &'a dyn Team,
        unlit: Unlit,
        checkpoint_writer: Option<&CheckpointWriter>,
    ) -> Result<BakeOutput, BakeError> {
        Self { team: Some(team), ..self }.bake(unlit, checkpoint_writer)
    }

    /// Returns the settings of the solver, once the level is prepared.
    pub fn solver_settings(&self) -> &SolverSettings {
        &self.shares.solver
    }

    /// Runs the stages before the solver.
    pub fn prepare(
        &mut self,
        scene: CheckedScene,
        checkpoint_writer: Option<&CheckpointWriter>,
    ) -> Result<Unlit, BakeError> {
        let scene = Arc::clone(scene.shared());
        self.stage(Stage::Check, |job, _| job.check(&scene))?;
        let resumed = checkpoint_writer.map_or(Ok(None), CheckpointWriter::resumed)?;
        let world =
            self.stage(Stage::Tree, |job, _| Ok(Arc::new(World::build(scene.clone(), job.settings.tree.preset()))))?;
        let scene = self.stage(Stage::Tree, |_, _| Ok(Arc::new(scene.with_sealed_sides(&*world))))?;
        let (layout, expected) = self.stage(Stage::Unwrap, |job, monitor| {
            let two_sided = OpenSides::deserving_texels_each(&scene);
            let two_sided = |surface: SurfaceId| two_sided[surface.index()];
            let estimate = MemoryEstimate::new(&scene, job.settings, two_sided);
            estimate.check(job.settings)?;
            let (layout, warnings) = Layout::build_with_sides(&scene, &job.settings.layout, two_sided, monitor)?;
            job.warn(dedup_warnings(&warnings));
            job.warn(dedup_warnings(&shown_from_one_side(&scene, &layout, two_sided)));
            Ok((layout, estimate))
        })?;
        let elements = self.stage(Stage::Elements, |job, monitor| {
            let elements = Arc::new(Elements::build(&scene, &layout, &*world, monitor)?);
            Finite { scene: &scene, elements: &elements }.elements()?;
            let estimate = expected.counted(job.settings, &layout, elements.len());
            check_patches(job.settings, elements.len())?;
            job.shares = estimate.shares(job.settings)?;
            job.report.estimated_memory_bytes = job.shares.expected_bytes;
            job.foresee_volume(&scene, &world, monitor)?;
            Ok(elements)
        })?;
        Ok(Unlit { scene, world, layout, elements, resumed })
    }

    fn bake(mut self, unlit: Unlit, checkpoint_writer: Option<&CheckpointWriter>) -> Result<BakeOutput, BakeError> {
        let Unlit { scene, world, layout, elements, resumed } = unlit;
        let page_maker = PageMaker {
            settings: self.settings,
            scene: &scene,
            world: &world,
            layout: &layout,
            elements: &elements,
            max_seam_pairs: self.shares.max_seam_pairs,
        };
        let (solution, relight) = self.light(&scene, page_maker, resumed, checkpoint_writer)?;
        let pages = self.stage(Stage::Filter, |job, monitor| {
            let Solution { direct, indirect, halves, visible_fraction, .. } = &solution;
            let (pages, warning) =
                page_maker.finished(page_maker.shown(direct, indirect), halves, visible_fraction, monitor)?;
            job.warn(warning);
            Finite { scene: &scene, elements: &elements }.pages(&pages, &layout)?;
            Ok(pages)
        })?;
        let volume = match &self.settings.volume {
            Some(settings) => self.stage(Stage::Volume, |job, monitor| {
                let seed = job.settings.solver.seed;
                let settings = job.volume_within_time(&scene, &world, settings, monitor)?;
                let volume = solve_volume(&scene, &*world, &settings, seed, job.team, monitor)?;
                volume.as_ref().map_or(Ok(()), check_volume)?;
                Ok(volume.map(Arc::new))
            })?,
            None => None,
        };
        self.complete_report(&layout, &elements, &solution, checkpoint_writer);
        let Self { settings, report, .. } = self;
        Ok(BakeOutput {
            settings: *settings,
            scene,
            world,
            layout,
            elements,
            pages,
            volume,
            relight,
            preview: None,
            report,
        })
    }

    /// Runs a stage, tells the observer of its progress, and records its time.
    fn stage<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&mut Self, &StageMonitor) -> Result<T, BakeError>,
    ) -> Result<T, BakeError> {
        let limit = self.limit.clone();
        let started = clock::now();
        let monitor =
            StageMonitor { observer: self.observer, stage, bake_started: self.started, started, limit: &limit };
        let done = monitor.check().map_err(BakeError::from).and_then(|()| {
            monitor.progress(0.0);
            work(self, &monitor)
        });
        let result = match done {
            Err(BakeError::Cancelled(_)) if !self.observer.is_cancelled() => {
                return Err(limit.refusal(stage, clock::now()).unwrap_or(Cancelled.into()));
            }
            done => done?,
        };
        monitor.progress(1.0);
        self.report.add_seconds(stage, started.elapsed());
        Ok(result)
    }

    fn warn(&mut self, warnings: impl IntoIterator<Item = impl ToString>) {
        self.report.warnings.extend(warnings.into_iter().map(|warning| warning.to_string()));
    }

    fn check(&mut self, scene: &Scene) -> Result<(), BakeError> {
        self.settings.check()?;
        let in_bake = |&id: &_| scene.surface(id).is_in_bake();
        self.report.triangles =
            scene.surface_ids().filter(in_bake).map(|id| scene.mesh_of(id).triangles.len() as u64).sum();
        let minimum = MemoryEstimate::new(scene, self.settings, |_| false);
        if minimum.area == 0.0 {
            return Err(BakeError::NothingToBake { why: why_nothing(scene) });
        }
        self.warn(darkness(scene));
        minimum.check(self.settings)
    }

    /// Solves for the light, and precomputes the transport for relighting if requested.
    fn light(
        &mut self,
        scene: &Arc<Scene>,
        page_maker: PageMaker,
        resumed: Option<SolverCheckpoint<'_>>,
        checkpoint_writer: Option<&CheckpointWriter>,
    ) -> Result<(Solution, Option<Arc<Precomputed>>), BakeError> {
        let PageMaker { world, elements, .. } = page_maker;
        // Removes old checkpoints only now, so that a refused bake keeps those of another.
        checkpoint_writer.map_or(Ok(()), CheckpointWriter::begin)?;
        let (seed, team) = (self.settings.solver.seed, self.team);
        let on_processor = || -> Box<dyn TransportBackend + '_> {
            Box::new(CpuBackend::new(scene, world, elements, seed).with_team(team))
        };
        let mut backend = match self.backend(scene, elements) {
            Ok(card) => card.unwrap_or_else(on_processor),
            Err(reason) => {
                self.fall_back(&reason);
                on_processor()
            }
        };
        if self.settings.relight.is_some() {
            self.limit.reserve(Stage::Relight, clock::now());
        }
        let solution = self.stage(Stage::Solve, |job, monitor| {
            let rehearsed = PageMaker { max_seam_pairs: job.shares.rehearsed_seam_pairs, ..page_maker };
            let rehearsal = || -> Rehearsal { Box::new(move |light| rehearsed.rehearse(&light, monitor)) };
            let foresight = job.limit.is_set().then(|| Foresight {
                // A rehearsal takes as much memory as a preview.
                rehearsal: Mutex::new(job.shares.previews_fit.then(rehearsal)),
                relight_rays: job.settings.relight.map_or(0, |_| {
                    let of_each_half = u64::from(job.shares.relight_rays) + contributions::rays_of_each_half(scene);
                    (HALVES * elements.len()) as u64 * of_each_half
                }),
                rays_before: resumed.as_ref().map_or(0, SolverCheckpoint::rays),
                began: clock::now(),
            });
            let previewer = job.shares.previews_fit.then(|| Previewer::new(page_maker));
            let watch = SolveWatch::new(monitor, checkpoint_writer, previewer, job.shares.hits_bytes, foresight);
            let solution = match job.solve(&mut *backend, scene, world, elements, resumed, &watch) {
                Err(BakeError::Device(reason)) if team.is_none() => {
                    job.fall_back(&reason);
                    backend = on_processor();
                    job.solve(&mut *backend, scene, world, elements, watch.last_checkpoint()?, &watch)
                }
                done => done,
            }?;
            job.warn(&solution.warnings);
            Finite { scene, elements }.solution(&solution)?;
            Ok(solution)
        })?;
        let relight = match self.settings.relight {
            Some(RelightPatches(patches)) => self.stage(Stage::Relight, |job, monitor| {
                let task =
                    RelightTask { scene, page_maker, solution: &solution, patches, rays: job.shares.relight_rays };
                let done = match task.run(&mut *backend, monitor) {
                    Err(StepError::Device(reason)) if team.is_none() => {
                        job.fall_back(&reason);
                        task.run(&mut *on_processor(), monitor)
                    }
                    done => done,
                };
                let (precomputed, warnings) = done?;
                job.warn(warnings);
                job.warn(transport_warning(&transport_errors(scene, &precomputed.contributions)));
                job.report.relight = Some(RelightReport::new(&precomputed, scene, elements, &solution));
                Ok(Some(Arc::new(precomputed)))
            })?,
            None => None,
        };
        Ok((solution, relight))
    }

    /// Returns the graphics card's backend, if the bake is to run on a card.
    #[cfg(feature = "gpu")]
    fn backend<'b>(
        &self,
        scene: &'b Scene,
        elements: &'b Elements,
    ) -> Result<Option<Box<dyn TransportBackend + 'b>>, String>
    where
        'a: 'b,
    {
        let Device::Gpu(gpu) = self.device else { return Ok(None) };
        let solver = &self.settings.solver;
        let backend = crate::gpu::GpuBackend::new(gpu, scene, elements, solver.seed);
        match backend.and_then(|backend| backend.with_block(solver.counted.block)) {
            Ok(backend) => Ok(Some(Box::new(backend))),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// Returns no backend: this build has no support for graphics cards.
    #[cfg(not(feature = "gpu"))]
    #[allow(clippy::unnecessary_wraps)]
    fn backend<'b>(
        &self,
        _scene: &'b Scene,
        _elements: &'b Elements,
    ) -> Result<Option<Box<dyn TransportBackend + 'b>>, String> {
        let Device::Cpu = self.device;
        Ok(None)
    }

    fn fall_back(&mut self, reason: &str) {
        self.warn([done_by_processor(reason)]);
        self.report.backend = Device::Cpu.name().to_owned();
    }

    fn solve(
        &self,
        backend: &mut dyn TransportBackend,
        scene: &Scene,
        world: &World,
        elements: &Elements,
        resumed: Option<SolverCheckpoint<'_>>,
        watch: &SolveWatch,
    ) -> Result<Solution, BakeError> {
        let began = clock::now();
        solve_with(backend, scene, world, elements, &self.shares.solver, resumed, watch)
            .map_err(|error| BakeError::of_solver(error, |done| self.limit.too_short(began, clock::now(), done)))
    }

    /// Predicts the time of the volume, if there is a time limit.
    fn foresee_volume(&self, scene: &Scene, world: &World, monitor: &dyn Monitor) -> Result<(), BakeError> {
        if let (true, Some(settings)) = (self.limit.is_set(), &self.settings.volume) {
            let time = VolumeTime::measure(scene, world, settings, self.settings.solver.seed, &Silent(monitor))?;
            self.limit.reserve(Stage::Volume, clock::now());
            self.limit.foresee(Stage::Volume, time.seconds(settings));
        }
        Ok(())
    }

    /// Returns the settings of the volume with as many samples and voxels as the time limit leaves time for.
    fn volume_within_time(
        &mut self,
        scene: &Scene,
        world: &World,
        settings: &VolumeSettings,
        monitor: &StageMonitor,
    ) -> Result<VolumeSettings, BakeError> {
        if monitor.seconds_left().is_none() {
            return Ok(*settings);
        }
        let time = VolumeTime::measure(scene, world, settings, self.settings.solver.seed, &Silent(monitor))?;
        let within = time.within(monitor.seconds_left().unwrap_or_default(), settings);
        let counts = [
            (within.samples as usize, settings.samples as usize, "samples"),
            (within.voxels(scene), settings.voxels(scene), "voxels"),
        ];
        self.warn(shortened("the irradiance volume", &counts));
        Ok(within)
    }

    fn complete_report(
        &mut self,
        layout: &Layout,
        elements: &Elements,
        solution: &Solution,
        checkpoint_writer: Option<&CheckpointWriter>,
    ) {
        if let Some(failure) = checkpoint_writer.and_then(CheckpointWriter::failure) {
            self.warn([format!("the bake went on without a checkpoint: {failure}")]);
        }
        let report = &mut self.report;
        report.elements = elements.len() as u64;
        report.surfaces = layout.placements.iter().flatten().count() as u64;
        report.pages = layout.pages.len() as u64;
        report.rays = solution.rays;
        report.iterations = solution.iterations;
        report.unshot = solution.unshot;
        report.error_estimate = solution.error_estimate;
        report.worst_irradiance = solution.worst_irradiance;
        report.error_of_mean = solution.error_of_mean;
        report.residual = solution.residual;
        report.residual_standard_error = solution.residual_standard_error;
        report.peak_memory_bytes = peak_memory_bytes();
        report.set_total_seconds(self.started.elapsed());
    }
}

/// Refuses more patches than there are elements.
pub(super) fn check_patches(settings: &BakeSettings, elements: usize) -> Result<(), BakeError> {
    let Some(RelightPatches(asked)) = settings.relight else { return Ok(()) };
    if elements == 0 {
        Err(BakeError::NothingToRelight)
    } else if asked as usize > elements {
        Err(BakeError::TooManyPatches { asked, elements })
    } else {
        Ok(())
    }
}

/// Returns the warning for work that the processor took over from a graphics card.
pub(crate) fn done_by_processor(reason: impl core::fmt::Display) -> String {
    format!("the processor did what the graphics card could not: {reason}")
}
