//! What a level is relit from: a bake of this app, or files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bevy::prelude::*;

use crate::bake::BakeSettings;
use crate::geometry::SurfaceId;
use crate::kdtree::{Preset, World as Tree};
use crate::lightmap::files::{self, LevelError};
use crate::lightmap::{Layout, PageFormat, Rectangle};
use crate::plugin::BakedLevel;
use crate::plugin::job::uv_rect;
use crate::progress::Unmonitored;
use crate::radiosity::low_rank::{Precomputed, PrecomputedError};
use crate::relight;
use crate::scene::{SceneError, hash, load};

/// Where what is shown came from.
#[derive(Resource, Default)]
pub enum RelightOrigin {
    /// There is nothing, or it is being relit already.
    #[default]
    None,
    /// What was relit is no longer shown.
    Gone,
    /// There is something, which cannot be relit.
    Static(String),
    /// A bake of this app.
    Bake(Box<RelightLevel>),
    /// A level in a folder, and what was read of it to be shown.
    Files(BakedLevel, Box<files::Level>),
}

/// A level that can be relit, and how its pages are shown.
pub struct RelightLevel {
    pub level: relight::Level,
    pub format: PageFormat,
    /// Which surface each part of each page is.
    pub places: Vec<(usize, Rect, SurfaceId)>,
    /// Which entity each surface is, where that is known.
    pub owners: HashMap<SurfaceId, Entity>,
    /// Emissive colours mean what they meant when they were read from this world.
    pub has_own_units: bool,
    /// [`RelightStatus::transport_error`](super::RelightStatus::transport_error).
    pub error: f32,
}

/// Why a level's files cannot be relit.
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
    Level(#[from] relight::LevelError),
    #[error(transparent)]
    Scene(#[from] SceneError),
}

impl RelightLevel {
    /// What a bake of this app left, if it was precomputed.
    pub fn of_bake(bake: &crate::bake::Bake, owners: HashMap<SurfaceId, Entity>) -> Option<Self> {
        let precomputed = Arc::clone(bake.relight.as_ref()?);
        let level = relight::Level {
            scene: Arc::clone(&bake.scene),
            world: bake.world.clone(),
            elements: Arc::clone(&bake.elements),
            precomputed,
            pages: bake.pages.clone().into(),
            content: bake.settings.solver.content,
            showing: relight::LazyShowing::default(),
        };
        Some(Self {
            places: places(&bake.layout),
            owners,
            format: PageFormat::HalfFloat,
            has_own_units: true,
            error: bake.report.relight.map_or(0.0, |relight| relight.error),
            level,
        })
    }

    /// Reads the files of a level that is `shown`, and builds the tree of what was baked.
    pub fn read(baked: &BakedLevel, shown: &files::Level) -> Result<Self, OriginError> {
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
        let level = relight::Level::new(scene, world, &layout, Arc::new(precomputed), pages, &Unmonitored)?;
        Ok(Self {
            level,
            format: PageFormat::SharedExponent,
            places,
            owners: HashMap::new(),
            has_own_units: false,
            error: relight.error,
        })
    }
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
