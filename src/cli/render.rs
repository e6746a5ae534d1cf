//! Command `radiosity render`.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use glam::UVec2;

use super::arguments::{BlockArguments, Opened, SceneArguments, WorkArguments, print_warnings, time_limit};
use super::camera::CameraArguments;
use super::parts::PartArguments;
use super::picture::{PictureArguments, PictureWriter, cost_channels};
use super::progress::{Display, NamedStage};
use super::ranks::{self, ClusterOutcome, StrategyArguments};
use super::reference::{Difference, read_reference};
use super::render_report::{Clock, Outcome, scaled_to, sum_of_samples};
#[cfg(feature = "gpu")]
use super::walks::{USE_PROCESSOR, unfinished_warning};
use super::{Failure, interrupt, say};
use crate::Device;
use crate::accel::{Preset, TraversalCost, World};
use crate::bake::peak_memory_bytes;
use crate::cluster::{Communicator, Strategy, agree};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::lights::{LightAreaSampler, LightSampler};
use crate::output::check_place;
use crate::pathtrace::{
    Film, FilmPart, Lens, PathTracer, PictureInputs, Pixel, PixelFilter, PlainTracer, RenderSettings, Tile, View,
    metered, metered_film,
};
use crate::scene::check::darkness_of_picture;
use crate::scene::{Light, LightKind, Scene};

mod checkpoint;
mod draw;

use checkpoint::{PictureCheckpoints, PictureWatch};
use draw::{Drawn, Traced};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Image to write: .png as a screen shows it, .exr with radiance in cd/m2, its variance, albedo, normal, depth and
    /// cost; with --shard or --tile, a folder
    #[arg(short, value_name = "FILE")]
    output: PathBuf,
    /// Columns and rows
    #[arg(long, value_name = "WxH", default_value = "1280x720")]
    size: Size,
    /// Maximum number of samples per pixel; four times as many halve the noise
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..1 << 24))]
    samples: u32,
    /// Maximum time, seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time: Option<f32>,
    /// Target noise, root mean square over the mean: 0.05 is 5 %
    #[arg(long, value_name = "REL")]
    error: Option<f32>,
    /// Target reciprocal of the mean number of path points that a pixel sees: 0.01 is a hundred points
    #[arg(long, value_name = "TOL")]
    tolerance: Option<f32>,
    /// Maximum number of bounces of light [default: no limit]
    #[arg(long, value_name = "N")]
    bounces: Option<u32>,
    /// Integrator
    #[arg(long, value_enum, default_value_t)]
    integrator: Method,
    /// Method of directions as published, for --integrator light: means of radiances, which are biased. --tolerance also
    /// ends paths, at that part of their first radiance [default: 0.01]
    #[arg(long)]
    faithful: bool,
    /// Picture to compare with, an .exr of this size: reports the root mean square difference
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    picture: PictureArguments,
    #[command(flatten)]
    part: PartArguments,
    /// Resume from the checkpoint of an interrupted render beside the file
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    strategy: StrategyArguments,
    #[command(flatten)]
    camera: CameraArguments,
    /// Thin lens instead of a pinhole: its radius and the distance in focus, meters
    #[arg(long, value_name = "RADIUS,FOCUS")]
    lens: Option<String>,
    /// Pixel filter
    #[arg(long, value_enum, default_value_t)]
    filter: Filter,
    /// Random seed; the same seed gives the same image
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u32,
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    block: BlockArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
enum Method {
    /// Paths from the eye: all light
    #[default]
    Path,
    /// Paths from lights: all but light seen in mirrors and glass
    Light,
    /// Paths from lights, and from the eye for mirrors and glass
    Hybrid,
    /// Mirrors, glass and shadows only
    Whitted,
    /// Direct light only
    Direct,
    /// Paths from the eye as published, which find light by chance alone: all surfaces as if they were diffuse, 8 bounces
    /// unless --bounces is given
    Plain,
}

impl Method {
    fn is_from_lights(self) -> bool {
        matches!(self, Self::Light | Self::Hybrid)
    }

    fn runs_on_devices(self) -> bool {
        self != Self::Plain
    }
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Filter {
    /// Only the pixel's own square
    Box,
    /// Half of the neighbors too: smoother edges
    #[default]
    Tent,
}

/// Size in columns and rows, such as `1280x720`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size(UVec2);

/// Maximum number of columns or rows.
pub const LARGEST: u32 = 16_384;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=LARGEST).contains(number));
        text.split_once(['x', 'X'])
            .and_then(|(columns, rows)| Some(Self(UVec2::new(number(columns)?, number(rows)?))))
            .ok_or_else(|| format!("give columns and rows up to {LARGEST}, such as 1280x720"))
    }
}

impl Arguments {
    fn max_bounces(&self) -> Result<Option<u32>, Failure> {
        match self.integrator {
            Method::Path | Method::Light | Method::Hybrid => Ok(self.bounces),
            Method::Direct => Ok(Some(self.bounces.unwrap_or(1).min(1))),
            Method::Plain => Ok(Some(self.plain_bounces())),
            Method::Whitted if self.bounces.is_some() => {
                Err("--bounces is not for --integrator whitted, whose rays end when they count too little".into())
            }
            Method::Whitted => Ok(None),
        }
    }

    fn plain_bounces(&self) -> u32 {
        self.bounces.unwrap_or(PlainTracer::USUAL_BOUNCES)
    }

    fn settings(&self) -> Result<RenderSettings, Failure> {
        for (name, value) in [("error", self.error), ("tolerance", self.tolerance)] {
            if value.is_some_and(|value| !value.is_finite() || value <= 0.0) {
                return Err(format!("--{name} must be a number above zero").into());
            }
            if let Some(value) = value.filter(|&value| value < f32::EPSILON) {
                let min = f32::EPSILON;
                return Err(format!("--{name} {value:e} is finer than 32-bit numbers: give {min:e} or more").into());
            }
        }
        let Self { samples, time, error, mut tolerance, seed, .. } = *self;
        if self.faithful {
            self.check_faithful()?;
            tolerance = tolerance.or(Some(FAITHFUL_TOLERANCE));
        }
        Ok(RenderSettings { samples, time_limit: time_limit(time)?, error, tolerance, seed })
    }

    /// Refuses options that the published method of directions does not have.
    fn check_faithful(&self) -> Result<(), Failure> {
        if self.integrator != Method::Light {
            return Err("--faithful is the method of directions as published: add --integrator light".into());
        }
        let refused = [
            (self.bounces.is_some(), "--bounces", "its paths end at --tolerance"),
            (self.error.is_some(), "--error", "its means are biased, so that noise does not tell their error"),
            (self.lens.is_some(), "--lens", "its observer is a point"),
        ];
        match refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            Some((_, option, why)) => Err(format!("{option} is not for --faithful: {why}").into()),
            None => Ok(()),
        }
    }

    /// Returns the division of the rows among ranks. Refuses what ranks cannot do.
    fn strategy_for(&self, ranks: u32) -> Result<Strategy, Failure> {
        let refused = [
            (self.part.tile(self.size.0)?.is_some(), "--shard and --tile are"),
            (
                self.time.is_some() || self.error.is_some() || self.tolerance.is_some(),
                "--time, --error and --tolerance are",
            ),
            (self.integrator.is_from_lights(), "paths from lights are"),
        ];
        if let Some((_, what)) = refused.into_iter().find(|(is_asked, _)| *is_asked) {
            return Err(format!("{what} not for ranks of mpirun, each of which renders some rows").into());
        }
        self.strategy.strategy(self.size.0.y, ranks)
    }

    /// Returns the target. Checks its place, before the work begins.
    fn target(&self) -> Result<Target, Failure> {
        let Some(tile) = self.part.tile(self.size.0)? else {
            let writer = self.picture.writer(&self.output)?;
            // Only the first rank writes.
            if !ranks::is_silent() {
                check_place(&self.output)?;
            }
            return Ok(Target::Picture(writer));
        };
        if self.integrator.is_from_lights() {
            return Err(
                "paths from lights reach all of a picture: --shard and --tile are for path, whitted, direct and plain"
                    .into(),
            );
        }
        let folder = &self.output;
        fs::create_dir_all(folder).map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
        let path = folder.join(FilmPart::file_name(tile));
        FilmPart::check_place(&path)?;
        check_place(&path)?;
        Ok(Target::Part(tile, path))
    }

    fn lens(&self) -> Result<Option<Lens>, Failure> {
        let Some(text) = &self.lens else { return Ok(None) };
        let parsed = text.split_once(',').and_then(|(radius, focus)| {
            let number =
                |text: &str| text.trim().parse().ok().filter(|number: &f32| *number > 0.0 && number.is_finite());
            Some(Lens { radius: number(radius)?, focus: number(focus)? })
        });
        parsed.map(Some).ok_or_else(|| {
            format!("'{text}' is no lens: give its radius and the distance that is sharp, such as 0.02,3").into()
        })
    }
}

/// Tolerance of the published method of directions: a hundred contributions per pixel.
const FAITHFUL_TOLERANCE: f32 = 0.01;

/// Place and form of what is rendered.
enum Target {
    Picture(PictureWriter),
    /// Tile of the picture, and the path of its file.
    Part(Tile, PathBuf),
}

impl Target {
    /// Returns the bytes of the pixels on film, in channels to be written, and in the file.
    fn bytes(&self, size: UVec2) -> u64 {
        let (size, bytes_per_pixel) = match self {
            Self::Picture(writer) => (size, writer.bytes_per_pixel()),
            Self::Part(tile, _) => (tile.size, BYTES_PER_PIXEL_OF_PART),
        };
        u64::from(size.x) * u64::from(size.y) * bytes_per_pixel
    }
}

/// Bytes of a part's pixel on film and in the file.
const BYTES_PER_PIXEL_OF_PART: u64 = 250;

/// Checked arguments and the loaded scene: everything before the work.
struct Prepared {
    target: Target,
    max_bounces: Option<u32>,
    settings: RenderSettings,
    opened: Opened,
    view: View,
    /// True if a graphics card may render the picture.
    runs_on_devices: bool,
    /// Division of the rows among ranks, if there are several.
    strategy: Option<Strategy>,
    /// Place of checkpoints, if the picture can have them, on the first rank.
    checkpoints: Option<PictureCheckpoints>,
    /// Film to go on from.
    begun: Option<Film>,
    /// Picture to compare with.
    reference: Option<Film>,
}

impl Prepared {
    fn new(arguments: &Arguments, ranks: Option<u32>) -> Result<Self, Failure> {
        let (max_bounces, settings, lens) = (arguments.max_bounces()?, arguments.settings()?, arguments.lens()?);
        let strategy = ranks.map(|ranks| arguments.strategy_for(ranks)).transpose()?;
        let target = arguments.target()?;
        if arguments.reference.is_some() && matches!(target, Target::Part(..)) {
            return Err("--reference is for whole pictures, not for --shard and --tile".into());
        }
        if arguments.resume && arguments.integrator.is_from_lights() {
            return Err("paths from lights reach all of a picture and keep no checkpoint: leave out --resume".into());
        }
        let is_whole = matches!(target, Target::Picture(_)) && strategy.is_none();
        let runs_on_devices = arguments.integrator.runs_on_devices() && is_whole && !arguments.faithful;
        if runs_on_devices {
            arguments.work.prepare_threads()?;
        } else {
            arguments.work.prepare()?;
        }
        interrupt::listen()?;
        let opened = arguments.scene.open_for_picture(target.bytes(arguments.size.0))?;
        let camera = arguments.camera.camera(&opened)?;
        let filter = match arguments.filter {
            Filter::Box => PixelFilter::Box,
            Filter::Tent => PixelFilter::Tent,
        };
        let view = View { camera, size: arguments.size.0, lens, filter };
        let read = |path: &PathBuf| read_reference(path, view.size);
        let reference = arguments.reference.as_ref().map(read).transpose()?;
        let (checkpoints, begun) = (None, None);
        let mut prepared = Self {
            target,
            max_bounces,
            settings,
            opened,
            view,
            runs_on_devices,
            strategy,
            checkpoints,
            begun,
            reference,
        };
        if !runs_on_devices && !ranks::is_silent() {
            prepared.find_checkpoints(arguments)?;
        }
        Ok(prepared)
    }

    /// Sets the place of checkpoints, and reads one if the picture resumes. Paths from lights and graphics cards keep
    /// none.
    fn find_checkpoints(&mut self, arguments: &Arguments) -> Result<(), Failure> {
        if arguments.integrator.is_from_lights() {
            return Ok(());
        }
        let (path, tile) = match &self.target {
            Target::Picture(_) => (&arguments.output, self.tile()),
            Target::Part(tile, path) => (path, *tile),
        };
        let checkpoints = PictureCheckpoints::beside(path, &self.inputs(arguments), tile);
        if arguments.resume {
            self.begun = checkpoints.load(tile.size)?;
            let is_in_part = |pixel: &Pixel| (1..self.settings.samples).contains(&pixel.samples);
            let warning = match &self.begun {
                None => {
                    let path = path.display();
                    Some(format!("there is no checkpoint of {path} to resume from: rendered from the start"))
                }
                Some(film) if self.strategy.is_some() && film.pixels().iter().any(is_in_part) => Some(
                    "ranks go on from whole rows, so that rows of which the checkpoint has a part are rendered anew"
                        .into(),
                ),
                Some(_) => None,
            };
            self.opened.warnings.extend(warning);
        }
        checkpoints.check_place()?;
        self.checkpoints = Some(checkpoints);
        Ok(())
    }

    /// Returns the tile that is rendered.
    fn tile(&self) -> Tile {
        match self.target {
            Target::Picture(_) => Tile::whole(self.view.size),
            Target::Part(tile, _) => tile,
        }
    }

    /// Returns the inputs of the picture.
    fn inputs(&self, arguments: &Arguments) -> PictureInputs {
        let integrator = format!("{:?} {:?}", arguments.integrator, self.max_bounces);
        PictureInputs::new(&self.opened.scene, &self.view, &integrator, &self.settings)
    }

    /// Returns a digest of all that ranks must have in common.
    fn digest(&self, arguments: &Arguments) -> [u8; 32] {
        let common = format!("{:?} {:?}", self.inputs(arguments), self.strategy);
        *blake3::hash(common.as_bytes()).as_bytes()
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let communicator = ranks::communicator()?;
    let communicator: Option<&dyn Communicator> = communicator.as_ref().map(|communicator| communicator as _);
    let mut clock = Clock::default();
    let prepared = Prepared::new(arguments, communicator.map(Communicator::size));
    if let Some(communicator) = communicator {
        let digest = prepared.as_ref().map(|prepared| prepared.digest(arguments));
        agree(communicator, digest.map_err(ToString::to_string))?;
    }
    let mut prepared = prepared?;
    let device = if prepared.runs_on_devices { arguments.work.open_device()? } else { Device::Cpu };
    if prepared.runs_on_devices && matches!(device, Device::Cpu) {
        prepared.find_checkpoints(arguments)?;
    } else if prepared.runs_on_devices && arguments.resume {
        return Err("a graphics card keeps no checkpoint of a picture: add --backend cpu, or leave out --resume".into());
    }
    let begun = prepared.begun.take();
    let Prepared { max_bounces, settings, opened, view, checkpoints, .. } = &prepared;
    arguments.block.check(&device)?;
    clock.lap("load");
    let world = World::build(opened.scene.shared().clone(), Preset::best()).with_movers();
    let lights = LightSampler::with_movers(&opened.scene);
    let paths = PathTracer::new(&opened.scene, &world, &lights, *max_bounces);
    clock.lap("tree");
    if arguments.faithful {
        check_starts(&lights)?;
    }
    let display = Display::new(arguments.json || ranks::is_silent());
    let checkpoints = checkpoints.as_ref();
    let watch = PictureWatch { stage: NamedStage { display: &display, name: "picture" }, checkpoints };
    let tile = prepared.tile();
    let traced = Traced { paths: &paths, world: &world, lights: &lights };
    let begun_samples = begun.as_ref().map_or(0, sum_of_samples);
    let on_processor = |begun| arguments.draw(traced, &prepared, begun, &watch);
    #[cfg_attr(not(feature = "gpu"), expect(unused_mut, reason = "only graphics cards are lost"))]
    let mut backend = device.name();
    let mut warnings = opened.warnings.clone();
    if arguments.faithful {
        warnings.extend(left_out(&opened.scene));
    }
    warnings.extend(darkness_of_picture(&opened.scene).map(|problem| problem.to_string()));
    let (Drawn { film, row_seconds, light }, cluster) = match (communicator, &device) {
        (Some(communicator), _) => {
            let drawn = arguments.draw_on_ranks(communicator, traced, &prepared, begun, &watch)?;
            let Some((film, report)) = drawn else { return Ok(()) };
            (Drawn { film, row_seconds: None, light: None }, Some(report))
        }
        (None, Device::Cpu) => (on_processor(begun), None),
        #[cfg(feature = "gpu")]
        (None, Device::Gpu(device)) => {
            let drawn = match arguments.draw_on(device, &opened.scene, view, settings, &watch) {
                Ok((drawn, unfinished)) => {
                    warnings.extend(unfinished_warning(unfinished, gpu::MAX_DEVICE_STEPS.into(), USE_PROCESSOR));
                    drawn
                }
                Err(fault) => {
                    warnings.push(crate::bake::done_by_processor(fault));
                    backend = Device::Cpu.name();
                    on_processor(None)
                }
            };
            (drawn, None)
        }
    };
    display.finish();
    let is_stopped = interrupt::is_asked_to_stop() && film.min_samples() < settings.samples;
    let how_to_go_on = checkpoints.filter(|_| is_stopped).map(|checkpoints| checkpoints.stop(&film));
    if light.as_ref().map_or(film.min_samples() == 0, |light| light.light_paths == 0) {
        return Err(how_to_go_on.unwrap_or_else(|| "stopped before there was anything to write".into()).into());
    }
    clock.lap("render");
    warnings.extend(light.as_ref().and_then(|light| light.shortfall(settings.tolerance)));
    let meter = || {
        // Means of radiances are on another scale than the radiance of the scene.
        let exposure =
            if arguments.faithful { metered_film(&film) } else { metered(&paths, &view.camera, METER_SAMPLES) };
        exposure.ev100
    };
    let costs = || traversal_costs(&world, view, tile);
    let (written, ev100) = match &prepared.target {
        Target::Picture(writer) => (&arguments.output, writer.write(&film, || cost_channels(&costs()), meter)?),
        Target::Part(..) if film.min_samples() < settings.samples => {
            return Err(how_to_go_on.unwrap_or_else(|| "stopped before the part had all samples".into()).into());
        }
        Target::Part(tile, path) => {
            let inputs = prepared.inputs(arguments);
            let part = FilmPart { inputs, tile: *tile, film: film.clone(), costs: costs(), ev100: meter() };
            part.write(path)?;
            (path, part.ev100)
        }
    };
    clock.lap("write");
    warnings.extend(checkpoints.and_then(|checkpoints| checkpoints.finish(how_to_go_on)));

    let row_seconds = row_seconds.map(|seconds| scaled_to(seconds, clock.seconds["render"]));
    let outcome = Outcome {
        ev100,
        peak_memory_bytes: peak_memory_bytes(),
        backend,
        row_seconds,
        difference: prepared.reference.as_ref().map(|reference| Difference::between(&film, reference)),
        cluster: cluster.as_ref().map(|report| ClusterOutcome::of(report, "rows")),
        warnings: &warnings,
        ..Outcome::of(&film, light, clock, begun_samples)
    };
    if arguments.json {
        say(serde_json::to_string(&outcome)?);
    } else {
        print_warnings(&warnings);
        outcome.say();
        say(format_args!("wrote {}", written.display()));
    }
    Ok(())
}

/// Refuses a scene in which no path of the published method can start.
fn check_starts(lights: &LightSampler) -> Result<(), Failure> {
    if LightAreaSampler::new(lights).is_empty() {
        return Err("no light of the scene has a surface, where paths of --faithful start: leave out --faithful".into());
    }
    Ok(())
}

/// Returns the warning about lights without a surface, which the published method leaves out.
fn left_out(scene: &Scene) -> Option<String> {
    let is_left_out = |light: &&Light| !matches!(light.kind, LightKind::Rectangle { .. });
    let mut names: Vec<String> =
        scene.lights.iter().filter(is_left_out).map(|light| format!("'{}'", light.name)).collect();
    if !scene.sky.is_dark() {
        names.push("the sky".into());
    }
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("--faithful leaves out lights without a surface: {names}")
    })
}

/// Returns the traversal cost of the ray through the center of each pixel of a tile.
fn traversal_costs(world: &World, view: &View, tile: Tile) -> Vec<TraversalCost> {
    let (origin, end) = (tile.origin, tile.end());
    let pixels = (origin.y..end.y).flat_map(|y| (origin.x..end.x).map(move |x| UVec2::new(x, y)));
    // Half a unit is the pixel's center for any filter, and zero is the center of the lens.
    pixels.map(|pixel| world.cost(&view.ray(pixel, [0.5, 0.5, 0.0, 0.0]))).collect()
}

/// Number of paths per ray of the light meter.
const METER_SAMPLES: u32 = 64;
