//! Start of light paths: which emitter, and through which sphere distant light enters.

use bytemuck::{Pod, Zeroable};
use wgpu::Buffer;

use crate::geometry::Aabb;
use crate::gpu::{Gpu, GpuFault};
use crate::lights::{AliasEntry, EmissionSampler, LightSampler};
use crate::scene::{Scene, Sky};

/// Device counterpart of [`EmissionSampler`].
#[derive(Clone)]
pub struct GpuEmissions {
    buffer: Buffer,
    header: Header,
    power: f64,
}

/// Counterpart of `Emissions` in `emission.wgsl`, without its entries.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    center: [f32; 3],
    radius: f32,
    count: u32,
    sky: u32,
    padding: [u32; 2],
}

impl GpuEmissions {
    /// Uploads the emitters of a scene, and its sky if uniform.
    pub(super) fn new(gpu: &Gpu, scene: &Scene, lights: &LightSampler) -> Result<Self, GpuFault> {
        let sampler = EmissionSampler::new(lights);
        let entries = sampler.by_power().entries();
        let (center, radius) = sampler.sphere();
        let sky = if matches!(scene.sky, Sky::Uniform(_)) { lights.emitters() as u32 } else { u32::MAX };
        let header = Header { center: center.to_array(), radius, count: entries.len() as u32, sky, padding: [0; 2] };
        let words = [bytemuck::cast_slice(&[header]), bytemuck::cast_slice::<AliasEntry, u32>(entries)].concat();
        Ok(Self { buffer: gpu.storage("where light paths begin", &words)?, header, power: sampler.power() })
    }

    pub(in crate::gpu) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns false if nothing emits light, so that no path can start.
    pub fn are_lit(&self) -> bool {
        self.header.count > 0
    }

    /// Returns the total luminous flux in lumens.
    pub(in crate::gpu) fn power(&self) -> f64 {
        self.power
    }

    /// Returns the radius in meters of the sphere through which distant light enters.
    pub(in crate::gpu) fn radius(&self) -> f32 {
        self.header.radius
    }

    /// Returns the header for a scene with other bounds.
    pub(super) fn within(&mut self, bounds: Aabb) -> Header {
        if !bounds.is_empty() {
            let diagonal = bounds.extent();
            self.header.center = (bounds.min + 0.5 * diagonal).to_array();
            self.header.radius = 0.5 * diagonal.length();
        }
        self.header
    }
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Header as Emissions { center, radius, count, sky, padding }
}
