//! Errors of bakes.

use super::{CheckpointError, FolderError};
use crate::DeviceError;
use crate::cluster::{AgreementError, ClusterError, TeamError};
use crate::lightmap::LayoutError;
use crate::lightmap::files::LevelError;
use crate::output::{InTheWay, WriteError};
use crate::partition::PartitionError;
use crate::progress::Cancelled;
use crate::radiosity::{SolveError, SolverCheckpointError, StepError};

/// Error that ended a bake without pages. The message names the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BakeError {
    /// The bake was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A setting has an invalid value.
    #[error("the {name} must be {wanted}, not {value}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value of the setting.
        value: f32,
        /// Description of valid values.
        wanted: &'static str,
    },
    /// The partition into subscenes is invalid.
    #[error(transparent)]
    Subscenes(#[from] PartitionError),
    /// Subscenes were requested with a method that has none.
    #[error("only the methods progressive and counted have subscenes: ask for one of them, or for no subscenes")]
    SubscenesOfOtherMethod,
    /// Visibility masks or ranks were requested for counted rays.
    #[error("counted rays need no masks, and have no ranks in a bake: leave out --mask-cells and --ranks")]
    MasksOrRanksOfCounted,
    /// The scene or a setting does not suit the method: a surface lets counted rays through, no texel shines that could
    /// be shot, or no element is as large as the minimum area.
    #[error(transparent)]
    OfMethod(SolveError),
    /// The scene has no surface that receives light.
    #[error("the scene has no surface to bake: {why}")]
    NothingToBake {
        /// Roles of the surfaces in the scene, and the remedy.
        why: String,
    },
    /// The bake needs more memory than allowed. A lower density would fit.
    #[error(
        "the bake would need about {needed_mib:.0} MiB for {elements:.0} elements ({area:.0} m2 at {density} texels \
         per meter) but may use {allowed_mib:.0} MiB: lower the density (--density) to {fitting_density} or allow more \
         memory (--memory)"
    )]
    TooMuchMemory {
        /// Number of elements.
        elements: f64,
        /// Area of the surfaces, square meters.
        area: f64,
        /// Texels per meter.
        density: f32,
        /// Least memory that the bake needs, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: f64,
        /// Texels per meter that would fit.
        fitting_density: f64,
    },
    /// The bake needs more memory than allowed at any density.
    #[error(
        "the bake would need about {needed_mib:.0} MiB for {elements:.0} elements and may use {allowed_mib:.0} MiB, which \
         is too little at any density: allow more memory (--memory)"
    )]
    TooLittleMemory {
        /// Number of elements.
        elements: f64,
        /// Least memory that the bake needs, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: f64,
    },
    /// Settings of counted rays were given with another method.
    #[error("--min-area, --epsilon, --stage and --block are for --method counted, which counts rays")]
    CountedOfOtherMethod,
    /// Conditions for coherent patches were given without such patches.
    #[error("--relight-threshold and --relight-min-area are for --relight with --relight-patches coherent")]
    CoherenceOfOtherPatches,
    /// An option does not fit the progressive method as published.
    #[error("--faithful is the progressive method as published and goes without {option}: {reason}")]
    NotFaithful {
        /// Option to leave out.
        option: &'static str,
        /// Reason.
        reason: &'static str,
    },
    /// Progressive refinement without subscenes needs more memory than allowed. A number of subscenes would fit.
    #[error(
        "the progressive method would need about {needed_mib:.0} MiB for {elements:.0} elements at once but may use \
         {allowed_mib:.0} MiB: work on parts of the scene (--subscenes {subscenes}), lower the density (--density) or allow \
         more memory (--memory)"
    )]
    WholeTooLarge {
        /// Number of elements.
        elements: f64,
        /// Least memory that the bake needs, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: f64,
        /// Number of subscenes that would fit.
        subscenes: u32,
    },
    /// The requested number of subscenes needs more memory than allowed. Fewer would fit.
    #[error(
        "{asked} subscenes would need about {needed_mib:.0} MiB but may use {allowed_mib:.0} MiB: ask for fewer \
         (--subscenes {fitting}) or allow more memory (--memory)"
    )]
    TooManySubscenes {
        /// Requested number of subscenes.
        asked: u32,
        /// Least memory that the bake needs, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: f64,
        /// Number of subscenes that would fit.
        fitting: u32,
    },
    /// The requested error needs more stored hits than the machine's memory can hold.
    #[error(
        "the error that was asked for takes {mib} MiB for the hits of rays, more than is left of the machine's memory: ask \
         for a larger error (--error), lower the density (--density), or say how much memory to use (--memory), so that \
         fewer hits are stored"
    )]
    HitsBeyondMemory {
        /// Memory of the hits, MiB.
        mib: u64,
    },
    /// The level has no elements to group into patches.
    #[error(
        "the level has no texels that could follow its lights: raise the density (--density) or bake it without --relight"
    )]
    NothingToRelight,
    /// More patches were requested than the level has elements.
    #[error(
        "{asked} patches for relighting are more than the {elements} elements of the level: ask for at most that (--relight) \
         or raise the density (--density)"
    )]
    TooManyPatches {
        /// Requested number of patches.
        asked: u32,
        /// Number of elements.
        elements: usize,
    },
    /// The transport between the requested number of patches does not fit into memory.
    #[error(
        "{asked} patches for relighting need about {needed_mib:.0} MiB but may use {allowed_mib} MiB: ask for at most \
         {fitting} (--relight) or allow more memory (--memory)"
    )]
    PatchesBeyondMemory {
        /// Requested number of patches.
        asked: u32,
        /// Least memory that the patches need, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: u32,
        /// Number of patches that would fit.
        fitting: u32,
    },
    /// The transport of the elements does not fit into memory with any number of patches.
    #[error(
        "relighting would need about {needed_mib:.0} MiB at least but may use {allowed_mib} MiB: lower the density (--density), \
         allow more memory (--memory), or bake without --relight"
    )]
    RelightBeyondMemory {
        /// Memory that one patch needs, MiB.
        needed_mib: f64,
        /// Memory that the bake may use, MiB.
        allowed_mib: u32,
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
    /// The report would replace a file or folder that no bake wrote.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// The checkpoint's payload is not a valid solver state.
    #[error(transparent)]
    SolverCheckpoint(#[from] SolverCheckpointError),
    /// The checkpoint belongs to other elements.
    #[error("the checkpoint is of another scene or other settings; start anew without --resume")]
    OtherInputs,
    /// The chosen device cannot be opened.
    #[error(transparent)]
    OpenDevice(#[from] DeviceError),
    /// The device that the solver ran on failed.
    #[error("{0}")]
    Device(String),
    /// A setting that only one process can follow.
    #[error("{what} cannot be shared by several processes: leave it out, or bake in one process")]
    NotShared {
        /// Name of the setting.
        what: &'static str,
    },
    /// More processes than tiles of texels.
    #[error("{processes} processes are more than the {tiles} tiles of 64 texels that the level has: start fewer")]
    TooManyProcesses {
        /// Number of processes.
        processes: u32,
        /// Number of tiles.
        tiles: u32,
    },
    /// Ranks cannot work together.
    #[error(transparent)]
    Agreement(#[from] AgreementError),
    /// A rank has lost the others.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The time limit passed before the solver began.
    #[error(
        "the time limit of {limit} s was over in stage '{stage}', before any light was found: allow more (--time), or lower \
         the density (--density)"
    )]
    TimeOverBeforeLight {
        /// Time limit, seconds.
        limit: f32,
        /// Name of the running stage.
        stage: &'static str,
    },
    /// The time limit passed before all elements had light.
    #[error(
        "the time limit of {limit} s is too short: it was over with {done:.0} % of the first light, so that texels would be \
         black; allow {} (--time), or lower the density (--density)",
        .needed.map_or_else(|| "much more".to_owned(), |seconds| format!("about {seconds} s"))
    )]
    TimeTooShort {
        /// Time limit, seconds.
        limit: f32,
        /// Finished part of the first pass, percent.
        done: f32,
        /// Time limit that would be enough, seconds; `None` if too little was done to tell.
        needed: Option<f32>,
    },
    /// A stage computed values that are not finite. No file is written.
    #[error(
        "{what} of {of} is not a finite number: look for triangles without width, absurd sizes and absurd brightness there, \
         or leave the object out (radiosity_role = excluded); if it looks sound, this is a fault of the program"
    )]
    NotFinite {
        /// Name of the value that is not finite.
        what: &'static str,
        /// Name of the surface or place with the value.
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

impl From<StepError> for BakeError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            StepError::CutShort { .. } => Self::Cancelled(Cancelled),
            StepError::Device(reason) => Self::Device(reason),
        }
    }
}

impl From<TeamError> for BakeError {
    fn from(error: TeamError) -> Self {
        StepError::from(error).into()
    }
}

impl BakeError {
    /// Converts a solver's error. `too_short` makes the error of a time limit from the finished part of the first pass.
    pub(super) fn of_solver(error: SolveError, too_short: impl FnOnce(f32) -> Self) -> Self {
        match error {
            SolveError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            SolveError::OtherInputs => Self::OtherInputs,
            SolveError::TooLittleTime { done } => too_short(done),
            SolveError::Subscenes(error) => Self::Subscenes(error),
            error @ (SolveError::NotOpaque { .. } | SolveError::NothingShines | SolveError::MinAreaTooLarge { .. }) => {
                Self::OfMethod(error)
            }
            SolveError::Device(reason) => Self::Device(reason),
            SolveError::HitsBeyondMemory { bytes } => Self::HitsBeyondMemory { mib: bytes.div_ceil(1 << 20) },
        }
    }
}
