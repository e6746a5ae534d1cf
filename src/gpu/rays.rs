//! Rays that are given one by one: for tests, benchmarks and comparisons.

use bytemuck::{Pod, Zeroable};
use wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BufferBindingType,
    CommandEncoderDescriptor, ComputePassDescriptor, ComputePipeline,
};

use super::scene::{buffer, entry};
use super::shader::{groups_of_64, piece, tracing_source};
use super::{Gpu, GpuFault, GpuScene, Stack, Trees};
use crate::geometry::Ray;

/// The kernels that trace rays from a buffer.
pub struct RayKernels {
    layout: BindGroupLayout,
    closest: ComputePipeline,
    any: ComputePipeline,
}

/// Which question is asked of each ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What it meets first.
    Closest,
    /// Whether light gets along it.
    Any,
}

/// What a ray met: the twin of `RayAnswer` in `rays.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RayAnswer {
    /// Distance along the ray; for [`Question::Any`] how much of the brightest channel gets through.
    pub t: f32,
    /// The triangle, for [`GpuScene::source`]; `u32::MAX` for none.
    pub triangle: u32,
    /// Weights of the triangle's second and third corner.
    pub barycentric: [f32; 2],
}

/// A ray as shaders see it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct DeviceRay {
    origin: [f32; 3],
    t_min: f32,
    direction: [f32; 3],
    t_max: f32,
}

/// Rays in one submission. About a hundredth of a second on a graphics card; software takes longer.
pub(super) const BATCH: usize = 1 << 20;

impl RayKernels {
    /// Compiles the kernels.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        let layout = gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some("rays"),
            entries: &[
                entry(0, buffer(BufferBindingType::Uniform)),
                entry(1, buffer(BufferBindingType::Storage { read_only: true })),
                entry(2, buffer(BufferBindingType::Storage { read_only: false })),
            ],
        });
        let module = gpu.shader("rays", tracing_source(stack, trees, &[piece!("rays")]));
        let layouts = [&GpuScene::layout(gpu), &layout];
        let closest = gpu.compute_pipeline(&module, "trace_closest", &layouts);
        let any = gpu.compute_pipeline(&module, "trace_any", &layouts);
        Self { layout, closest, any }
    }

    /// Traces rays, all of them valid, and answers for each what it met.
    ///
    /// # Errors
    /// When the device is lost, or its buffers are too small for a batch of rays.
    pub fn trace(
        &self,
        gpu: &Gpu,
        scene: &GpuScene,
        rays: &[Ray],
        question: Question,
    ) -> Result<Vec<RayAnswer>, GpuFault> {
        let mut answers = Vec::with_capacity(rays.len());
        for batch in rays.chunks(BATCH) {
            answers.extend(self.trace_batch(gpu, scene, batch, question)?);
        }
        Ok(answers)
    }

    fn trace_batch(
        &self,
        gpu: &Gpu,
        scene: &GpuScene,
        rays: &[Ray],
        question: Question,
    ) -> Result<Vec<RayAnswer>, GpuFault> {
        let device_rays: Vec<DeviceRay> = rays.iter().map(DeviceRay::new).collect();
        let count = gpu.uniform("number of rays", &[rays.len() as u32, 0, 0, 0]);
        let origins = gpu.storage("the rays", &device_rays)?;
        let answers = gpu.empty_storage("the rays' answers", size_of_val(rays) as u64)?;
        let bind_group = gpu.device.create_bind_group(&BindGroupDescriptor {
            label: Some("rays"),
            layout: &self.layout,
            entries: &[
                BindGroupEntry { binding: 0, resource: count.as_entire_binding() },
                BindGroupEntry { binding: 1, resource: origins.as_entire_binding() },
                BindGroupEntry { binding: 2, resource: answers.as_entire_binding() },
            ],
        });
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            pass.set_pipeline(match question {
                Question::Closest => &self.closest,
                Question::Any => &self.any,
            });
            pass.set_bind_group(0, scene.bind_group(), &[]);
            pass.set_bind_group(1, &bind_group, &[]);
            let (columns, rows) = groups_of_64(rays.len() as u32);
            pass.dispatch_workgroups(columns, rows, 1);
        }
        gpu.queue.submit([encoder.finish()]);
        gpu.read(&answers, rays.len())
    }
}

impl DeviceRay {
    pub fn new(ray: &Ray) -> Self {
        Self {
            origin: ray.origin.to_array(),
            // Shaders know no infinity.
            t_min: ray.t_min.clamp(f32::MIN, f32::MAX),
            direction: ray.direction.to_array(),
            t_max: ray.t_max.clamp(f32::MIN, f32::MAX),
        }
    }
}
