//! Iteration of radiosities over stored hits on the device.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, Vec3, Vec4};
use wgpu::{Buffer, CommandEncoder, CommandEncoderDescriptor};

use super::super::kernel::dispatch;
use super::super::{Gpu, GpuFault};
use super::kernels::BakeKernels;
use super::stored::{Chunk, DeviceHits};
use crate::progress::Monitor;
use crate::radiosity::{StepError, Sweep, Sweeps};

/// Counterpart of `Sweep` in `sweep.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Settings {
    first: u32,
    count: u32,
    padding: [u32; 2],
    series: [f32; 4],
}

/// Pads radiosities for shaders with a fourth component: 1 for entries that count. Appends a black entry that counts,
/// and an entry that does not count.
pub(super) fn padded(radiosity: impl Iterator<Item = Vec3>) -> Vec<Vec4> {
    radiosity.map(|radiosity| radiosity.extend(1.0)).chain([Vec4::W, Vec4::ZERO]).collect()
}

/// Product of stored hits with radiosities.
pub(super) struct Product<'a> {
    pub gpu: &'a Gpu,
    pub kernels: &'a BakeKernels,
    pub stored: &'a [DeviceHits],
    pub elements: usize,
}

impl Product<'_> {
    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.stored.iter().flat_map(DeviceHits::chunks)
    }

    fn settings(&self, first: usize, count: usize, series: Vec3) -> Buffer {
        let settings =
            Settings { first: first as u32, count: count as u32, padding: [0; 2], series: series.extend(0.0).into() };
        self.gpu.uniform("sweep", &[settings])
    }

    /// Records the sum of radiosities at each element's hits.
    fn record(&self, encoder: &mut CommandEncoder, radiosities: &Buffer, sums: &Buffer, unused: [&Buffer; 2]) {
        encoder.clear_buffer(sums, 0, Some(self.elements as u64 * size_of::<Vec4>() as u64));
        for chunk in self.chunks() {
            let Chunk { elements, hits, offsets, tinted } = chunk;
            let settings = self.settings(elements.start, elements.len(), Vec3::ZERO);
            let buffers = [&settings, radiosities, offsets, hits, tinted, sums, unused[0], unused[1]];
            let group = self.kernels.bind_sweep(self.gpu, buffers);
            dispatch(encoder, &self.kernels.add_hits, &[&group], elements.len() as u32);
        }
    }

    /// Returns for each element the sum of radiosities at its hits, and the number of hits that count.
    pub fn sums(&self, radiosity: impl Iterator<Item = Vec3>) -> Result<Vec<Vec4>, GpuFault> {
        let gpu = self.gpu;
        let radiosities = gpu.storage("radiosities", &padded(radiosity))?;
        let sums = gpu.empty_storage("sums", self.elements as u64 * size_of::<Vec4>() as u64)?;
        let unused = [gpu.empty_storage("nothing", 0)?, gpu.empty_storage("nothing", 0)?];
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.record(&mut encoder, &radiosities, &sums, unused.each_ref());
        gpu.queue.submit([encoder.finish()]);
        gpu.read(&sums, self.elements)
    }
}

/// Radiosities of one half under iteration.
pub(super) struct Radiosities<'a> {
    product: Product<'a>,
    current: Buffer,
    next: Buffer,
    sources: Buffer,
    changes: Buffer,
    unused: [Buffer; 3],
    monitor: &'a dyn Monitor,
}

impl<'a> Radiosities<'a> {
    /// Starts from given radiosities. `weights` are the weights of changes, `sources` the reflected direct light of
    /// elements.
    pub fn new(
        product: Product<'a>,
        weights: &[f32],
        reflectance: &[Vec3],
        sources: &[Vec3],
        start: impl Iterator<Item = Vec3>,
        monitor: &'a dyn Monitor,
    ) -> Result<Self, GpuFault> {
        let gpu = product.gpu;
        let start = padded(start);
        let source =
            |(element, source): (usize, &Vec3)| [source.extend(weights[element]), reflectance[element].extend(0.0)];
        let sources: Vec<[Vec4; 2]> = sources.iter().enumerate().map(source).collect();
        let groups = reflectance.len().div_ceil(64) as u64;
        let unused = || gpu.empty_storage("nothing", 0);
        Ok(Self {
            current: gpu.storage("radiosities", &start)?,
            next: gpu.storage("next radiosities", &start)?,
            sources: gpu.storage("reflected direct light", sources.as_flattened())?,
            changes: gpu.empty_storage("changes", groups * 2 * size_of::<Vec4>() as u64)?,
            unused: [unused()?, unused()?, unused()?],
            product,
            monitor,
        })
    }

    /// Returns the radiosities of all elements.
    pub fn read(&self) -> Result<Vec<Vec4>, GpuFault> {
        self.product.gpu.read(&self.current, self.product.elements)
    }

    /// Runs a kernel over all elements.
    fn run(&self, kernel: &wgpu::ComputePipeline, series: Vec3, mut encoder: CommandEncoder) {
        let Product { gpu, kernels, elements, .. } = self.product;
        let settings = self.product.settings(0, elements, series);
        let [offsets, hits, tinted] = &self.unused;
        let buffers = [&settings, &self.current, offsets, hits, tinted, &self.next, &self.sources, &self.changes];
        dispatch(&mut encoder, kernel, &[&kernels.bind_sweep(gpu, buffers)], elements as u32);
        gpu.queue.submit([encoder.finish()]);
    }

    fn encoder(&self) -> CommandEncoder {
        self.product.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default())
    }
}

impl Sweeps for Radiosities<'_> {
    fn sweep(&mut self) -> Result<Sweep, StepError> {
        self.monitor.check()?;
        let mut encoder = self.encoder();
        self.product.record(&mut encoder, &self.current, &self.next, [&self.sources, &self.changes]);
        self.run(&self.product.kernels.reflect_sums, Vec3::ZERO, encoder);
        let groups = self.product.elements.div_ceil(64);
        let changes: Vec<[Vec4; 2]> = self.product.gpu.read(&self.changes, groups)?;
        let sum = |which: usize| changes.iter().map(|pair| pair[which].truncate().as_dvec3()).sum::<DVec3>();
        Ok(Sweep { change: sum(0), total: sum(1) })
    }

    fn extrapolate(&mut self, series: Vec3) -> Result<(), StepError> {
        self.run(&self.product.kernels.add_series, series, self.encoder());
        Ok(())
    }

    fn accept(&mut self) {
        core::mem::swap(&mut self.current, &mut self.next);
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Settings as Sweep { first, count, padding, series }
}
