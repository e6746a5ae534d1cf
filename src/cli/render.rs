//! Command `radiosity render`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use glam::UVec2;
use serde::Serialize;

use super::arguments::{SceneArguments, WorkArguments, print_warnings, seconds};
use super::camera::CameraArguments;
use super::progress::{Display, NamedStage, duration};
use super::{Failure, interrupt, say};
use crate::Device;
use crate::accel::{Preset, TraversalCost, World};
use crate::bake::peak_memory_bytes;
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::lights::LightSampler;
use crate::output::{check_place, write_atomic};
use crate::pathtrace::{
    Exposure, Film, Lens, LightTracer, PathTracer, PixelFilter, RenderSettings, Tonemapping, View, WhittedTracer,
    metered, render, render_from_lights,
};
use crate::progress::Monitor;
use crate::scene::check::darkness_of_picture;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Image to write: .png as a screen shows it, .exr with radiance in cd/m2, its variance, albedo, normal, depth and
    /// cost
    #[arg(short, value_name = "FILE")]
    output: PathBuf,
    /// Columns and rows
    #[arg(long, value_name = "WxH", default_value = "1280x720")]
    size: Size,
    /// Maximum number of samples per pixel; four times as many halve the noise
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..1 << 24))]
    samples: u32,
    /// Maximum time, seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    time: Option<Duration>,
    /// Target noise, root mean square over the mean: 0.05 is 5 %
    #[arg(long, value_name = "REL")]
    error: Option<f32>,
    /// Target reciprocal of the mean number of paths that bring light to a pixel: 0.01 is a hundred paths
    #[arg(long, value_name = "TOL")]
    tolerance: Option<f32>,
    /// Maximum number of bounces of light [default: no limit]
    #[arg(long, value_name = "N")]
    bounces: Option<u32>,
    /// Integrator
    #[arg(long, value_enum, default_value_t)]
    integrator: Method,
    /// Exposure of a .png (EV100), or auto: as metered
    #[arg(long, value_name = "auto|N", default_value = "auto", allow_hyphen_values = true)]
    ev: Ev,
    /// Tonemapping of a .png, as Bevy's of that name
    #[arg(long, value_enum, default_value_t)]
    tonemapping: Tone,
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
}

impl Method {
    fn runs_on_devices(self) -> bool {
        self != Self::Whitted
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
enum Tone {
    /// Values above white are clipped
    None,
    /// x / (1 + x) of each channel
    Reinhard,
    /// x / (1 + x) of luminance: colors stay
    ReinhardLuminance,
    /// High contrast, with hue shifts
    #[default]
    AcesFitted,
    /// Soft, with bright colors desaturated as on film
    #[value(name = "agx")]
    AgX,
    /// Between Reinhard's two
    SomewhatBoringDisplayTransform,
    /// Bevy's default: keeps perceived hues, adds no contrast
    TonyMcMapface,
    /// For product shots: keeps base colors under gray light
    KhronosPbrNeutral,
    #[value(hide = true)]
    BlenderFilmic,
}

impl Tone {
    fn tonemapping(self) -> Result<Tonemapping, Failure> {
        Ok(match self {
            Self::None => Tonemapping::None,
            Self::Reinhard => Tonemapping::Reinhard,
            Self::ReinhardLuminance => Tonemapping::ReinhardLuminance,
            Self::AcesFitted => Tonemapping::AcesFitted,
            Self::AgX => Tonemapping::AgX,
            Self::SomewhatBoringDisplayTransform => Tonemapping::SomewhatBoringDisplayTransform,
            Self::TonyMcMapface => Tonemapping::TonyMcMapface,
            Self::KhronosPbrNeutral => Tonemapping::KhronosPbrNeutral,
            Self::BlenderFilmic => {
                let reason = "blender-filmic needs a table that nothing says may be passed on";
                return Err(format!("{reason}: choose agx, which is by the same author").into());
            }
        })
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
const LARGEST: u32 = 16_384;

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=LARGEST).contains(number));
        text.split_once(['x', 'X'])
            .and_then(|(columns, rows)| Some(Self(UVec2::new(number(columns)?, number(rows)?))))
            .ok_or_else(|| format!("give columns and rows up to {LARGEST}, such as 1280x720"))
    }
}

/// Exposure (EV100); `None` to meter it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ev(Option<f32>);

impl FromStr for Ev {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let number = text.parse().ok().filter(|number: &f32| number.is_finite());
        number.map(|number| Self(Some(number))).ok_or_else(|| "give a number or auto".to_owned())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Png,
    Exr,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("png") => Ok(Self::Png),
            Some("exr") => Ok(Self::Exr),
            _ => Err(format!("{} is no picture that can be written: call it .png or .exr", path.display()).into()),
        }
    }

    /// Returns the bytes of a pixel on film, in channels to be written, and in the file.
    fn bytes_per_pixel(self) -> u64 {
        match self {
            Self::Png => 70,
            Self::Exr => 170,
        }
    }
}

#[derive(Serialize)]
struct Outcome<'a> {
    width: u32,
    height: u32,
    samples: u32,
    paths: u64,
    paths_per_second: f64,
    /// Error estimate; `None` with one sample per pixel, which allows no comparison.
    error_estimate: Option<f32>,
    ev100: f32,
    seconds: BTreeMap<&'static str, f64>,
    peak_memory_bytes: u64,
    backend: &'static str,
    warnings: &'a [String],
}

impl Arguments {
    fn max_bounces(&self) -> Result<Option<u32>, Failure> {
        match self.integrator {
            Method::Path | Method::Light | Method::Hybrid => Ok(self.bounces),
            Method::Direct => Ok(Some(self.bounces.unwrap_or(1).min(1))),
            Method::Whitted if self.bounces.is_some() => {
                Err("--bounces is not for --integrator whitted, whose rays end when they count too little".into())
            }
            Method::Whitted => Ok(None),
        }
    }

    fn settings(&self) -> Result<RenderSettings, Failure> {
        for (name, value) in [("error", self.error), ("tolerance", self.tolerance)] {
            if value.is_some_and(|value| !value.is_finite() || value <= 0.0) {
                return Err(format!("--{name} must be a number above zero").into());
            }
        }
        let Self { samples, time, error, tolerance, seed, .. } = *self;
        Ok(RenderSettings { samples, time_limit: time, error, tolerance, seed })
    }

    fn draw(
        &self,
        paths: &PathTracer,
        world: &World,
        lights: &LightSampler,
        view: &View,
        settings: &RenderSettings,
        monitor: &dyn Monitor,
    ) -> Film {
        let from_lights = |tracer: &LightTracer| render_from_lights(tracer, view, settings, monitor);
        match self.integrator {
            Method::Path | Method::Direct => render(paths, view, settings, monitor),
            Method::Whitted => render(&WhittedTracer::new(world.scene(), world, lights), view, settings, monitor),
            Method::Light => from_lights(&LightTracer::new(world.scene(), world, lights, self.bounces)),
            Method::Hybrid => from_lights(&LightTracer::hybrid(world.scene(), world, lights, self.bounces)),
        }
    }

    #[cfg(feature = "gpu")]
    fn draw_on(
        &self,
        gpu: &gpu::Gpu,
        scene: &crate::scene::Scene,
        view: &View,
        settings: &RenderSettings,
        monitor: &dyn Monitor,
    ) -> Result<Film, Failure> {
        let on_gpu = gpu::GpuScene::new(gpu, scene)?;
        let max_bounces = self.max_bounces()?;
        Ok(match self.integrator {
            Method::Light | Method::Hybrid => {
                let from_lights = gpu::FromLights { hybrid: self.integrator == Method::Hybrid, max_bounces };
                gpu::render_from_lights(gpu, scene, &on_gpu, view, from_lights, settings, monitor)?
            }
            Method::Path | Method::Direct | Method::Whitted => {
                gpu::render(gpu, &on_gpu, view, max_bounces, settings, monitor)?
            }
        })
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

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let format = Format::of(&arguments.output)?;
    let (max_bounces, settings, lens) = (arguments.max_bounces()?, arguments.settings()?, arguments.lens()?);
    let tonemapping = arguments.tonemapping.tonemapping()?;
    if arguments.integrator.runs_on_devices() {
        arguments.work.prepare_threads()?;
    } else {
        arguments.work.prepare()?;
    }
    check_place(&arguments.output)?;
    interrupt::listen()?;
    let mut clock = Clock::default();
    let UVec2 { x: width, y: height } = arguments.size.0;
    let opened = arguments.scene.open_for_picture(u64::from(width) * u64::from(height) * format.bytes_per_pixel())?;
    let camera = arguments.camera.camera(&opened)?;
    let device = if arguments.integrator.runs_on_devices() { arguments.work.open_device()? } else { Device::Cpu };
    clock.lap("load");
    let world = World::build(opened.scene.clone(), Preset::best()).with_movers();
    let lights = LightSampler::with_movers(&opened.scene);
    let paths = PathTracer::new(&opened.scene, &world, &lights, max_bounces);
    clock.lap("tree");
    let filter = match arguments.filter {
        Filter::Box => PixelFilter::Box,
        Filter::Tent => PixelFilter::Tent,
    };
    let view = View { camera, size: arguments.size.0, lens, filter };
    let display = Display::new(arguments.json);
    let monitor = NamedStage { display: &display, name: "picture" };
    let on_processor = || arguments.draw(&paths, &world, &lights, &view, &settings, &monitor);
    #[cfg_attr(not(feature = "gpu"), expect(unused_mut, reason = "only graphics cards are lost"))]
    let mut backend = device.name();
    let mut warnings = opened.warnings;
    warnings.extend(darkness_of_picture(&opened.scene).map(|problem| problem.to_string()));
    let film = match &device {
        Device::Cpu => on_processor(),
        #[cfg(feature = "gpu")]
        Device::Gpu(gpu) => arguments.draw_on(gpu, &opened.scene, &view, &settings, &monitor).unwrap_or_else(|fault| {
            warnings.push(crate::bake::done_by_processor(fault));
            backend = Device::Cpu.name();
            on_processor()
        }),
    };
    display.finish();
    if film.samples() == 0 {
        return Err("stopped before there was anything to write".into());
    }
    clock.lap("render");
    let ev100 = arguments.ev.0.unwrap_or_else(|| metered(&paths, &view.camera, METER_SAMPLES).ev100);
    let bytes = match format {
        Format::Png => film.to_png(Exposure { ev100 }, tonemapping)?,
        Format::Exr => film.to_exr(traversal_costs(&world, &view))?,
    };
    write_atomic(&arguments.output, &bytes)?;
    clock.lap("write");

    let UVec2 { x: width, y: height } = film.size();
    let paths = u64::from(width) * u64::from(height) * u64::from(film.samples());
    let outcome = Outcome {
        width,
        height,
        samples: film.samples(),
        paths,
        paths_per_second: paths as f64 / clock.seconds["render"].max(f64::MIN_POSITIVE),
        error_estimate: (film.samples() > 1).then(|| film.relative_error()),
        ev100,
        seconds: clock.with_total(),
        peak_memory_bytes: peak_memory_bytes(),
        backend,
        warnings: &warnings,
    };
    if arguments.json {
        say(serde_json::to_string(&outcome)?);
    } else {
        print_warnings(&warnings);
        let noise = match outcome.error_estimate {
            Some(error) => format!("noise at most {:.1} %", error * 100.0),
            None => "noise unknown".to_owned(),
        };
        say(format_args!(
            "{width} x {height} pixels of {} samples in {}, {:.2} million paths a second, {noise}, EV {ev100:.1}",
            outcome.samples,
            duration(outcome.seconds["render"] as f32),
            outcome.paths_per_second / 1e6,
        ));
        say(format_args!("wrote {}", arguments.output.display()));
    }
    Ok(())
}

/// Seconds of each stage.
struct Clock {
    started: Instant,
    lap: Instant,
    seconds: BTreeMap<&'static str, f64>,
}

impl Default for Clock {
    fn default() -> Self {
        let now = Instant::now();
        Self { started: now, lap: now, seconds: BTreeMap::new() }
    }
}

impl Clock {
    fn lap(&mut self, stage: &'static str) {
        self.seconds.insert(stage, self.lap.elapsed().as_secs_f64());
        self.lap = Instant::now();
    }

    fn with_total(mut self) -> BTreeMap<&'static str, f64> {
        self.seconds.insert("total", self.started.elapsed().as_secs_f64());
        self.seconds
    }
}

/// Returns the traversal costs of the ray through each pixel's center, as image channels.
fn traversal_costs(world: &World, view: &View) -> [(&'static str, Vec<u32>); 2] {
    let pixels = (0..view.size.y).flat_map(|y| (0..view.size.x).map(move |x| UVec2::new(x, y)));
    // Half a unit is the pixel's center for any filter, and zero is the center of the lens.
    let costs: Vec<_> = pixels.map(|pixel| world.cost(&view.ray(pixel, [0.5, 0.5, 0.0, 0.0]))).collect();
    let channel = |of: fn(&TraversalCost) -> u32| costs.iter().map(of).collect();
    [("cost.nodes", channel(|cost| cost.nodes)), ("cost.triangles", channel(|cost| cost.triangles))]
}

/// Number of paths per ray of the light meter.
const METER_SAMPLES: u32 = 64;
