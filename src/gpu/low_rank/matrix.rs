//! Packed matrices in device memory.

use wgpu::Buffer;

use super::super::{Gpu, GpuFault};
use crate::low_rank::{LANES, Packed};

/// [`Packed`] matrix in the layout of `low_rank.wgsl`.
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

/// Estimates how many patches fit into a binding of `limit` bytes, given array sizes in bytes for `patches` patches.
/// Form factors grow linearly with the number of patches, bounces between patches quadratically. Both come in tiles.
/// The estimate assumes equal sparsity of other patch sets.
pub(super) fn patches_that_fit(patches: usize, [views, bounces]: [u64; 2], limit: u64) -> usize {
    let tiles = patches.div_ceil(LANES);
    let blocks = |tiles: usize| (tiles * LANES).div_ceil(Packed::BLOCK);
    let fits = |bytes: u64, fewer: usize, all: usize| bytes as u128 * fewer as u128 <= limit as u128 * all as u128;
    let fitting = (0..=tiles)
        .rev()
        .find(|&fewer| fits(views, fewer, tiles) && fits(bounces, fewer * blocks(fewer), tiles * blocks(tiles)));
    (fitting.unwrap_or(0) * LANES).min(patches)
}
