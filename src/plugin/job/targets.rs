//! Surfaces and pages of a bake, converted for the write-back.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::prelude::{Entity, Handle, Mesh};
use rayon::prelude::*;

use crate::lightmap::{Layout, Page, Placement};
use crate::plugin::write_back::{PagePixels, Target, uv_rect};
use crate::scene::SurfaceKey;

/// Entity and original mesh of each surface.
pub type Originals = HashMap<SurfaceKey, (Entity, Handle<Mesh>)>;

/// Returns the write-back targets: the entity, page and rectangle of each surface of a layout, by their keys in order.
pub fn targets<'a>(originals: &Originals, keys: impl Iterator<Item = &'a SurfaceKey>, layout: &Layout) -> Vec<Target> {
    let target = |(key, placement): (&SurfaceKey, &Option<Placement>)| {
        let (entity, original) = originals.get(key)?;
        Some(target(*entity, original.clone(), placement.as_ref()?, layout))
    };
    keys.zip(&layout.placements).filter_map(target).collect()
}

/// Converts pages to half floats for the renderer.
pub fn pixels(pages: &[Page]) -> Vec<PagePixels> {
    pages.par_iter().map(|page| PagePixels::half_float(page.width, page.height, &page.texels)).collect()
}

fn target(entity: Entity, original: Handle<Mesh>, placement: &Placement, layout: &Layout) -> Target {
    let page = placement.page as usize;
    Target {
        entity,
        original,
        unwrap: Arc::clone(&placement.unwrap),
        page,
        uv_rect: uv_rect(placement.rectangle, layout.pages[page]),
    }
}
