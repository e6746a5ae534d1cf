//! Content of a baked level's files.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::math::Affine3A;
use bevy::prelude::*;

use crate::bake::BakeSettings;
use crate::clock;
use crate::lightmap::files::{LevelError, LevelMesh, LevelSurface};
use crate::lightmap::{PageFormat, Voxels};
use crate::parts::{map, pause};
use crate::plugin::assets::ReadLevel;
use crate::plugin::state::{PageValidity, TexelValidity};
use crate::plugin::write_back::{PagePixels, uv_rect};
use crate::radiosity::Content;
use crate::scene::SurfaceKey;

/// Contents of a level's files.
pub struct Files {
    pub pages: Vec<PagePixels>,
    pub validity: TexelValidity,
    pub meshes: Vec<LevelMesh>,
    pub surfaces: HashMap<SurfaceKey, Place>,
    pub volume: Option<Arc<Voxels>>,
    pub content: Content,
    pub read: Arc<ReadLevel>,
    /// Time to read and decode the files, in seconds.
    pub seconds: f32,
}

/// Place of a surface on the pages, and in the bake.
#[derive(Clone)]
pub struct Place {
    /// Index of the mesh in the level.
    pub mesh: usize,
    pub page: usize,
    pub uv_rect: Rect,
    /// Transform in the bake, if it is known.
    pub to_world: Option<Affine3A>,
}

/// Decodes the files of a level.
pub async fn decode(read: Arc<ReadLevel>) -> Result<Files, LevelError> {
    let started = clock::now();
    let ReadLevel { level, bytes, .. } = &*read;
    let pages = map(level.pages.len(), 1, |page| {
        let data = level.read_texture(bytes, page)?;
        let (width, height) = (level.pages[page].width, level.pages[page].height);
        Ok(PagePixels { width, height, format: PageFormat::SharedExponent, data })
    });
    let pages = pages.await.into_iter().collect::<Result<_, LevelError>>()?;
    let validity = map(level.pages.len(), 1, |page| {
        let texels = level.read_validity(bytes, page)?;
        Ok(texels.map(|texels| Arc::new(PageValidity::new(level.pages[page].size(), texels))))
    });
    let validity: Vec<Option<_>> = validity.await.into_iter().collect::<Result<_, LevelError>>()?;
    // Of all pages, or of none.
    let validity = TexelValidity(validity.into_iter().collect::<Option<_>>().unwrap_or_default());
    let meshes = level.read_meshes(bytes)?;
    pause().await;
    let place = |surface: &LevelSurface| {
        let page = surface.page as usize;
        let uv_rect = uv_rect(surface.rectangle, level.pages[page].size());
        let to_world = surface.to_world.map(|columns| Affine3A::from_cols_array(&columns));
        Place { mesh: surface.mesh as usize, page, uv_rect, to_world }
    };
    let surfaces = level.surfaces.iter().map(|surface| (surface.key.clone(), place(surface))).collect();
    pause().await;
    let volume = level.read_volume(bytes)?.map(Arc::new);
    // A later version may have written other settings. The level is shown with the defaults then.
    let settings: BakeSettings = serde_json::from_value(level.settings.clone()).unwrap_or_default();
    let content = settings.solver.content;
    let seconds = read.seconds + started.elapsed().as_secs_f32();
    Ok(Files { pages, validity, meshes, surfaces, volume, content, read, seconds })
}
