//! What happens to pages between the solver and the files, so that linear filtering shows no borders.
//!
//! First [`dilate`] gives values to texels that have none: those buried in other geometry, and those around each chart
//! that the filter reads with it. Then [`stitch`] makes both sides of every seam show the same.

mod dilate;
mod least_squares;
mod seams;
#[cfg(test)]
mod tests;

pub use dilate::dilate;
pub use seams::{Stitched, stitch};
