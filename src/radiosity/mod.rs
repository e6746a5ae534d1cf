//! Radiosity solvers: they compute direct and indirect irradiance of every element.
//!
//! Entry point: [`solve`]. It runs passes of [`Step`]s on a [`TransportBackend`], until the estimated error is the
//! requested one:
//!
//! ```text
//! Direct   shadow rays to lights            -> direct light
//! Gather   cosine-weighted rays             -> sky, emissive surfaces and stored hits; more for noisy neighbors
//! Iterate  B = reflectance (E + mean B over hits), to convergence          (Method::Gather)
//! Shoot    stochastic Jacobi iterations, then gather rays that read B      (Method::Stochastic)
//! ```
//!
//! * [`Method::Path`] continues gather rays as paths, and neither iterates nor shoots.
//! * [`Method::Progressive`] takes only direct light from the steps. Progressive refinement computes all bounces, and
//!   gather rays correct the error of its form factors.
//! * [`Method::Counted`] takes direct light from the steps, too. Its bounces are rays between [`SubsceneElements`], which
//!   are only counted.
//!
//! Two halves run side by side with different random numbers. Their difference gives the error estimate, their mean the
//! [`Solution`]. Between passes a [`SolverCheckpoint`] holds the whole state, as a checkpoint.
//!
//! [`low_rank`](crate::low_rank) precomputes the transfer between elements, for lights that change later.
//!
//! Some surfaces have no elements: occluders, and back faces without texels. A ray that hits one scatters there, as in
//! a path tracer, until it hits an element.

mod accumulators;
mod backend;
mod bands;
mod blocks;
mod bounces;
mod bright;
mod cell_views;
mod cells;
mod check;
mod clock;
mod converge;
mod counted;
mod cpu;
mod estimate;
mod exposed_area;
mod form_factor;
mod light_sample_allocation;
mod passes;
mod plan;
mod progress_share;
mod progressive;
mod ray_allocation;
mod residual;
mod seeds;
mod settings;
mod shooting;
mod solve;
mod solver_checkpoint;
mod subscenes;

pub use accumulators::{Accumulators, HALVES, StoredHits, Sums, TintedHit};
pub use backend::{ElementEstimate, Hits, Step, StepError, StepReport, TransportBackend};
pub use bright::BrightElement;
pub use cpu::{CpuBackend, SolverHelper};
pub use form_factor::point_to_polygon;
pub use settings::{Content, CountedSettings, Method, Solution, SolverSettings, SubsceneSettings};
pub use solve::{LightSoFar, Pass, Snapshot, SolveError, SolveObserver, solve, solve_with};
pub use solver_checkpoint::{SolverCheckpoint, SolverCheckpointError};
pub use subscenes::{
    CountedBounce, Counters, Counts, CpuCounters, GatheredSolution, PacketSettings, Packets, RankError, RankSolution,
    RaySource, Stages, SubsceneElements, SubsceneResidual, SubsceneSolution, solve_on_rank,
};

pub(crate) use accumulators::{does_not_count, offsets};
#[cfg(feature = "cli")]
pub(crate) use bands::say_lux;
pub(crate) use blocks::blocks;
pub(crate) use clock::GRACE;
pub(crate) use cpu::{FormFactorMatrix, gather_rays};
pub(crate) use passes::{HITS_SHARE, storable_rays};
pub(crate) use progressive::{MAX_PATCHES, RefinementHelper, facets_of, max_mask_bytes_in_flight};

#[cfg(feature = "gpu")]
pub(crate) use {
    bright::MAX_BRIGHT,
    converge::{Sweep, Sweeps, converge, steps_to_read},
    cpu::MAX_BOUNCES,
    light_sample_allocation::LightSampleAllocator,
    seeds::{Stage, seed_of_allocation, seed_of_stage},
    shooting::{Bounce, Deposits, ONE, Weights, shoot_half},
    subscenes::CHANNELS,
};

#[cfg(test)]
mod cie171;
#[cfg(test)]
mod closed_forms;
#[cfg(test)]
mod cross_checks;
#[cfg(test)]
mod local_error;
#[cfg(test)]
pub(crate) mod test_scene;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_limit;
#[cfg(test)]
mod touching;
