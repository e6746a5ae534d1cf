//! Visibility between subscenes, computed without sharing geometry (thesis sections 2.3 and 3.2).
//!
//! A [`MaskSource`] is a luminous polygon, represented by a few viewpoints. A [`Mask`] tells which rectangles of a
//! border are visible from which viewpoints. The sender computes the mask of each border through which light leaves its
//! subscene. The receiver computes visibility for its own surfaces from the mask and its own occluders
//! ([`Sight::visibility`]). Then the receiver computes the masks of its own outgoing borders ([`Sight::mask`]).
//!
//! ```text
//! Interface   borders of one subscene, classified as incoming or outgoing for a source
//! Pending     masks received so far, until the masks of all incoming borders are there
//! Sight       visibility of a source from within a subscene, through the incoming masks
//! ```
//!
//! The direction of light through a border follows from the side of its plane that the source lies on. Seen from a
//! point, the cells of a partition have a front-to-back order. Dependencies between masks are therefore acyclic, and
//! each source reaches each subscene once.
//!
//! In a grid, the order is equation 2.4 of the thesis. For other partitions, the thesis uses a hierarchy of processors
//! that share borders and join partial masks. Here, a border belongs to exactly two cells, and a face may have several
//! borders. Rays that cross a face read the mask of the border that they hit.
//!
//! A source must lie on one side of each plane. [`Sectors`] tell where to split sources that do not.

mod cast;
mod interface;
mod mask;
mod pending;
mod raster;
mod sectors;
mod sight;
mod source;

#[cfg(test)]
mod tests;

pub use cast::Occluders;
pub use interface::{Gate, Interface};
pub use mask::Mask;
pub use pending::{InMask, Pending};
pub use sectors::{Sector, Sectors};
pub use sight::{Glance, Sight, Through};
pub use source::{MaskSource, Viewpoint};
