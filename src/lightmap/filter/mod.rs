//! Filters between solver and files: denoising, dilation and seam stitching.
//!
//! - [`denoise`] smooths the elements' noise, before pages exist.
//! - [`dilate`] fills texels without a value: those buried in other geometry, and those around each chart that
//!   filtering reads.
//! - [`stitch`] makes both sides of every seam agree (`seams.rs`, with the solver in `least_squares.rs`).

mod denoise;
mod dilate;
mod least_squares;
mod seams;
#[cfg(test)]
mod tests;

pub use denoise::denoise;
pub use dilate::dilate;
pub use seams::{Stitched, bytes_per_pair, stitch};
