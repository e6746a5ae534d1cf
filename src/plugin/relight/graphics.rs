//! GPU drawing of relit pages: choice of the device, and copies into the shown textures.
//!
//! The relighting thread draws pages into GPU memory of the renderer's own device. The renderer copies them into the
//! textures of their images before it draws a frame. The CPU data of these images stays unchanged.

use std::sync::Arc;

use bevy::prelude::*;
use bevy::render::render_asset::RenderAssets;
use bevy::render::render_resource::TextureId;
use bevy::render::renderer::{RenderDevice, RenderGraph, RenderQueue};
use bevy::render::texture::GpuImage;
use bevy::render::{Extract, ExtractSchedule};

use crate::DeviceChoice;
use crate::gpu::{Gpu, GpuPages};
use crate::plugin::renderer::Renderer;
use crate::plugin::schedule::RadiositySystems;

/// Returns the device for drawing pages, or the reason why there is none. The reason is `None` if no device is wanted.
pub fn choose_device(wanted: DeviceChoice, renderer: &Renderer) -> Result<Gpu, Option<String>> {
    if wanted == DeviceChoice::Cpu {
        return Err(None);
    }
    let gpu = renderer.gpu().ok_or_else(|| Some("there is no graphics adapter".to_owned()))?;
    let gpu = gpu.map_err(|fault| Some(fault.to_string()))?;
    if wanted == DeviceChoice::Auto && !gpu.is_hardware() {
        return Err(Some(format!("{} only stands in for a graphics card", gpu.name())));
    }
    Ok(gpu)
}

/// Pages drawn on the GPU, in the main world and in the render world.
#[derive(Resource, Clone, Default)]
pub struct Drawn {
    pages: Option<Arc<GpuPages>>,
    /// Images that show the pages.
    images: Vec<AssetId<Image>>,
    /// Number of draws so far, and whether the current pages have been drawn.
    drawings: u64,
    is_drawn: bool,
}

impl Drawn {
    /// Starts with a level that these images show.
    pub fn begin(&mut self, images: &[Handle<Image>]) {
        self.images = images.iter().map(Handle::id).collect();
        self.set(None, false);
    }

    /// Sets the pages. `is_new` is true if they have just been drawn.
    pub fn set(&mut self, pages: Option<Arc<GpuPages>>, is_new: bool) {
        let is_same = self.pages.as_ref().map(Arc::as_ptr) == pages.as_ref().map(Arc::as_ptr);
        self.is_drawn = pages.is_some() && (is_new || is_same && self.is_drawn);
        self.drawings += u64::from(is_new);
        self.pages = pages;
    }
}

/// Adds the systems of the render world.
pub fn add(render_app: &mut SubApp) {
    render_app
        .init_resource::<Drawn>()
        .add_systems(ExtractSchedule, extract.in_set(RadiositySystems::Relight))
        .add_systems(RenderGraph, copy.in_set(RadiositySystems::Relight));
}

fn extract(mut drawn: ResMut<Drawn>, from: Extract<Res<Drawn>>) {
    drawn.clone_from(&from);
}

/// Copies pages after each draw, and into new textures.
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
