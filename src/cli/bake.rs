//! Command `radiosity bake`.

use std::path::PathBuf;

use serde::Serialize;

use crate::bake::{
    self, BakeError, BakeOutput, BakeSettings, InputsHash, OutputFolder, RelightPatches, RelightReport, Report,
    SharingRanks,
};
use crate::cluster::{ClusterReport, Communicator, FolderTeam, Strategy, agree};
use crate::lightmap::Unwrapper;
use crate::lightmap::files::Level;
use crate::low_rank::{Coherence, PatchKind};
use crate::output::Overwrite;
use crate::partition::Factor;
use crate::pathtrace::VolumeSettings;
use crate::progress::Cancelled;
use crate::radiosity::{Content, Method, SubsceneSettings, say_lux};
use crate::scene::{self, Role};

use super::arguments::{BlockArguments, Opened, SceneArguments, WorkArguments, print_warnings, time_limit};
use super::cells::{Axis, Kind, factor};
use super::parts::Shard;
use super::progress::{Display, duration};
use super::ranks::{ClusterOutcome, Speed, StrategyArguments};
use super::shards::Manifest;
use super::{Failure, interrupt, ranks, say};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Folder to write into [default: bakes/NAME of the scene]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Solver
    #[arg(long, value_enum, default_value_t)]
    method: MethodArgument,
    /// Light that the lightmaps hold
    #[arg(long, value_enum, default_value_t)]
    content: ContentArgument,
    /// Texels per meter; more shows finer shadows at a quadratic cost
    #[arg(long, value_name = "TEXELS_PER_METER", allow_negative_numbers = true)]
    density: Option<f32>,
    /// Charting method for meshes without lightmap coordinates
    #[arg(long, value_enum, default_value_t)]
    unwrap: UnwrapArgument,
    /// Target error: 0.05 is 5 % of the mean light, and of the light nearby in dim rooms
    #[arg(long, value_name = "REL", allow_negative_numbers = true)]
    error: Option<f32>,
    /// Maximum time, seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time: Option<f32>,
    /// Maximum number of bounces of indirect light [default: until convergence]
    #[arg(long, value_name = "N")]
    bounces: Option<u32>,
    /// Split the scene into N subscenes, which are solved one after the other (--method progressive) or which rays
    /// traverse (--method counted, 4 if left out)
    #[arg(long, value_name = "N")]
    subscenes: Option<u32>,
    /// Partition of the scene into subscenes [default: uniform]
    #[arg(long, value_enum, value_name = "KIND", requires = "subscenes")]
    partition: Option<Kind>,
    /// Maximum level of hybrid subscenes, which are never more than --subscenes: N allows 8^N
    #[arg(long, value_name = "N", requires = "subscenes")]
    level_limit: Option<u32>,
    /// Quantity balanced between subscenes: area, power, or both, where a number K weighs power K times as much as area
    #[arg(long, value_name = "area|power|K", default_value = "area", value_parser = factor, requires = "subscenes")]
    factor: Factor,
    /// Axis along which balanced subscenes are halved: that where a plane through the middle divides best, or that with
    /// the most equal volumes of the halves
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t, requires = "subscenes")]
    axis: Axis,
    /// Resolution of the masks that store visibility through borders of subscenes, in cells per edge, 1 to 256; work
    /// grows with its square [default: 16]
    #[arg(long, value_name = "N", requires = "subscenes")]
    mask_cells: Option<u32>,
    /// The progressive method as published: emission is shot, shafts are tested against all triangles, and no rays correct
    /// the result; --error is the part of the first shot's power at which shots end
    #[arg(long)]
    faithful: bool,
    /// Minimum area of elements that determine the number of counted rays, square meters; larger means fewer rays a run
    /// and more runs [default: half of the mean area]
    #[arg(long, value_name = "M2", allow_negative_numbers = true)]
    min_area: Option<f32>,
    /// Part of the power that counted rays do not follow [default: 0.001]
    #[arg(long, value_name = "PART", allow_negative_numbers = true)]
    epsilon: Option<f32>,
    /// Number of elements of each subscene that shoot counted rays at a time; results stay [default: 1024]
    #[arg(long, value_name = "N")]
    stage: Option<u32>,
    /// Let subscenes work at the same time, each on a rank of its own: one of mpirun, or else a thread
    #[arg(long, requires = "subscenes")]
    ranks: bool,
    /// Distance between voxels of the irradiance volume that lights moving objects, meters
    #[arg(long, value_name = "METERS", allow_negative_numbers = true, conflicts_with = "no_volume")]
    volume: Option<f32>,
    /// Bake no irradiance volume
    #[arg(long)]
    no_volume: bool,
    /// Precompute light transport for lights that change at run time, with at most K patches
    #[arg(long, value_name = "K")]
    relight: Option<u32>,
    /// Grouping of texels into these patches
    #[arg(long, value_enum, value_name = "KIND", default_value_t, requires = "relight")]
    relight_patches: PatchArgument,
    /// Largest difference of what the halves of a coherent patch see, relative to what they see. With it or
    /// --relight-min-area, K is only a limit [default: 0.3 with --relight-min-area]
    #[arg(long, value_name = "X", requires = "relight", allow_negative_numbers = true)]
    relight_threshold: Option<f32>,
    /// Area up to which coherent patches are not divided, square meters [default: 0 with --relight-threshold]
    #[arg(long, value_name = "M2", requires = "relight", allow_negative_numbers = true)]
    relight_min_area: Option<f32>,
    /// Draw no preview.png of the lit level
    #[arg(long)]
    no_preview: bool,
    /// Do not denoise
    #[arg(long)]
    no_denoise: bool,
    /// Random seed; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u32,
    /// Resume from the checkpoint of an interrupted bake in the folder
    #[arg(long)]
    resume: bool,
    /// Replace files with a bake's names in the folder, even if no bake wrote them or they have changed since
    #[arg(long)]
    force: bool,
    /// Bake part I of N into the folder DIR, with the help of all other parts; radiosity merge makes the level of them
    #[arg(long, value_name = "I/N", requires = "output", conflicts_with_all = ["time", "resume", "force"])]
    shard: Option<Shard>,
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    block: BlockArguments,
    #[command(flatten)]
    strategy: StrategyArguments,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum MethodArgument {
    /// Stored hits of gather rays, iterated to convergence
    #[default]
    Gather,
    /// Monte Carlo radiosity; for scenes whose hits do not fit into memory
    Stochastic,
    /// Progressive refinement with analytic form factors, corrected by gather rays
    Progressive,
    /// Monte Carlo radiosity by counted rays that traverse the cells of a partition; all surfaces must be opaque
    Counted,
    /// Path tracing from every texel: no bias and no memory for hits; the noisiest
    Path,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum ContentArgument {
    /// Direct and indirect light
    #[default]
    Full,
    /// Indirect light only; the lights stay live
    Indirect,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum PatchArgument {
    /// Patches of equal size
    #[default]
    Uniform,
    /// Patches of similar visibility: small where neighbors see different things
    Coherent,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum UnwrapArgument {
    /// Straight charts within cones of normals
    #[default]
    Charts,
    /// Conformal charts by xatlas, in builds that have it
    Xatlas,
}

/// Threshold of coherent patches if only their least area is given.
const USUAL_THRESHOLD: f32 = 0.3;

impl UnwrapArgument {
    fn unwrapper(self) -> Result<Unwrapper, Failure> {
        match self {
            Self::Charts => Ok(Unwrapper::Charts),
            #[cfg(feature = "xatlas")]
            Self::Xatlas => Ok(Unwrapper::Xatlas),
            #[cfg(not(feature = "xatlas"))]
            Self::Xatlas => {
                Err("--unwrap xatlas is not in this build: build with `--features cli,xatlas`, or use charts".into())
            }
        }
    }
}

impl Arguments {
    fn settings(&self) -> Result<BakeSettings, Failure> {
        let mut settings = BakeSettings::default();
        let solver = &mut settings.solver;
        solver.method = match self.method {
            MethodArgument::Gather => Method::Gather,
            MethodArgument::Stochastic => Method::Stochastic,
            MethodArgument::Progressive => Method::Progressive,
            MethodArgument::Counted => Method::Counted,
            MethodArgument::Path => Method::Path,
        };
        solver.content = match self.content {
            ContentArgument::Full => Content::Full,
            ContentArgument::Indirect => Content::Indirect,
        };
        solver.error = self.error.unwrap_or(solver.error);
        solver.time_limit = time_limit(self.time)?;
        solver.bounces = self.bounces;
        solver.seed = self.seed;
        solver.subscenes = self.subscenes();
        solver.faithful = self.faithful;
        solver.counted.min_area = self.min_area;
        solver.counted.epsilon = self.epsilon.unwrap_or(solver.counted.epsilon);
        solver.counted.stage = self.stage.unwrap_or(solver.counted.stage);
        solver.counted.block = self.block.block.unwrap_or(solver.counted.block);
        if let Some(memory_mib) = self.scene.memory {
            // Who says how much there is has more hits stored where that is more.
            solver.memory_mib = memory_mib;
            settings.memory_mib = Some(memory_mib);
        }
        settings.layout.texels_per_meter = self.density.unwrap_or(settings.layout.texels_per_meter);
        settings.layout.unwrapper = self.unwrap.unwrapper()?;
        settings.device = self.work.device_choice();
        settings.filter.denoise = !self.no_denoise;
        settings.volume = (!self.no_volume).then(|| {
            let default = VolumeSettings::default();
            VolumeSettings { spacing: self.volume.unwrap_or(default.spacing), ..default }
        });
        settings.relight = self.relight.map(RelightPatches);
        settings.relight_patches = match self.relight_patches {
            PatchArgument::Uniform => PatchKind::Uniform,
            PatchArgument::Coherent => PatchKind::Coherent,
        };
        if self.relight_threshold.or(self.relight_min_area).is_some() {
            let max_difference = self.relight_threshold.unwrap_or(USUAL_THRESHOLD);
            let min_area = self.relight_min_area.unwrap_or_default();
            settings.relight_coherence = Some(Coherence { max_difference, min_area });
        }
        Ok(settings)
    }

    fn subscenes(&self) -> Option<SubsceneSettings> {
        let mut settings = SubsceneSettings::default();
        settings.partition.count = self.subscenes?;
        settings.partition.level_limit = self.level_limit;
        settings.partition.factor = self.factor;
        settings.partition.axis = self.axis.choice();
        settings.partition.kind = self.partition.map_or(settings.partition.kind, Kind::partition);
        settings.mask_resolution = self.mask_cells.unwrap_or(settings.mask_resolution);
        settings.ranks = self.ranks;
        Some(settings)
    }

    /// Returns the arguments of the whole bake of a shard, which writes into a folder.
    pub fn whole(self, output: PathBuf) -> Self {
        Self { output: Some(output), shard: None, work: self.work.with_all_threads(), ..self }
    }

    fn folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| PathBuf::from("bakes").join(self.scene.stem()))
    }
}

/// Checked arguments and the loaded scene: everything before the work.
struct Prepared {
    settings: BakeSettings,
    opened: Opened,
    /// Place of the bake, on the first rank.
    folder: Option<OutputFolder>,
    /// Division of the work among ranks, if there are several.
    strategy: Option<Strategy>,
}

impl Prepared {
    fn new(arguments: &Arguments, has_ranks: bool) -> Result<Self, Failure> {
        let strategy = has_ranks.then(|| arguments.strategy.chosen()).transpose()?;
        if has_ranks {
            arguments.work.prepare()?;
        } else {
            arguments.work.prepare_threads()?;
        }
        let settings = arguments.settings()?;
        settings.check()?;
        let opened = arguments.scene.open()?;
        interrupt::listen()?;
        let overwrite = if arguments.force { Overwrite::All } else { Overwrite::Own };
        let open = || OutputFolder::open_over(arguments.folder(), overwrite);
        let folder = (!ranks::is_silent()).then(open).transpose()?;
        Ok(Self { settings, opened, folder, strategy })
    }

    /// Returns a digest of all that ranks must have in common.
    fn digest(&self) -> [u8; 32] {
        let inputs = InputsHash::new(scene::hash(&self.opened.scene), &self.settings);
        let strategy = format!("{:?}", self.strategy);
        *blake3::Hasher::new().update(&inputs.bytes()).update(strategy.as_bytes()).finalize().as_bytes()
    }
}

/// Report of a bake with that of its ranks.
#[derive(Serialize)]
struct Outcome<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterOutcome<'a>>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(shard) = arguments.shard {
        ranks::refuse("bake --shard")?;
        return run_shard(arguments, shard);
    }
    let communicator = ranks::communicator()?;
    let communicator: Option<&dyn Communicator> = communicator.as_ref().map(|communicator| communicator as _);
    let display = Display::new(arguments.json || ranks::is_silent());
    let prepared = Prepared::new(arguments, communicator.is_some());
    if let Some(communicator) = communicator {
        agree(communicator, prepared.as_ref().map(Prepared::digest).map_err(ToString::to_string))?;
    }
    let Prepared { settings, opened, folder, strategy } = prepared?;
    let Opened { scene, cameras, warnings, .. } = opened;
    let has_static = scene.surfaces.iter().any(|surface| surface.role == Role::Static);
    let baked = match (communicator, &folder) {
        (Some(communicator), folder) => {
            let speed = (arguments.strategy.speed == Speed::Threads).then(|| rayon::current_num_threads() as f32);
            let ranks = SharingRanks { communicator, strategy: strategy.unwrap_or_default(), speed };
            bake::run_on_ranks(scene, &settings, &display, folder.as_ref(), arguments.resume, &ranks)
        }
        (None, Some(folder)) => {
            let device = arguments.work.open_device()?;
            arguments.block.check(&device)?;
            bake::run_with_checkpoints(scene, &settings, &device, &display, folder, arguments.resume)
                .map(|bake| Some((bake, None)))
        }
        (None, None) => Ok(None),
    };
    display.finish();
    let baked = baked.map_err(|error| {
        // The warnings explain the error's counts: objects that move, are unlit, or were left out.
        if matches!(error, BakeError::NothingToBake { .. }) && !has_static {
            print_warnings(&warnings);
        }
        explain(error, folder.as_ref())
    })?;
    let (Some((mut bake, cluster)), Some(folder)) = (baked, &folder) else { return Ok(()) };
    bake.report.warnings.splice(0..0, warnings);
    arguments.deliver(bake, cameras.first(), folder, cluster.as_ref())
}

/// Bakes a part, and those that no other process bakes.
fn run_shard(arguments: &Arguments, Shard { index, count }: Shard) -> Result<(), Failure> {
    let display = Display::new(arguments.json);
    arguments.work.prepare()?;
    let settings = arguments.settings()?;
    settings.check()?;
    let opened = arguments.scene.open()?;
    interrupt::listen()?;
    let folder = arguments.folder();
    let manifest = Manifest::new(&opened.scene, &settings, count)?;
    manifest.check(&folder)?;
    let team = FolderTeam::new(&folder, manifest.inputs, index - 1, count);
    let baked = bake::run_on_team(opened.scene, &settings, &display, (&team, count), || manifest.join(&folder));
    display.finish();
    let bake = baked.map_err(|error: Failure| match error.downcast_ref() {
        Some(BakeError::Cancelled(_)) => "stopped; repeat the command to go on".into(),
        _ => error,
    })?;
    if arguments.json {
        say(serde_json::to_string(&bake.report)?);
    } else {
        let seconds = bake.report.seconds.get("total").copied().unwrap_or_default() as f32;
        let folder = folder.display();
        say(format_args!(
            "all parts are in {folder}, after {}: radiosity merge makes the level of them",
            duration(seconds)
        ));
    }
    Ok(())
}

/// Makes a level of the parts in folders, the first of which has this manifest.
pub fn merge(manifest: &Manifest, folders: Vec<PathBuf>, output: PathBuf, json: bool) -> Result<(), Failure> {
    let arguments = Arguments { json, ..manifest.whole(output)? };
    let display = Display::new(json);
    let Prepared { settings, opened, folder, .. } = Prepared::new(&arguments, false)?;
    let inputs = manifest.inputs_of(&opened.scene, &settings)?;
    let team = FolderTeam::reader(folders, inputs, manifest.shards);
    let baked =
        bake::run_on_team(opened.scene, &settings, &display, (&team, manifest.shards), || Ok::<_, BakeError>(()));
    display.finish();
    let mut bake = baked?;
    bake.report.warnings.splice(0..0, opened.warnings);
    folder.map_or(Ok(()), |folder| arguments.deliver(bake, opened.cameras.first(), &folder, None))
}

/// Parses the arguments of a bake.
pub fn parsed(arguments: &[String]) -> Result<Arguments, Failure> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(subcommand)]
        command: Only,
    }
    #[derive(clap::Subcommand)]
    enum Only {
        Bake(Box<Arguments>),
    }
    let line = core::iter::once("radiosity").chain(arguments.iter().map(String::as_str));
    let Line { command: Only::Bake(arguments) } = clap::Parser::try_parse_from(line)
        .map_err(|_| "the folder's shards.json holds no command of a bake: bake the parts again")?;
    Ok(*arguments)
}

impl Arguments {
    /// Writes a bake into its folder, and tells the user.
    fn deliver(
        &self,
        mut bake: BakeOutput,
        camera: Option<&scene::Camera>,
        folder: &OutputFolder,
        cluster: Option<&ClusterReport>,
    ) -> Result<(), Failure> {
        if !self.no_preview {
            bake.draw_preview(camera);
        }
        if interrupt::is_asked_to_stop() {
            return Err(explain(Cancelled.into(), Some(folder)));
        }
        let level = folder.write(&mut bake).map_err(|error| match how_to_go_on(folder) {
            Some(how) => format!("{error}; {how}").into(),
            None => Failure::from(error),
        })?;
        // The level is whole, and the next bake removes what stays.
        if let Err(fault) = folder.checkpoints().remove() {
            bake.report.warnings.push(format!("a checkpoint stays, which is not needed any more: {fault}"));
        }
        let cluster = cluster.map(|report| ClusterOutcome::of(report, "tiles"));
        if self.json {
            say(serde_json::to_string(&Outcome { report: &bake.report, cluster })?);
        } else {
            summarize(&bake, folder, &level, &self.scene.say_memory());
            cluster.iter().for_each(ClusterOutcome::say);
        }
        Ok(())
    }
}

/// Explains how to resume a bake that was stopped.
fn explain(error: BakeError, folder: Option<&OutputFolder>) -> Failure {
    match (error, folder.and_then(how_to_go_on)) {
        (BakeError::Cancelled(_), Some(how)) => format!("stopped; {how}").into(),
        (BakeError::Cancelled(_), None) => "stopped before there was anything to keep".into(),
        (error @ BakeError::TimeTooShort { .. }, Some(how)) => format!("{error}; {how}").into(),
        (error, _) => error.into(),
    }
}

fn how_to_go_on(folder: &OutputFolder) -> Option<String> {
    let path = folder.path().display();
    let how = || format!("what was done is kept in {path}: repeat the command with --resume to go on");
    folder.checkpoints().exist().then(how)
}

fn summarize(bake: &BakeOutput, folder: &OutputFolder, level: &Level, memory: &str) {
    let report = &bake.report;
    print_warnings(&report.warnings);
    let sizes: Vec<_> = bake.pages.iter().map(|page| format!("{} x {}", page.width, page.height)).collect();
    say(format_args!("pages     {} ({})", report.pages, sizes.join(", ")));
    say(format_args!("texels    {} with light, of {} surfaces", report.elements, report.surfaces));
    say(format_args!(
        "error     {:.1} % of the mean light; {:.1} % nearby at worst, at about {} lux",
        report.error_of_mean * 100.0,
        report.error_estimate * 100.0,
        say_lux(report.worst_irradiance)
    ));
    if let Some(RelightReport { patches, bytes, error, .. }) = &report.relight {
        let megabytes = *bytes as f64 / 1e6;
        say(format_args!("relight   {patches} patches, {megabytes:.1} MB, {:.1} % beside the bake", error * 100.0));
    }
    let seconds = report.seconds.get("total").copied().unwrap_or_default() as f32;
    say(format_args!("time      {}, {:.1} million rays", duration(seconds), report.rays as f64 / 1e6));
    say(format_args!("memory    {} MiB of {memory}", report.peak_memory_bytes.div_ceil(1 << 20)));
    say(format_args!("warnings  {}", report.warnings.len()));
    say(format_args!("files     {}", folder.path().display()));
    if let Some(preview) = &level.preview {
        say(format_args!("picture   {}", folder.path().join(&preview.name).display()));
    }
}
