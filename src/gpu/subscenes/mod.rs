//! Ray tracing through a partition, and stochastic radiosity by counting rays (thesis section 5.4).
//!
//! [`GpuCells`] holds the tables of a [`CellTracer`] in device memory. [`CellRayKernel`] traces individual rays, given
//! as [`CellRays`]. [`GpuCounters`] shoots the rays of a bounce, one per thread.

mod counters;
mod rays;

#[cfg(test)]
mod tests;

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BufferBindingType,
};

use super::scene::{buffer, entry};
use super::{Gpu, GpuFault};
use crate::geometry::sobol;
use crate::partition::CellTracer;

pub use counters::GpuCounters;
pub use rays::{CellAnswer, CellRayKernel, CellRays};

/// Cells, borders and surfaces of a [`CellTracer`], ready to be bound.
pub struct GpuCells {
    bind_group: BindGroup,
}

/// Binding of the Sobol points, and number of tables in the bindings that follow.
const SOBOL: u32 = 1;
const TABLES: u32 = 6;

impl GpuCells {
    /// Uploads the tables.
    ///
    /// # Errors
    /// Returns an error if a table exceeds the size of a shader binding.
    pub fn new(gpu: &Gpu, tracer: &CellTracer) -> Result<Self, GpuFault> {
        let tables = &tracer.tables;
        let buffers = [
            gpu.uniform("Sobol points", sobol::contributions_of_groups()),
            gpu.storage("cells", &tables.cells)?,
            gpu.storage("borders of cells", &tables.borders)?,
            gpu.storage("coarse surfaces", &tables.surfaces)?,
            gpu.storage("lists of surfaces and triangles", &tables.indices)?,
            gpu.storage("rims of coarse surfaces", &tables.corners)?,
            gpu.storage("fine triangles", &tables.triangles)?,
        ];
        let entries: Vec<BindGroupEntry> = (SOBOL..)
            .zip(&buffers)
            .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let layout = Self::layout(gpu);
        let descriptor = BindGroupDescriptor { label: Some("cells"), layout: &layout, entries: &entries };
        Ok(Self { bind_group: gpu.device.create_bind_group(&descriptor) })
    }

    fn layout(gpu: &Gpu) -> BindGroupLayout {
        let storage = |binding| entry(binding, buffer(BufferBindingType::Storage { read_only: true }));
        let sobol = entry(SOBOL, buffer(BufferBindingType::Uniform));
        let entries: Vec<_> = core::iter::once(sobol).chain((SOBOL + 1..=SOBOL + TABLES).map(storage)).collect();
        gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: Some("cells"), entries: &entries })
    }
}
