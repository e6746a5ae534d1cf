//! Compute pipelines of a bake.

use std::sync::OnceLock;

use wgpu::{BindGroup, BindGroupLayout, Buffer, ComputePipeline, ShaderModule};

use super::super::kernel::{bind, layout};
use super::super::{Gpu, GpuScene, Shader};

/// Pipelines and bind group layouts of bakes.
#[derive(Debug)]
pub struct BakeKernels {
    pub gather: ComputePipeline,
    /// Compiled on demand, because most bakes do not shoot and compilation is slow.
    shots: OnceLock<ComputePipeline>,
    rays: ShaderModule,
    pub light_sampled: ComputePipeline,
    pub send_out: ComputePipeline,
    pub collect_and_read: ComputePipeline,
    pub collect_and_store: ComputePipeline,
    pub list_tinted: ComputePipeline,
    pub collect_light_samples: ComputePipeline,
    pub deposit_shots: ComputePipeline,
    pub add_hits: ComputePipeline,
    pub reflect_sums: ComputePipeline,
    pub add_series: ComputePipeline,
    rays_layout: BindGroupLayout,
    sums_layout: BindGroupLayout,
    sweep_layout: BindGroupLayout,
}

/// Storage buffers of each group, after the uniform: true for read-only buffers.
const RAYS: [bool; 2] = [true, false];
const SUMS: [bool; 7] = [true, false, true, false, false, false, false];
const SWEEP: [bool; 7] = [true, true, true, true, false, true, false];

impl BakeKernels {
    /// Compiles the pipelines.
    pub fn new(gpu: &Gpu) -> Self {
        let rays_layout = layout(gpu, "a bake's rays", &RAYS);
        let sums_layout = layout(gpu, "a bake's sums", &SUMS);
        let sweep_layout = layout(gpu, "a sweep", &SWEEP);
        let [rays, sums, sweep] =
            [Shader::BakeRays, Shader::BakeSums, Shader::Sweep].map(|shader| shader.compile(&gpu.device));
        let scene_layout = GpuScene::layout(gpu);
        let of_rays = |name| gpu.compute_pipeline(&rays, name, &[&scene_layout, &rays_layout]);
        let of_sums = |name| gpu.compute_pipeline(&sums, name, &[&sums_layout]);
        let of_sweep = |name| gpu.compute_pipeline(&sweep, name, &[&sweep_layout]);
        let [gather, light_sampled] = ["trace_gather", "trace_light_samples"].map(of_rays);
        Self {
            gather,
            shots: OnceLock::new(),
            light_sampled,
            send_out: of_sums("send_out"),
            collect_and_read: of_sums("collect_and_read"),
            collect_and_store: of_sums("collect_and_store"),
            list_tinted: of_sums("list_tinted"),
            collect_light_samples: of_sums("collect_light_samples"),
            deposit_shots: of_sums("deposit_shots"),
            add_hits: of_sweep("add_hits"),
            reflect_sums: of_sweep("reflect_sums"),
            add_series: of_sweep("add_series"),
            rays,
            rays_layout,
            sums_layout,
            sweep_layout,
        }
    }

    /// Returns the pipeline that traces shots, and compiles it if necessary.
    pub fn shots(&self, gpu: &Gpu) -> &ComputePipeline {
        let layouts = [&GpuScene::layout(gpu), &self.rays_layout];
        self.shots.get_or_init(|| gpu.compute_pipeline(&self.rays, "trace_shots", &layouts))
    }

    pub fn bind_rays(&self, gpu: &Gpu, buffers: [&Buffer; 1 + RAYS.len()]) -> BindGroup {
        bind(gpu, &self.rays_layout, &buffers)
    }

    pub fn bind_sums(&self, gpu: &Gpu, buffers: [&Buffer; 1 + SUMS.len()]) -> BindGroup {
        bind(gpu, &self.sums_layout, &buffers)
    }

    pub fn bind_sweep(&self, gpu: &Gpu, buffers: [&Buffer; 1 + SWEEP.len()]) -> BindGroup {
        bind(gpu, &self.sweep_layout, &buffers)
    }
}
