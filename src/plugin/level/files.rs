//! Files of a baked level.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bevy::math::Affine3A;
use bevy::prelude::*;
use rayon::prelude::*;

use crate::bake::BakeSettings;
use crate::lightmap::files::{Level, LevelError, LevelMesh, LevelSurface};
use crate::lightmap::{PageFormat, Voxels};
use crate::plugin::background::{RadiosityThreads, Task};
use crate::plugin::components::BakedLevel;
use crate::plugin::state::{PageValidity, TexelValidity};
use crate::plugin::write_back::{PagePixels, uv_rect};
use crate::radiosity::Content;
use crate::scene::{SurfaceKey, hash};
use crate::scene_files::load;

/// Contents of a level's files.
pub struct Files {
    pub pages: Vec<PagePixels>,
    pub validity: TexelValidity,
    pub meshes: Vec<LevelMesh>,
    pub surfaces: HashMap<SurfaceKey, Place>,
    pub volume: Option<Arc<Voxels>>,
    pub content: Content,
    pub level: Level,
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

/// Reads a level, and all files that are needed to show it.
pub fn read_files(folder: &Path) -> Result<Files, LevelError> {
    let started = Instant::now();
    let files = Level::read_with(folder, |level| read_files_of(level, folder))?;
    Ok(Files { seconds: started.elapsed().as_secs_f32(), ..files })
}

fn read_files_of(level: &Level, folder: &Path) -> Result<Files, LevelError> {
    let pages = (0..level.pages.len())
        .into_par_iter()
        .map(|page| {
            let data = level.read_texture(folder, page)?;
            let (width, height) = (level.pages[page].width, level.pages[page].height);
            Ok(PagePixels { width, height, format: PageFormat::SharedExponent, data })
        })
        .collect::<Result<_, LevelError>>()?;
    let validity = read_validity(level, folder)?;
    let meshes = level.read_meshes(folder)?;
    let place = |surface: &LevelSurface| {
        let page = surface.page as usize;
        let uv_rect = uv_rect(surface.rectangle, level.pages[page].size());
        let to_world = surface.to_world.map(|columns| Affine3A::from_cols_array(&columns));
        Place { mesh: surface.mesh as usize, page, uv_rect, to_world }
    };
    let surfaces = level.surfaces.iter().map(|surface| (surface.key.clone(), place(surface))).collect();
    let volume = level.read_volume(folder)?.map(Arc::new);
    // A later version may have written other settings. The level is shown with the defaults then.
    let settings: BakeSettings = serde_json::from_value(level.settings.clone()).unwrap_or_default();
    let content = settings.solver.content;
    Ok(Files { pages, validity, meshes, surfaces, volume, content, level: level.clone(), seconds: 0.0 })
}

/// Reads the validity of a level's texels: of all pages, or of none.
fn read_validity(level: &Level, folder: &Path) -> Result<TexelValidity, LevelError> {
    let pages = (0..level.pages.len()).into_par_iter().map(|page| {
        let texels = level.read_validity(folder, page)?;
        Ok(texels.map(|texels| Arc::new(PageValidity::new(level.pages[page].size(), texels))))
    });
    let pages: Option<Vec<_>> = pages.collect::<Result<Vec<_>, LevelError>>()?.into_iter().collect();
    Ok(TexelValidity(pages.unwrap_or_default()))
}

/// Starts a task that compares the source of a level with the bake, if the level has one.
pub fn check_source(baked: &BakedLevel, level: &Level, threads: RadiosityThreads) {
    let Some(source) = baked.source.clone() else {
        return;
    };
    let content_hash = level.content_hash.clone();
    if let Err(error) = Task::start("baked level's source", threads, move || warn_when_stale(&source, &content_hash)) {
        warn!("no thread to compare a baked level with its source: {error}");
    }
}

/// Warns when a file differs from the bake.
fn warn_when_stale(source: &Path, content_hash: &str) {
    let name = source.display();
    match load(&source.to_string_lossy()) {
        Ok(mut loaded) => {
            crate::scene::check::repair(&mut loaded.scene);
            if hash(&loaded.scene).to_string() != content_hash {
                warn!("{name} has changed since it was baked: its lightmaps are out of date; bake it again");
            }
        }
        Err(error) => warn!("{name} cannot be compared with its lightmaps: {error}"),
    }
}
