//! Comparison of a picture with a reference.

use std::path::Path;

use glam::UVec2;
use serde::Serialize;

use super::{Failure, say};
use crate::input::{self, LARGEST_IMAGE};
use crate::lightmap::PageSize;
use crate::lightmap::files::{LevelError, read_exr};
use crate::pathtrace::{Film, Pixel};

/// Difference of a picture from a reference.
#[derive(Serialize)]
pub struct Difference {
    /// Root mean square difference over all pixels and channels, in cd/m2.
    rmse: f64,
    /// The same, divided by the mean of the reference; `None` for a black reference.
    relative_rmse: Option<f64>,
}

impl Difference {
    /// Compares a picture with a reference of equal size.
    pub fn between(film: &Film, reference: &Film) -> Self {
        let (rmse, mean) = (film.rms_difference(reference), reference.mean());
        Self { rmse, relative_rmse: (mean > 0.0).then(|| rmse / mean) }
    }

    /// Prints the difference as a line of text.
    pub fn say(&self) {
        let relative = match self.relative_rmse {
            Some(relative) => format!(", {:.1} % of the mean of the reference", relative * 100.0),
            None => String::new(),
        };
        say(format_args!("RMSE {:.4e} cd/m2{relative}", self.rmse));
    }
}

/// Reads a picture in cd/m2 from an `.exr` file of the given size, with channels `R`, `G` and `B`.
pub fn read_reference(path: &Path, size: UVec2) -> Result<Film, Failure> {
    let refuse = |why: &dyn core::fmt::Display| -> Failure {
        format!("--reference {} cannot be used: {why}", path.display()).into()
    };
    let bytes = input::read(path, LARGEST_IMAGE).map_err(|error| refuse(&error))?;
    let page = read_exr(&bytes, PageSize { width: size.x, height: size.y }, path).map_err(|error| match error {
        LevelError::Damaged { fault, .. } => refuse(&fault),
        error => refuse(&error),
    })?;
    let pixels = page.texels.into_iter().map(|radiance| Pixel { radiance, ..Pixel::default() }).collect();
    Ok(Film::from_pixels(size, pixels))
}
