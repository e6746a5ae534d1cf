//! Pages that the graphics card draws: which card, and how they come to where they are shown.
//!
//! The thread that follows lights also has pages drawn, into memory of the renderer's own device. From there the renderer
//! copies them into the textures of their images before it draws a frame; what images hold on the processor's side stays
//! as it was.

use std::sync::Arc;

use bevy::core_pipeline::schedule::camera_driver;
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::render::render_asset::RenderAssets;
use bevy::render::render_resource::TextureId;
use bevy::render::renderer::{RenderAdapterInfo, RenderDevice, RenderGraph, RenderQueue};
use bevy::render::texture::GpuImage;
use bevy::render::{Extract, ExtractSchedule};

use super::RelightDevice;
use crate::gpu::{Gpu, GpuPages};

/// The renderer's device.
#[derive(SystemParam)]
pub struct Renderer<'w> {
    device: Option<Res<'w, RenderDevice>>,
    queue: Option<Res<'w, RenderQueue>>,
    adapter: Option<Res<'w, RenderAdapterInfo>>,
}

impl Renderer<'_> {
    /// True when there is another device than before.
    pub fn is_new(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.is_changed())
    }

    /// The device that is to draw pages, or why there is none; no reason is needed where none is wanted.
    pub fn choose(&self, wanted: RelightDevice) -> Result<Gpu, Option<String>> {
        if wanted == RelightDevice::Processor {
            return Err(None);
        }
        let (Some(device), Some(queue), Some(adapter)) = (&self.device, &self.queue, &self.adapter) else {
            return Err(Some("there is no graphics adapter".to_owned()));
        };
        let (device, queue) = (device.wgpu_device().clone(), wgpu::Queue::clone(&queue.0));
        let gpu = Gpu::from_device(device, queue, wgpu::AdapterInfo::clone(&adapter.0));
        let gpu = gpu.map_err(|fault| Some(fault.to_string()))?;
        if wanted == RelightDevice::Auto && !gpu.is_hardware() {
            return Err(Some(format!("{} only stands in for a graphics card", gpu.name())));
        }
        Ok(gpu)
    }
}

/// Pages that the graphics card has drawn; in the main world as in the renderer's.
#[derive(Resource, Clone, Default)]
pub struct Drawn {
    pages: Option<Arc<GpuPages>>,
    /// What they are shown from.
    images: Vec<AssetId<Image>>,
    /// Another number for each time that pages were drawn, and whether the ones at hand have been.
    drawings: u64,
    is_drawn: bool,
}

impl Drawn {
    /// Begins with a level that is shown from these images.
    pub fn begin(&mut self, images: &[Handle<Image>]) {
        self.images = images.iter().map(Handle::id).collect();
        self.set(None, false);
    }

    /// Which pages there are, and whether they have just been drawn.
    pub fn set(&mut self, pages: Option<Arc<GpuPages>>, is_new: bool) {
        let is_same = self.pages.as_ref().map(Arc::as_ptr) == pages.as_ref().map(Arc::as_ptr);
        self.is_drawn = pages.is_some() && (is_new || is_same && self.is_drawn);
        self.drawings += u64::from(is_new);
        self.pages = pages;
    }
}

/// Adds the systems of the renderer's world.
pub fn add(render_app: &mut SubApp) {
    render_app
        .init_resource::<Drawn>()
        .add_systems(ExtractSchedule, extract)
        .add_systems(RenderGraph, copy.before(camera_driver));
}

fn extract(mut drawn: ResMut<Drawn>, from: Extract<Res<Drawn>>) {
    drawn.clone_from(&from);
}

/// Copies what has been drawn since, and to textures that are new.
fn copy(
    drawn: Res<Drawn>,
    textures: Res<RenderAssets<GpuImage>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut copied: Local<Vec<Option<(TextureId, u64)>>>,
) {
    let device = device.wgpu_device();
    let Some(pages) = drawn.pages.as_ref().filter(|pages| drawn.is_drawn && pages.gpu().device() == device) else {
        return;
    };
    copied.resize(drawn.images.len(), None);
    let mut encoder = None;
    for (page, (image, copied)) in drawn.images.iter().zip(&mut *copied).enumerate() {
        let Some(texture) = textures.get(*image).map(|image| &image.texture) else {
            continue;
        };
        let wanted = Some((texture.id(), drawn.drawings));
        if *copied != wanted && pages.fits(page, texture) {
            let encoder = encoder.get_or_insert_with(|| device.create_command_encoder(&default()));
            pages.copy(page, texture, encoder);
            *copied = wanted;
        }
    }
    queue.submit(encoder.map(|encoder| encoder.finish()));
}
