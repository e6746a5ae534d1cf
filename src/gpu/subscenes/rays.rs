//! Tracing of individual rays through cells.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use wgpu::{BindGroupLayout, CommandEncoderDescriptor, ComputePipeline};

use super::super::kernel::{bind, dispatch, layout};
use super::super::rays::{BATCH, DeviceRay};
use super::super::{Gpu, GpuFault, Shader};
use super::GpuCells;
use crate::geometry::Ray;
use crate::partition::CellTracer;

/// Kernel that traces rays from a buffer through cells.
pub struct CellRayKernel {
    layout: BindGroupLayout,
    trace: ComputePipeline,
}

/// Hit of a ray, and the work done; counterpart of `CellAnswer` in `cell_rays.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct CellAnswer {
    /// Distance along the ray.
    pub t: f32,
    /// Fine triangle for [`CellTracer::source`]; `u32::MAX` for none.
    pub triangle: u32,
    /// Weights of the triangle's second and third corner.
    pub barycentric: [f32; 2],
    /// Number of cells visited.
    pub cells: u32,
    /// Number of coarse surfaces tested.
    pub surfaces: u32,
    /// Number of borders tested to find the next cells.
    pub borders: u32,
    /// Element at the hit; `u32::MAX` for none.
    pub element: u32,
}

/// Counterpart of `CellRay` in `cell_rays.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CellRay {
    ray: DeviceRay,
    cell: u32,
    padding: [u32; 3],
}

/// Rays with the cells that they start in.
pub struct CellRays(Vec<(Ray, u32)>);

impl CellRays {
    /// Locates the first cells of some valid rays.
    pub fn new(tracer: &CellTracer, rays: &[Ray]) -> Self {
        let first = |ray: &Ray| tracer.partition().traverse(ray).next().map_or(u32::MAX, |step| step.cell.0);
        Self(rays.par_iter().map(|ray| (*ray, first(ray))).collect())
    }
}

impl CellRayKernel {
    /// Compiles the kernel.
    pub fn new(gpu: &Gpu) -> Self {
        let layout = layout(gpu, "rays through cells", &[true, false]);
        let module = Shader::CellRays.compile(&gpu.device);
        let trace = gpu.compute_pipeline(&module, "trace_cells", &[&GpuCells::layout(gpu), &layout]);
        Self { layout, trace }
    }

    /// Traces rays through the uploaded cells. The rays must have been located with the tracer of these cells.
    ///
    /// # Errors
    /// Returns an error if the device is lost, or if its buffers are too small for a batch of rays.
    pub fn trace(&self, gpu: &Gpu, cells: &GpuCells, rays: &CellRays) -> Result<Vec<CellAnswer>, GpuFault> {
        let mut answers = Vec::with_capacity(rays.0.len());
        for batch in rays.0.chunks(BATCH) {
            answers.extend(self.trace_batch(gpu, cells, batch)?);
        }
        Ok(answers)
    }

    fn trace_batch(&self, gpu: &Gpu, cells: &GpuCells, rays: &[(Ray, u32)]) -> Result<Vec<CellAnswer>, GpuFault> {
        let in_cell = |&(ray, cell): &(Ray, u32)| CellRay { ray: DeviceRay::new(&ray), cell, padding: [0; 3] };
        let device_rays: Vec<CellRay> = rays.iter().map(in_cell).collect();
        let count = gpu.uniform("number of rays", &[rays.len() as u32, 0, 0, 0]);
        let origins = gpu.storage("rays through cells", &device_rays)?;
        let answers = gpu.empty_storage("what rays met", (rays.len() * size_of::<CellAnswer>()) as u64)?;
        let own = bind(gpu, &self.layout, &[&count, &origins, &answers]);
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        dispatch(&mut encoder, &self.trace, &[&cells.bind_group, &own], rays.len() as u32);
        gpu.queue.submit([encoder.finish()]);
        gpu.read(&answers, rays.len())
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    CellAnswer as CellAnswer { t, triangle, barycentric, cells, surfaces, borders, element }
    CellRay as CellRay { ray, cell, padding }
}
