//! GPU implementation of the solvers, as compute shaders.
//!
//! A [`Gpu`] is a device, Bevy's or one opened here. A [`GpuScene`] holds a [`Scene`](crate::scene::Scene) in device
//! memory: KD-tree, triangles, materials and textures, bound alike by every kernel. Kernels are plain WGSL in
//! `shaders/`, joined from small pieces; `shader.rs` lists all of them. Each piece has a counterpart in Rust, and tests
//! compare both.
//!
//! Main types:
//! - [`PathKernel`] adds samples to a [`GpuFilm`]; [`render`] and [`render_from_lights`] draw whole pictures.
//! - [`LightKernel`] follows light paths.
//! - [`GpuBackend`] bakes lightmaps.
//! - [`GpuLowRank`] relights a level when lights change, and [`GpuPages`] draws its lightmap pages.
//! - [`PictureFilter`] denoises films with few samples.
//! - [`RayKernels`] traces individual rays.
//! - [`GpuCounters`] shoots rays through a partition.
//!
//! All kernels stay within WebGPU's guarantees: no ray-tracing hardware, no bindless textures, eight storage buffers.

mod answer;
mod bake;
mod batch_sizer;
mod block;
mod buffer;
mod camera;
mod context;
mod deposits;
mod film;
mod filter;
mod hybrid;
mod kernel;
#[cfg(test)]
pub(crate) mod layouts;
mod light_path;
mod low_rank;
mod pages;
mod path;
#[cfg(test)]
mod pieces;
mod rays;
mod render;
mod scene;
mod shader;
mod subscenes;
#[cfg(test)]
mod tests;

pub use bake::GpuBackend;
pub use block::Block;
pub use context::{Gpu, GpuFault};
#[cfg(test)]
pub(crate) use context::{test_device, test_device_of_its_own};
pub use film::GpuFilm;
pub use filter::{FilteredPicture, PictureFilter, is_worth_filtering};
pub use hybrid::{FromLights, render_from_lights};
pub use light_path::{LightDeposits, LightKernel, LightPass};
pub use low_rank::GpuLowRank;
pub use pages::GpuPages;
pub use path::{PathKernel, PathPass};
pub use rays::{MAX_DEVICE_STEPS, Question, RayAnswer, RayAnswers, RayKernels};
pub use render::{Rendered, render};
pub use scene::{GpuMovers, GpuScene, GpuTree, SceneChange};
pub(crate) use shader::Shader;
pub use shader::{Stack, Trees};
pub use subscenes::{CellAnswer, CellRayKernel, CellRays, GpuCells, GpuCounters};
