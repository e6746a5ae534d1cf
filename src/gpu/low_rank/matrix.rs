//! Packed matrices in the memory of the device.

use wgpu::Buffer;

use super::super::{Gpu, GpuFault};
use crate::radiosity::low_rank::Packed;

/// A [`Packed`] matrix as `low_rank.wgsl` reads it.
pub(super) struct DeviceMatrix {
    pub rows: usize,
    pub tile_offsets: Buffer,
    pub tiles: Buffer,
    pub values: Buffer,
    pub scales: Buffer,
}

impl DeviceMatrix {
    /// Uploads a matrix.
    pub fn new(gpu: &Gpu, packed: &Packed) -> Result<Self, GpuFault> {
        let parts = packed.parts();
        let scales: Vec<[f32; 4]> = parts.scales.iter().map(|&scale| [scale, 0.0, 0.0, 0.0]).collect();
        Ok(Self {
            rows: packed.rows(),
            tile_offsets: gpu.storage("where tiles start", parts.tile_offsets)?,
            tiles: gpu.storage("tiles", parts.tiles)?,
            values: gpu.storage("form factors to patches", parts.values.as_flattened())?,
            scales: gpu.storage("scales of rows", &scales)?,
        })
    }
}

/// About how many patches transport may have whose largest array takes `bytes` with `patches` of them, so that it takes no
/// more than `limit`: form factors grow with the patches, bounces between these with their square.
pub(super) fn patches_that_fit(patches: usize, [views, bounces]: [u64; 2], limit: u64) -> usize {
    let share = |bytes: u64| limit as f64 / bytes.max(1) as f64;
    let by_views = patches as f64 * share(views);
    let by_bounces = patches as f64 * share(bounces).sqrt();
    (by_views.min(by_bounces) as usize).min(patches)
}
