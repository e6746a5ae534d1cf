//! What a kernel is told of a camera and of the samples that it adds.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::pathtrace::{PixelFilter, View};
use crate::scene::Sights;

/// The twin of `Pass` in `camera.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct CameraPass {
    pub eye: [f32; 3],
    pub sample_index: u32,
    pub forward: [f32; 3],
    pub seed: u32,
    pub right: [f32; 3],
    pub most_bounces: u32,
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
}

/// No path is longer: between perfect mirrors one in 10^22 would be.
const LONGEST_PATH: u32 = 1024;

impl CameraPass {
    /// Of some rows of a picture, or some light paths.
    pub fn new(view: &View, part: Range<u32>, most_bounces: Option<u32>) -> Self {
        let Sights { position, forward, right, up, is_orthographic } = view.camera.sights();
        let lens = view.lens.filter(|_| !is_orthographic);
        Self {
            eye: position.to_array(),
            forward: forward.to_array(),
            right: right.to_array(),
            most_bounces: most_bounces.unwrap_or(LONGEST_PATH).min(LONGEST_PATH),
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
