//! Layout of surfaces' texels on pages.
//!
//! ```text
//! Scene + LayoutSettings -> size (checks settings, estimates texels)
//!                        -> resolution_class (one unwrap for all surfaces that can share it)
//!                        -> pack (rectangles on pages) -> Layout
//! ```
//!
//! [`Layout::build`] runs all steps. [`Placement`] is the result for one surface.

mod build;
mod error;
mod pack;
mod placement;
mod resolution_class;
mod settings;
mod size;
#[cfg(test)]
mod tests;

pub use error::{LayoutError, LayoutWarning};
pub use placement::{Layout, PageSize, Placement, Rectangle};
pub use settings::LayoutSettings;
pub(crate) use size::rounded_down;
