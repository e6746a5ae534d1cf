//! Film: mean radiance of each pixel, its noise, and features of the visible surfaces.

use std::io::Cursor;

use bytemuck::{Pod, Zeroable};
use exr::prelude::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, WritableImage};
use glam::{UVec2, Vec3};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};

use super::{Exposure, Seen, Tile, Tonemapping, to_srgb8};
use crate::scene::luminance;

/// Picture of per-pixel means.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    size: UVec2,
    /// Pixels in rows from the top.
    pixels: Vec<Pixel>,
}

/// Statistics of the samples of one pixel.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Pixel {
    /// Number of samples.
    pub samples: u32,
    /// Mean radiance, in cd/m2.
    pub radiance: Vec3,
    /// Sum of squared differences from the mean.
    pub(crate) squares: Vec3,
    /// Mean albedo of the visible surfaces; zero for the sky.
    pub albedo: Vec3,
    /// Mean normal of the visible surfaces, in world space.
    pub normal: Vec3,
    /// Distance to the nearest visible surface, in meters; infinite if only the sky is visible.
    pub depth: f32,
}

impl Default for Pixel {
    fn default() -> Self {
        let (radiance, squares) = (Vec3::ZERO, Vec3::ZERO);
        Self { samples: 0, radiance, squares, albedo: Vec3::ZERO, normal: Vec3::ZERO, depth: f32::INFINITY }
    }
}

impl Pixel {
    /// Adds one sample to the means, by Welford's method, which preserves small variances of large values.
    #[inline]
    pub(super) fn add(&mut self, seen: &Seen) {
        self.samples += 1;
        let part = 1.0 / self.samples as f32;
        let difference = seen.radiance - self.radiance;
        self.radiance += difference * part;
        self.squares += difference * (seen.radiance - self.radiance);
        let (albedo, normal) = seen.surface.map_or((Vec3::ZERO, Vec3::ZERO), |it| (it.albedo, it.normal));
        self.albedo += (albedo - self.albedo) * part;
        self.normal += (normal - self.normal) * part;
        self.depth = seen.surface.map_or(self.depth, |it| self.depth.min(it.distance));
    }

    /// Returns the sum of two independent means. Surface features come from `self`.
    fn plus(&self, other: &Self) -> Self {
        let variance = self.variance() + other.variance();
        let count = self.samples as f32;
        Self { radiance: self.radiance + other.radiance, squares: variance * (count * (count - 1.0).max(1.0)), ..*self }
    }

    /// Returns the variance of the mean under the assumption of independent samples. Samples are stratified, so the
    /// true variance is lower.
    pub fn variance(&self) -> Vec3 {
        let count = self.samples.max(1) as f32;
        self.squares / (count * (count - 1.0).max(1.0))
    }
}

/// Error of encoding a picture.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be encoded: {0}")]
pub struct FilmFault(String);

impl Film {
    /// Creates an empty film. `size` holds columns and rows.
    pub fn new(size: UVec2) -> Self {
        Self { size, pixels: vec![Pixel::default(); size.x as usize * size.y as usize] }
    }

    /// Creates a film from given pixels, in rows from the top.
    pub(crate) fn from_pixels(size: UVec2, pixels: Vec<Pixel>) -> Self {
        debug_assert_eq!(pixels.len(), size.x as usize * size.y as usize);
        Self { size, pixels }
    }

    /// Returns columns and rows.
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns all pixels, in rows from the top.
    pub fn pixels(&self) -> &[Pixel] {
        &self.pixels
    }

    /// Returns the number of samples per pixel.
    pub fn samples(&self) -> u32 {
        self.pixels.first().map_or(0, |pixel| pixel.samples)
    }

    /// Returns the smallest number of samples of a pixel. Rows of an unfinished picture may have more.
    pub fn min_samples(&self) -> u32 {
        self.pixels.iter().map(|pixel| pixel.samples).min().unwrap_or_default()
    }

    /// Returns the largest number of samples of a pixel.
    pub fn max_samples(&self) -> u32 {
        self.pixels.iter().map(|pixel| pixel.samples).max().unwrap_or_default()
    }

    pub(super) fn rows_mut(&mut self) -> core::slice::ChunksExactMut<'_, Pixel> {
        self.pixels.chunks_exact_mut(self.size.x as usize)
    }

    /// Replaces the pixels of a tile by those of a film of the tile's size.
    ///
    /// # Panics
    /// Panics if the film has another size, or the tile is not within this film.
    pub fn set_tile(&mut self, tile: Tile, film: &Self) {
        assert_eq!(film.size, tile.size, "a film of another size than its tile");
        let columns = tile.origin.x as usize..tile.end().x as usize;
        let rows = self.rows_mut().skip(tile.origin.y as usize);
        for (row, new) in rows.zip(film.pixels.chunks_exact(tile.size.x as usize)) {
            row[columns.clone()].copy_from_slice(new);
        }
    }

    /// Adds one sample to each pixel.
    pub(super) fn add(&mut self, radiances: &[Vec3]) {
        for (pixel, &radiance) in self.pixels.iter_mut().zip(radiances) {
            pixel.add(&Seen { radiance, surface: None });
        }
    }

    /// Adds one sample to one pixel.
    pub(super) fn add_to(&mut self, pixel: usize, radiance: Vec3) {
        self.pixels[pixel].add(&Seen { radiance, surface: None });
    }

    /// Returns the root mean square difference from another picture of equal size, in cd/m2, over all pixels and
    /// channels.
    pub fn rms_difference(&self, other: &Self) -> f64 {
        let squares = self.pixels.iter().zip(&other.pixels).map(|(one, other)| {
            let difference = one.radiance.as_dvec3() - other.radiance.as_dvec3();
            difference.length_squared()
        });
        libm::sqrt(squares.sum::<f64>() / (3 * self.pixels.len().max(1)) as f64)
    }

    /// Returns the mean radiance of all pixels and channels, in cd/m2.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.pixels.iter().map(|pixel| pixel.radiance.as_dvec3().element_sum()).sum();
        sum / (3 * self.pixels.len().max(1)) as f64
    }

    /// Returns the sum of two independent pictures of equal size.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let pixels = self.pixels.iter().zip(&other.pixels).map(|(one, other)| one.plus(other)).collect();
        Self { size: self.size, pixels }
    }

    /// Returns the mean change of luminance since an earlier state, in cd/m2, over the lit pixels.
    pub(super) fn mean_change(&self, before: &Self) -> f32 {
        let lit = self.pixels.iter().zip(&before.pixels).filter(|(now, _)| now.radiance != Vec3::ZERO);
        let (sum, count) = lit.fold((0.0f64, 0u32), |(sum, count), (now, then)| {
            (sum + f64::from(luminance((now.radiance - then.radiance).abs())), count + 1)
        });
        (sum / f64::from(count.max(1))) as f32
    }

    /// Counts the pixels that received light since an earlier state with one sample less.
    pub(super) fn brighter_than(&self, before: &Self) -> u64 {
        let got = |(now, then): &(&Pixel, &Pixel)| {
            now.radiance.max_element() * now.samples as f32 > then.radiance.max_element() * then.samples as f32
        };
        self.pixels.iter().zip(&before.pixels).filter(got).count() as u64
    }

    /// Returns the relative error of the picture: the RMS standard error of pixel luminance divided by the mean
    /// luminance. Stratification makes this an upper bound.
    pub fn relative_error(&self) -> f32 {
        let mean_of = |value: &dyn Fn(&Pixel) -> f32| {
            self.pixels.iter().map(|pixel| f64::from(value(pixel))).sum::<f64>() / self.pixels.len() as f64
        };
        let of_luminance = |pixel: &Pixel| luminance(pixel.variance().max(Vec3::ZERO).map(f32::sqrt)).powi(2);
        let mean = mean_of(&|pixel| luminance(pixel.radiance));
        if mean > 0.0 { (mean_of(&of_luminance).sqrt() / mean) as f32 } else { 0.0 }
    }

    /// Encodes the film as a PNG file, exposed and tone mapped.
    ///
    /// # Errors
    /// Returns an error if the encoder fails.
    pub fn to_png(&self, exposure: Exposure, tonemapping: Tonemapping) -> Result<Vec<u8>, FilmFault> {
        let factor = exposure.factor();
        let encode = |pixel: &Pixel| to_srgb8(tonemapping.apply(pixel.radiance * factor));
        let colors: Vec<u8> = self.pixels.iter().flat_map(encode).collect();
        to_png(&colors, self.size)
    }

    /// Encodes the film as an OpenEXR file. Channels are `R`, `G`, `B` in cd/m2, their `variance`, the number of
    /// `samples`, and the surfaces' `albedo`, `normal` and `depth` (`Z`). `more` adds channels with one value per
    /// pixel.
    ///
    /// # Errors
    /// Returns an error if the encoder fails.
    pub fn to_exr(&self, more: impl IntoIterator<Item = (&'static str, Vec<u32>)>) -> Result<Vec<u8>, FilmFault> {
        let channel = |name: &str, value: &dyn Fn(&Pixel) -> f32| {
            AnyChannel::new(name, FlatSamples::F32(self.pixels.iter().map(value).collect()))
        };
        let samples = FlatSamples::U32(self.pixels.iter().map(|pixel| pixel.samples).collect());
        let channels = AnyChannels::sort(
            [
                channel("R", &|pixel| pixel.radiance.x),
                channel("G", &|pixel| pixel.radiance.y),
                channel("B", &|pixel| pixel.radiance.z),
                channel("variance.R", &|pixel| pixel.variance().x),
                channel("variance.G", &|pixel| pixel.variance().y),
                channel("variance.B", &|pixel| pixel.variance().z),
                channel("albedo.R", &|pixel| pixel.albedo.x),
                channel("albedo.G", &|pixel| pixel.albedo.y),
                channel("albedo.B", &|pixel| pixel.albedo.z),
                channel("normal.X", &|pixel| pixel.normal.x),
                channel("normal.Y", &|pixel| pixel.normal.y),
                channel("normal.Z", &|pixel| pixel.normal.z),
                channel("depth.Z", &|pixel| pixel.depth),
                AnyChannel::new("samples", samples),
            ]
            .into_iter()
            .chain(more.into_iter().map(|(name, values)| AnyChannel::new(name, FlatSamples::U32(values))))
            .collect(),
        );
        let size = (self.size.x as usize, self.size.y as usize);
        let layer = Layer::new(size, LayerAttributes::default(), Encoding::FAST_LOSSLESS, channels);
        let mut bytes = Cursor::new(Vec::new());
        let written = Image::from_layer(layer).write().to_buffered(&mut bytes);
        written.map_err(|fault| FilmFault(fault.to_string()))?;
        Ok(bytes.into_inner())
    }
}

/// Encodes sRGB colors as a PNG file. `colors` has three bytes for each pixel, in rows from the top.
///
/// # Errors
/// Returns an error if the encoder fails, for example because of another number of colors than pixels.
pub(crate) fn to_png(colors: &[u8], size: UVec2) -> Result<Vec<u8>, FilmFault> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(colors, size.x, size.y, ExtendedColorType::Rgb8)
        .map_err(|fault| FilmFault(fault.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(value: f32) -> Seen {
        Seen { radiance: Vec3::splat(value), surface: None }
    }

    #[test]
    fn a_pixel_keeps_the_mean_and_the_variance_of_the_mean() {
        let mut pixel = Pixel::default();
        [1.0, 2.0, 6.0, 7.0].into_iter().for_each(|value| pixel.add(&gray(value)));
        // The sample variance of 1, 2, 6 and 7 is 26 / 3.
        assert_eq!((pixel.samples, pixel.radiance), (4, Vec3::splat(4.0)));
        assert!((pixel.variance() - 26.0 / 3.0 / 4.0).abs().max_element() < 1e-5, "{}", pixel.variance());
    }

    #[test]
    fn the_error_is_that_of_the_mean_over_the_mean() {
        let mut film = Film::new(UVec2::new(2, 1));
        for value in [1.0, 3.0] {
            film.rows_mut().flatten().for_each(|pixel| pixel.add(&gray(value)));
        }
        // Sample variance 2; variance of the mean of two samples 1; mean 2.
        assert!((film.relative_error() - 0.5).abs() < 1e-5, "{}", film.relative_error());
    }

    #[test]
    fn pictures_differ_by_the_root_of_the_mean_square() {
        let mut films = [Film::new(UVec2::new(2, 1)), Film::new(UVec2::new(2, 1))];
        films[0].add(&[Vec3::new(1.0, 2.0, 3.0), Vec3::ZERO]);
        films[1].add(&[Vec3::new(1.0, 5.0, 3.0), Vec3::new(0.0, 0.0, 3.0)]);
        // Two of six values differ by 3: the root of 18 / 6.
        assert!((films[0].rms_difference(&films[1]) - 3f64.sqrt()).abs() < 1e-6);
        assert_eq!((films[1].mean(), films[0].rms_difference(&films[0])), (2.0, 0.0));
    }

    #[test]
    fn only_pixels_with_light_have_a_say_in_how_much_a_picture_changed() {
        let mut film = Film::new(UVec2::new(4, 1));
        film.add(&[Vec3::ZERO, Vec3::ONE, Vec3::splat(3.0), Vec3::ZERO]);
        let before = film.clone();
        film.add(&[Vec3::ZERO, Vec3::splat(2.0), Vec3::ZERO, Vec3::ZERO]);
        // Means change from 1 to 1.5 and from 3 to 1.5.
        assert!((film.mean_change(&before) - 1.0).abs() < 1e-6, "{}", film.mean_change(&before));
        assert_eq!(Film::new(UVec2::ONE).mean_change(&Film::new(UVec2::ONE)), 0.0);
    }

    #[test]
    fn a_picture_file_holds_the_numbers_of_the_film() {
        use exr::prelude::{ReadChannels, ReadLayers};
        let mut film = Film::new(UVec2::new(3, 2));
        film.pixels[4].add(&Seen { radiance: Vec3::new(1.5, 1e5, 0.25), surface: None });
        let bytes = film.to_exr([("cost.nodes", (0..6).collect())]).unwrap();
        let image = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels().first_valid_layer();
        let image = image.all_attributes().from_buffered(Cursor::new(bytes)).unwrap();
        let channels = &image.layer_data.channel_data.list;
        let value = |name: &str| {
            let channel = channels.iter().find(|channel| channel.name.to_string() == name).unwrap();
            channel.sample_data.values_as_f32().nth(4).unwrap()
        };
        assert_eq!([value("R"), value("G"), value("B"), value("samples")], [1.5, 1e5, 0.25, 1.0]);
        assert_eq!((value("depth.Z"), value("cost.nodes")), (f32::INFINITY, 4.0));
    }
}
