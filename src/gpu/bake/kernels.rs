//! The kernels of a bake.

use std::cell::OnceCell;

use wgpu::{BindGroup, BindGroupLayout, Buffer, ComputePipeline, ShaderModule};

use super::super::kernel::{bind, layout};
use super::super::shader::{piece, tracing_source};
use super::super::{Gpu, GpuScene, Stack, Trees};

/// All kernels, and what they are given.
pub(super) struct Kernels {
    pub gather: ComputePipeline,
    /// Most bakes do not shoot, and it takes long to compile.
    shots: OnceCell<ComputePipeline>,
    rays: ShaderModule,
    pub aimed: ComputePipeline,
    pub send_out: ComputePipeline,
    pub collect_and_read: ComputePipeline,
    pub collect_and_store: ComputePipeline,
    pub list_tinted: ComputePipeline,
    pub collect_aimed: ComputePipeline,
    pub land_shots: ComputePipeline,
    pub add_hits: ComputePipeline,
    pub reflect_sums: ComputePipeline,
    pub add_series: ComputePipeline,
    rays_layout: BindGroupLayout,
    sums_layout: BindGroupLayout,
    sweep_layout: BindGroupLayout,
}

/// Storage buffers of a group after its uniform: true for those that are only read.
const RAYS: [bool; 2] = [true, false];
const SUMS: [bool; 7] = [true, false, true, false, false, false, false];
const SWEEP: [bool; 7] = [true, true, true, true, false, true, false];

impl Kernels {
    /// Compiles them.
    pub fn new(gpu: &Gpu) -> Self {
        let rays_layout = layout(gpu, "a bake's rays", &RAYS);
        let sums_layout = layout(gpu, "a bake's sums", &SUMS);
        let sweep_layout = layout(gpu, "a sweep", &SWEEP);
        let rays = [
            piece!("colour"),
            piece!("light"),
            piece!("threads"),
            piece!("errand"),
            piece!("surface_point"),
            piece!("elements"),
            piece!("chances"),
            piece!("transport"),
            piece!("bright"),
            piece!("bake_rays"),
        ];
        let rays = gpu.shader("a bake's rays", tracing_source(Stack::default(), Trees::Resting, &rays));
        let sums =
            [piece!("colour"), piece!("threads"), piece!("errand"), piece!("landed"), piece!("bake_sums")].join("\n");
        let sums = gpu.shader("a bake's sums", sums);
        let sweep = gpu.shader("a sweep", [piece!("threads"), piece!("sweep")].join("\n"));
        let scene_layout = GpuScene::layout(gpu);
        let of_rays = |name| gpu.compute_pipeline(&rays, name, &[&scene_layout, &rays_layout]);
        let of_sums = |name| gpu.compute_pipeline(&sums, name, &[&sums_layout]);
        let of_sweep = |name| gpu.compute_pipeline(&sweep, name, &[&sweep_layout]);
        let [gather, aimed] = ["trace_gather", "trace_aimed"].map(of_rays);
        Self {
            gather,
            shots: OnceCell::new(),
            aimed,
            send_out: of_sums("send_out"),
            collect_and_read: of_sums("collect_and_read"),
            collect_and_store: of_sums("collect_and_store"),
            list_tinted: of_sums("list_tinted"),
            collect_aimed: of_sums("collect_aimed"),
            land_shots: of_sums("land_shots"),
            add_hits: of_sweep("add_hits"),
            reflect_sums: of_sweep("reflect_sums"),
            add_series: of_sweep("add_series"),
            rays,
            rays_layout,
            sums_layout,
            sweep_layout,
        }
    }

    /// Traces shots.
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
