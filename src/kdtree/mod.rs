//! The structure that answers rays: SAH KD-trees over the scene's triangles.
//!
//! Start from [`World`]: built from a [`Scene`](crate::scene::Scene), it implements
//! [`RayQuery`](crate::geometry::RayQuery) with everything that materials let through. Beneath it is [`Tree`], which
//! knows triangles only: plain arrays, which a GPU can be given too. [`Tracer`] walks one on a CPU: eight cells at a
//! time, whose splits it gathers into wide nodes, and eight triangles of a leaf at a time. A [`Preset`] says how hard the builder tries and for whom, [`Statistics`] what came of it.
//!
//! [`BruteForce`] gives the same answers without a tree, for tests.

mod block;
mod brute_force;
mod build;
mod cells;
mod cost;
mod lanes;
mod movers;
mod node;
mod passage;
mod plan;
mod preset;
mod statistics;
mod tracer;
mod traverse;
mod tree;
mod twins;
mod validate;
mod walk;
mod wide;
mod world;

#[cfg(test)]
mod tests;

pub use brute_force::BruteForce;
pub use cost::TraversalCost;
#[cfg(feature = "gpu")]
pub(crate) use movers::triangles_of_mesh;
pub use node::{Node, NodeKind};
pub use preset::Preset;
pub use statistics::Statistics;
pub use tracer::Tracer;
pub use traverse::TreeHit;
pub use tree::Tree;
pub(crate) use twins::gap as twin_gap;
#[cfg(feature = "gpu")]
pub(crate) use twins::twins;
pub use validate::TreeFault;
pub use world::World;
pub(crate) use world::resting_triangles;
