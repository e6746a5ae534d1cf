//! `radiosity bake`.

use std::path::PathBuf;

use crate::bake::{self, Bake, BakeError, BakeSettings, OutputFolder};
use crate::lightmap::Unwrapper;
use crate::output::Overwrite;
use crate::pathtrace::VolumeSettings;
use crate::radiosity::low_rank::PatchKind;
use crate::radiosity::{Content, Method, SubsceneSettings, say_lux};
use crate::scene::Role;

use super::arguments::{SceneArguments, WorkArguments, print_warnings};
use super::cells::Kind;
use super::progress::{Display, duration};
use super::{Failure, interrupt, say};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// The folder to write into [default: bakes/NAME of the scene]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// How the light is solved for
    #[arg(long, value_enum, default_value_t)]
    method: MethodArgument,
    /// Which light the lightmaps hold
    #[arg(long, value_enum, default_value_t)]
    content: ContentArgument,
    /// Texels per metre; more shows finer shadows at a quadratic cost
    #[arg(long, value_name = "TEXELS_PER_METRE", allow_negative_numbers = true)]
    density: Option<f32>,
    /// Who unwraps meshes that bring no lightmap coordinates
    #[arg(long, value_enum, default_value_t)]
    unwrap: UnwrapArgument,
    /// Wanted error: 0.05 is 5 % of the mean light, and of the light nearby in dim rooms
    #[arg(long, value_name = "REL", allow_negative_numbers = true)]
    error: Option<f32>,
    /// Most seconds to spend
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time: Option<f32>,
    /// Most bounces of indirect light [default: until nothing is left]
    #[arg(long, value_name = "N")]
    bounces: Option<u32>,
    /// Work on so many parts of the scene one after the other (--method progressive)
    #[arg(long, value_name = "N")]
    subscenes: Option<u32>,
    /// How the scene is cut into subscenes [default: uniform]
    #[arg(long, value_enum, value_name = "KIND", requires = "subscenes")]
    partition: Option<Kind>,
    /// Cells along each edge of the masks that tell what is seen through borders of subscenes, 1 to 256; work grows
    /// with their square [default: 16]
    #[arg(long, value_name = "N", requires = "subscenes")]
    mask_cells: Option<u32>,
    /// Metres between the voxels of the irradiance volume that lights what moves
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, conflicts_with = "no_volume")]
    volume: Option<f32>,
    /// Bake no irradiance volume
    #[arg(long)]
    no_volume: bool,
    /// Precompute the transport for lights that change later, with at most so many patches
    #[arg(long, value_name = "K")]
    relight: Option<u32>,
    /// How texels are grouped into these patches
    #[arg(long, value_enum, value_name = "KIND", default_value_t, requires = "relight")]
    relight_patches: PatchArgument,
    /// Leave the noise of a short bake as it is
    #[arg(long)]
    no_denoise: bool,
    /// Which random numbers; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u32,
    /// Go on from the checkpoint that an interrupted bake left in the folder
    #[arg(long)]
    resume: bool,
    /// Replace files in the folder that have a bake's names, though no bake wrote them or they have changed since
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    work: WorkArguments,
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
    /// Paths from every texel until they die: no bias and no memory for hits; the noisiest
    Path,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum ContentArgument {
    /// Direct and indirect light
    #[default]
    Full,
    /// Indirect light alone; the lights stay live
    Indirect,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum PatchArgument {
    /// Patches of one size
    #[default]
    Uniform,
    /// Patches of one view: small where neighbours see different things
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
            MethodArgument::Path => Method::Path,
        };
        solver.content = match self.content {
            ContentArgument::Full => Content::Full,
            ContentArgument::Indirect => Content::Indirect,
        };
        solver.error = self.error.unwrap_or(solver.error);
        solver.time_seconds = self.time;
        solver.bounces = self.bounces;
        solver.seed = self.seed;
        solver.subscenes = self.subscenes();
        solver.memory_mib = self.scene.memory_mib();
        settings.layout.texels_per_metre = self.density.unwrap_or(settings.layout.texels_per_metre);
        settings.layout.unwrapper = self.unwrap.unwrapper()?;
        settings.filter.denoise = !self.no_denoise;
        settings.volume = (!self.no_volume).then(|| {
            let default = VolumeSettings::default();
            VolumeSettings { spacing: self.volume.unwrap_or(default.spacing), ..default }
        });
        settings.relight = self.relight;
        settings.relight_patches = match self.relight_patches {
            PatchArgument::Uniform => PatchKind::Uniform,
            PatchArgument::Coherent => PatchKind::Coherent,
        };
        Ok(settings)
    }

    fn subscenes(&self) -> Option<SubsceneSettings> {
        let mut settings = SubsceneSettings::default();
        settings.partition.count = self.subscenes?;
        settings.partition.kind = self.partition.map_or(settings.partition.kind, Kind::partition);
        settings.mask_resolution = self.mask_cells.unwrap_or(settings.mask_resolution);
        Some(settings)
    }

    fn folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| PathBuf::from("bakes").join(self.scene.stem()))
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.work.prepare_threads()?;
    let settings = arguments.settings()?;
    settings.check()?;
    let opened = arguments.scene.open()?;
    interrupt::listen()?;
    let overwrite = if arguments.force { Overwrite::All } else { Overwrite::Own };
    let folder = OutputFolder::open_over(arguments.folder(), overwrite)?;
    let device = arguments.work.open_device()?;
    let display = Display::new(arguments.json);
    let has_static = opened.scene.surfaces.iter().any(|surface| surface.role == Role::Static);
    let baked = bake::run_with_checkpoints(opened.scene, &settings, &device, &display, &folder, arguments.resume);
    display.finish();
    let mut bake = baked.map_err(|error| {
        // They say what the error only counts: which objects move, are unlit, or were left out.
        if matches!(error, BakeError::NothingToBake { .. }) && !has_static {
            print_warnings(&opened.warnings);
        }
        explain(error, &folder)
    })?;
    bake.report.warnings.splice(0..0, opened.warnings);
    folder.write(&mut bake)?;
    folder.checkpoints().remove()?;
    if arguments.json {
        say(serde_json::to_string(&bake.report)?);
    } else {
        summarise(&bake, &folder);
    }
    Ok(())
}

/// Says how to go on after a bake that was stopped.
fn explain(error: BakeError, folder: &OutputFolder) -> Failure {
    match error {
        BakeError::Cancelled(_) if folder.checkpoints().exist() => format!(
            "stopped; what was done is kept in {}: repeat the command with --resume to go on",
            folder.path().display()
        )
        .into(),
        BakeError::Cancelled(_) => "stopped before there was anything to keep".into(),
        error => error.into(),
    }
}

fn summarise(bake: &Bake, folder: &OutputFolder) {
    let report = &bake.report;
    print_warnings(&report.warnings);
    say(format_args!(
        "baked {} elements of {} surfaces on {} page(s) in {} with {:.1} million rays; error about {:.1} % of the mean light, {:.1} % of \
         the light nearby at worst, which is about {} lux there",
        report.elements,
        report.surfaces,
        report.pages,
        duration(report.seconds.get("total").copied().unwrap_or_default() as f32),
        report.rays as f64 / 1e6,
        report.error_of_mean * 100.0,
        report.error_estimate * 100.0,
        say_lux(report.worst_irradiance)
    ));
    if let Some(relight) = report.relight {
        say(format_args!(
            "precomputed {} patches for changing lights in {:.1} MB; they find the baked indirect light to {:.1} %",
            relight.patches,
            relight.bytes as f64 / 1e6,
            relight.error * 100.0
        ));
    }
    say(format_args!("wrote {}", folder.path().display()));
}
