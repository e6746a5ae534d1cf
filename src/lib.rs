//! Global illumination for Bevy: radiosity lightmaps baked on any machine, with or without a GPU.
//!
//! A bake computes the irradiance at every texel of a level's lightmaps after all bounces. It writes the lightmap
//! pages, the lightmap coordinates, and a report with error estimates. There are three entry points:
//!
//! * **An app** adds `RadiosityPlugins` and triggers `Bake`; see `plugin` (feature `plugin`, on by default).
//! * **The command line** `radiosity bake level.glb -o folder`; see `cli` (feature `cli`).
//! * **Rust without Bevy** calls the modules below; see [`bake`]. Only `plugin` and `panel` depend on Bevy.
//!
//! # Modules
//!
//! Each module depends only on those above it, and begins with its own guide.
//!
//! | module | purpose |
//! | --- | --- |
//! | [`geometry`] | rays, boxes, triangles, clipping, sampling, ray queries ([`RayQuery`](geometry::RayQuery)) |
//! | [`cluster`] | work over many machines: messages between ranks, strategies, metrics |
//! | [`scene`] | scenes as plain data, and checks of them |
//! | [`builtin_scenes`] | scenes that need no file |
//! | [`scene_files`] | readers of glTF and OBJ files ([`scene_files::load`]) |
//! | [`lights`] | sampling of light sources ([`LightSampler`](lights::LightSampler)) |
//! | [`accel`] | acceleration structure for ray queries |
//! | [`partition`] | convex cells of a scene, their borders, and rays that pass from cell to cell |
//! | [`output`] | output files: written whole or not at all, never through a link |
//! | [`lightmap`] | unwrapping, packing, texel footprints ([`Elements`](lightmap::Elements)), filters, files |
//! | [`radiosity`] | solvers for the radiosity of all elements |
//! | [`low_rank`] | precomputed transport for lights that change (low-rank radiosity) |
//! | [`pathtrace`] | path tracing: reference irradiance at points, images, and irradiance volumes for moving objects |
//! | [`relight`] | run-time updates of a baked level's pages as lights change |
//! | `gpu` | compute shader versions of the solvers (feature `gpu`, which `plugin` enables) |
//! | [`bake`] | a bake as one job: settings, stages, checkpoints, report |
//! | `plugin` | Bevy integration: components, scene sync, background bakes, lightmaps on entities |
//! | `panel` | an egui window that shows and controls the plugin (feature `panel`) |
//! | `cli` | the command line |
//!
//! ```text
//! file or Bevy world --> Scene --> accel::World -------------------+
//!                          |                                       v
//!                          +--> pages, rectangles --> Elements --> solver --> radiosity --> filter --> pages, files
//! ```
//!
//! # Units
//!
//! Lengths are in meters, colors in linear Rec. 709. Point and spot lights are in candela (lumens / 4 pi), radiance in
//! cd/m2, the sun and irradiance in lux. A page's texel holds irradiance / pi, without the receiver's own color and
//! emission. So Bevy's `lightmap_exposure = 1.0` shows it unchanged.
//!
//! # Materials
//!
//! Bakes treat all reflected light as diffuse. Bounces use the albedo of all lobes together
//! ([`Appearance::total_reflectance`](scene::Appearance::total_reflectance)): the diffuse base, the specular layer over
//! it, metal, and clearcoat. So a steel table brightens its room as it should, but bakes show no reflections.
//!
//! Alpha is coverage: a blended surface transmits `1 - alpha` of the light untinted, and reflects `alpha` of the light
//! that an opaque one would reflect. A pane of `KHR_materials_transmission` tints transmitted light. So does a blended
//! surface with the extra `radiosity_tint`. Paper and leaves (`KHR_materials_diffuse_transmission`) scatter light
//! through.
//!
//! # Terms
//!
//! A *surface* is one instance of a mesh and has a rectangle on a *page*, a lightmap texture. Its
//! [`SurfaceKey`](scene::SurfaceKey) identifies it across runs. An *element* is the footprint of a texel on one side of
//! a surface, the smallest piece with one radiosity. A *mover* is a surface that moves through the level, and takes no
//! part in bakes. A *subscene* is one convex cell of a partition with its contents. A *border* is the rectangle shared
//! by two subscenes.
#![cfg_attr(feature = "docs", doc = "\n# Features\n", doc = document_features::document_features!())]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with tolerances"))]

// The command line and the examples share files, which name this crate.
#[cfg(all(feature = "cli", feature = "plugin"))]
extern crate self as bevy_radiosity;

pub mod accel;
pub mod bake;
pub mod builtin_scenes;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
pub mod cluster;
mod device;
pub mod geometry;
#[cfg(feature = "gpu")]
pub mod gpu;
mod input;
pub mod lightmap;
pub mod lights;
pub mod low_rank;
pub mod output;
#[cfg(feature = "panel")]
pub mod panel;
pub mod partition;
mod parts;
pub mod pathtrace;
#[cfg(feature = "plugin")]
#[allow(clippy::type_complexity, reason = "Bevy's queries are types")]
pub mod plugin;
mod portable;
pub mod progress;
pub mod radiosity;
mod raw_values;
pub mod relight;
pub mod scene;
pub mod scene_files;
#[cfg(test)]
mod skip;

pub use device::{Device, DeviceChoice, DeviceError};

/// Common imports for apps that bake.
#[cfg(feature = "plugin")]
pub mod prelude {
    pub use crate::DeviceChoice;
    pub use crate::bake::{BakeSettings, RelightPatches};
    pub use crate::lightmap::LayoutSettings;
    #[cfg(feature = "panel")]
    pub use crate::panel::{Panel, PanelKeys, RadiosityPanelPlugin};
    pub use crate::pathtrace::VolumeSettings;
    pub use crate::plugin::{
        BAKE_ERROR, BAKE_MAIN_THREAD, BAKE_PROGRESS, Bake, BakeConvergence, BakeFailed, BakeFinished, BakeId,
        BakePhase, BakeProgress, BakeResolution, BakeRole, BakeTint, Baked, BakedLevel, BakedLevelAsset,
        BakedLevelFailed, BakedLevelLoaded, BakedLevelShown, CancelBake, EmissiveUnits, LIGHTMAPS_MAIN_THREAD,
        LIVE_VIEW_GPU, LIVE_VIEW_PATHS, LIVE_VIEW_SAMPLES, LightmapOverlay, Lightmaps, LiveChannel, LiveIntegrator,
        LiveView, LiveViewStatus, MoverLighting, RELIGHT_BEHIND, RELIGHT_DOORS, RELIGHT_MAIN_THREAD,
        RELIGHT_TRANSPORT_ERROR, RELIGHT_UPDATE, RadiosityPlugins, RadiositySystems, RadiosityThreads, Relight,
        RelightDoor, RelightExclude, RelightStatus, RemoveLightmaps, SceneSettings, SceneStatus, bake_running,
        live_view_enabled, relighting,
    };
    pub use crate::radiosity::{Content, Method, SolverSettings};
    pub use crate::scene::Sky;
}

/// Doc tests of the README and of the guide.
#[cfg(all(doctest, feature = "gltf"))]
mod shown {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/guide/app.md")]
    struct Apps;
    #[doc = include_str!("../docs/guide/live_view.md")]
    struct LiveView;
    #[cfg(feature = "panel")]
    #[doc = include_str!("../docs/guide/panel.md")]
    struct Panel;
    #[doc = include_str!("../docs/guide/relighting.md")]
    struct Relighting;
    #[doc = include_str!("../docs/guide/web.md")]
    struct Web;
}
