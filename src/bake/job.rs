//! A bake from scene to pages.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::finite::{Finite, check_volume};
use super::keeper::{Keeper, SolveWatch};
use super::memory::most_patches;
use super::preview::{Previewer, shown};
use super::stage::StageMonitor;
use super::{
    BakeError, BakeSettings, InputsHash, MemoryEstimate, Observer, OutputFolder, RelightReport, Report, Stage,
    peak_memory_bytes,
};
use crate::Device;
use crate::geometry::SurfaceId;
use crate::kdtree::World;
use crate::lightmap::files::{Level, LevelContent};
use crate::lightmap::{Elements, Layout, OpenSides, Page, Voxels, filter, pages};
use crate::output::{InTheWay, Overwrite, write_whole};
use crate::pathtrace::solve_volume;
use crate::progress::Monitor;
use crate::radiosity::low_rank::{Precompute, Precomputed};
use crate::radiosity::{
    CpuBackend, Partial, Solution, SolveError, SolverSettings, StepError, TransportBackend, solve_with, storable_rays,
};
use crate::scene::check::darkness;
use crate::scene::{self, Problem, Role, Scene, abridged};

/// What a bake ends in.
#[derive(Clone, Debug)]
pub struct Bake {
    /// How it was baked.
    pub settings: BakeSettings,
    /// What was baked.
    pub scene: Arc<Scene>,
    /// The tree that answered its rays, for whoever asks more of the scene.
    pub world: Arc<World>,
    /// Which surface has which rectangle of which page, and the meshes that they are drawn with.
    pub layout: Layout,
    /// The texels and parts of texels that have light of their own.
    pub elements: Arc<Elements>,
    /// The lightmaps.
    pub pages: Vec<Page>,
    /// The irradiance volume, if one was asked for.
    pub volume: Option<Arc<Voxels>>,
    /// The precomputed transport for lights that change, if one was asked for.
    pub relight: Option<Arc<Precomputed>>,
    /// How it went.
    pub report: Report,
}

/// Bakes a scene that [`repair`](crate::scene::check::repair) has been run on.
///
/// # Errors
/// When a setting means nothing, the scene has nothing to bake or does not fit into memory, or the observer cancels.
pub fn run(scene: Arc<Scene>, settings: &BakeSettings, observer: &dyn Observer) -> Result<Bake, BakeError> {
    run_on(&Device::Cpu, scene, settings, observer)
}

/// Bakes a scene as [`run`] does, with its rays on some device. Where that fails, the processor does the rest, and the
/// report says so.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    device: &Device,
    scene: Arc<Scene>,
    settings: &BakeSettings,
    observer: &dyn Observer,
) -> Result<Bake, BakeError> {
    Job::new(settings, device, observer).run(scene, None)
}

/// Bakes a scene and keeps checkpoints in a folder, going on from the one that is there if `resume` asks for it.
///
/// When the observer cancels, the running pass or shot is finished first and a checkpoint is kept. The caller removes the
/// checkpoints once the bake has been written.
///
/// # Errors
/// As [`run`]; also when the checkpoint to resume from belongs to another bake or cannot be read.
pub fn run_with_checkpoints(
    scene: Arc<Scene>,
    settings: &BakeSettings,
    device: &Device,
    observer: &dyn Observer,
    folder: &OutputFolder,
    resume: bool,
) -> Result<Bake, BakeError> {
    let mut job = Job::new(settings, device, observer);
    let keeper = Keeper::new(folder.checkpoints(), InputsHash::new(scene::hash(&scene), settings), resume);
    if resume && !keeper.has_checkpoint() {
        let folder = folder.path().display();
        job.report.warnings.push(format!("there is no checkpoint in {folder} to resume from: baked from the start"));
    }
    job.run(scene, Some(&keeper))
}

impl Bake {
    /// Writes the level and its `report.json` into a folder. A level that was there before is replaced in one step:
    /// whenever the process ends, the folder holds the old level or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written, the disk is full, or a file is in the way that no bake wrote.
    pub fn write(&mut self, folder: &Path) -> Result<(), BakeError> {
        self.write_over(folder, Overwrite::Own)
    }

    /// Writes the level as [`write`](Self::write) does, in place of all that `overwrite` names.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_over(&mut self, folder: &Path, overwrite: Overwrite) -> Result<(), BakeError> {
        let started = Instant::now();
        let report_path = folder.join(Report::FILE);
        InTheWay::check(&report_path, overwrite, Report::is_at)?;
        let settings = serde_json::to_value(self.settings).unwrap_or_default();
        let content_hash = scene::hash(&self.scene);
        let relight = self.relight.as_ref().map(|relight| relight.to_bytes(content_hash.0));
        let relight_error = self.report.relight.map_or(0.0, |relight| relight.error);
        let content = LevelContent {
            content_hash: &content_hash.to_string(),
            settings: &settings,
            error: self.report.error_of_mean,
            scene: &self.scene,
            layout: &self.layout,
            pages: &self.pages,
            volume: self.volume.as_deref(),
            relight: relight.as_deref().map(|bytes| (bytes, relight_error)),
        };
        let written = Level::write(folder, content, overwrite)?;
        if written.clamped > 0 {
            let clamped = written.clamped;
            self.report.warnings.push(format!("{clamped} texels are brighter than textures can hold and were clamped"));
        }
        self.report.add_write_seconds(started.elapsed());
        match write_whole(&report_path, self.report.sealed().as_bytes()) {
            // A reader may hold the report before, which fails no bake there; the level does not need it.
            Err(fault) if cfg!(windows) && report_path.exists() => {
                self.report.warnings.push(format!("the report is still that of the bake before: {fault}"));
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

/// Why a scene has nothing to bake, and what to do about it.
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

/// Names the surfaces that something sees from both sides, though their texels show one.
fn shown_from_one_side(scene: &Scene, layout: &Layout, two_sided: impl Fn(SurfaceId) -> bool) -> Vec<Problem> {
    let is_missing = |&id: &SurfaceId| {
        two_sided(id) && layout.placement(id).is_some_and(|placement| !placement.unwrap.is_two_sided())
    };
    let problem = |id| Problem::OneSideShown { surface: scene.surface(id).key.clone() };
    scene.surface_ids().filter(is_missing).map(problem).collect()
}

struct Job<'a> {
    settings: &'a BakeSettings,
    device: &'a Device,
    observer: &'a dyn Observer,
    started: Instant,
    report: Report,
}

impl<'a> Job<'a> {
    fn new(settings: &'a BakeSettings, device: &'a Device, observer: &'a dyn Observer) -> Self {
        let report = Report { backend: device.name().to_owned(), ..Report::default() };
        Self { settings, device, observer, started: Instant::now(), report }
    }

    fn run(mut self, scene: Arc<Scene>, keeper: Option<&Keeper>) -> Result<Bake, BakeError> {
        self.stage(Stage::Check, |job, _| job.check(&scene))?;
        let resumed = keeper.map_or(Ok(None), Keeper::resumed)?;
        let world =
            self.stage(Stage::Tree, |job, _| Ok(Arc::new(World::build(scene.clone(), job.settings.tree.preset()))))?;
        let scene = self.stage(Stage::Tree, |_, _| Ok(Arc::new(scene.with_sealed_sides(&*world))))?;
        let (layout, expected) = self.stage(Stage::Unwrap, |job, monitor| {
            let two_sided = OpenSides::deserving_texels_each(&scene);
            let two_sided = |surface: SurfaceId| two_sided[surface.index()];
            let estimate = MemoryEstimate::new(&scene, job.settings, two_sided);
            estimate.check(job.settings)?;
            let (layout, warnings) = Layout::build_with_sides(&scene, &job.settings.layout, two_sided, monitor)?;
            job.warn(abridged(&warnings));
            job.warn(abridged(&shown_from_one_side(&scene, &layout, two_sided)));
            Ok((layout, estimate))
        })?;
        let elements = self.stage(Stage::Elements, |job, monitor| {
            let elements = Arc::new(Elements::build(&scene, &layout, &*world, monitor)?);
            Finite { scene: &scene, elements: &elements }.elements()?;
            let estimate = expected.counted(job.settings, &layout, elements.len());
            estimate.check(job.settings)?;
            job.report.estimated_memory_bytes = estimate.bytes as u64;
            Ok(elements)
        })?;
        let (solution, relight) = self.light(&scene, &world, &layout, &elements, resumed, keeper)?;
        let pages = self.stage(Stage::Filter, |job, _| {
            let pages = job.filter(&scene, &world, &layout, &elements, &solution);
            Finite { scene: &scene, elements: &elements }.pages(&pages, &layout)?;
            Ok(pages)
        })?;
        let volume = match &self.settings.volume {
            Some(settings) => self.stage(Stage::Volume, |job, monitor| {
                let seed = job.settings.solver.seed;
                let volume = solve_volume(&scene, &*world, settings, seed, monitor)?;
                volume.as_ref().map_or(Ok(()), check_volume)?;
                Ok(volume.map(Arc::new))
            })?,
            None => None,
        };
        self.complete_report(&layout, &elements, &solution, keeper);
        let Self { settings, report, .. } = self;
        Ok(Bake { settings: *settings, scene, world, layout, elements, pages, volume, relight, report })
    }

    /// Runs a stage, tells the observer where it is, and notes how long it took.
    fn stage<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&mut Self, &StageMonitor) -> Result<T, BakeError>,
    ) -> Result<T, BakeError> {
        let monitor = StageMonitor { observer: self.observer, stage, bake_started: self.started };
        monitor.check()?;
        monitor.progress(0.0);
        let started = Instant::now();
        let result = work(self, &monitor)?;
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
        let least = MemoryEstimate::new(scene, self.settings, |_| false);
        if least.area == 0.0 {
            return Err(BakeError::NothingToBake { why: why_nothing(scene) });
        }
        self.warn(darkness(scene));
        least.check(self.settings)
    }

    /// Solves for the light, and precomputes how it goes if that is asked for.
    fn light(
        &mut self,
        scene: &Arc<Scene>,
        world: &World,
        layout: &Layout,
        elements: &Elements,
        resumed: Option<Partial<'_>>,
        keeper: Option<&Keeper>,
    ) -> Result<(Solution, Option<Arc<Precomputed>>), BakeError> {
        check_patches(self.settings, elements.len())?;
        // Only now: a bake that was refused leaves what was kept for another.
        keeper.map_or(Ok(()), Keeper::begin)?;
        let seed = self.settings.solver.seed;
        let on_processor =
            || -> Box<dyn TransportBackend + '_> { Box::new(CpuBackend::new(scene, world, elements, seed)) };
        let mut backend = match self.backend(scene, elements) {
            Ok(card) => card.unwrap_or_else(on_processor),
            Err(reason) => {
                self.fall_back(&reason);
                on_processor()
            }
        };
        let solution = self.stage(Stage::Solve, |job, monitor| {
            let previewer = Previewer::new(scene, layout, elements, job.settings);
            let watch = SolveWatch::new(monitor, keeper, previewer);
            let solution = match job.solve(&mut *backend, scene, world, elements, resumed, &watch) {
                Err(BakeError::Device(reason)) => {
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
            Some(patches) => self.stage(Stage::Relight, |job, monitor| {
                let task = Precompute {
                    elements,
                    solution: &solution,
                    patches: patches as usize,
                    kind: job.settings.relight_patches,
                    storable: storable_rays(elements.len(), job.settings.solver.memory_mib),
                };
                let precomputed = match task.run(&mut *backend, monitor) {
                    Err(StepError::Device(reason)) => {
                        job.fall_back(&reason);
                        task.run(&mut *on_processor(), monitor)
                    }
                    done => done,
                };
                let precomputed = precomputed.map_err(SolveError::from)?;
                job.report.relight = Some(RelightReport::new(&precomputed, elements, &solution));
                Ok(Some(Arc::new(precomputed)))
            })?,
            None => None,
        };
        Ok((solution, relight))
    }

    /// The graphics card, where the bake is to run on one.
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
        match crate::gpu::GpuBackend::new(gpu, scene, elements, self.settings.solver.seed) {
            Ok(backend) => Ok(Some(Box::new(backend))),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// The graphics card; this build knows none.
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
        resumed: Option<Partial<'_>>,
        watch: &SolveWatch,
    ) -> Result<Solution, BakeError> {
        let elapsed = self.started.elapsed().as_secs_f32();
        let time_seconds = self.settings.solver.time_seconds.map(|limit| (limit - elapsed).max(0.0));
        let settings = SolverSettings { time_seconds, ..self.settings.solver };
        Ok(solve_with(backend, scene, world, elements, &settings, resumed, watch)?)
    }

    fn filter(
        &self,
        scene: &Scene,
        world: &World,
        layout: &Layout,
        elements: &Elements,
        solution: &Solution,
    ) -> Vec<Page> {
        let mut irradiance = shown(self.settings.solver.content, &solution.direct, &solution.indirect);
        let filter = self.settings.filter;
        if filter.denoise {
            filter::denoise(&mut irradiance, elements, &solution.halves, &solution.visible_fraction);
        }
        let mut pages = pages(layout, elements, &irradiance, &solution.visible_fraction);
        if filter.dilate {
            filter::dilate(&mut pages, layout, elements, self.settings.layout.padding);
        }
        if filter.stitch_seams {
            filter::stitch(&mut pages, scene, layout, elements, world);
        }
        pages
    }

    fn complete_report(&mut self, layout: &Layout, elements: &Elements, solution: &Solution, keeper: Option<&Keeper>) {
        if let Some(failure) = keeper.and_then(Keeper::failure) {
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

/// Refuses more patches than there are elements, or than fit into memory.
pub(super) fn check_patches(settings: &BakeSettings, elements: usize) -> Result<(), BakeError> {
    let Some(asked) = settings.relight else { return Ok(()) };
    let allowed_mib = settings.solver.memory_mib;
    let fitting = most_patches(elements, allowed_mib);
    if elements == 0 {
        Err(BakeError::NothingToRelight)
    } else if asked as usize > elements {
        Err(BakeError::TooManyPatches { asked, elements })
    } else if asked as usize > fitting {
        Err(BakeError::PatchesBeyondMemory { asked, allowed_mib, fitting })
    } else {
        Ok(())
    }
}

/// The warning of work that was begun on a graphics card.
pub(crate) fn done_by_processor(reason: impl core::fmt::Display) -> String {
    format!("the processor did what the graphics card could not: {reason}")
}
