//! Paths: the kernel that adds samples to a picture.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroupLayout, CommandEncoder, ComputePassDescriptor, ComputePipeline};

use super::kernel::{bind, layout};
use super::shader::{piece, tracing_source};
use super::{Gpu, GpuFilm, GpuScene, Stack, Trees};
use crate::pathtrace::{PixelFilter, View};

/// The kernel that follows paths, the twin of [`PathTracer`](crate::pathtrace::PathTracer): the same samples bring the
/// same light, up to rounding.
pub struct PathKernel {
    layout: BindGroupLayout,
    pipeline: ComputePipeline,
    trees: Trees,
}

/// One sample for each pixel of some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The sample's number; zero starts the picture anew.
    pub sample: u32,
    /// Which random numbers.
    pub seed: u32,
    /// Most bounces of a path.
    pub most_bounces: Option<u32>,
    /// The rows, from the top.
    pub rows: Range<u32>,
    /// Whether reflected rays end where they meet a surface with a lightmap.
    pub ends_at_lightmaps: bool,
}

/// The twin of `Pass` in `path.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Settings {
    eye: [f32; 3],
    sample_index: u32,
    forward: [f32; 3],
    seed: u32,
    right: [f32; 3],
    most_bounces: u32,
    up: [f32; 3],
    lens_radius: f32,
    size: [u32; 2],
    first_row: u32,
    end_row: u32,
    focus: f32,
    tent: u32,
    parallel: f32,
    ends_at_lightmaps: u32,
}

/// No path is longer: between perfect mirrors one in 10^22 would be.
const LONGEST_PATH: u32 = 1024;
/// Columns, and rows, of a workgroup.
const GROUP: u32 = 8;

impl PathKernel {
    /// Compiles the kernel.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        let layout = layout(gpu, "film", &[false, false]);
        let own = [piece!("colour"), piece!("light"), piece!("bsdf"), piece!("film"), piece!("path")];
        let source = tracing_source(stack, trees, &own);
        let module = gpu.shader("paths", source);
        let pipeline = gpu.compute_pipeline(&module, "trace_pixels", &[&GpuScene::layout(gpu), &layout]);
        Self { layout, pipeline, trees }
    }

    /// Which trees it sends rays into.
    pub fn trees(&self) -> Trees {
        self.trees
    }

    /// Records a pass over a film that is as large as the view.
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        scene: &GpuScene,
        film: &GpuFilm,
        view: &View,
        pass: &Pass,
    ) {
        let rows = pass.rows.start..pass.rows.end.min(film.size().y);
        if rows.is_empty() || film.size().x == 0 {
            return;
        }
        let settings = gpu.uniform("pass", &[settings(film, view, pass, &rows)]);
        let own = bind(gpu, &self.layout, &[&settings, &film.radiance, &film.features]);
        let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        compute.set_pipeline(&self.pipeline);
        compute.set_bind_group(0, scene.bind_group(), &[]);
        compute.set_bind_group(1, &own, &[]);
        compute.dispatch_workgroups(film.size().x.div_ceil(GROUP), (rows.end - rows.start).div_ceil(GROUP), 1);
    }
}

fn settings(film: &GpuFilm, view: &View, pass: &Pass, rows: &Range<u32>) -> Settings {
    let camera = &view.camera;
    let half_height = camera.half_height();
    let lens = view.lens.filter(|_| !camera.is_orthographic());
    Settings {
        eye: camera.position.to_array(),
        sample_index: pass.sample,
        forward: camera.forward.to_array(),
        seed: pass.seed,
        right: (camera.right * half_height).to_array(),
        most_bounces: pass.most_bounces.unwrap_or(LONGEST_PATH).min(LONGEST_PATH),
        up: (camera.up * half_height).to_array(),
        lens_radius: lens.map_or(0.0, |lens| lens.radius),
        size: film.size().to_array(),
        first_row: rows.start,
        end_row: rows.end,
        focus: lens.map_or(1.0, |lens| lens.focus),
        tent: u32::from(view.filter == PixelFilter::Tent),
        parallel: if camera.is_orthographic() { 1.0 } else { 0.0 },
        ends_at_lightmaps: u32::from(pass.ends_at_lightmaps),
    }
}
