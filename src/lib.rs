//! Global illumination for Bevy: radiosity lightmaps baked on any machine, with or without a GPU.
//!
//! A bake takes a level, finds how much light arrives at every texel of its lightmaps after all bounces, and writes the
//! pages, the coordinates and a report of how wrong it thinks it is. There are three ways in:
//!
//! * **An app** adds `RadiosityPlugins` and triggers `Bake`; see `plugin` (feature `plugin`, on by default).
//! * **The command line** `radiosity bake level.glb -o folder`; see `cli` (feature `cli`).
//! * **Rust without Bevy** calls the rooms below; see [`bake`]. Nothing but `plugin` and `panel` knows Bevy.
//!
//! # The rooms
//!
//! Each looks only at those above it, and begins with a guide to itself.
//!
//! | room | what it is for |
//! | --- | --- |
//! | [`geometry`] | rays, boxes, triangles, clipping, sampling, and [`RayQuery`](geometry::RayQuery): what a ray meets |
//! | [`scene`] | what light meets, as plain data; files ([`scene::load`]), built-in scenes, checks |
//! | [`kdtree`] | the structure that answers rays |
//! | [`partition`] | a scene cut into convex cells, their borders, and rays that go from cell to cell |
//! | [`output`] | files that are written: whole or not at all, never through a link |
//! | [`lightmap`] | unwrap, pack, texel footprints ([`Elements`](lightmap::Elements)), filter, files |
//! | [`radiosity`] | solvers for the light of all elements at once |
//! | [`pathtrace`] | irradiance at points and whole pictures, by following paths: the truth that bakes are held against, and what lights moving things |
//! | [`relight`] | the pages of a baked level, following lights that change while a game runs |
//! | `gpu` | the same kernels as compute shaders (feature `gpu`, which `plugin` has) |
//! | [`bake`] | one bake as a job: settings, stages, checkpoints, report |
//! | `plugin` | Bevy: components, scene sync, the bake in the background, lightmaps on entities |
//! | `panel` | an egui window that shows what the plugin does, and sets it (feature `panel`) |
//! | `cli` | the command line |
//!
//! ```text
//! file or Bevy world --> Scene --> kdtree::World ------------------+
//!                          |                                       v
//!                          +--> pages, rectangles --> Elements --> solver --> radiosity --> filter --> pages, files
//! ```
//!
//! # Units
//!
//! Metres; linear Rec. 709; point and spot lights in candela (lumens / 4 pi), the sun in lux, radiance in cd/m2,
//! irradiance in lux. A page's texel holds irradiance / pi, without the receiver's own colour and emission, so that
//! Bevy's `lightmap_exposure = 1.0` shows it as it is.
//!
//! # Materials
//!
//! Bakes take all reflected light for diffuse. What bounces is the albedo of all lobes together
//! ([`Appearance::total_reflectance`](scene::Appearance::total_reflectance)): the diffuse base, the specular layer over it, a
//! metal, a clear coat. So a steel table brightens its room as it should, but bakes show no reflections.
//!
//! Alpha is coverage: a blended surface lets `1 - alpha` of the light through without tint and reflects `alpha` of what an
//! opaque one would. A pane of `KHR_materials_transmission` tints what it lets through, and so does a blended surface with
//! the extra `radiosity_tint`. Paper and leaves (`KHR_materials_diffuse_transmission`) scatter light through.
//!
//! # Words
//!
//! A *surface* is one instance of a mesh and owns a rectangle on a *page*, a lightmap texture; it is known across runs
//! by its [`SurfaceKey`](scene::SurfaceKey). An *element* is the footprint of a texel on one side of a surface, the
//! smallest piece with one radiosity. A *mover* is a surface that moves through the level: no bake holds it.
//! A *subscene* is one convex cell of a partition with what lies in it, a *border* the rectangle that two of them share.

pub mod bake;
#[cfg(feature = "cli")]
pub mod cli;
mod device;
pub mod geometry;
#[cfg(feature = "gpu")]
pub mod gpu;
mod input;
pub mod kdtree;
pub mod lightmap;
pub mod output;
#[cfg(feature = "panel")]
pub mod panel;
pub mod partition;
pub mod pathtrace;
#[cfg(feature = "plugin")]
#[allow(clippy::type_complexity, reason = "Bevy's queries are types")]
pub mod plugin;
pub mod progress;
pub mod radiosity;
pub mod relight;
pub mod scene;

pub use device::Device;

/// What an app that bakes needs to name.
#[cfg(feature = "plugin")]
pub mod prelude {
    pub use crate::bake::BakeSettings;
    #[cfg(feature = "panel")]
    pub use crate::panel::{Panel, PanelKeys, RadiosityPanelPlugin};
    pub use crate::pathtrace::VolumeSettings;
    pub use crate::plugin::{
        Bake, BakeExclude, BakeFailed, BakeFinished, BakeId, BakeMover, BakeOccluder, BakeProgress, BakeResolution,
        BakeStatic, BakeTint, BakedLevel, CancelBake, EmissiveUnits, LightmapOverlay, Lightmaps, LiveChannel, LiveView,
        LiveViewStatus, RadiosityPlugins, Relight, RelightDevice, RelightDoor, RelightExclude, RelightStatus,
        RemoveLightmaps, SceneSettings, SceneStatus,
    };
    pub use crate::radiosity::Content;
}

/// Compiles what the README shows.
#[cfg(all(doctest, feature = "gltf"))]
#[doc = include_str!("../README.md")]
struct Readme;
