//! What a polygon of one subscene sees of the others, told without their geometry (sections 2.3 and 3.2 of the thesis).
//!
//! A [`Source`] is a polygon, by a few points of it. Where its light leaves a subscene through a border it is told by a
//! [`Mask`]: which rectangles of the border are in sight of which points. Who receives a mask knows from it, and from the
//! occluders of its own subscene alone, what its own surfaces see of the source ([`Sight::look`]), and makes the masks
//! of the borders behind it ([`Sight::mask`]).
//!
//! ```text
//! Interface   the borders of one subscene: which of them light of a source comes in by, and which it leaves by
//! Pending     masks that have arrived, until those of all borders are there that light comes in by
//! Sight       a source, looked at from the inside of a subscene through those masks
//! ```
//!
//! Which way light crosses a border follows from the side of its plane that the source is on. The planes that cut a
//! partition have an order in which a point sees its cells, nearer before farther, so that no mask waits for itself, and
//! each source comes to each subscene once. In a grid this is equation 2.4 of the thesis. For other partitions the thesis
//! has a hierarchy of processors that share borders and join partial masks; here a border is what exactly two cells
//! share, a face has as many as cells adjoin it, and whoever looks through the face reads the mask of the border there.
//! A source may lie on one side only of each plane: [`Sectors`] say where to cut those that do not.

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
pub use source::{Source, Viewpoint};
