//! Where each surface's texels lie.
//!
//! ```text
//! Scene + LayoutSettings -> size (is it sound, and how much will it be?)
//!                        -> resolution_class (one unwrap for all surfaces that can share it)
//!                        -> pack (rectangles on pages) -> Layout
//! ```
//!
//! [`Layout::build`] goes all the way; [`Placement`] is what it finds for a surface.

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
