//! One bake as a job: settings, stages, report; progress, cancel, checkpoint.
//!
//! [`run`] goes through the [`Stage`]s in order and tells an [`Observer`] where it is; it ends in a [`Bake`], or in a
//! [`BakeError`]. [`OutputFolder`] keeps two bakes from writing into one place, and holds the [`Checkpoints`] from which
//! a killed bake goes on. [`Baked`] reads a
//! finished bake again.

mod baked;
mod checkpoint;
mod error;
mod finite;
mod folder;
mod job;
mod keeper;
mod lock;
mod memory;
mod pace;
mod preview;
mod report;
mod settings;
mod stage;

pub use baked::Baked;
pub use checkpoint::{CheckpointError, Checkpoints, InputsHash};
pub use error::BakeError;
pub use folder::{FolderError, OutputFolder};
#[cfg(all(feature = "cli", feature = "gpu"))]
pub(crate) use job::done_by_processor;
pub use job::{Bake, run, run_on, run_with_checkpoints};
#[cfg(feature = "cli")]
pub(crate) use memory::bytes_of_scene;
pub use memory::{MemoryEstimate, peak_memory_bytes};
pub use preview::Preview;
pub use report::{RelightReport, Report};
pub use settings::{BakeSettings, FilterSettings, TreeQuality};
pub use stage::{BakePass, Observer, Progress, Stage, Unobserved};

#[cfg(test)]
mod sealed_sides;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_sides;
