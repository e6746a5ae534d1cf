//! What happens to pages between the solver and the files, so that linear filtering shows no borders.
//!
//! Before there are pages, [`denoise`] smooths the elements' noise. Then [`dilate`] gives values to texels that have none:
//! those buried in other geometry, and those around each chart that the filter reads with it, and [`stitch`] makes both
//! sides of every seam show the same.

mod denoise;
mod dilate;
mod least_squares;
mod seams;
#[cfg(test)]
mod tests;

pub use denoise::denoise;
pub use dilate::dilate;
pub use seams::{Stitched, stitch};
