//! Reading of levels: assets that have loaded, and threads that decode their files.

use std::sync::Arc;

use bevy::asset::{AssetLoadError, AssetLoadFailedEvent, LoadState};
use bevy::prelude::*;

use super::files::{Files, decode};
use crate::lightmap::files::LevelError;
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
) {
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
                match Task::start("baked level", *threads, move || decode(read)) {
                    Ok(task) => _ = commands.entity(entity).insert(Decoding(task)),
                    Err(reason) => fail(&mut commands, entity, BakedLevelError::Threads(reason)),
                }
            }
        }
        *outcome = now;
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
