//! Comparison of a picture with a reference.

use std::path::Path;

use glam::{UVec2, Vec3};
use serde::Serialize;

use super::{Failure, say};
use crate::input::{self, LARGEST_IMAGE};
use crate::lightmap::PageSize;
use crate::lightmap::files::{LevelError, read_exr};
use crate::pathtrace::{Film, Pixel, metered_film};

/// Difference of a picture from a reference.
#[derive(Serialize)]
pub struct Difference {
    /// Root mean square difference over all pixels and channels, in cd/m2.
    rmse: f64,
    /// The same, divided by the mean of the reference; `None` for a black reference.
    relative_rmse: Option<f64>,
    /// Relative root mean square difference on a screen; see [`shown`]. `None` for a black reference.
    shown_rmse: Option<f64>,
}

impl Difference {
    /// Compares a picture with a reference of equal size.
    pub fn between(film: &Film, reference: &Film) -> Self {
        let (rmse, mean) = (film.rms_difference(reference), reference.mean());
        let [shown_film, shown_reference] = [film, reference].map(shown);
        let shown_mean = shown_reference.mean();
        let shown_rmse = (shown_mean > 0.0).then(|| shown_film.rms_difference(&shown_reference) / shown_mean);
        Self { rmse, relative_rmse: (mean > 0.0).then(|| rmse / mean), shown_rmse }
    }

    /// Prints the difference as a line of text.
    pub fn say(&self) {
        let relative = match self.relative_rmse {
            Some(relative) => format!(", {:.1} % of the mean of the reference", relative * 100.0),
            None => String::new(),
        };
        let shown = match self.shown_rmse {
            Some(shown) => format!("; {:.1} % on a screen", shown * 100.0),
            None => String::new(),
        };
        say(format_args!("RMSE {:.4e} cd/m2{relative}{shown}", self.rmse));
    }
}

/// Returns a picture as a screen shows it: its lit pixels are middle gray on average, and lamps are cut off at white,
/// which is one. Pictures on different scales and with lamps in view become comparable.
fn shown(film: &Film) -> Film {
    let factor = metered_film(film).factor();
    let shown = |pixel: &Pixel| Pixel { radiance: (pixel.radiance * factor).min(Vec3::ONE), ..*pixel };
    Film::from_pixels(film.size(), film.pixels().iter().map(shown).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_screen_brightness_makes_no_difference_and_lamps_are_white() {
        let film = |values: [f32; 2]| {
            let pixel = |value| Pixel { radiance: Vec3::splat(value), ..Pixel::default() };
            Film::from_pixels(UVec2::new(2, 1), values.map(pixel).into())
        };
        let difference = Difference::between(&film([2.0, 6.0]), &film([1.0, 3.0]));
        // Differences of 1 and 3: the root of 5, over a mean of 2.
        assert!((difference.relative_rmse.unwrap() - 5f64.sqrt() / 2.0).abs() < 1e-6);
        assert!(difference.shown_rmse.unwrap() < 1e-6);
        // Both have a geometric mean of 2, and differ by 2 and 1.
        let found = Difference::between(&film([4.0, 1.0]), &film([2.0, 2.0])).shown_rmse.unwrap();
        assert!((found - 2.5f64.sqrt() / 2.0).abs() < 1e-6, "{found}");
        // The geometric mean is 1,000: the lamps are white, and the rest is the same.
        let lamps = Difference::between(&film([1e6, 1.0]), &film([1e6 * 4.0, 0.25])).shown_rmse.unwrap();
        assert!(lamps < 1e-3, "{lamps}");
        assert_eq!(Difference::between(&film([1.0, 3.0]), &film([0.0, 0.0])).shown_rmse, None);
    }
}
