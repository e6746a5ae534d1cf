//! From surfaces to texels and back: unwrap, pack, elements, filter, files.
//!
//! ```text
//! Scene -> unwrap (UV_1 per mesh) -> pack (rectangles on pages) = Layout -> Elements -> solver
//!                                                                                         |
//! files <- Page (irradiance / pi) <- filter (denoise, dilate, stitch seams) <-------------+
//! ```
//!
//! [`Layout`] says where each surface's rectangle lies; [`Elements`] are the texels' footprints on the surfaces, what
//! solvers work on.

mod elements;
pub mod files;
pub mod filter;
#[cfg(test)]
pub(crate) mod fixtures;
mod footprint;
mod layout;
mod page;
mod polygon;
mod statistics;
mod unwrap;
mod voxels;

#[cfg(feature = "gpu")]
pub(crate) use elements::SheetDescription;
pub use elements::{ElementId, ElementPiece, ElementSampler, Elements, OpenSides, SurfacePoint, Texel};
#[cfg(feature = "gpu")]
pub(crate) use footprint::{BranchDescription, PieceDescription, PieceShape, TexelDescription};
pub(crate) use layout::rounded_down;
pub use layout::{Layout, LayoutError, LayoutSettings, LayoutWarning, PageSize, Placement, Rectangle};
pub use page::{Page, PageFormat, irradiance_at, pages};
pub use statistics::LayoutStatistics;
pub use unwrap::{Unwrap, Unwrapper, Uv1Problem};
pub use voxels::Voxels;
