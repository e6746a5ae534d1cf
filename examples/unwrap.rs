//! Example: quality of unwrapping a scene's meshes: charts, use of the pages, stretch, time. With the feature `xatlas`,
//! both unwrappers are compared.
//!
//! ```text
//! cargo run --release --no-default-features --features xatlas --example unwrap [FILE [TEXELS_PER_METER]]
//! ```
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::error::Error;
use std::time::Instant;

use bevy_radiosity::lightmap::{Layout, LayoutSettings, Unwrapper};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene_files::load;

const UNWRAPPERS: &[Unwrapper] = &[
    Unwrapper::Charts,
    #[cfg(feature = "xatlas")]
    Unwrapper::Xatlas,
];

fn main() -> Result<(), Box<dyn Error>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/level.glb").to_owned();
    let file = std::env::args().nth(1).unwrap_or(default);
    let texels_per_meter = std::env::args().nth(2).map_or(Ok(16.0), |density| density.parse())?;
    let scene = load(&file)?.scene;
    println!("{file}, {} triangles, {texels_per_meter} texels/m", scene.triangle_count());
    for &unwrapper in UNWRAPPERS {
        let settings = LayoutSettings { texels_per_meter, unwrapper, ..LayoutSettings::default() };
        let start = Instant::now();
        let (layout, _) = Layout::build(&scene, &settings, &Unmonitored)?;
        let seconds = start.elapsed().as_secs_f32();
        let found = layout.statistics(&scene, texels_per_meter);
        println!(
            "  {unwrapper:?}: {} charts, {} texels of pages, {:.1} % of them covered, stretch {:.3}, {seconds:.2} s",
            found.charts,
            found.texels,
            100.0 * found.coverage,
            found.stretch
        );
    }
    Ok(())
}
