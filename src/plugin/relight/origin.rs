//! Source of a level to relight: a bake of this app, or files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bevy::prelude::{Entity, Rect};

use crate::accel::{Preset, World as Tree};
use crate::bake::BakeSettings;
use crate::geometry::SurfaceId;
use crate::lightmap::files::{self, LevelError};
use crate::lightmap::{Layout, PageFormat, Rectangle};
use crate::low_rank::{Precomputed, PrecomputedError};
use crate::plugin::components::BakedLevel;
use crate::plugin::state::RelightLevel;
use crate::plugin::write_back::uv_rect;
use crate::progress::Unmonitored;
use crate::relight;
use crate::scene::hash;
use crate::scene_files::{SceneError, load};

/// Reason why a level's files cannot be relit.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    #[error("{0} holds nothing to relight with: bake it again with --relight")]
    Missing(PathBuf),
    #[error(
        "relighting {0} needs the file that was baked: say `BakedLevel::new(..).with_source(..)` where the level is spawned"
    )]
    NoSource(PathBuf),
    #[error("{0} was baked again while it was shown: spawn its `BakedLevel` anew to relight it")]
    BakedAgain(PathBuf),
    #[error("{path}: {source}")]
    Precomputed { path: PathBuf, source: PrecomputedError },
    #[error(transparent)]
    Files(#[from] LevelError),
    #[error(transparent)]
    Level(#[from] relight::RelightInputError),
    #[error(transparent)]
    Scene(#[from] SceneError),
}

/// Takes a bake of this app, or returns `None` if it was baked without relighting data.
pub fn level_of_bake(bake: &crate::bake::BakeOutput, owners: HashMap<SurfaceId, Entity>) -> Option<RelightLevel> {
    let precomputed = Arc::clone(bake.relight.as_ref()?);
    let level = relight::RelightInput {
        scene: Arc::clone(&bake.scene),
        world: bake.world.clone(),
        elements: Arc::clone(&bake.elements),
        precomputed,
        pages: bake.pages.clone().into(),
        content: bake.settings.solver.content,
        texel_mapping: relight::LazyTexelMapping::default(),
    };
    Some(RelightLevel {
        places: places(&bake.layout),
        owners,
        format: PageFormat::HalfFloat,
        has_own_units: true,
        error: bake.report.relight.as_ref().map_or(0.0, |relight| relight.error),
        level,
    })
}

/// Reads the files of a shown level and builds the BVH of its scene.
pub fn read_level(baked: &BakedLevel, shown: &files::Level) -> Result<RelightLevel, OriginError> {
    let folder = &baked.folder;
    let relight = shown.relight.as_ref().ok_or_else(|| OriginError::Missing(folder.clone()))?;
    let source = baked.source.as_ref().ok_or_else(|| OriginError::NoSource(folder.clone()))?;
    let mut scene = load(&source.to_string_lossy())?.scene;
    crate::scene::check::repair(&mut scene);
    let content = hash(&scene).0;
    let (precomputed, pages, layout) = files::Level::read_with(folder, |level| {
        if !level.is_same_bake(shown) {
            return Err(OriginError::BakedAgain(folder.clone()));
        }
        let (path, bytes) = level.read_relight(folder)?.ok_or_else(|| OriginError::Missing(folder.clone()))?;
        let precomputed =
            Precomputed::from_bytes(&bytes, content).map_err(|source| OriginError::Precomputed { path, source })?;
        drop(bytes);
        let pages: Vec<_> =
            (0..level.pages.len()).map(|page| level.read_page(folder, page)).collect::<Result<_, _>>()?;
        Ok((precomputed, pages, level.layout(folder, &scene)?))
    })?;
    let places = places(&layout);
    let settings: BakeSettings = serde_json::from_value(shown.settings.clone()).unwrap_or_default();
    let scene = Arc::new(scene);
    let world = Arc::new(Tree::build(Arc::clone(&scene), Preset::fast()));
    let pages = (pages, settings.solver.content);
    let level = relight::RelightInput::new(scene, world, &layout, Arc::new(precomputed), pages, &Unmonitored)?;
    Ok(RelightLevel {
        level,
        format: PageFormat::SharedExponent,
        places,
        owners: HashMap::new(),
        has_own_units: false,
        error: relight.error,
    })
}

fn places(layout: &Layout) -> Vec<(usize, Rect, SurfaceId)> {
    let place = |(surface, placement): (usize, &Option<crate::lightmap::Placement>)| {
        let placement = placement.as_ref()?;
        let page = placement.page as usize;
        let rectangle: Rectangle = placement.rectangle;
        Some((page, uv_rect(rectangle, layout.pages[page]), SurfaceId::from_index(surface)))
    };
    layout.placements.iter().enumerate().filter_map(place).collect()
}
