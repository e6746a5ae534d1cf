//! Light paths: kernels that deposit the light of paths in pixels.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};
use wgpu::{BindGroup, BindGroupLayout, Buffer, CommandEncoder, ComputePipeline};

use super::camera::CameraPass;
use super::deposits::{WORDS_OF_SUM, sum, zeros};
use super::kernel::{bind, dispatch, dispatch_blocks, layout};
use super::{Block, Gpu, GpuFault, GpuFilm, GpuScene, Shader};
use crate::lights::{AliasEntry, EmissionSampler, LightSampler};
use crate::pathtrace::{View, seed_of_pass};
use crate::scene::{Scene, Sky};

/// Kernels and shared buffers of all light passes of a picture.
pub(super) struct LightPaths {
    follow: ComputePipeline,
    follow_layout: BindGroupLayout,
    block: Block,
    add_splats: ComputePipeline,
    sum_changes: ComputePipeline,
    splats_layout: BindGroupLayout,
    emissions: Buffer,
    /// False if the scene has no emitters.
    is_lit: bool,
    deposits: Buffer,
    changes: Buffer,
    pixels: u32,
    /// Fixed-point units per cd/m2 that a pass deposits; a power of two.
    pub units: f32,
}

/// Counterpart of `Emissions` in `emission.wgsl`, without its entries.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct EmissionsHeader {
    center: [f32; 3],
    radius: f32,
    count: u32,
    sky: u32,
    padding: [u32; 2],
}

/// Counterpart of `Splats` in `splats.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Splats {
    unit: f32,
    sample_index: u32,
    pixels: u32,
    padding: u32,
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

impl LightPaths {
    /// Compiles the kernels for a scene and a view.
    ///
    /// # Errors
    /// Returns an error if the device lacks memory.
    pub fn new(gpu: &Gpu, scene: &Scene, on_gpu: &GpuScene, view: &View, block: Block) -> Result<Self, GpuFault> {
        let follow_layout = layout(gpu, "light paths", &[true, false]);
        let module = Shader::LightPaths(on_gpu.trees()).compile(&gpu.device);
        let layouts = [&GpuScene::layout(gpu), &follow_layout];
        let follow = gpu.compute_pipeline_with(&module, "follow_paths", &layouts, &[block.constant()]);
        let splats_layout = layout(gpu, "splats", &[true, false, false, false]);
        let splats = Shader::Splats.compile(&gpu.device);
        let of_splats = |name| gpu.compute_pipeline(&splats, name, &[&splats_layout]);

        let lights = LightSampler::with_movers(scene);
        let emission = EmissionSampler::new(&lights);
        let pixels = view.size.x * view.size.y;
        Ok(Self {
            follow,
            follow_layout,
            block,
            add_splats: of_splats("add_splats"),
            sum_changes: of_splats("sum_changes"),
            splats_layout,
            emissions: gpu.storage("where light paths begin", &emissions(scene, &lights, &emission))?,
            is_lit: !emission.by_power().entries().is_empty(),
            deposits: zeros(gpu, "what light paths bring", HEADER + pixels as usize * 3 * WORDS_OF_SUM)?,
            changes: gpu.empty_storage("changes", u64::from(pixels.div_ceil(64)) * size_of::<Change>() as u64)?,
            pixels,
            units: units(&emission, view),
        })
    }

    /// Returns false if the scene has no emitters, so that there is nothing to trace.
    pub fn is_lit(&self) -> bool {
        self.is_lit
    }

    /// Clears all deposits.
    pub fn clear(&self, encoder: &mut CommandEncoder) {
        encoder.clear_buffer(&self.deposits, 0, None);
    }

    /// Records some paths of a pass.
    pub fn record(&self, gpu: &Gpu, encoder: &mut CommandEncoder, scene: &GpuScene, view: &View, pass: &LightPass) {
        let settings = CameraPass {
            seed: seed_of_pass(pass.seed, pass.number),
            in_hybrid: u32::from(pass.in_hybrid),
            units: self.units / self.pixels as f32,
            ..CameraPass::new(view, pass.paths.clone(), pass.max_bounces)
        };
        let settings = gpu.uniform("light paths", &[settings]);
        let own = bind(gpu, &self.follow_layout, &[&settings, &self.emissions, &self.deposits]);
        let paths = pass.paths.end - pass.paths.start;
        dispatch_blocks(encoder, &self.follow, &[scene.bind_group(), &own], paths, self.block);
    }

    /// Returns the counts of the pass. Returns `None` after an overflow; the pass must then be repeated, with coarser
    /// units.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn counts(&mut self, gpu: &Gpu) -> Result<Option<PassCounts>, GpuFault> {
        let words: Vec<u32> = gpu.read(&self.deposits, HEADER)?;
        if words[WORDS_OF_SUM] != 0 {
            self.units *= COARSER;
            return Ok(None);
        }
        Ok(Some(PassCounts { contributions: sum(&words), unfinished: words[UNFINISHED].into() }))
    }

    /// Records the addition of the deposits to a film, as one sample of each pixel.
    pub fn add(&self, gpu: &Gpu, encoder: &mut CommandEncoder, film: &GpuFilm, sample: u32) {
        dispatch(encoder, &self.add_splats, &[&self.bind_splats(gpu, film, sample)], self.pixels);
    }

    /// Returns the change of a film by its last pass.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub fn changed(&self, gpu: &Gpu, film: &GpuFilm) -> Result<Changed, GpuFault> {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        dispatch(&mut encoder, &self.sum_changes, &[&self.bind_splats(gpu, film, 0)], self.pixels);
        gpu.queue.submit([encoder.finish()]);
        let changes: Vec<Change> = gpu.read(&self.changes, self.pixels.div_ceil(64) as usize)?;
        let lit: u64 = changes.iter().map(|change| u64::from(change.lit)).sum();
        let sum: f64 = changes.iter().map(|change| f64::from(change.sum)).sum();
        let brighter = changes.iter().map(|change| u64::from(change.brighter)).sum();
        Ok(Changed { mean: (sum / lit.max(1) as f64) as f32, brighter })
    }

    fn bind_splats(&self, gpu: &Gpu, film: &GpuFilm, sample: u32) -> BindGroup {
        let settings = Splats { unit: 1.0 / self.units, sample_index: sample, pixels: self.pixels, padding: 0 };
        let settings = gpu.uniform("splats", &[settings]);
        bind(gpu, &self.splats_layout, &[&settings, &self.deposits, &film.radiance, &film.features, &self.changes])
    }
}

/// Range of light paths of a pass. A pass has one path per pixel.
pub(super) struct LightPass {
    pub number: u32,
    pub seed: u32,
    pub max_bounces: Option<u32>,
    pub paths: Range<u32>,
    /// True if camera paths render mirrors and glass.
    pub in_hybrid: bool,
}

/// Returns the words of `Emissions` in `emission.wgsl`.
pub(super) fn emissions(scene: &Scene, lights: &LightSampler, emission: &EmissionSampler) -> Vec<u32> {
    let entries = emission.by_power().entries();
    let (center, radius) = emission.sphere();
    let sky = if matches!(scene.sky, Sky::Uniform(_)) { lights.emitters() as u32 } else { u32::MAX };
    let header =
        EmissionsHeader { center: center.to_array(), radius, count: entries.len() as u32, sky, padding: [0; 2] };
    [bytemuck::cast_slice(&[header]), bytemuck::cast_slice::<AliasEntry, u32>(entries)].concat()
}

/// Returns fixed-point units fine enough for a typical contribution to count very many of them.
fn units(emission: &EmissionSampler, view: &View) -> f32 {
    let pixel = f64::from(2.0 * view.camera.half_height() / view.size.y as f32);
    let distance = if view.camera.is_orthographic() { 1.0 } else { f64::from(2.0 * emission.sphere().1).max(1e-3) };
    let typical = emission.power() / (core::f64::consts::PI * (distance * pixel).powi(2));
    let exponent = if typical > 0.0 && typical.is_finite() { TYPICAL_SPLAT - libm::log2(typical).ceil() } else { 0.0 };
    // Powers of two whose reciprocals are normal floats.
    libm::exp2(exponent.clamp(-90.0, 90.0)) as f32
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    EmissionsHeader as Emissions { center, radius, count, sky, padding }
    Splats as Splats { unit, sample_index, pixels, padding }
    Change as Change { sum, lit, brighter, padding }
}
