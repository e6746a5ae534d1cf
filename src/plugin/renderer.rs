//! Renderer's device, for compute shaders of this crate.

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::render::renderer::{RenderAdapterInfo, RenderDevice, RenderQueue};

use crate::gpu::{Gpu, GpuFault};

/// Renderer's device, if the app has a graphics adapter.
#[derive(SystemParam)]
pub struct Renderer<'w> {
    device: Option<Res<'w, RenderDevice>>,
    queue: Option<Res<'w, RenderQueue>>,
    adapter: Option<Res<'w, RenderAdapterInfo>>,
}

impl Renderer<'_> {
    /// Returns true if the app has an adapter.
    pub fn exists(&self) -> bool {
        self.device.is_some() && self.queue.is_some() && self.adapter.is_some()
    }

    /// Returns true when the device has been replaced.
    pub fn is_new(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.is_changed())
    }

    /// Returns the device for compute shaders, or why it cannot run them. `None` without an adapter.
    pub fn gpu(&self) -> Option<Result<Gpu, GpuFault>> {
        let (device, queue) =
            (self.device.as_ref()?.wgpu_device().clone(), wgpu::Queue::clone(&self.queue.as_ref()?.0));
        Some(Gpu::from_device(device, queue, wgpu::AdapterInfo::clone(&self.adapter.as_ref()?.0)))
    }
}
