//! Tracing of individual rays, for tests, benchmarks and comparisons.

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroupLayout, CommandEncoderDescriptor, ComputePipeline};

use super::kernel::{bind, dispatch, layout};
use super::{Gpu, GpuFault, GpuScene, Shader, Stack, Trees};
use crate::geometry::Ray;

/// Kernels that trace rays from a buffer.
pub struct RayKernels {
    layout: BindGroupLayout,
    closest: ComputePipeline,
    any: ComputePipeline,
}

/// Query for each ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Closest hit.
    Closest,
    /// Transmittance along the ray.
    Any,
}

/// Answer for one ray; counterpart of `RayAnswer` in `rays.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RayAnswer {
    /// Distance along the ray. For [`Question::Any`], the transmittance of the brightest channel.
    pub t: f32,
    /// Triangle index for [`GpuScene::source`]; `u32::MAX` for none.
    pub triangle: u32,
    /// Weights of the triangle's second and third corner.
    pub barycentric: [f32; 2],
}

/// Ray in the shaders' layout.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct DeviceRay {
    origin: [f32; 3],
    t_min: f32,
    direction: [f32; 3],
    t_max: f32,
}

/// Maximum number of rays per submission, which takes about 10 ms on a graphics card.
pub(super) const BATCH: usize = 1 << 20;

impl RayKernels {
    /// Compiles the kernels.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        let layout = layout(gpu, "rays", &[true, false]);
        let module = Shader::Rays(stack, trees).compile(&gpu.device);
        let layouts = [&GpuScene::layout(gpu), &layout];
        let closest = gpu.compute_pipeline(&module, "trace_closest", &layouts);
        let any = gpu.compute_pipeline(&module, "trace_any", &layouts);
        Self { layout, closest, any }
    }

    /// Traces valid rays, and returns an answer for each.
    ///
    /// # Errors
    /// Returns an error if the device is lost, or if its buffers are too small for a batch of rays.
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
            // WGSL has no infinities.
            t_min: ray.t_min.clamp(f32::MIN, f32::MAX),
            direction: ray.direction.to_array(),
            t_max: ray.t_max.clamp(f32::MIN, f32::MAX),
        }
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    RayAnswer as RayAnswer { t, triangle, barycentric }
    DeviceRay as Ray { origin, t_min, direction, t_max }
}
