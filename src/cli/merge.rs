//! Command `radiosity merge`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::picture::{PictureArguments, cost_channels};
use super::shards::Manifest;
use super::{Failure, bake, ranks, say};
use crate::bake::{Checkpoints, usual_memory_mib};
use crate::output::{check_place, is_temporary};
use crate::pathtrace::{FilmPart, FilmParts};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of parts that radiosity render --shard or --tile has written, or radiosity bake --shard
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Image to write, .png or .exr; of a bake, the folder of the level
    #[arg(short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    picture: PictureArguments,
    /// Maximum memory to use for a picture, MiB; a bake uses that of its shards [default: three quarters of the machine's
    /// memory, or of its control group's limit]
    #[arg(long, value_name = "MIB")]
    memory: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Outcome {
    width: u32,
    height: u32,
    samples: u32,
    parts: usize,
    error_estimate: Option<f32>,
    ev100: f32,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    ranks::refuse("merge")?;
    if let Some(manifest) = Manifest::read(&arguments.folders[0])? {
        return merge_bake(arguments, &manifest);
    }
    let writer = arguments.picture.writer(&arguments.output)?;
    check_place(&arguments.output)?;
    let max_bytes = u64::from(arguments.memory.unwrap_or_else(usual_memory_mib)) << 20;
    let mut merged = FilmParts::new(max_bytes);
    let mut parts = 0;
    for folder in &arguments.folders {
        for path in files(folder)? {
            merged.add(&path, &FilmPart::read(&path, max_bytes)?)?;
            parts += 1;
        }
    }
    let merged = merged.finish()?;
    let ev100 = writer.write(&merged.film, || cost_channels(&merged.costs), || merged.ev100)?;
    let film = &merged.film;
    let outcome = Outcome {
        width: film.size().x,
        height: film.size().y,
        samples: film.samples(),
        parts,
        error_estimate: (film.samples() > 1).then(|| film.relative_error()),
        ev100,
    };
    if arguments.json {
        say(serde_json::to_string(&outcome)?);
    } else {
        let Outcome { width, height, samples, .. } = outcome;
        say(format_args!("{width} x {height} pixels of {samples} samples from {parts} parts, EV {ev100:.1}"));
        say(format_args!("wrote {}", arguments.output.display()));
    }
    Ok(())
}

/// Joins the parts of a bake.
fn merge_bake(arguments: &Arguments, manifest: &Manifest) -> Result<(), Failure> {
    if !arguments.picture.are_default() {
        return Err(
            "--ev and --tonemapping are for pictures, and the folder has parts of a bake: leave them out".into()
        );
    }
    if arguments.memory.is_some() {
        // With another limit a bake may have other light.
        return Err("parts of a bake are merged with the --memory of their shards: leave out --memory".into());
    }
    for folder in &arguments.folders[1..] {
        match Manifest::read(folder)? {
            Some(other) => manifest.check_same(&other, folder)?,
            None => return Err(format!("{} has no parts of the bake: name its folders only", folder.display()).into()),
        }
    }
    let folders: Result<Vec<_>, _> = arguments.folders.iter().map(std::path::absolute).collect();
    bake::merge(manifest, folders?, std::path::absolute(&arguments.output)?, arguments.json)
}

/// Returns the files of a folder, sorted, without checkpoints and what a killed process has left half-written.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| format!("cannot read the folder {}: {error}", folder.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(unreadable)?.collect();
    let entries = entries.map_err(unreadable)?.into_iter();
    let is_left = |name: &str| is_temporary(name) || Checkpoints::is_of_picture(name);
    let whole = entries.filter(|entry| !entry.file_name().to_str().is_some_and(is_left));
    let mut paths: Vec<PathBuf> = whole.map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
