//! Picture in device memory.

use bytemuck::{Pod, Zeroable};
use glam::{UVec2, Vec3};
use wgpu::Buffer;

#[cfg(doc)]
use super::MAX_DEVICE_STEPS;
use super::{Gpu, GpuFault};
use crate::pathtrace::{Film, Pixel};

/// Device counterpart of [`Film`].
///
/// Two buffers hold one entry per pixel, in rows from the top. `RadiancePixel` and `FeaturePixel` in `film.wgsl` define
/// the layout.
pub struct GpuFilm {
    size: UVec2,
    pub(super) radiance: Buffer,
    pub(super) features: Buffer,
}

/// Counterpart of `RadiancePixel` in `film.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct RadiancePixel {
    mean: [f32; 3],
    samples: u32,
    squares: [f32; 3],
    nodes: f32,
}

/// Counterpart of `FeaturePixel` in `film.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct FeaturePixel {
    albedo: [f32; 3],
    depth: f32,
    normal: [f32; 3],
    surface: u32,
    first_normal: u32,
    first_depth: f32,
    change: f32,
    tally: u32,
}

impl GpuFilm {
    /// Creates an empty film. Its first pass overwrites the previous content of memory.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory for the pixels.
    pub fn new(gpu: &Gpu, size: UVec2) -> Result<Self, GpuFault> {
        let pixels = u64::from(size.x) * u64::from(size.y);
        let radiance = gpu.empty_storage("the picture's light", pixels * size_of::<RadiancePixel>() as u64)?;
        let features = gpu.empty_storage("the picture's surfaces", pixels * size_of::<FeaturePixel>() as u64)?;
        Ok(Self { size, radiance, features })
    }

    /// Returns columns and rows.
    pub fn size(&self) -> UVec2 {
        self.size
    }

    pub(super) fn pixels(&self) -> u32 {
        self.size.x * self.size.y
    }

    /// Returns the buffer of each pixel's mean radiance, sample count, squared differences and visited tree nodes.
    pub fn radiance(&self) -> &Buffer {
        &self.radiance
    }

    /// Returns the buffer of each pixel's albedo, depth, normal and surface.
    pub fn features(&self) -> &Buffer {
        &self.features
    }

    /// Waits for all work and copies the picture to the host.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn read(&self, gpu: &Gpu) -> Result<Film, GpuFault> {
        let count = self.size.x as usize * self.size.y as usize;
        let radiance: Vec<RadiancePixel> = gpu.read(&self.radiance, count)?;
        let features: Vec<FeaturePixel> = gpu.read(&self.features, count)?;
        let pixels = radiance.iter().zip(&features).map(|(radiance, features)| Pixel {
            samples: radiance.samples,
            radiance: Vec3::from(radiance.mean),
            squares: Vec3::from(radiance.squares),
            albedo: Vec3::from(features.albedo),
            normal: Vec3::from(features.normal),
            depth: if features.depth < f32::MAX { features.depth } else { f32::INFINITY },
        });
        Ok(Film::from_pixels(self.size, pixels.collect()))
    }

    /// Waits for all work and returns the number of walks through the tree that ended at [`MAX_DEVICE_STEPS`], so that
    /// the picture may be wrong.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn unfinished(&self, gpu: &Gpu) -> Result<u64, GpuFault> {
        let count = self.size.x as usize * self.size.y as usize;
        let features: Vec<FeaturePixel> = gpu.read(&self.features, count)?;
        Ok(features.iter().map(|pixel| u64::from(pixel.tally >> 1)).sum())
    }
}

#[cfg(test)]
impl GpuFilm {
    /// Uploads a film with the given visible surfaces.
    pub(super) fn with_pixels(gpu: &Gpu, film: &Film, surfaces: &[Option<u32>]) -> Result<Self, GpuFault> {
        let result = Self::new(gpu, film.size())?;
        let radiance = film.pixels().iter().map(|pixel| RadiancePixel {
            mean: pixel.radiance.to_array(),
            samples: pixel.samples,
            squares: pixel.squares.to_array(),
            nodes: 0.0,
        });
        let features = film.pixels().iter().zip(surfaces).map(|(pixel, surface)| FeaturePixel {
            albedo: pixel.albedo.to_array(),
            depth: pixel.depth.min(f32::MAX),
            normal: pixel.normal.to_array(),
            surface: surface.unwrap_or(u32::MAX),
            first_normal: packed(pixel.normal),
            first_depth: pixel.depth.min(f32::MAX),
            change: 0.0,
            tally: 0,
        });
        let (radiance, features): (Vec<_>, Vec<_>) = (radiance.collect(), features.collect());
        gpu.queue.write_buffer(&result.radiance, 0, bytemuck::cast_slice(&radiance));
        gpu.queue.write_buffer(&result.features, 0, bytemuck::cast_slice(&features));
        Ok(result)
    }
}

/// Packs a normal with positive z; counterpart of `pack_normal` in `film.wgsl`.
#[cfg(test)]
fn packed(normal: Vec3) -> u32 {
    let flat = normal.truncate() / normal.abs().element_sum().max(1e-20);
    let [x, y] = (flat * 32_767.0).round().to_array().map(|value| value as i16 as u16);
    u32::from(x) | u32::from(y) << 16
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    RadiancePixel as RadiancePixel { mean, samples, squares, nodes }
    FeaturePixel as FeaturePixel { albedo, depth, normal, surface, first_normal, first_depth, change, tally }
}
