//! Lightmaps: unwrapping, packing, elements, filtering and files.
//!
//! ```text
//! Scene -> unwrap (UV_1 per mesh) -> pack (rectangles on pages) = Layout -> Elements -> solver
//!                                                                                         |
//! files <- Page (irradiance / pi) <- filter (denoise, dilate, stitch seams) <-------------+
//! ```
//!
//! [`Layout`] holds the rectangle of each surface. [`Elements`] are the texels' footprints on the surfaces, the
//! unknowns of the solvers.
//! - `unwrap` makes lightmap coordinates of one mesh; `layout` calls it and packs the results on pages.
//! - `elements` and `footprint` compute the exact area of surface behind each texel.
//! - `page` and `voxels` hold results; [`filter`] removes noise and seams; [`files`] writes and reads levels.

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
pub use page::{Page, PageFormat, irradiance_at, pages, spot_of};
pub use statistics::LayoutStatistics;
pub use unwrap::{Unwrap, Unwrapper, Uv1Problem};
pub use voxels::Voxels;
