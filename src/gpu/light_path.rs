//! Light paths: kernels that deposit the light of paths in pixels.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroup, BindGroupLayout, Buffer, CommandEncoder, ComputePipeline};

use super::camera::CameraPass;
use super::deposits::{WORDS_OF_SUM, sum, zeros};
use super::kernel::{bind, dispatch, dispatch_blocks, layout};
use super::{Block, Gpu, GpuFault, GpuFilm, GpuScene, Shader, Trees};
use crate::pathtrace::{View, seed_of_pass};

/// Light tracing kernel; counterpart of [`LightTracer`](crate::pathtrace::LightTracer). Equal paths deposit equal light,
/// up to rounding.
pub struct LightKernel {
    follow: ComputePipeline,
    follow_layout: BindGroupLayout,
    trees: Trees,
    block: Block,
    add_splats: ComputePipeline,
    shift_by_splats: ComputePipeline,
    sum_changes: ComputePipeline,
    splats_layout: BindGroupLayout,
}

/// Light that the paths of a pass deposit in the pixels of a picture.
pub struct LightDeposits {
    deposits: Buffer,
    changes: Buffer,
    /// Fixed-point units per cd/m2 that a pass deposits; a power of two.
    pub(super) units: f32,
}

/// Range of light paths of a pass. A pass has one path per pixel.
pub struct LightPass {
    /// Index of the pass.
    pub number: u32,
    /// Random seed.
    pub seed: u32,
    /// Maximum number of bounces of a path; unlimited if `None`.
    pub max_bounces: Option<u32>,
    /// Range of paths.
    pub paths: Range<u32>,
    /// True if camera paths render mirrors and glass.
    pub in_hybrid: bool,
}

/// Counterpart of `Splats` in `splats.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Splats {
    unit: f32,
    sample_index: u32,
    first: u32,
    end: u32,
}

/// Counterpart of `Change` in `splats.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Change {
    sum: f32,
    lit: u32,
    brighter: u32,
    padding: u32,
}

/// Change of a film by a pass.
pub(super) struct Changed {
    /// Mean change of luminance over the lit pixels, in cd/m2.
    pub mean: f32,
    /// Number of pixels that received light.
    pub brighter: u64,
}

/// Counts of a pass of light paths.
#[derive(Clone, Copy)]
pub(super) struct PassCounts {
    /// Number of path vertices that pixels see.
    pub contributions: u64,
    /// Number of walks that ended at the step limit.
    pub unfinished: u64,
}

/// Header word with the number of unfinished walks.
const UNFINISHED: usize = 3;
/// Number of header words before those of the pixels.
const HEADER: usize = 4;
/// Binary logarithm of the units of a typical contribution, to a pixel as far away as the scene is large. Contributions
/// below one unit are lost. A pixel may receive a hundred million times the typical contribution.
const TYPICAL_SPLAT: f64 = 36.0;
/// Factor on the units after an overflow.
const COARSER: f32 = 1.0 / 4096.0;

impl LightDeposits {
    /// Creates deposits for pictures of at most `max_pixels` pixels.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory.
    pub fn new(gpu: &Gpu, max_pixels: u32) -> Result<Self, GpuFault> {
        let words = HEADER + max_pixels as usize * 3 * WORDS_OF_SUM;
        Ok(Self {
            deposits: zeros(gpu, "what light paths bring", words)?,
            changes: gpu.empty_storage("changes", u64::from(max_pixels.div_ceil(64)) * size_of::<Change>() as u64)?,
            units: 1.0,
        })
    }

    /// Sets the units for pictures of a view.
    pub fn set_units(&mut self, scene: &GpuScene, view: &View) {
        self.units = units(scene, view);
    }

    /// Clears all deposits.
    pub fn clear(&self, encoder: &mut CommandEncoder) {
        encoder.clear_buffer(&self.deposits, 0, None);
    }

    /// Returns the counts of the pass. Returns `None` after an overflow; the pass must then be repeated, with coarser
    /// units.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub(super) fn counts(&mut self, gpu: &Gpu) -> Result<Option<PassCounts>, GpuFault> {
        let words: Vec<u32> = gpu.read(&self.deposits, HEADER)?;
        if words[WORDS_OF_SUM] != 0 {
            self.units *= COARSER;
            return Ok(None);
        }
        Ok(Some(PassCounts { contributions: sum(&words), unfinished: words[UNFINISHED].into() }))
    }
}

impl LightKernel {
    /// Compiles the kernel.
    pub fn new(gpu: &Gpu, trees: Trees) -> Self {
        Self::with_block(gpu, trees, Block::default())
    }

    /// Compiles the kernel for workgroups of a size.
    pub fn with_block(gpu: &Gpu, trees: Trees, block: Block) -> Self {
        let follow_layout = layout(gpu, "light paths", &[true, false]);
        let module = Shader::LightPaths(trees).compile(&gpu.device);
        let layouts = [&GpuScene::layout(gpu), &follow_layout];
        let follow = gpu.compute_pipeline_with(&module, "follow_paths", &layouts, &[block.constant()]);
        let splats_layout = layout(gpu, "splats", &[true, false, false, false]);
        let splats = Shader::Splats.compile(&gpu.device);
        let of_splats = |name| gpu.compute_pipeline(&splats, name, &[&splats_layout]);
        Self {
            follow,
            follow_layout,
            trees,
            block,
            add_splats: of_splats("add_splats"),
            shift_by_splats: of_splats("shift_by_splats"),
            sum_changes: of_splats("sum_changes"),
            splats_layout,
        }
    }

    /// Returns the trees that rays are traced in.
    pub fn trees(&self) -> Trees {
        self.trees
    }

    /// Records some paths of a pass. In a scene without emitters there are none.
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        scene: &GpuScene,
        deposits: &LightDeposits,
        view: &View,
        pass: &LightPass,
    ) {
        if !scene.emissions().are_lit() {
            return;
        }
        let settings = CameraPass {
            seed: seed_of_pass(pass.seed, pass.number),
            in_hybrid: u32::from(pass.in_hybrid),
            units: deposits.units / pixels_of(view) as f32,
            ..CameraPass::new(view, pass.paths.clone(), pass.max_bounces)
        };
        let settings = gpu.uniform("light paths", &[settings]);
        let own = bind(gpu, &self.follow_layout, &[&settings, scene.emissions().buffer(), &deposits.deposits]);
        let paths = pass.paths.end - pass.paths.start;
        dispatch_blocks(encoder, &self.follow, &[scene.bind_group(), &own], paths, self.block);
    }

    /// Records the addition of the deposits to a film, as one sample of each pixel.
    pub(super) fn add(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        deposits: &LightDeposits,
        film: &GpuFilm,
        sample: u32,
    ) {
        let pixels = film.pixels();
        dispatch(encoder, &self.add_splats, &[&self.bind_splats(gpu, deposits, film, 0..pixels, sample, 1.0)], pixels);
    }

    /// Records a sample of some pixels, which is the sum of the deposits and of what `record` adds to the film.
    ///
    /// `record` must add one sample to each of the pixels. Deviations from the mean are unchanged if the mean lacks the
    /// deposits before, and receives them afterwards.
    pub fn add_with(
        &self,
        gpu: &Gpu,
        encoder: &mut CommandEncoder,
        deposits: &LightDeposits,
        film: &GpuFilm,
        pixels: &Range<u32>,
        record: impl FnOnce(&mut CommandEncoder),
    ) {
        let shift = |encoder: &mut CommandEncoder, sign| {
            let group = self.bind_splats(gpu, deposits, film, pixels.clone(), 0, sign);
            dispatch(encoder, &self.shift_by_splats, &[&group], pixels.end - pixels.start);
        };
        shift(encoder, -1.0);
        record(encoder);
        shift(encoder, 1.0);
    }

    /// Returns the change of a film by its last pass.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub(super) fn changed(&self, gpu: &Gpu, deposits: &LightDeposits, film: &GpuFilm) -> Result<Changed, GpuFault> {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let pixels = film.pixels();
        let group = self.bind_splats(gpu, deposits, film, 0..pixels, 0, 1.0);
        dispatch(&mut encoder, &self.sum_changes, &[&group], pixels);
        gpu.queue.submit([encoder.finish()]);
        let changes: Vec<Change> = gpu.read(&deposits.changes, pixels.div_ceil(64) as usize)?;
        let lit: u64 = changes.iter().map(|change| u64::from(change.lit)).sum();
        let sum: f64 = changes.iter().map(|change| f64::from(change.sum)).sum();
        let brighter = changes.iter().map(|change| u64::from(change.brighter)).sum();
        Ok(Changed { mean: (sum / lit.max(1) as f64) as f32, brighter })
    }

    fn bind_splats(
        &self,
        gpu: &Gpu,
        deposits: &LightDeposits,
        film: &GpuFilm,
        pixels: Range<u32>,
        sample: u32,
        sign: f32,
    ) -> BindGroup {
        let unit = sign / deposits.units;
        let settings = Splats { unit, sample_index: sample, first: pixels.start, end: pixels.end };
        let settings = gpu.uniform("splats", &[settings]);
        let buffers = [&settings, &deposits.deposits, &film.radiance, &film.features, &deposits.changes];
        bind(gpu, &self.splats_layout, &buffers)
    }
}

fn pixels_of(view: &View) -> u32 {
    view.size.x * view.size.y
}

/// Returns fixed-point units fine enough for a typical contribution to count very many of them.
fn units(scene: &GpuScene, view: &View) -> f32 {
    let emissions = scene.emissions();
    let pixel = f64::from(2.0 * view.camera.half_height() / view.size.y as f32);
    let distance = if view.camera.is_orthographic() { 1.0 } else { f64::from(2.0 * emissions.radius()).max(1e-3) };
    let typical = emissions.power() / (core::f64::consts::PI * (distance * pixel).powi(2));
    let exponent = if typical > 0.0 && typical.is_finite() { TYPICAL_SPLAT - libm::log2(typical).ceil() } else { 0.0 };
    // Powers of two whose reciprocals are normal floats.
    libm::exp2(exponent.clamp(-90.0, 90.0)) as f32
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Splats as Splats { unit, sample_index, first, end }
    Change as Change { sum, lit, brighter, padding }
}
