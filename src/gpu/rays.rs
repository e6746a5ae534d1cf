//! Tracing of individual rays, for tests, benchmarks and comparisons.

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroupLayout, CommandEncoderDescriptor, ComputePipeline};

use super::deposits::zeros;
use super::kernel::{bind, dispatch_blocks, layout};
use super::{Block, Gpu, GpuFault, GpuScene, Shader, Stack, Trees};
use crate::geometry::Ray;

/// Kernels that trace rays from a buffer.
pub struct RayKernels {
    layout: BindGroupLayout,
    closest: ComputePipeline,
    any: ComputePipeline,
    stack: Stack,
    block: Block,
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

/// Answers for rays, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RayAnswers {
    /// Answer for each ray.
    pub of_rays: Vec<RayAnswer>,
    /// Number of walks through the tree that ended at [`MAX_DEVICE_STEPS`], so that their answers may be wrong.
    pub unfinished: u64,
}

/// Maximum number of nodes that a walk visits on a device; `STEP_LIMIT` in `kdtree.wgsl`. Only a faulty tree, or an
/// extremely large one without a stack, needs more.
pub const MAX_DEVICE_STEPS: u32 = 16_384;

/// Counterpart of `Answers` in `rays.wgsl`, without its answers. As large as one of them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct AnswersHeader {
    unfinished: u32,
    padding: [u32; 3],
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

/// Number of words of an answer.
const RECORD_WORDS: usize = size_of::<RayAnswer>() / 4;

/// Maximum number of rays per submission, which takes about 10 ms on a graphics card.
pub(super) const BATCH: usize = 1 << 20;

impl RayKernels {
    /// Compiles the kernels.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        Self::with_block(gpu, stack, trees, Block::default())
    }

    /// Compiles the kernels for workgroups of a size.
    pub fn with_block(gpu: &Gpu, stack: Stack, trees: Trees, block: Block) -> Self {
        let layout = layout(gpu, "rays", &[true, false]);
        let module = Shader::Rays(stack, trees).compile(&gpu.device);
        let layouts = [&GpuScene::layout(gpu), &layout];
        let pipeline = |name| gpu.compute_pipeline_with(&module, name, &layouts, &[block.constant()]);
        let (closest, any) = (pipeline("trace_closest"), pipeline("trace_any"));
        Self { layout, closest, any, stack, block }
    }

    /// Traces valid rays. Returns an answer for each.
    ///
    /// # Errors
    /// Returns an error if the device is lost, or if its buffers are too small for a batch of rays.
    ///
    /// # Panics
    /// If the kernels need ropes, and the scene has none.
    pub fn trace(&self, gpu: &Gpu, scene: &GpuScene, rays: &[Ray], question: Question) -> Result<RayAnswers, GpuFault> {
        let mut answers = RayAnswers { of_rays: Vec::with_capacity(rays.len()), unfinished: 0 };
        for batch in rays.chunks(BATCH) {
            let records = self.trace_batch(gpu, scene, batch, question)?;
            if let [header, of_rays @ ..] = &*records {
                answers.unfinished += u64::from(bytemuck::cast::<_, AnswersHeader>(*header).unfinished);
                answers.of_rays.extend(of_rays.iter().map(|&record| bytemuck::cast::<_, RayAnswer>(record)));
            }
        }
        Ok(answers)
    }

    /// Returns the header and the answer for each ray.
    fn trace_batch(
        &self,
        gpu: &Gpu,
        scene: &GpuScene,
        rays: &[Ray],
        question: Question,
    ) -> Result<Vec<[u32; RECORD_WORDS]>, GpuFault> {
        let device_rays: Vec<DeviceRay> = rays.iter().map(DeviceRay::new).collect();
        let count = gpu.uniform("number of rays", &[rays.len() as u32, 0, 0, 0]);
        let origins = gpu.storage("the rays", &device_rays)?;
        let answers = zeros(gpu, "the rays' answers", RECORD_WORDS * (rays.len() + 1))?;
        let own = bind(gpu, &self.layout, &[&count, &origins, &answers]);
        let kernel = match question {
            Question::Closest => &self.closest,
            Question::Any => &self.any,
        };
        let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
        dispatch_blocks(&mut encoder, kernel, &[scene.bind_group_for(self.stack), &own], rays.len() as u32, self.block);
        gpu.queue.submit([encoder.finish()]);
        gpu.read(&answers, rays.len() + 1)
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
    AnswersHeader as Answers { unfinished, padding }
    DeviceRay as Ray { origin, t_min, direction, t_max }
}
