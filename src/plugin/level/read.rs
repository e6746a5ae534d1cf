//! Reading of levels: assets that have loaded, and threads that decode their files.

use std::sync::Arc;

use bevy::asset::{AssetLoadError, AssetLoadFailedEvent, LoadState};
use bevy::prelude::*;
use bevy::render::renderer::RenderDevice;

use super::files::{Files, decode};
use crate::lightmap::PageSize;
use crate::lightmap::files::{LevelError, LevelPage};
use crate::plugin::assets::{BakedLevelAsset, ReadLevel, reason};
use crate::plugin::background::{Fault, RadiosityThreads, Task};
use crate::plugin::components::BakedLevel;

/// Event that a baked level cannot be shown. If another version of it is shown, that one stays.
#[derive(EntityEvent, Clone, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakedLevelFailed {
    /// Entity with the [`BakedLevel`].
    pub entity: Entity,
    /// Reason of the failure.
    pub error: Arc<BakedLevelError>,
}

/// Error of a baked level that cannot be shown.
#[derive(Debug, TypePath, thiserror::Error)]
pub enum BakedLevelError {
    /// A file cannot be read, or is damaged.
    #[error("{}", reason(.0))]
    Load(#[from] Arc<AssetLoadError>),
    /// A file has invalid content.
    #[error(transparent)]
    Files(#[from] LevelError),
    /// The handle is not that of an asset path.
    #[error(
        "a `BakedLevel` has no level: load its `level.ron`, from within the asset folder or with an \
         `AssetPlugin::unapproved_path_mode` that allows other paths"
    )]
    NoAsset,
    /// A page exceeds the largest texture of the graphics device.
    #[error(
        "the level has a page of {width} x {height} texels, and this graphics device shows at most {limit} in a row: bake \
         it with fewer texels per meter, or with a smaller `page_size`"
    )]
    TooLarge {
        /// Size of the page, in texels.
        width: u32,
        /// See `width`.
        height: u32,
        /// Largest edge of a texture, in texels.
        limit: u32,
    },
    /// The system could not start the threads.
    #[error("the level could not start its threads: {0}")]
    Threads(String),
    /// Internal error of this crate: the thread panicked.
    #[error("reading a baked level stopped by a fault of its own; please report it with the level")]
    Fault,
}

/// Latest outcome of loading the asset of a [`BakedLevel`].
#[derive(Component, Default)]
pub enum Outcome {
    #[default]
    Pending,
    NoAsset,
    Failed(Arc<AssetLoadError>),
    Loaded(Arc<ReadLevel>),
}

/// Thread that decodes a level's files.
#[derive(Component)]
pub struct Decoding(Task<Result<Files, LevelError>>);

impl Decoding {
    /// Returns the result once the thread has ended, and `None` before.
    pub fn poll(&mut self) -> Option<Result<Files, BakedLevelError>> {
        self.0.poll().map(|ended| match ended {
            Ok(decoded) => decoded.map_err(BakedLevelError::from),
            Err(Fault) => Err(BakedLevelError::Fault),
        })
    }
}

/// Begins to wait for the asset of a level.
pub fn begin(inserted: On<Insert, BakedLevel>, mut commands: Commands) {
    commands.entity(inserted.entity).insert(Outcome::default()).remove::<Decoding>();
}

/// Run condition: an asset has loaded, or failed to load, or a level waits for one that may have loaded before.
pub fn may_have_loaded(
    waiting: Query<(), Changed<Outcome>>,
    mut loaded: MessageReader<AssetEvent<BakedLevelAsset>>,
    mut failed: MessageReader<AssetLoadFailedEvent<BakedLevelAsset>>,
) -> bool {
    let messages = loaded.read().count() + failed.read().count();
    messages > 0 || !waiting.is_empty()
}

/// Starts to decode the files of assets that have loaded, for the first time or again.
pub fn follow_assets(
    mut commands: Commands,
    mut levels: Query<(Entity, &BakedLevel, &mut Outcome)>,
    assets: Res<Assets<BakedLevelAsset>>,
    server: Res<AssetServer>,
    threads: Res<RadiosityThreads>,
    device: Option<Res<RenderDevice>>,
) {
    let limit = device.map_or(u32::MAX, |device| device.limits().max_texture_dimension_2d);
    for (entity, baked, mut outcome) in &mut levels {
        let now = match (server.load_state(&baked.level), assets.get(&baked.level)) {
            (LoadState::Failed(error), _) => Outcome::Failed(error),
            (_, Some(BakedLevelAsset(read))) => Outcome::Loaded(Arc::clone(read)),
            (_, None) if matches!(baked.level, Handle::Strong(_)) => Outcome::Pending,
            _ => Outcome::NoAsset,
        };
        if outcome.is_same(&now) {
            continue;
        }
        match &now {
            Outcome::Pending => {}
            Outcome::NoAsset => fail(&mut commands, entity, BakedLevelError::NoAsset),
            Outcome::Failed(error) => fail(&mut commands, entity, Arc::clone(error).into()),
            Outcome::Loaded(read) => {
                let read = Arc::clone(read);
                let task = check_sizes(read.level.pages.iter().map(LevelPage::size), limit).and_then(|()| {
                    Task::start("baked level", *threads, move || decode(read)).map_err(BakedLevelError::Threads)
                });
                match task {
                    Ok(task) => _ = commands.entity(entity).insert(Decoding(task)),
                    Err(error) => fail(&mut commands, entity, error),
                }
            }
        }
        *outcome = now;
    }
}

/// Returns an error for a page that exceeds the largest edge of a texture.
fn check_sizes(mut pages: impl Iterator<Item = PageSize>, limit: u32) -> Result<(), BakedLevelError> {
    match pages.find(|page| page.width.max(page.height) > limit) {
        Some(PageSize { width, height }) => Err(BakedLevelError::TooLarge { width, height, limit }),
        None => Ok(()),
    }
}

impl Outcome {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pending, Self::Pending) | (Self::NoAsset, Self::NoAsset) => true,
            (Self::Failed(one), Self::Failed(other)) => Arc::ptr_eq(one, other),
            (Self::Loaded(one), Self::Loaded(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Triggers [`BakedLevelFailed`]. Bevy has logged the errors of loading.
pub fn fail(commands: &mut Commands, entity: Entity, error: BakedLevelError) {
    if !matches!(error, BakedLevelError::Load(_)) {
        error!("{error}");
    }
    commands.trigger(BakedLevelFailed { entity, error: Arc::new(error) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_no_texture_holds_is_refused_in_one_sentence() {
        let pages = || [(2048, 2048), (2048, 4096)].map(|(width, height)| PageSize { width, height }).into_iter();
        assert!(check_sizes(pages(), 4096).is_ok());
        assert_eq!(
            check_sizes(pages(), 2048).unwrap_err().to_string(),
            "the level has a page of 2048 x 4096 texels, and this graphics device shows at most 2048 in a row: bake it with \
             fewer texels per meter, or with a smaller `page_size`"
        );
    }
}
