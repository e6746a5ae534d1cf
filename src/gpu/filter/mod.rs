//! Denoiser for pictures with few samples.
//!
//! The filter demodulates albedo, reuses light of earlier pictures by reprojection, and applies an edge-avoiding
//! a-trous filter guided by variance. The result is biased and meant for moving pictures. Filtering fades out as
//! samples accumulate.
//!
//! [`PictureFilter`] holds the kernels of `filter.wgsl`, [`FilteredPicture`] the buffers of one camera. `twin.rs` is
//! the CPU reference for tests.

use bytemuck::{Pod, Zeroable};
use glam::UVec2;
use wgpu::{
    BindGroup, BindGroupLayout, BindGroupLayoutDescriptor, Buffer, BufferBindingType, CommandEncoder,
    ComputePassDescriptor, ComputePipeline,
};

use super::kernel::bind;
use super::scene::{buffer, entry};
use super::{Gpu, GpuFault, GpuFilm, Shader};
use crate::pathtrace::View;
use crate::scene::Sights;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;

/// Strides of the a-trous steps; each step doubles the reach.
const STRIDES: [u32; 5] = [1, 2, 4, 8, 16];
/// Number of samples per pixel from which the film is shown unfiltered.
const ENOUGH_SAMPLES: f32 = 64.0;
/// Maximum number of history samples while the scene is unchanged.
const MAX_HISTORY: f32 = 32.0;
/// Maximum number of history samples after the scene has changed, because history may be outdated.
const MAX_OUTDATED_HISTORY: f32 = 4.0;
/// Edge length of a workgroup, in pixels.
const GROUP: u32 = 8;

/// Kernels of the filter.
pub struct PictureFilter {
    layout: BindGroupLayout,
    gather: ComputePipeline,
    smooth: ComputePipeline,
    color: ComputePipeline,
    strides: Vec<Buffer>,
}

/// Buffers of one camera's filtered pictures.
pub struct FilteredPicture {
    now: Picture,
    before: Option<Picture>,
    is_outdated: bool,
    rough: [Buffer; 2],
    picture: Buffer,
    settings: Buffer,
}

/// Accumulated light of one picture.
struct Picture {
    view: View,
    lit: Buffer,
    is_recorded: bool,
}

/// Counterpart of `Filter` in `filter.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Filter {
    eye: [f32; 3],
    share: f32,
    forward: [f32; 3],
    max_history: f32,
    right: [f32; 3],
    is_outdated: u32,
    up: [f32; 3],
    parallel: f32,
    before_eye: [f32; 3],
    before_parallel: f32,
    before_forward: [f32; 3],
    padding_0: u32,
    before_right: [f32; 3],
    padding_1: u32,
    before_up: [f32; 3],
    padding_2: u32,
    size: [u32; 2],
    before_size: [u32; 2],
}

/// Counterpart of `LitPixel` in `filter.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct LitPixel {
    light: [f32; 3],
    samples: f32,
    normal: u32,
    depth: f32,
    surface: u32,
    moment: f32,
}

/// Returns true if a picture with this number of samples per pixel benefits from filtering.
pub fn is_worth_filtering(samples: u32) -> bool {
    (samples as f32) < ENOUGH_SAMPLES
}

/// Returns the weight of the filtered picture: 1 up to half of [`ENOUGH_SAMPLES`], then falling to 0. Even a hundredth
/// of an outlier can outshine its surroundings.
fn filtered_share(samples: u32) -> f32 {
    (2.0 - 2.0 * samples as f32 / ENOUGH_SAMPLES).clamp(0.0, 1.0)
}

impl PictureFilter {
    /// Compiles the kernels.
    pub fn new(gpu: &Gpu) -> Self {
        let storage = |binding, read_only| entry(binding, buffer(BufferBindingType::Storage { read_only }));
        let layout = gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some("filter"),
            entries: &[
                entry(0, buffer(BufferBindingType::Uniform)),
                storage(1, true),
                storage(2, true),
                storage(3, true),
                storage(4, false),
                storage(5, true),
                storage(6, false),
                storage(7, false),
                entry(8, buffer(BufferBindingType::Uniform)),
            ],
        });
        let module = Shader::Filter.compile(&gpu.device);
        let pipeline = |entry_point| gpu.compute_pipeline(&module, entry_point, &[&layout]);
        Self {
            gather: pipeline("gather_light"),
            smooth: pipeline("smooth_out"),
            color: pipeline("color_light"),
            strides: STRIDES.iter().map(|&stride| gpu.uniform("stride", &[[stride, 0, 0, 0]])).collect(),
            layout,
        }
    }

    /// Records the filtering of a film into the current picture. `samples` is the film's number of samples per pixel.
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        film: &GpuFilm,
        picture: &mut FilteredPicture,
        samples: u32,
    ) {
        let size = picture.size();
        if film.size() != size || size.min_element() == 0 {
            return;
        }
        let settings = picture.settings(filtered_share(samples));
        gpu.queue.write_buffer(&picture.settings, 0, bytemuck::bytes_of(&settings));
        let groups = |from: usize, stride: usize| self.bind_group(gpu, film, picture, from, stride);
        let smoothings = (0..STRIDES.len()).map(|step| (&self.smooth, groups(step % 2, step)));
        let passes = core::iter::once((&self.gather, groups(1, 0)))
            .chain(smoothings)
            .chain([(&self.color, groups(STRIDES.len() % 2, 0))]);
        for (pipeline, group) in passes {
            let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            compute.set_pipeline(pipeline);
            compute.set_bind_group(0, &group, &[]);
            compute.dispatch_workgroups(size.x.div_ceil(GROUP), size.y.div_ceil(GROUP), 1);
        }
        picture.now.is_recorded = true;
    }

    /// Binds all buffers for a kernel that reads one intermediate picture and writes the other.
    fn bind_group(
        &self,
        gpu: &Gpu,
        film: &GpuFilm,
        picture: &FilteredPicture,
        from: usize,
        stride: usize,
    ) -> BindGroup {
        // Without an earlier picture, any buffer serves as a placeholder.
        let before = picture.before.as_ref().map_or(&film.features, |before| &before.lit);
        let buffers = [
            &picture.settings,
            &film.radiance,
            &film.features,
            before,
            &picture.now.lit,
            &picture.rough[from],
            &picture.rough[1 - from],
            &picture.picture,
            &self.strides[stride],
        ];
        bind(gpu, &self.layout, &buffers)
    }
}

impl FilteredPicture {
    /// Creates the buffers of a camera without history.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory.
    pub fn new(gpu: &Gpu, view: View) -> Result<Self, GpuFault> {
        let pixels = pixels(view.size);
        let rough = || gpu.empty_storage("a filtered picture", pixels * size_of::<[f32; 4]>() as u64);
        Ok(Self {
            rough: [rough()?, rough()?],
            picture: rough()?,
            settings: gpu.uniform("filter", &[Filter::default()]),
            now: Picture::new(gpu, view)?,
            before: None,
            is_outdated: false,
        })
    }

    /// Begins a new picture, possibly with another camera or size, and keeps the previous picture as history. History
    /// counts less if the scene has changed.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory.
    pub fn begin(&mut self, gpu: &Gpu, view: View, is_same_scene: bool) -> Result<(), GpuFault> {
        let spare = self.before.take().filter(|spare| spare.view.size == view.size);
        let next = match spare {
            Some(Picture { lit, .. }) => Picture { view, lit, is_recorded: false },
            None => Picture::new(gpu, view)?,
        };
        if next.view.size != self.size() {
            let fresh = Self::new(gpu, next.view.clone())?;
            (self.rough, self.picture) = (fresh.rough, fresh.picture);
        }
        let last = core::mem::replace(&mut self.now, next);
        self.before = Some(last).filter(|last| last.is_recorded);
        self.is_outdated = !is_same_scene;
        Ok(())
    }

    /// Returns columns and rows.
    pub fn size(&self) -> UVec2 {
        self.now.view.size
    }

    /// Returns the filtered picture in cd/m2, four floats per pixel, or `None` before the first
    /// [`PictureFilter::record`].
    pub fn picture(&self) -> Option<&Buffer> {
        self.now.is_recorded.then_some(&self.picture)
    }

    fn settings(&self, share: f32) -> Filter {
        let [eye, forward, right, up] = axes(&self.now.view);
        let before = self.before.as_ref().map(|before| &before.view);
        let parallel = |view: &View| if view.camera.is_orthographic() { 1.0 } else { 0.0 };
        let [before_eye, before_forward, before_right, before_up] = before.map_or([[0.0; 3]; 4], axes);
        let max_history = if self.is_outdated { MAX_OUTDATED_HISTORY } else { MAX_HISTORY };
        Filter {
            eye,
            share,
            forward,
            max_history: max_history * share,
            right,
            is_outdated: u32::from(self.is_outdated),
            up,
            parallel: parallel(&self.now.view),
            before_eye,
            before_parallel: before.map_or(0.0, parallel),
            before_forward,
            before_right,
            before_up,
            size: self.size().to_array(),
            before_size: before.map_or([0; 2], |view| view.size.to_array()),
            ..Filter::default()
        }
    }
}

impl Picture {
    fn new(gpu: &Gpu, view: View) -> Result<Self, GpuFault> {
        let lit = gpu.empty_storage("a filtered picture", pixels(view.size) * size_of::<LitPixel>() as u64)?;
        Ok(Self { view, lit, is_recorded: false })
    }
}

fn pixels(size: UVec2) -> u64 {
    u64::from(size.x) * u64::from(size.y)
}

/// Returns eye, forward, right and up in the shaders' layout. Right and up reach to the edge of a square picture.
fn axes(view: &View) -> [[f32; 3]; 4] {
    let Sights { position, forward, right, up, .. } = view.camera.sights();
    [position, forward, right, up].map(|v| v.to_array())
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Filter as Filter {
        eye, share, forward, max_history, right, is_outdated, up, parallel, before_eye, before_parallel, before_forward,
        padding_0, before_right, padding_1, before_up, padding_2, size, before_size
    }
    LitPixel as LitPixel { light, samples, normal, depth, surface, moment }
}
