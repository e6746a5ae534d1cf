//! What a level is relit from: a bake of this app, or files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy::prelude::*;

use crate::bake::{BakeSettings, Report};
use crate::geometry::SurfaceId;
use crate::input;
use crate::kdtree::{Preset, World as Tree};
use crate::lightmap::files::{self, LevelError};
use crate::lightmap::{Layout, PageFormat, Rectangle};
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
    /// A level's folder, and the file that was baked.
    Files(PathBuf, Option<PathBuf>),
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

    /// Reads a level's files, and builds the tree of what was baked.
    pub fn read(folder: &Path, source: Option<&Path>) -> Result<Self, OriginError> {
        let level = files::Level::read(folder)?;
        let (path, bytes) = level.read_relight(folder)?.ok_or_else(|| OriginError::Missing(folder.to_owned()))?;
        let source = source.ok_or_else(|| OriginError::NoSource(folder.to_owned()))?;
        let mut scene = load(&source.to_string_lossy())?.scene;
        crate::scene::check::repair(&mut scene);
        let precomputed = Precomputed::from_bytes(&bytes, hash(&scene).0)
            .map_err(|source| OriginError::Precomputed { path, source })?;
        drop(bytes);
        let pages = (0..level.pages.len()).map(|page| level.read_page(folder, page)).collect::<Result<_, _>>()?;
        let layout = level.layout(folder, &scene)?;
        let places = places(&layout);
        let settings: BakeSettings = serde_json::from_value(level.settings).unwrap_or_default();
        let scene = Arc::new(scene);
        let world = Arc::new(Tree::build(Arc::clone(&scene), Preset::fast()));
        let shown = (pages, settings.solver.content);
        let level = relight::Level::new(scene, world, &layout, Arc::new(precomputed), shown, &Unmonitored)?;
        let error = error_in(folder);
        Ok(Self {
            level,
            format: PageFormat::SharedExponent,
            places,
            owners: HashMap::new(),
            has_own_units: false,
            error,
        })
    }
}

/// What the bake said about its transport; nothing is lost without.
fn error_in(folder: &Path) -> f32 {
    let report = input::read_text(&folder.join("report.json"), input::LARGEST_REPORT).ok();
    let report: Option<Report> = report.and_then(|text| serde_json::from_str(&text).ok());
    report.and_then(|report| report.relight).map_or(0.0, |relight| relight.error)
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
