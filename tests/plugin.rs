//! What an app may rely on when it bakes and shows lightmaps.
//!
//! Everything runs without a window. `world` needs no graphics adapter; `drawn` looks at pixels and is skipped, saying
//! so, where there is none, unless `RADIOSITY_REQUIRE_GPU=1` makes that a failure.
#![cfg(feature = "plugin")]

#[path = "plugin/app.rs"]
mod app;
#[path = "plugin/coordinates.rs"]
mod coordinates;
#[path = "plugin/damage.rs"]
mod damage;
#[path = "plugin/doors.rs"]
mod doors;
#[path = "plugin/drawn.rs"]
mod drawn;
#[cfg(feature = "gltf")]
#[path = "plugin/files.rs"]
mod files;
#[path = "plugin/light_faults.rs"]
mod light_faults;
#[path = "plugin/live/mod.rs"]
mod live;
#[path = "plugin/partition.rs"]
mod partition;
#[path = "plugin/relight.rs"]
mod relight;
#[path = "plugin/relight_graphics.rs"]
mod relight_graphics;
#[path = "plugin/world.rs"]
mod world;
