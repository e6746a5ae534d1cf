//! Example: builds the project's own levels, `assets/level.glb` and `assets/cornell_box.glb`, from this code alone.
//!
//! ```text
//! cargo run --release --no-default-features --example make_level [DIRECTORY]
//! ```
//!
//! `shapes` creates triangles, `solid` creates buildings from filled and carved boxes, `textures` paints textures, and
//! `gltf_writer` writes the file. `rooms` is the building of the level, `furniture` and `walker` are its models, and
//! `furnishing` places them. The output is deterministic.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

mod cornell_box;
mod furnishing;
mod furniture;
mod gltf_writer;
mod palette;
mod rooms;
mod shapes;
mod solid;
mod textures;
mod walker;

use std::path::{Path, PathBuf};

use gltf_writer::Document;
use palette::Palette;

fn main() -> std::io::Result<()> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let directory = std::env::args_os().nth(1).map_or(default, PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    for (name, document) in [("level.glb", level()), ("cornell_box.glb", cornell_box::cornell_box())] {
        let triangles = document.triangle_count();
        let bytes = document.into_glb();
        let path = directory.join(name);
        std::fs::write(&path, &bytes)?;
        println!("{}: {triangles} triangles, {:.2} MB", path.display(), bytes.len() as f64 / 1e6);
    }
    Ok(())
}

fn level() -> Document {
    let mut file = Document::default();
    let palette = Palette::new(&mut file);
    rooms::build(&mut file, &palette);
    furnishing::furnish(&mut file, &palette);
    file
}
