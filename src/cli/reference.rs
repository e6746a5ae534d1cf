//! Comparison of a picture with a reference.

use std::io::Cursor;
use std::path::Path;

use exr::image::pixel_vec::PixelVec;
use exr::meta::MetaData;
use exr::prelude::{ReadChannels, ReadLayers, read};
use glam::{UVec2, Vec3};
use serde::Serialize;

use super::{Failure, say};
use crate::input::{self, LARGEST_IMAGE};
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
    let damaged = |fault: exr::error::Error| refuse(&fault);
    // Checked first, because the reader allocates whatever size a file claims.
    let meta = MetaData::read_from_buffered(Cursor::new(&bytes), true).map_err(damaged)?;
    let wanted = (size.x as usize, size.y as usize);
    if !meta.headers.iter().all(|header| (header.layer_size.x(), header.layer_size.y()) == wanted) {
        return Err(refuse(&format_args!("it does not have the {} x {} pixels of --size", size.x, size.y)));
    }
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(PixelVec::<(f32, f32, f32)>::constructor, PixelVec::set_pixel)
        .first_valid_layer()
        .all_attributes()
        .from_buffered(Cursor::new(&bytes))
        .map_err(damaged)?;
    let radiances = image.layer_data.channel_data.pixels.pixels.into_iter().map(Vec3::from);
    let pixels: Vec<Pixel> = radiances.map(|radiance| Pixel { radiance, ..Pixel::default() }).collect();
    if pixels.len() != wanted.0 * wanted.1 || !pixels.iter().all(|pixel| pixel.radiance.is_finite()) {
        return Err(refuse(&"it does not hold a finite number for each pixel"));
    }
    Ok(Film::from_pixels(size, pixels))
}
