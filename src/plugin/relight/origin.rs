//! Source of a level to relight: a bake of this app, or files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bevy::asset::{AssetLoadError, AssetPath, LoadState};
use bevy::prelude::{Asset, AssetServer, Assets, Handle, Rect};

use crate::accel::{Preset, World as Tree};
use crate::bake::BakeSettings;
use crate::geometry::SurfaceId;
use crate::lightmap::files::{LevelError, LevelFiles};
use crate::lightmap::{Layout, Page, PageFormat, Rectangle};
use crate::low_rank::{Precomputed, PrecomputedError};
use crate::parts::pause;
use crate::plugin::assets::{ReadLevel, RelightFiles, SceneFile, load_scene, reason};
use crate::plugin::components::BakedLevel;
use crate::plugin::state::RelightLevel;
use crate::plugin::write_back::uv_rect;
use crate::progress::Unmonitored;
use crate::radiosity::Content;
use crate::relight;
use crate::scene::{CheckedScene, hash};
use crate::scene_files::{SceneBytes, SceneError};

/// Reason why a level's files cannot be relit.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    #[error("{0} holds nothing to relight with: bake it again with --relight")]
    Missing(AssetPath<'static>),
    #[error(
        "relighting {0} needs the file that was baked: say `BakedLevel::new(..).with_source(..)` where the level is spawned"
    )]
    NoSource(AssetPath<'static>),
    #[error("{0} was baked again while it was shown: load it again to relight it (`AssetServer::reload`)")]
    BakedAgain(AssetPath<'static>),
    #[error(
        "{0} is not in the asset folder: give a path in it, or allow others by `AssetPlugin::unapproved_path_mode`"
    )]
    Refused(AssetPath<'static>),
    #[error("{}", reason(.0))]
    Load(#[from] Arc<AssetLoadError>),
    #[error("{path}: {source}")]
    Precomputed { path: PathBuf, source: PrecomputedError },
    #[error(transparent)]
    Files(#[from] LevelError),
    #[error(transparent)]
    Level(#[from] relight::RelightInputError),
    #[error(transparent)]
    Scene(#[from] SceneError),
}

/// Takes a bake that a thread of this app made, or returns `None` if it was baked without relighting data.
#[cfg(not(target_arch = "wasm32"))]
pub fn level_of_bake(
    bake: &crate::bake::BakeOutput,
    owners: HashMap<SurfaceId, bevy::prelude::Entity>,
) -> Option<RelightLevel> {
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

/// Assets that relight a shown level. They are loaded once relighting asks for them.
pub struct LevelAssets {
    shown: Arc<ReadLevel>,
    files: Handle<RelightFiles>,
    source: AssetPath<'static>,
    scene: Handle<SceneFile>,
}

/// Files that relight a shown level.
pub struct LevelSource {
    shown: Arc<ReadLevel>,
    files: Arc<ReadLevel>,
    scene: Arc<SceneBytes>,
}

impl LevelAssets {
    /// Starts to load the assets.
    pub fn load(baked: &BakedLevel, shown: Arc<ReadLevel>, server: &AssetServer) -> Result<Self, OriginError> {
        if shown.level.relight.is_none() {
            return Err(OriginError::Missing(shown.path.clone()));
        }
        let source = baked.source.clone().ok_or_else(|| OriginError::NoSource(shown.path.clone()))?;
        // The level is in memory, so its path is one that may be loaded.
        let files = server.load_builder().override_unapproved().load(shown.path.clone());
        Ok(Self { scene: load_scene(server, &source), shown, files, source })
    }

    /// Returns the files once all have loaded.
    pub fn poll(
        &self,
        server: &AssetServer,
        files: &Assets<RelightFiles>,
        scenes: &Assets<SceneFile>,
    ) -> Result<Option<LevelSource>, OriginError> {
        if !matches!(self.scene, Handle::Strong(_)) {
            return Err(OriginError::Refused(self.source.clone()));
        }
        let (Some(RelightFiles(files)), Some(SceneFile(scene))) =
            (loaded(&self.files, files, server)?, loaded(&self.scene, scenes, server)?)
        else {
            return Ok(None);
        };
        let [shown, files] = [&self.shown, files].map(Arc::clone);
        Ok(Some(LevelSource { shown, files, scene: Arc::clone(scene) }))
    }
}

/// Returns an asset once it has loaded.
fn loaded<'a, A: Asset>(
    handle: &Handle<A>,
    assets: &'a Assets<A>,
    server: &AssetServer,
) -> Result<Option<&'a A>, OriginError> {
    match server.load_state(handle) {
        LoadState::Failed(error) => Err(error.into()),
        _ => Ok(assets.get(handle)),
    }
}

impl LevelSource {
    /// Decodes the files and builds the BVH of the scene.
    pub async fn read(self) -> Result<RelightLevel, OriginError> {
        let Self { shown, files, scene } = self;
        let ReadLevel { path, level, bytes, .. } = &*files;
        if !level.is_same_bake(&shown.level) {
            return Err(OriginError::BakedAgain(path.clone()));
        }
        let missing = || OriginError::Missing(path.clone());
        let relight = level.relight.as_ref().ok_or_else(missing)?;
        let scene = scene.load_in_parts().await?.scene;
        pause().await;
        let precomputed = level.read_relight(bytes)?.ok_or_else(missing)?;
        let precomputed = Precomputed::from_bytes(&precomputed, hash(&scene).0)
            .map_err(|source| OriginError::Precomputed { path: bytes.path(&relight.file), source })?;
        pause().await;
        let mut pages = Vec::with_capacity(level.pages.len());
        for page in 0..level.pages.len() {
            pages.push(level.read_page(bytes, page)?);
            pause().await;
        }
        let layout = level.layout(bytes, &scene)?;
        pause().await;
        let settings: BakeSettings = serde_json::from_value(level.settings.clone()).unwrap_or_default();
        let content = (pages, settings.solver.content);
        Ok(level_of_parts(&scene, &layout, precomputed, content, PageFormat::SharedExponent, relight.error).await?)
    }
}

/// Rebuilds a level from the scene and the results of its bake, with pauses.
pub async fn level_of_parts(
    scene: &CheckedScene,
    layout: &Layout,
    precomputed: Precomputed,
    pages: (Vec<Page>, Content),
    format: PageFormat,
    error: f32,
) -> Result<RelightLevel, relight::RelightInputError> {
    let world = Arc::new(Tree::build_in_parts(Arc::clone(scene.shared()), Preset::fast()).await);
    pause().await;
    let (scene, precomputed) = (Arc::clone(scene.shared()), Arc::new(precomputed));
    let level = relight::RelightInput::new_in_parts(scene, world, layout, precomputed, pages, &Unmonitored).await?;
    level.prepare_texel_mapping().await;
    Ok(RelightLevel { level, format, places: places(layout), owners: HashMap::new(), has_own_units: false, error })
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
