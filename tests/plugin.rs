//! Tests of the Bevy plugin: the guarantees for an app that bakes and shows lightmaps.
//!
//! No test opens a window. `world` needs no graphics adapter. `drawn` reads pixels and is skipped with a message if
//! there is no adapter, unless `RADIOSITY_REQUIRE_GPU` makes that a failure.
#![cfg(feature = "plugin")]
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

#[path = "plugin/app.rs"]
mod app;
#[path = "plugin/assets.rs"]
mod assets;
#[path = "plugin/bake_device.rs"]
mod bake_device;
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
#[path = "plugin/filter.rs"]
mod filter;
#[path = "plugin/headless.rs"]
mod headless;
#[path = "plugin/levels.rs"]
mod levels;
#[path = "plugin/light_faults.rs"]
mod light_faults;
#[path = "plugin/live/mod.rs"]
mod live;
#[path = "plugin/order.rs"]
mod order;
#[path = "plugin/partition.rs"]
mod partition;
#[path = "plugin/parts.rs"]
mod parts;
#[path = "plugin/relight.rs"]
mod relight;
#[path = "plugin/relight_graphics.rs"]
mod relight_graphics;
#[path = "plugin/said.rs"]
mod said;
#[path = "plugin/several_levels.rs"]
mod several_levels;
#[path = "../src/skip.rs"]
mod skip;
#[path = "plugin/soak.rs"]
mod soak;
#[path = "../src/cli/spawn.rs"]
mod spawn;
#[path = "plugin/trial.rs"]
mod trial;
#[path = "plugin/world.rs"]
mod world;
