//! Rays that are given one by one: for tests, benchmarks and comparisons.

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroupLayout, CommandEncoderDescriptor, ComputePipeline};

use super::kernel::{bind, dispatch, layout};
use super::shader::{piece, tracing_source};
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
        let layout = layout(gpu, "rays", &[true, false]);
        let module = gpu.shader("rays", tracing_source(stack, trees, &[piece!("threads"), piece!("rays")]));
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
        let own = bind(gpu, &self.layout, &[&count, &origins, &answers]);
        let kernel = match question {
            Question::Closest => &self.closest,
            Question::Any => &self.any,
        };
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        dispatch(&mut encoder, kernel, &[scene.bind_group(), &own], rays.len() as u32);
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
