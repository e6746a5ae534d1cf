//! Events of background bakes.

use std::path::PathBuf;
use std::sync::Arc;

use bevy::prelude::*;

use crate::bake::{BakeError, BakeSettings, Report};
use crate::plugin::write_back::BatchTimes;

/// Event that starts a bake of the current world: `commands.trigger(Bake::default())`.
///
/// It ends in [`BakeFinished`] or [`BakeFailed`], also if it is refused because another bake is running. It waits for the
/// assets of the world that are still loading.
#[derive(Event, Clone, Debug, Default, Reflect)]
#[reflect(Event, Default, Debug, Clone)]
pub struct Bake {
    /// Settings of the bake.
    pub settings: BakeSettings,
    /// Number of solver threads. `None` takes those of [`RadiosityThreads`](crate::plugin::RadiosityThreads). Default
    /// `None`.
    pub threads: Option<usize>,
    /// Folder to write the level to, for a later [`BakedLevel`](crate::plugin::BakedLevel). It is within the asset folder
    /// (`AssetPlugin::file_path`), so the asset path of its level is `folder/level.ron`. An absolute path may be anywhere.
    /// Default `None`, which writes nothing.
    pub folder: Option<PathBuf>,
    /// True shows intermediate results during the bake, in place of earlier lightmaps. Default false. Browsers show
    /// none.
    pub preview: bool,
}

/// Event that stops the running bake. The shown lightmaps stay: a preview, or those of an earlier bake.
#[derive(Event, Clone, Copy, Debug, Default, Reflect)]
#[reflect(Event, Default, Debug, Clone)]
pub struct CancelBake;

/// Event that the lightmaps of a bake are attached, triggered in that frame.
#[derive(Event, Clone, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakeFinished {
    /// Report of the bake. Its warnings name what was left out.
    pub report: Report,
    /// Main thread time of the write-back.
    pub times: BatchTimes,
}

/// Event that a bake ended without lightmaps, or was refused. The shown lightmaps stay: a preview, or those of an earlier bake.
#[derive(Event, Clone, Debug, Reflect)]
#[reflect(Event, Debug, Clone)]
pub struct BakeFailed {
    /// Reason of the failure.
    pub error: Arc<BakeFailure>,
}

/// Error of a background bake.
#[derive(Debug, TypePath, thiserror::Error)]
pub enum BakeFailure {
    /// The bake failed or was canceled.
    #[error(transparent)]
    Bake(#[from] BakeError),
    /// Another bake is running, and goes on.
    #[error("a bake is running already: wait for its `BakeFinished`, or stop it with `CancelBake`")]
    Busy,
    /// The system could not start the threads, or the browser its worker.
    #[error("the bake could not start its threads: {0}")]
    Threads(String),
    /// A bake in a browser's worker failed, with the text of its [`BakeError`].
    #[error("{0}")]
    Worker(String),
    /// Internal error of this crate: the solver panicked.
    #[error("the bake stopped by a fault of its own; please report it with the scene")]
    Fault,
}

impl BakeFailure {
    /// Returns true for a canceled bake.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Bake(BakeError::Cancelled(_)))
    }
}
