//! Light that changes, on the device: the twin of [`LowRank::relight`].
//!
//! ```text
//! direct light of all elements --> V^T: a sum for each patch --> K --> U --> indirect light of all elements
//! ```
//!
//! Matrices stay on the device as [`Packed`](crate::radiosity::low_rank::Packed) has them, sixteen bits a value; nothing
//! but light crosses. [`GpuLowRank::relight`] does all of it there. With [`GpuLowRank::start`] the processor has made the
//! sums, and only one light for each patch goes over; it returns at once, so that the processor can sum up the next while
//! the device multiplies.

mod matrix;
#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use wgpu::{BindGroupLayout, Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePipeline};

use self::matrix::{DeviceMatrix, patches_that_fit};
use super::kernel::{bind, dispatch, layout};
use super::shader::piece;
use super::{Gpu, GpuFault};
use crate::radiosity::low_rank::{LANES, LowRank};

/// Threads that sum up a patch.
const GROUP: usize = 64;

/// Storage buffers after the uniform: true for those that are only read.
const BUFFERS: [bool; 6] = [true, true, true, true, true, false];

/// The twin of `Product` in `low_rank.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Settings {
    count: u32,
    padding: [u32; 3],
    channels: Vec4,
}

/// A static level's transport in the memory of the device.
pub struct GpuLowRank {
    gpu: Gpu,
    sum_patches: ComputePipeline,
    add_product: ComputePipeline,
    layout: BindGroupLayout,
    patches: usize,
    elements: usize,
    /// Where the elements of each patch start.
    offsets: Buffer,
    weights: Buffer,
    views: DeviceMatrix,
    bounces: [DeviceMatrix; 3],
    direct: Buffer,
    /// The mean radiosity of each patch with one bounce, and with all.
    first: Buffer,
    all: Buffer,
    indirect: Buffer,
    unused: Buffer,
}

impl GpuLowRank {
    /// Compiles the kernels and uploads a level's transport.
    ///
    /// # Errors
    /// [`GpuFault::TooManyPatches`] where the device lets shaders see less than the transport takes.
    pub fn new(gpu: &Gpu, low_rank: &LowRank) -> Result<Self, GpuFault> {
        check_size(gpu, low_rank)?;
        let layout = layout(gpu, "low rank", &BUFFERS);
        let module = gpu.shader("low rank", [piece!("threads"), piece!("low_rank")].join("\n"));
        let kernel = |name| gpu.compute_pipeline(&module, name, &[&layout]);
        let [elements, patches] = [low_rank.elements(), low_rank.patches.len()];
        let vectors = |what, count: usize| gpu.empty_storage(what, (count * size_of::<Vec4>()) as u64);
        let matrix = |packed| DeviceMatrix::new(gpu, packed);
        let [red, green, blue] = &low_rank.bounces;
        Ok(Self {
            sum_patches: kernel("sum_patches"),
            add_product: kernel("add_product"),
            offsets: gpu.storage("where patches start", &low_rank.patches.offsets)?,
            weights: gpu.storage("weights of elements", &padded(&low_rank.weights))?,
            views: matrix(&low_rank.views)?,
            bounces: [matrix(red)?, matrix(green)?, matrix(blue)?],
            direct: vectors("direct light", elements)?,
            first: vectors("first bounces", patches.next_multiple_of(LANES))?,
            all: vectors("all bounces", patches.next_multiple_of(LANES))?,
            indirect: vectors("indirect light", elements)?,
            unused: gpu.empty_storage("nothing", 0)?,
            layout,
            patches,
            elements,
            gpu: gpu.clone(),
        })
    }

    /// Indirect irradiance of all elements, lux, for direct irradiance: both in the order of the patches.
    ///
    /// # Errors
    /// When the device is lost.
    ///
    /// # Panics
    /// When there is not a direct light for each element.
    pub fn relight(&self, direct: &[Vec3]) -> Result<Vec<Vec3>, GpuFault> {
        assert_eq!(direct.len(), self.elements, "one for each element");
        self.gpu.queue.write_buffer(&self.direct, 0, bytemuck::cast_slice(&padded(direct)));
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.record(&mut encoder);
        self.gpu.queue.submit([encoder.finish()]);
        self.indirect()
    }

    /// Starts from what the processor has summed up: [`LowRank::first_bounce`], a radiosity for each patch. Does not wait.
    ///
    /// # Panics
    /// When there is not one for each patch.
    pub fn start(&self, first_bounce: &[[f32; 3]]) {
        self.write_first(bytemuck::cast_slice(first_bounce));
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.record_products(&mut encoder);
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Hands over what the processor has summed up, before [`GpuLowRank::record_products`] is submitted.
    pub(super) fn write_first(&self, first_bounce: &[Vec3]) {
        assert_eq!(first_bounce.len(), self.patches, "one for each patch");
        self.gpu.queue.write_buffer(&self.first, 0, bytemuck::cast_slice(&padded(first_bounce)));
    }

    /// Waits for what was started last, and copies it from the device: indirect irradiance of all elements, lux.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn indirect(&self) -> Result<Vec<Vec3>, GpuFault> {
        let light: Vec<Vec4> = self.gpu.read(&self.indirect, self.elements)?;
        Ok(light.into_iter().map(Vec4::truncate).collect())
    }

    /// Where kernels may write direct light, four floats for each element, before [`GpuLowRank::record`].
    pub fn direct_buffer(&self) -> &Buffer {
        &self.direct
    }

    /// Where indirect light is when what was recorded is done, four floats for each element.
    pub fn indirect_buffer(&self) -> &Buffer {
        &self.indirect
    }

    /// Records all of it, from [`GpuLowRank::direct_buffer`] to [`GpuLowRank::indirect_buffer`].
    pub fn record(&self, encoder: &mut CommandEncoder) {
        self.record_sums(encoder);
        self.record_products(encoder);
    }

    /// Records the first bounces alone, from [`GpuLowRank::direct_buffer`].
    pub fn record_sums(&self, encoder: &mut CommandEncoder) {
        let settings = self.settings(self.patches, Vec3::ONE);
        let Self { offsets, weights, direct, first, unused, .. } = self;
        let group = bind(&self.gpu, &self.layout, &[&settings, offsets, unused, unused, weights, direct, first]);
        dispatch(encoder, &self.sum_patches, &[&group], (GROUP * self.patches) as u32);
    }

    /// Records what follows from the first bounces, to [`GpuLowRank::indirect_buffer`].
    pub fn record_products(&self, encoder: &mut CommandEncoder) {
        encoder.copy_buffer_to_buffer(&self.first, 0, &self.all, 0, self.first.size());
        for (bounces, channel) in self.bounces.iter().zip([Vec3::X, Vec3::Y, Vec3::Z]) {
            self.record_product(encoder, bounces, channel, [&self.first, &self.all]);
        }
        encoder.clear_buffer(&self.indirect, 0, None);
        self.record_product(encoder, &self.views, Vec3::ONE, [&self.all, &self.indirect]);
    }

    /// Adds the product of a matrix with a vector to another, in some channels.
    fn record_product(
        &self,
        encoder: &mut CommandEncoder,
        by: &DeviceMatrix,
        channels: Vec3,
        [from, to]: [&Buffer; 2],
    ) {
        let settings = self.settings(by.rows, channels);
        let buffers = [&settings, &by.tile_offsets, &by.tiles, &by.values, &by.scales, from, to];
        let group = bind(&self.gpu, &self.layout, &buffers);
        dispatch(encoder, &self.add_product, &[&group], by.rows as u32);
    }

    fn settings(&self, count: usize, channels: Vec3) -> Buffer {
        let settings = Settings { count: count as u32, padding: [0; 3], channels: channels.extend(0.0) };
        self.gpu.uniform("low rank", &[settings])
    }
}

/// Vectors as shaders see them.
fn padded(vectors: &[Vec3]) -> Vec<Vec4> {
    vectors.iter().map(|vector| vector.extend(0.0)).collect()
}

/// Finds transport that does not fit, and says how much of it would.
fn check_size(gpu: &Gpu, low_rank: &LowRank) -> Result<(), GpuFault> {
    let limits = gpu.device.limits();
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let values = |packed: &crate::radiosity::low_rank::Packed| size_of_val(packed.parts().values) as u64;
    let views = values(&low_rank.views);
    let bounces = low_rank.bounces.iter().map(values).max().unwrap_or(0);
    if views.max(bounces) <= limit {
        return Ok(());
    }
    let patches = low_rank.patches.len();
    Err(GpuFault::TooManyPatches {
        patches,
        fit: patches_that_fit(patches, [views, bounces], limit),
        bytes: views.max(bounces),
        limit,
        adapter: gpu.name().to_owned(),
    })
}
