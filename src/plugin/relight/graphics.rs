//! GPU drawing of relit pages: choice of the device, and copies into the shown textures.
//!
//! The relighting thread draws pages into GPU memory of the renderer's own device. The renderer copies them into the
//! textures of their images before it draws a frame. The CPU data of these images stays unchanged.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Pages of a level that the GPU draws.
#[derive(Component, Clone, Default)]
pub struct Drawn {
    pages: Option<Arc<GpuPages>>,
    /// Images that show the pages.
    images: Vec<AssetId<Image>>,
    /// Number of the latest draw of any level, if the current pages have been drawn.
    drawing: Option<u64>,
}

impl Drawn {
    /// Starts with a level that these images show.
    pub fn begin(images: &[Handle<Image>]) -> Self {
        Self { images: images.iter().map(Handle::id).collect(), ..Self::default() }
    }

    /// Sets the pages. `is_new` is true if they have just been drawn.
    pub fn set(&mut self, pages: Option<Arc<GpuPages>>, is_new: bool) {
        /// Number of draws so far.
        static DRAWINGS: AtomicU64 = AtomicU64::new(0);
        let is_same = self.pages.as_ref().map(Arc::as_ptr) == pages.as_ref().map(Arc::as_ptr);
        if pages.is_some() && is_new {
            self.drawing = Some(DRAWINGS.fetch_add(1, Ordering::Relaxed));
        } else if !is_same || pages.is_none() {
            self.drawing = None;
        }
        self.pages = pages;
    }
}

/// Pages of all levels, in the render world.
#[derive(Resource, Default)]
struct DrawnLevels(Vec<Drawn>);

/// Adds the systems of the render world.
pub fn add(render_app: &mut SubApp) {
    render_app
        .init_resource::<DrawnLevels>()
        .add_systems(ExtractSchedule, extract.in_set(RadiositySystems::Relight))
        .add_systems(RenderGraph, copy.in_set(RadiositySystems::Relight));
}

fn extract(mut levels: ResMut<DrawnLevels>, from: Extract<Query<&Drawn>>) {
    levels.0.clear();
    levels.0.extend(from.iter().filter(|drawn| drawn.drawing.is_some()).cloned());
}

/// Copies pages after each draw, and into new textures.
fn copy(
    levels: Res<DrawnLevels>,
    textures: Res<RenderAssets<GpuImage>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut copied: Local<HashMap<AssetId<Image>, (TextureId, u64)>>,
) {
    if levels.0.is_empty() && copied.is_empty() {
        return;
    }
    let device = device.wgpu_device();
    let before = core::mem::take(&mut *copied);
    let mut encoder = None;
    for Drawn { pages, images, drawing } in &levels.0 {
        let (Some(pages), &Some(drawing)) = (pages.as_ref().filter(|pages| pages.gpu().device() == device), drawing)
        else {
            continue;
        };
        for (page, image) in images.iter().enumerate() {
            let Some(texture) = textures.get(*image).map(|image| &image.texture) else {
                continue;
            };
            let wanted = (texture.id(), drawing);
            if before.get(image) != Some(&wanted) {
                if !pages.fits(page, texture) {
                    continue;
                }
                let encoder = encoder.get_or_insert_with(|| device.create_command_encoder(&default()));
                pages.copy(page, texture, encoder);
            }
            copied.insert(*image, wanted);
        }
    }
    queue.submit(encoder.map(|encoder| encoder.finish()));
}
