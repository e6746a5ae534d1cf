//! Why a bake ended without pages.

use super::{CheckpointError, FolderError};
use crate::lightmap::LayoutError;
use crate::lightmap::files::LevelError;
use crate::output::{InTheWay, WriteError};
use crate::partition::PartitionError;
use crate::progress::Cancelled;
use crate::radiosity::{PartialError, SolveError};

/// Why a bake ended without pages. The text names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BakeError {
    /// It was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A setting means nothing.
    #[error("the {name} must be {wanted}, not {value}")]
    Setting {
        /// Which setting.
        name: &'static str,
        /// What it was.
        value: f32,
        /// What it may be.
        wanted: &'static str,
    },
    /// The scene cannot be cut into such subscenes.
    #[error(transparent)]
    Subscenes(#[from] PartitionError),
    /// Subscenes were asked for with a method that knows none.
    #[error("only the progressive method works subscene by subscene: ask for it, or for no subscenes")]
    SubscenesOfOtherMethod,
    /// The scene has nothing that receives light.
    #[error("the scene has no surface to bake: {why}")]
    NothingToBake {
        /// The roles of the surfaces that it has, and the remedy.
        why: String,
    },
    /// It would need more memory than it may use.
    #[error(
        "the bake would need about {needed_mib:.0} MiB for {elements:.0} elements ({area:.0} m2 at {density} texels \
         per metre) but may use {allowed_mib:.0} MiB: lower the density (--density) to {fitting_density} or allow more \
         memory (--memory)"
    )]
    TooMuchMemory {
        /// Elements that it would have.
        elements: f64,
        /// Square metres of surface.
        area: f64,
        /// Texels per metre.
        density: f32,
        /// What it would need at least, MiB.
        needed_mib: f64,
        /// What it may use, MiB.
        allowed_mib: f64,
        /// Texels per metre that would fit.
        fitting_density: f64,
    },
    /// It would need more memory than it may use at whatever density.
    #[error(
        "the bake would need about {needed_mib:.0} MiB for {elements:.0} elements and may use {allowed_mib:.0} MiB, which \
         is too little at any density: allow more memory (--memory)"
    )]
    TooLittleMemory {
        /// Elements that it would have.
        elements: f64,
        /// What it would need at least, MiB.
        needed_mib: f64,
        /// What it may use, MiB.
        allowed_mib: f64,
    },
    /// Progressive refinement of the whole scene at once would need more memory than it may use.
    #[error(
        "the progressive method would need about {needed_mib:.0} MiB for {elements:.0} elements at once but may use \
         {allowed_mib:.0} MiB: work on parts of the scene (--subscenes {subscenes}), lower the density (--density) or allow \
         more memory (--memory)"
    )]
    WholeTooLarge {
        /// Elements that it would have.
        elements: f64,
        /// What it would need at least, MiB.
        needed_mib: f64,
        /// What it may use, MiB.
        allowed_mib: f64,
        /// A number of subscenes that would fit.
        subscenes: u32,
    },
    /// So many subscenes would need more memory than it may use.
    #[error(
        "{asked} subscenes would need about {needed_mib:.0} MiB but may use {allowed_mib:.0} MiB: ask for fewer \
         (--subscenes {fitting}) or allow more memory (--memory)"
    )]
    TooManySubscenes {
        /// How many were asked for.
        asked: u32,
        /// What they would need at least, MiB.
        needed_mib: f64,
        /// What they may use, MiB.
        allowed_mib: f64,
        /// A number of subscenes that would fit.
        fitting: u32,
    },
    /// There is nothing to divide into patches.
    #[error(
        "the level has no texels that could follow its lights: raise the density (--density) or bake it without --relight"
    )]
    NothingToRelight,
    /// There cannot be as many patches as were asked for.
    #[error(
        "{asked} patches for relighting are more than the {elements} elements of the level: ask for at most that (--relight) \
         or raise the density (--density)"
    )]
    TooManyPatches {
        /// How many were asked for.
        asked: u32,
        /// How many elements there are.
        elements: usize,
    },
    /// The transport between so many patches does not fit into memory.
    #[error(
        "{asked} patches for relighting do not fit into half of {allowed_mib} MiB: ask for at most {fitting} (--relight) or \
         allow more memory (--memory)"
    )]
    PatchesBeyondMemory {
        /// How many were asked for.
        asked: u32,
        /// The memory that the bake may use, MiB.
        allowed_mib: u32,
        /// How many would fit.
        fitting: usize,
    },
    /// The surfaces cannot be laid out on pages.
    #[error(transparent)]
    Layout(LayoutError),
    /// The output folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The level cannot be written.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// The report cannot be written.
    #[error(transparent)]
    File(#[from] WriteError),
    /// A file or folder stands where the report would be written, and no bake wrote it.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// What the checkpoint holds is no solution half-way.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// The checkpoint that was resumed from is of other elements.
    #[error("the checkpoint is of another scene or other settings; bake without --resume")]
    OtherInputs,
    /// What the solver ran on has failed.
    #[error("{0}")]
    Device(String),
    /// A stage made numbers that are not finite. Nothing of them is written.
    #[error(
        "{what} of {of} is not a finite number: look for triangles without width, absurd sizes and absurd brightness there, \
         or leave the object out (radiosity_role = excluded); if it looks sound, this is a fault of the program"
    )]
    NotFinite {
        /// What is not finite.
        what: &'static str,
        /// The surface or place that it belongs to.
        of: String,
    },
}

impl From<LayoutError> for BakeError {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Layout(other),
        }
    }
}

impl From<SolveError> for BakeError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            SolveError::OtherInputs => Self::OtherInputs,
            SolveError::Subscenes(error) => Self::Subscenes(error),
            SolveError::Device(reason) => Self::Device(reason),
        }
    }
}
