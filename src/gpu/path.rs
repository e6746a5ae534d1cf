//! Kernels of integrators from the camera, which add samples to a picture.

use core::ops::Range;

use glam::Vec3;
use wgpu::{BindGroupLayout, CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor, ComputePipeline};

use super::batch_sizer::BatchSizer;
use super::camera::CameraPass;
use super::kernel::{bind, layout};
use super::{Block, Gpu, GpuFault, GpuFilm, GpuScene, Shader, Stack, Trees};
use crate::clock;
use crate::pathtrace::View;

/// Kernel of an integrator from the camera; counterpart of [`PathTracer`](crate::pathtrace::PathTracer) or
/// [`WhittedTracer`](crate::pathtrace::WhittedTracer). Equal samples give equal light, up to rounding.
pub struct PathKernel {
    layout: BindGroupLayout,
    pipeline: ComputePipeline,
    stack: Stack,
    trees: Trees,
    block: Block,
}

/// One sample for each pixel in a range of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPass {
    /// Index of the sample. Index 0 starts a new picture.
    pub sample: u32,
    /// Random seed.
    pub seed: u32,
    /// Maximum number of bounces of a path; unlimited if `None`.
    pub max_bounces: Option<u32>,
    /// Range of rows, from the top.
    pub rows: Range<u32>,
    /// True to end reflected rays at surfaces with a lightmap.
    pub ends_at_lightmaps: bool,
    /// True if light paths render everything but mirrors and glass, so that only these start camera paths.
    pub in_hybrid: bool,
    /// Radiance of camera rays that leave a scene without a sky, in cd/m2. It lights nothing.
    pub background: Vec3,
}

impl PathKernel {
    /// Compiles the path tracing kernel.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        Self::with_block(gpu, stack, trees, Block::default())
    }

    /// Compiles the path tracing kernel for workgroups of a size, in rows of eight pixels.
    pub fn with_block(gpu: &Gpu, stack: Stack, trees: Trees, block: Block) -> Self {
        Self::of(gpu, Shader::Paths(stack, trees), stack, trees, block)
    }

    /// Compiles the kernel of Whitted's method, which ignores the maximum number of bounces.
    pub fn whitted(gpu: &Gpu, trees: Trees, block: Block) -> Self {
        Self::of(gpu, Shader::Whitted(trees), Stack::default(), trees, block)
    }

    fn of(gpu: &Gpu, shader: Shader, stack: Stack, trees: Trees, block: Block) -> Self {
        let layout = layout(gpu, "film", &[false, false]);
        let module = shader.compile(&gpu.device);
        let layouts = [&GpuScene::layout(gpu), &layout];
        let pipeline = gpu.compute_pipeline_with(&module, "trace_pixels", &layouts, &[block.constant_of_rows()]);
        Self { layout, pipeline, stack, trees, block }
    }

    /// Returns the trees that rays are traced in.
    pub fn trees(&self) -> Trees {
        self.trees
    }

    /// Records a pass over a film of the view's size.
    ///
    /// # Panics
    /// If the kernel needs ropes, and the scene has none.
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        scene: &GpuScene,
        film: &GpuFilm,
        view: &View,
        pass: &PathPass,
    ) {
        let rows = pass.rows.start..pass.rows.end.min(film.size().y);
        if rows.is_empty() || film.size().x == 0 {
            return;
        }
        let settings = CameraPass {
            sample_index: pass.sample,
            seed: pass.seed,
            ends_at_lightmaps: u32::from(pass.ends_at_lightmaps),
            in_hybrid: u32::from(pass.in_hybrid),
            background: pass.background.to_array(),
            ..CameraPass::new(view, rows.clone(), pass.max_bounces)
        };
        let settings = gpu.uniform("pass", &[settings]);
        let own = bind(gpu, &self.layout, &[&settings, &film.radiance, &film.features]);
        let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        compute.set_pipeline(&self.pipeline);
        compute.set_bind_group(0, scene.bind_group_for(self.stack), &[]);
        compute.set_bind_group(1, &own, &[]);
        let (columns, rows) = (film.size().x.div_ceil(Block::ROW), (rows.end - rows.start).div_ceil(self.block.rows()));
        compute.dispatch_workgroups(columns, rows, 1);
    }

    /// Runs a pass in several submissions, and waits for completion.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub(super) fn add_pass(
        &self,
        gpu: &Gpu,
        scene: &GpuScene,
        film: &GpuFilm,
        view: &View,
        pass: &PathPass,
        rows_at_once: &mut BatchSizer,
    ) -> Result<(), GpuFault> {
        let mut first = pass.rows.start;
        while first < pass.rows.end {
            let rows = first..first.saturating_add(rows_at_once.size()).min(pass.rows.end);
            let submitted = clock::now();
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            self.record(gpu, &mut encoder, scene, film, view, &PathPass { rows: rows.clone(), ..pass.clone() });
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
            rows_at_once.learn(submitted.elapsed());
            first = rows.end;
        }
        Ok(())
    }
}
