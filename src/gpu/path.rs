//! Paths: the kernel that adds samples to a picture.

use core::ops::Range;

use std::time::Instant;

use wgpu::{BindGroupLayout, CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor, ComputePipeline};

use super::camera::CameraPass;
use super::kernel::{bind, layout};
use super::pace::Pace;
use super::shader::{piece, tracing_source};
use super::{Gpu, GpuFault, GpuFilm, GpuScene, Stack, Trees};
use crate::pathtrace::View;

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
    /// Whether paths from lights bring what all but mirrors and glass reflect, so that only from those are paths followed.
    pub in_hybrid: bool,
}

/// Columns, and rows, of a workgroup.
const GROUP: u32 = 8;

impl PathKernel {
    /// Compiles the kernel.
    pub fn new(gpu: &Gpu, stack: Stack, trees: Trees) -> Self {
        let layout = layout(gpu, "film", &[false, false]);
        let own = [
            piece!("colour"),
            piece!("light"),
            piece!("light_tree"),
            piece!("bsdf"),
            piece!("camera"),
            piece!("roulette"),
            piece!("film"),
            piece!("path"),
        ];
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
        let settings = CameraPass {
            sample_index: pass.sample,
            seed: pass.seed,
            ends_at_lightmaps: u32::from(pass.ends_at_lightmaps),
            in_hybrid: u32::from(pass.in_hybrid),
            ..CameraPass::new(view, rows.clone(), pass.most_bounces)
        };
        let settings = gpu.uniform("pass", &[settings]);
        let own = bind(gpu, &self.layout, &[&settings, &film.radiance, &film.features]);
        let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        compute.set_pipeline(&self.pipeline);
        compute.set_bind_group(0, scene.bind_group(), &[]);
        compute.set_bind_group(1, &own, &[]);
        compute.dispatch_workgroups(film.size().x.div_ceil(GROUP), (rows.end - rows.start).div_ceil(GROUP), 1);
    }

    /// Does a pass, a few rows at a time, and waits for it.
    ///
    /// # Errors
    /// When the device is lost.
    pub(super) fn add_pass(
        &self,
        gpu: &Gpu,
        scene: &GpuScene,
        film: &GpuFilm,
        view: &View,
        pass: &Pass,
        rows_at_once: &mut Pace,
    ) -> Result<(), GpuFault> {
        let mut first = pass.rows.start;
        while first < pass.rows.end {
            let rows = first..first.saturating_add(rows_at_once.size()).min(pass.rows.end);
            let submitted = Instant::now();
            let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            self.record(gpu, &mut encoder, scene, film, view, &Pass { rows: rows.clone(), ..pass.clone() });
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
            rows_at_once.learn(submitted.elapsed());
            first = rows.end;
        }
        Ok(())
    }
}
