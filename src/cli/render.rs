//! `radiosity render`.

use std::path::PathBuf;

use super::Failure;
use super::arguments::SceneArguments;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// The picture to write, .png or .exr
    #[arg(short, value_name = "FILE")]
    output: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    Err(format!(
        "render is not available yet, so {} was not drawn: bake {} with 'radiosity bake' and look at it with 'radiosity view'",
        arguments.output.display(),
        arguments.scene.name(),
    )
    .into())
}
