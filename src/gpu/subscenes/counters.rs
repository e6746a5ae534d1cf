//! Counting of ray arrivals, bounce by bounce.

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};
use wgpu::{BindGroup, BindGroupLayout, Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePipeline};

use super::super::batch_sizer::BatchSizer;
use super::super::kernel::{bind, dispatch_blocks, layout};
use super::super::{Block, Gpu, GpuFault, Shader};
use super::GpuCells;
use crate::clock;
use crate::partition::{CellTracer, FinePart};
use crate::progress::Monitor;
use crate::radiosity::{CHANNELS, CountedBounce, Counters, Counts, RaySource, StepError, SubsceneElements};

/// Ray counters on a device; counterpart of [`CpuCounters`](crate::radiosity::CpuCounters).
pub struct GpuCounters<'a> {
    gpu: Gpu,
    cells: GpuCells,
    tracer: &'a CellTracer,
    elements: &'a SubsceneElements,
    parts: Vec<FinePart>,
    shoot: ComputePipeline,
    update: ComputePipeline,
    shoot_layout: BindGroupLayout,
    update_layout: BindGroupLayout,
    counts: Buffer,
    reflectances: Buffer,
    unshot: Buffer,
    power: Buffer,
    batch_sizer: BatchSizer,
    block: Block,
}

/// Number of rays of the first dispatch, and maximum number per dispatch.
const FIRST_RAYS: u32 = 1 << 13;
const MAX_RAYS: u32 = 1 << 22;

/// Counterpart of `RaySource` in `subscene_rays.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct SourceRecord {
    normal: [f32; 3],
    first_ray: u32,
    number: u32,
    triangle: u32,
    part: u32,
    cell: u32,
}

/// Counterpart of `Dispatch` in `subscene_rays.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Dispatch {
    first_ray: u32,
    end_ray: u32,
    sources: u32,
    seed: u32,
    counters: u32,
    padding: [u32; 3],
}

/// Counterpart of `Update` in `subscene_update.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Update {
    power_of_ray: f32,
    elements: u32,
    padding: [u32; 2],
}

impl<'a> GpuCounters<'a> {
    /// Uploads all tables and compiles the kernels.
    ///
    /// # Errors
    /// Returns an error if a table exceeds the size of a shader binding.
    pub fn new(gpu: &Gpu, tracer: &'a CellTracer, elements: &'a SubsceneElements) -> Result<Self, GpuFault> {
        Self::with_block(gpu, tracer, elements, Block::default())
    }

    /// Uploads all tables and compiles the kernels, with workgroups of a size for the rays.
    ///
    /// # Errors
    /// Returns an error if a table exceeds the size of a shader binding.
    pub fn with_block(
        gpu: &Gpu,
        tracer: &'a CellTracer,
        elements: &'a SubsceneElements,
        block: Block,
    ) -> Result<Self, GpuFault> {
        let shoot_layout = layout(gpu, "shots of subscenes", &[true, false]);
        let update_layout = layout(gpu, "what shots brought", &[true, true, false, false]);
        let shots = Shader::SubsceneRays.compile(&gpu.device);
        let update = Shader::SubsceneUpdate.compile(&gpu.device);
        let emitted = vectors(&elements.emitted);
        Ok(Self {
            cells: GpuCells::new(gpu, tracer)?,
            shoot: gpu.compute_pipeline_with(
                &shots,
                "shoot",
                &[&GpuCells::layout(gpu), &shoot_layout],
                &[block.constant()],
            ),
            update: gpu.compute_pipeline(&update, "update", &[&update_layout]),
            shoot_layout,
            update_layout,
            counts: gpu.empty_storage("rays that arrived", (CHANNELS * elements.len() + 2) as u64 * 4)?,
            reflectances: gpu.storage("reflectances", &vectors(&elements.reflectance))?,
            unshot: gpu.storage("power to be shot", &emitted)?,
            power: gpu.storage("power", &emitted)?,
            batch_sizer: BatchSizer::new(FIRST_RAYS, MAX_RAYS),
            block,
            parts: tracer.parts().collect(),
            gpu: gpu.clone(),
            tracer,
            elements,
        })
    }

    /// Shoots the rays of a stage in several dispatches. All workgroups are full, except the last of each dispatch.
    fn shoot_stage(&mut self, sources: &[RaySource], seed: u32, monitor: &dyn Monitor) -> Result<(), StepError> {
        let mut rays = 0;
        let records: Vec<SourceRecord> = sources
            .iter()
            .map(|source| {
                let record = self.record(*source, rays);
                rays += source.rays;
                record
            })
            .collect();
        let sources = self.gpu.storage("sources of shots", &records)?;
        let mut first_ray = 0;
        while first_ray < rays {
            monitor.check()?;
            let started = clock::now();
            let end_ray = first_ray.saturating_add(self.batch_sizer.size()).min(rays);
            let (count, counters) = (records.len() as u32, (CHANNELS * self.elements.len()) as u32);
            let dispatch = Dispatch { first_ray, end_ray, sources: count, seed, counters, padding: [0; 3] };
            let dispatch = self.gpu.uniform("dispatch", &[dispatch]);
            let own = bind(&self.gpu, &self.shoot_layout, &[&dispatch, &sources, &self.counts]);
            let groups = [&self.cells.bind_group, &own];
            self.run(self.encoder(), &self.shoot, &groups, end_ray - first_ray, self.block);
            self.gpu.wait()?;
            self.batch_sizer.learn(started.elapsed());
            first_ray = end_ray;
        }
        Ok(())
    }

    fn record(&self, source: RaySource, first_ray: u32) -> SourceRecord {
        let FinePart { triangle, part, back } = self.parts[source.element()];
        let front = self.tracer.tables.triangles[triangle as usize].triangle().normal();
        let normal = if back { -front } else { front };
        let cell = self.elements.cell[source.element()];
        SourceRecord { normal: normal.to_array(), first_ray, number: source.number, triangle, part, cell }
    }

    fn encoder(&self) -> CommandEncoder {
        self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default())
    }

    fn run(
        &self,
        mut encoder: CommandEncoder,
        kernel: &ComputePipeline,
        groups: &[&BindGroup],
        count: u32,
        block: Block,
    ) {
        dispatch_blocks(&mut encoder, kernel, groups, count, block);
        self.gpu.queue.submit([encoder.finish()]);
    }

    fn read(&self, buffer: &Buffer) -> Result<Vec<Vec3>, StepError> {
        let values: Vec<Vec4> = self.gpu.read(buffer, self.elements.len())?;
        Ok(values.into_iter().map(Vec4::truncate).collect())
    }
}

impl Counters for GpuCounters<'_> {
    fn restart(&mut self) -> Result<(), StepError> {
        let emitted = vectors(&self.elements.emitted);
        for buffer in [&self.unshot, &self.power] {
            self.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&emitted));
        }
        Ok(())
    }

    fn shoot(&mut self, bounce: &CountedBounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        let mut encoder = self.encoder();
        encoder.clear_buffer(&self.counts, 0, None);
        self.gpu.queue.submit([encoder.finish()]);
        for stage in 0..bounce.stages.count() {
            self.shoot_stage(&bounce.stages.sources(stage, bounce.ray_counts), bounce.seed, monitor)?;
        }
        let elements = self.elements.len() as u32;
        let settings = Update { power_of_ray: bounce.power_of_ray, elements, padding: [0; 2] };
        let settings = self.gpu.uniform("update", &[settings]);
        let buffers = [&settings, &self.counts, &self.reflectances, &self.unshot, &self.power];
        let own = bind(&self.gpu, &self.update_layout, &buffers);
        self.run(self.encoder(), &self.update, &[&own], elements, Block::default());
        Ok(())
    }

    fn unshot(&self) -> Result<Vec<Vec3>, StepError> {
        self.read(&self.unshot)
    }

    fn power(&self) -> Result<Vec<Vec3>, StepError> {
        self.read(&self.power)
    }

    fn counts(&self) -> Result<Counts, StepError> {
        let counters = CHANNELS * self.elements.len();
        let mut arrived: Vec<u32> = self.gpu.read(&self.counts, counters + 2)?;
        let (escaped, absorbed) = (arrived[counters], arrived[counters + 1]);
        arrived.truncate(counters);
        Ok(Counts { arrived, escaped, absorbed })
    }
}

fn vectors(values: &[Vec3]) -> Vec<Vec4> {
    values.iter().map(|value| value.extend(0.0)).collect()
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    SourceRecord as RaySource { normal, first_ray, number, triangle, part, cell }
    Dispatch as Dispatch { first_ray, end_ray, sources, seed, counters, padding }
    Update as Update { power_of_ray, elements, padding }
}
