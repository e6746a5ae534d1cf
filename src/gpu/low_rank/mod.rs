//! Relighting on the device; counterpart of [`LowRank::relight`].
//!
//! ```text
//! direct light of all elements --> V^T: a sum for each patch --> K --> U --> indirect light of all elements
//! ```
//!
//! Matrices stay on the device in the format of [`Packed`](crate::low_rank::Packed), with 16 bits per value.
//! Only light is transferred. [`GpuLowRank::relight`] runs the whole product on the device. For [`GpuLowRank::start`],
//! the CPU has computed the patch sums, and only one value per patch is uploaded. The call returns immediately, so the
//! CPU can prepare the next sums meanwhile.

mod matrix;
#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use wgpu::{BindGroupLayout, Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePipeline};

use self::matrix::{DeviceMatrix, patches_that_fit};
use super::kernel::{bind, dispatch, layout};
use super::{Gpu, GpuFault, Shader};
use crate::low_rank::{LANES, LowRank};

/// Number of threads that sum one patch.
const GROUP: usize = 64;

/// Storage buffers after the uniform: true for read-only buffers.
const BUFFERS: [bool; 6] = [true, true, true, true, true, false];

/// Counterpart of `Product` in `low_rank.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Product {
    count: u32,
    padding: [u32; 3],
    channels: Vec4,
}

/// Transport of a static level in device memory.
pub struct GpuLowRank {
    gpu: Gpu,
    sum_patches: ComputePipeline,
    add_product: ComputePipeline,
    layout: BindGroupLayout,
    patches: usize,
    elements: usize,
    /// Start of each patch's elements.
    offsets: Buffer,
    weights: Buffer,
    views: DeviceMatrix,
    bounces: [DeviceMatrix; 3],
    direct: Buffer,
    /// Mean radiosity of each patch, with one bounce and with all bounces.
    first: Buffer,
    all: Buffer,
    indirect: Buffer,
    unused: Buffer,
}

impl GpuLowRank {
    /// Compiles the kernels and uploads the transport of a level.
    ///
    /// # Errors
    /// Returns [`GpuFault::TooManyPatches`] if the transport exceeds the size of a shader binding.
    pub fn new(gpu: &Gpu, low_rank: &LowRank) -> Result<Self, GpuFault> {
        check_size(gpu, low_rank)?;
        let layout = layout(gpu, "low rank", &BUFFERS);
        let module = Shader::LowRank.compile(&gpu.device);
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

    /// Returns the indirect irradiance of all elements, in lux, for a direct irradiance. Both follow the order of the
    /// patches.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    ///
    /// # Panics
    /// Panics unless `direct` has one entry per element.
    pub fn relight(&self, direct: &[Vec3]) -> Result<Vec<Vec3>, GpuFault> {
        assert_eq!(direct.len(), self.elements, "one for each element");
        self.gpu.queue.write_buffer(&self.direct, 0, bytemuck::cast_slice(&padded(direct)));
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.record(&mut encoder);
        self.gpu.queue.submit([encoder.finish()]);
        self.indirect()
    }

    /// Starts relighting from [`LowRank::first_bounce`], one radiosity per patch. Does not wait.
    ///
    /// # Panics
    /// Panics unless `first_bounce` has one entry per patch.
    pub fn start(&self, first_bounce: &[[f32; 3]]) {
        self.write_first(bytemuck::cast_slice(first_bounce));
        let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.record_products(&mut encoder);
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Uploads the first bounce, before [`GpuLowRank::record_products`] is submitted.
    pub(super) fn write_first(&self, first_bounce: &[Vec3]) {
        assert_eq!(first_bounce.len(), self.patches, "one for each patch");
        self.gpu.queue.write_buffer(&self.first, 0, bytemuck::cast_slice(&padded(first_bounce)));
    }

    /// Waits for the last start, and copies the indirect irradiance of all elements to the host, in lux.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn indirect(&self) -> Result<Vec<Vec3>, GpuFault> {
        let light: Vec<Vec4> = self.gpu.read(&self.indirect, self.elements)?;
        Ok(light.into_iter().map(Vec4::truncate).collect())
    }

    /// Returns the input buffer of direct light, four floats per element, read by [`GpuLowRank::record`].
    pub fn direct_buffer(&self) -> &Buffer {
        &self.direct
    }

    /// Returns the output buffer of indirect light, four floats per element.
    pub fn indirect_buffer(&self) -> &Buffer {
        &self.indirect
    }

    /// Records the whole product, from [`GpuLowRank::direct_buffer`] to [`GpuLowRank::indirect_buffer`].
    pub fn record(&self, encoder: &mut CommandEncoder) {
        self.record_sums(encoder);
        self.record_products(encoder);
    }

    /// Records the first bounce only, from [`GpuLowRank::direct_buffer`].
    pub fn record_sums(&self, encoder: &mut CommandEncoder) {
        let settings = self.settings(self.patches, Vec3::ONE);
        let Self { offsets, weights, direct, first, unused, .. } = self;
        let group = bind(&self.gpu, &self.layout, &[&settings, offsets, unused, unused, weights, direct, first]);
        dispatch(encoder, &self.sum_patches, &[&group], (GROUP * self.patches) as u32);
    }

    /// Records the products that follow the first bounce, up to [`GpuLowRank::indirect_buffer`].
    pub fn record_products(&self, encoder: &mut CommandEncoder) {
        encoder.copy_buffer_to_buffer(&self.first, 0, &self.all, 0, self.first.size());
        for (bounces, channel) in self.bounces.iter().zip([Vec3::X, Vec3::Y, Vec3::Z]) {
            self.record_product(encoder, bounces, channel, [&self.first, &self.all]);
        }
        encoder.clear_buffer(&self.indirect, 0, None);
        self.record_product(encoder, &self.views, Vec3::ONE, [&self.all, &self.indirect]);
    }

    /// Adds the product of a matrix and a vector to another vector, in the given channels.
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
        let settings = Product { count: count as u32, padding: [0; 3], channels: channels.extend(0.0) };
        self.gpu.uniform("low rank", &[settings])
    }
}

/// Pads vectors to four components, for shaders.
fn padded(vectors: &[Vec3]) -> Vec<Vec4> {
    vectors.iter().map(|vector| vector.extend(0.0)).collect()
}

/// Checks that the transport fits, and otherwise reports how many patches would fit.
fn check_size(gpu: &Gpu, low_rank: &LowRank) -> Result<(), GpuFault> {
    let limits = gpu.device.limits();
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let values = |packed: &crate::low_rank::Packed| size_of_val(packed.parts().values) as u64;
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

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Product as Product { count, padding, channels }
}
