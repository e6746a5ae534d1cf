//! The same kernels as compute shaders.
//!
//! A [`Gpu`] is a device, Bevy's or one of our own. A [`GpuScene`] is a [`Scene`](crate::scene::Scene) in its memory:
//! a KD-tree with narrow leaves, triangles, materials and pictures, bound alike by every kernel. Kernels are plain WGSL
//! in `shaders/`, joined from small pieces; each piece has a twin in Rust, and tests hold both against each other, piece by piece or in
//! whole pictures.
//! [`RayKernels`] traces rays that are given one by one; [`PathKernel`] adds samples to a [`GpuFilm`], and [`render`]
//! draws a whole picture with it, and [`render_from_lights`] one by paths from lights. A [`GpuBackend`] bakes. A
//! [`PictureFilter`] makes films of few samples watchable. [`GpuCounters`] shoot rays that only a partition speeds up.
//! [`GpuLowRank`] lights a level anew when lights change, and [`GpuPages`] draws its pages.
//!
//! Nothing here needs more than WebGPU promises: no ray-tracing hardware, no bindless textures, eight storage buffers.

mod alternate;
mod bake;
mod buffer;
mod camera;
mod context;
mod film;
mod filter;
mod kernel;
mod landed;
mod light_path;
mod low_rank;
mod pace;
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

pub use alternate::{FromLights, render_from_lights};
pub use bake::GpuBackend;
#[cfg(test)]
pub(crate) use context::test_device_of_its_own;
pub use context::{Gpu, GpuFault};
pub use film::GpuFilm;
pub use filter::{FilteredPicture, PictureFilter, is_worth_filtering};
pub use low_rank::GpuLowRank;
pub use pages::GpuPages;
pub use path::{Pass, PathKernel};
pub use rays::{Question, RayAnswer, RayKernels};
pub use render::render;
pub use scene::{GpuMovers, GpuScene, GpuTree, SceneChange};
pub use shader::{Stack, Trees};
pub use subscenes::{CellAnswer, CellRayKernel, CellRays, GpuCells, GpuCounters};
