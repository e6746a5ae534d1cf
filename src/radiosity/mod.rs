//! Solvers over elements: the irradiance of every element, all bounces.
//!
//! Start from [`solve`]. It drives a [`TransportBackend`] through [`Step`]s, pass after pass, until the error that it
//! estimates is the one that was asked for:
//!
//! ```text
//! Direct   shadow rays to lights            -> direct light
//! Gather   cosine rays from elements        -> sky and emissive surfaces that they meet, and stored hits; more of them
//!                                              where neighbours are noisy
//! Iterate  B = reflectance (E + mean B over hits), to convergence          (Method::Gather)
//! Shoot    stochastic Jacobi iterations, then gather rays that read B      (Method::Stochastic)
//! ```
//!
//! With [`Method::Path`] gather rays go on as paths, and nothing is iterated or shot.
//! With [`Method::Progressive`] that is direct light alone; progressive refinement follows it through all bounces, and
//! gather rays correct what its form factors get wrong.
//!
//! Everything is done twice with different random numbers; the difference of the halves is the error estimate, their
//! mean the [`Solution`]. Between passes the whole state is a [`Partial`], which is what a checkpoint holds.
//!
//! [`SubsceneElements`] are another way, which a partition of the scene gives its order: rays that are only counted.
//!
//! [`low_rank`] precomputes how light goes from element to element, for lights that change later.
//!
//! Surfaces without elements (occluders, and backs that no texel shows) reflect too: a ray that meets one goes on from
//! there as a path tracer's would, until it meets an element.

mod accumulators;
mod aiming;
mod allot;
mod backend;
mod bands;
mod blocks;
mod bright;
mod cells;
mod converge;
mod cpu;
mod estimate;
mod form_factor;
pub mod low_rank;
mod partial;
mod passes;
mod plan;
mod progress_share;
mod progressive;
mod residual;
mod seeds;
mod settings;
mod shooting;
mod shown;
mod solve;
mod subscenes;
mod surroundings;

pub use accumulators::{Accumulators, HALVES, StoredHits, Sums, TintedHit};
pub use backend::{Hits, Reading, Step, StepError, StepReport, TransportBackend};
pub use bright::BrightElement;
pub use cpu::CpuBackend;
pub use form_factor::point_to_polygon;
pub use partial::{Partial, PartialError};
pub use settings::{Content, Method, Solution, SolverSettings, SubsceneSettings};
pub use solve::{LightSoFar, Pass, Snapshot, SolveError, SolveObserver, solve, solve_with};
pub use subscenes::{
    CountedBounce, Counters, Counts, CpuCounters, Source, Stages, SubsceneElements, SubsceneResidual, SubsceneSolution,
};

#[cfg(feature = "cli")]
pub(crate) use bands::say_lux;
pub(crate) use passes::storable_rays;
pub(crate) use progressive::{MOST_PATCHES, most_mask_bytes_on_their_way};

#[cfg(feature = "gpu")]
pub(crate) use {
    aiming::Aiming,
    bright::MOST_BRIGHT,
    converge::{Sweep, Sweeps, converge, steps_to_read},
    cpu::MOST_BOUNCES,
    seeds::{Stage, seed_of_allocation, seed_of_stage},
    shooting::{Bounce, Landed, ONE, Weights, shoot_half},
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
mod touching;
