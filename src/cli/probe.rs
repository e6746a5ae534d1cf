//! Command `radiosity probe`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{Opened, SceneArguments, WorkArguments, print_warnings};
use super::progress::{Display, NamedStage};
use super::{Failure, interrupt, points, say};
use crate::accel::{Preset, World};
use crate::bake::BakedScene;
use crate::clock;
use crate::lights::LightSampler;
use crate::output::{check_place, write_atomic};
use crate::pathtrace::{self, PointIrradiance, Receiver};
use crate::scene::check::darkness;
use crate::scene::{CheckedScene, Scene};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Input file: lines of x,y,z,nx,ny,nz
    #[arg(long, value_name = "FILE.csv")]
    points: PathBuf,
    /// Output file: lines of x,y,z,nx,ny,nz,r,g,b,standard_error, irradiance in lux
    #[arg(short, long, value_name = "FILE.csv")]
    output: PathBuf,
    /// Read the lightmaps of a bake in this folder instead of tracing paths
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Paths per point; more reduce noise, which falls with their square root or faster
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..1 << 24))]
    samples: u32,
    /// Random seed; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u32,
    /// Solver; to probe a bake's own methods, use --from
    #[arg(long, value_name = "METHOD", value_parser = ["path"], default_value = "path")]
    method: String,
    #[command(flatten)]
    work: WorkArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Outcome<'a> {
    points: usize,
    seconds: f64,
    warnings: &'a [String],
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.work.prepare()?;
    interrupt::listen()?;
    let receivers = points::read(&arguments.points)?;
    check_place(&arguments.output)?;
    let opened = arguments.scene.open_within_memory()?;
    let started = clock::now();
    let Opened { scene, mut warnings, .. } = opened;
    let found = match &arguments.from {
        Some(folder) => from_bake(folder, &scene, &receivers, &mut warnings)?,
        None => {
            warnings.extend(darkness(&scene).map(|problem| problem.to_string()));
            by_paths(arguments, &scene, &receivers)?
        }
    };
    write_atomic(&arguments.output, points::format(&receivers, &found).as_bytes())?;
    let seconds = started.elapsed().as_secs_f64();
    if arguments.json {
        let outcome = Outcome { points: receivers.len(), seconds, warnings: &warnings };
        say(serde_json::to_string(&outcome)?);
    } else {
        print_warnings(&warnings);
        say(format_args!("{} points in {seconds:.2} s, written to {}", receivers.len(), arguments.output.display()));
    }
    Ok(())
}

fn by_paths(
    arguments: &Arguments,
    scene: &CheckedScene,
    receivers: &[Receiver],
) -> Result<Vec<PointIrradiance>, Failure> {
    let display = Display::new(arguments.json);
    let world = World::build(scene.shared().clone(), Preset::best());
    let found = pathtrace::irradiance_at(
        scene,
        &world,
        &LightSampler::new(scene),
        receivers,
        arguments.samples,
        arguments.seed,
        &NamedStage { display: &display, name: "paths" },
    );
    display.finish();
    found.map_err(|_| "stopped; nothing was written".into())
}

/// Reads the irradiance from a bake's lightmaps. The standard error is the bake's own error estimate, relative to each
/// point.
fn from_bake(
    folder: &Path,
    scene: &Scene,
    receivers: &[Receiver],
    warnings: &mut Vec<String>,
) -> Result<Vec<PointIrradiance>, Failure> {
    let baked = BakedScene::read(folder, scene)?;
    if !baked.is_current {
        let folder = folder.display();
        warnings.push(format!("the scene has changed since {folder} was baked: bake it again"));
    }
    let found = baked.irradiance_at(receivers);
    let missing = found.iter().filter(|irradiance| irradiance.is_none()).count();
    if missing > 0 {
        warnings.push(format!("no baked surface faces the way of {missing} points: they are given as black"));
    }
    Ok(found
        .into_iter()
        .map(Option::unwrap_or_default)
        .map(|irradiance| PointIrradiance { irradiance, standard_error: baked.error * irradiance.max_element() })
        .collect())
}
