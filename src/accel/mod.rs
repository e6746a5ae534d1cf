//! SAH KD-trees over the scene's triangles, which answer ray queries.
//!
//! [`World`] is the entry point. It is built from a [`Scene`](crate::scene::Scene) and implements
//! [`RayQuery`](crate::geometry::RayQuery), including transmission through materials. Data flows as follows:
//! - [`Tree`] (`tree.rs`, built by `build/`) is the binary KD-tree over triangles, in plain arrays that a GPU can read
//!   too. [`Preset`] sets build quality, [`Statistics`] reports size and quality, and [`Tree::validate`] checks
//!   consistency.
//! - [`Tracer`] traverses a tree on a CPU. It collapses the splits into BVH8 nodes (`wide.rs`, `collapse.rs`) and tests
//!   eight children or eight triangles at once (`lanes.rs`, `block.rs`, `traversal.rs`, `intersect.rs`).
//! - [`Walk`] traverses the binary tree as published for graphics cards, for comparison (`walk.rs`,
//!   `ropes.rs`).
//! - [`World`] adds materials (`passage.rs`), coincident faces (`twins.rs`) and moving objects (`movers.rs`).
//! - [`ExactShapes`] are curved shapes beside a tree, which rays meet exactly (`exact.rs`).
//!
//! [`BruteForce`] returns identical answers without a tree. Tests use [`BruteForce`] as the reference.

mod block;
mod brute_force;
mod build;
mod cells;
mod collapse;
mod cost;
mod exact;
mod intersect;
mod lanes;
mod movers;
mod node;
mod passage;
mod preset;
mod ropes;
mod statistics;
mod tracer;
mod traversal;
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
pub use exact::ExactShapes;
pub use intersect::TreeHit;
#[cfg(feature = "gpu")]
pub(crate) use movers::triangles_of_mesh;
pub use node::{Node, NodeKind};
pub use preset::{Planes, Preset};
pub use statistics::Statistics;
pub use tracer::Tracer;
pub use tree::Tree;
pub(crate) use twins::gap as twin_gap;
#[cfg(feature = "gpu")]
pub(crate) use twins::twins;
pub use validate::TreeFault;
pub use walk::{MAX_STEPS, Walk, WalkCost};
pub use world::World;
pub(crate) use world::static_triangles;
