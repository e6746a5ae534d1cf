//! Bakes as jobs: settings, stages, progress, cancellation, checkpoints, report.
//!
//! [`run`] goes through the [`Stage`]s in order and tells an [`Observer`] of its progress. The result is a
//! [`BakeOutput`] or a [`BakeError`]. [`OutputFolder`] locks a folder against other bakes and holds the [`Checkpoints`]
//! from which a killed bake resumes. [`run_on_ranks`]
//! and [`run_on_team`] share a bake among many processes. [`BakedScene`] reads a finished bake.

mod baked_scene;
mod checkpoint;
mod checkpoint_writer;
mod contributions;
mod error;
mod finite;
mod folder;
mod job;
mod limit;
mod lock;
mod memory;
mod on_ranks;
mod page_maker;
mod picture;
mod preview;
pub(crate) mod rate_limit;
mod relighting;
mod report;
mod settings;
mod stage;

pub use baked_scene::BakedScene;
pub use checkpoint::{CheckpointError, CheckpointPayload, Checkpoints, InputsHash};
pub use error::BakeError;
pub use folder::{FolderError, OutputFolder};
#[cfg(all(feature = "cli", feature = "gpu"))]
pub(crate) use job::done_by_processor;
pub use job::{BakeOutput, run, run_on, run_with_checkpoints};
#[cfg(feature = "cli")]
pub(crate) use memory::bytes_of_scene;
pub use memory::{MemoryEstimate, peak_memory_bytes, usual_memory_mib};
pub use on_ranks::{SharingRanks, run_on_ranks, run_on_team};
pub use preview::Preview;
pub use report::{RelightReport, Report};
pub use settings::{BakeSettings, FilterSettings, RelightPatches, TreeQuality};
pub use stage::{BakePass, Observer, Progress, Stage, Unobserved};

#[cfg(test)]
mod sealed_sides;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_sides;
