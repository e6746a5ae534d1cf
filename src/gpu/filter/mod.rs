//! Pictures of few samples, made watchable.
//!
//! Light is divided by the colour of what reflects it, joined with what earlier pictures knew of the same points, and
//! smoothed over each surface as far as its noise makes that worthwhile. What is filtered is biased: it is for pictures
//! that move, and fades as samples add up.

use bytemuck::{Pod, Zeroable};
use glam::UVec2;
use wgpu::{
    BindGroup, BindGroupLayout, BindGroupLayoutDescriptor, Buffer, BufferBindingType, CommandEncoder,
    ComputePassDescriptor, ComputePipeline,
};

use super::kernel::bind;
use super::scene::{buffer, entry};
use super::shader::piece;
use super::{Gpu, GpuFault, GpuFilm};
use crate::pathtrace::View;
use crate::scene::Sights;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;

/// Smoothing reaches twice as far with each step.
const STRIDES: [u32; 5] = [1, 2, 4, 8, 16];
/// Samples of a film from which on it is shown as it is.
const ENOUGH_SAMPLES: f32 = 64.0;
/// Most samples that earlier pictures of the same scene count for.
const MOST_HISTORY: f32 = 32.0;
/// The same where the scene has changed: what they knew may be wrong.
const MOST_SUSPECT_HISTORY: f32 = 4.0;
/// Columns, and rows, of a workgroup.
const GROUP: u32 = 8;

/// The kernels that filter pictures.
pub struct PictureFilter {
    layout: BindGroupLayout,
    gather: ComputePipeline,
    smooth: ComputePipeline,
    colour: ComputePipeline,
    strides: Vec<Buffer>,
}

/// A camera's filtered pictures.
pub struct FilteredPicture {
    now: Picture,
    before: Option<Picture>,
    is_suspect: bool,
    rough: [Buffer; 2],
    picture: Buffer,
    settings: Buffer,
}

/// Light that was gathered for one picture.
struct Picture {
    view: View,
    lit: Buffer,
    is_recorded: bool,
}

/// The twin of `Filter` in `filter.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Settings {
    eye: [f32; 3],
    share: f32,
    forward: [f32; 3],
    most_history: f32,
    right: [f32; 3],
    is_suspect: u32,
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

/// The twin of `LitPixel` in `filter.wgsl`.
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

/// Whether a picture of so many samples gains by being filtered.
pub fn is_worth_filtering(samples: u32) -> bool {
    (samples as f32) < ENOUGH_SAMPLES
}

/// How much of what is shown is filtered: all of it up to half as many as are enough, since a hundredth of a speck can be
/// brighter than what is around it.
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
        let module = gpu.shader("filter", [piece!("colour"), piece!("film"), piece!("filter")].join("\n"));
        let pipeline = |entry_point| gpu.compute_pipeline(&module, entry_point, &[&layout]);
        Self {
            gather: pipeline("gather_light"),
            smooth: pipeline("smooth_out"),
            colour: pipeline("colour_light"),
            strides: STRIDES.iter().map(|&stride| gpu.uniform("stride", &[[stride, 0, 0, 0]])).collect(),
            layout,
        }
    }

    /// Records the filtering of what a film, whose pixels have so many samples, has seen of the picture that was begun
    /// last.
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
            .chain([(&self.colour, groups(STRIDES.len() % 2, 0))]);
        for (pipeline, group) in passes {
            let mut compute = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            compute.set_pipeline(pipeline);
            compute.set_bind_group(0, &group, &[]);
            compute.dispatch_workgroups(size.x.div_ceil(GROUP), size.y.div_ceil(GROUP), 1);
        }
        picture.now.is_recorded = true;
    }

    /// Everything that a kernel sees which reads one of the two rough pictures and writes the other.
    fn bind_group(
        &self,
        gpu: &Gpu,
        film: &GpuFilm,
        picture: &FilteredPicture,
        from: usize,
        stride: usize,
    ) -> BindGroup {
        // Where there is no earlier picture, nobody looks at what is bound in its place.
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
    /// What a camera sees that has not been filtered before.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn new(gpu: &Gpu, view: View) -> Result<Self, GpuFault> {
        let pixels = pixels(view.size);
        let rough = || gpu.empty_storage("a filtered picture", pixels * size_of::<[f32; 4]>() as u64);
        Ok(Self {
            rough: [rough()?, rough()?],
            picture: rough()?,
            settings: gpu.uniform("filter", &[Settings::default()]),
            now: Picture::new(gpu, view)?,
            before: None,
            is_suspect: false,
        })
    }

    /// Begins a picture from another place or of other size, which takes over what the one before knew; with caution
    /// where the scene is no longer the same.
    ///
    /// # Errors
    /// When the device has no room for it.
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
        self.is_suspect = !is_same_scene;
        Ok(())
    }

    /// Columns and rows.
    pub fn size(&self) -> UVec2 {
        self.now.view.size
    }

    /// The filtered picture, cd/m2, four numbers a pixel; `None` before it has been recorded.
    pub fn picture(&self) -> Option<&Buffer> {
        self.now.is_recorded.then_some(&self.picture)
    }

    fn settings(&self, share: f32) -> Settings {
        let [eye, forward, right, up] = axes(&self.now.view);
        let before = self.before.as_ref().map(|before| &before.view);
        let parallel = |view: &View| if view.camera.is_orthographic() { 1.0 } else { 0.0 };
        let [before_eye, before_forward, before_right, before_up] = before.map_or([[0.0; 3]; 4], axes);
        let most_history = if self.is_suspect { MOST_SUSPECT_HISTORY } else { MOST_HISTORY };
        Settings {
            eye,
            share,
            forward,
            most_history: most_history * share,
            right,
            is_suspect: u32::from(self.is_suspect),
            up,
            parallel: parallel(&self.now.view),
            before_eye,
            before_parallel: before.map_or(0.0, parallel),
            before_forward,
            before_right,
            before_up,
            size: self.size().to_array(),
            before_size: before.map_or([0; 2], |view| view.size.to_array()),
            ..Settings::default()
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

/// Eye, forward, right and up as shaders take them: right and up reach to the edge of a square picture.
fn axes(view: &View) -> [[f32; 3]; 4] {
    let Sights { position, forward, right, up, .. } = view.camera.sights();
    [position, forward, right, up].map(|v| v.to_array())
}
