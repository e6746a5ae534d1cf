//! Camera and sample settings of a kernel.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::pathtrace::{PixelFilter, View};
use crate::scene::Sights;

/// Counterpart of `CameraPass` in `camera.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct CameraPass {
    pub eye: [f32; 3],
    pub sample_index: u32,
    pub forward: [f32; 3],
    pub seed: u32,
    pub right: [f32; 3],
    pub max_bounces: u32,
    pub up: [f32; 3],
    pub lens_radius: f32,
    pub size: [u32; 2],
    pub first: u32,
    pub end: u32,
    pub focus: f32,
    pub tent: u32,
    pub parallel: f32,
    pub ends_at_lightmaps: u32,
    pub in_hybrid: u32,
    pub units: f32,
    pub padding: [u32; 2],
    pub background: [f32; 3],
    pub padding_2: u32,
}

/// Maximum path length. Between perfect mirrors, one path in 10^22 would be longer.
const LONGEST_PATH: u32 = 1024;

impl CameraPass {
    /// Creates the settings for a range of picture rows, or of light paths.
    pub fn new(view: &View, part: Range<u32>, max_bounces: Option<u32>) -> Self {
        let Sights { position, forward, right, up, is_orthographic } = view.camera.sights();
        let lens = view.lens.filter(|_| !is_orthographic);
        Self {
            eye: position.to_array(),
            forward: forward.to_array(),
            right: right.to_array(),
            max_bounces: max_bounces.unwrap_or(LONGEST_PATH).min(LONGEST_PATH),
            up: up.to_array(),
            lens_radius: lens.map_or(0.0, |lens| lens.radius),
            size: view.size.to_array(),
            first: part.start,
            end: part.end,
            focus: lens.map_or(1.0, |lens| lens.focus),
            tent: u32::from(view.filter == PixelFilter::Tent),
            parallel: if is_orthographic { 1.0 } else { 0.0 },
            ..Self::default()
        }
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    CameraPass as CameraPass {
        eye, sample_index, forward, seed, right, max_bounces, up, lens_radius, size, first, end, focus, tent, parallel,
        ends_at_lightmaps, in_hybrid, units, padding, background, padding_2
    }
}
