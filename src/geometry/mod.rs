//! Geometric primitives and sampling: rays, boxes, triangles, clipping and random numbers.
//!
//! Start with [`Ray`] and [`RayQuery`]. Solvers ask a [`RayQuery`] for hits, without knowing the acceleration structure
//! behind.
//! - [`Triangle`] has the watertight intersection test that all structures share, so that results agree bit for bit.
//! - [`Aabb`] is an axis-aligned bounding box.
//! - [`clip`] clips convex polygons to boxes.
//! - [`Shape`] is a sphere, a torus or Bezier patches, which rays meet exactly.
//! - [`sampling`] maps points of the unit square to points and directions; [`sobol`] generates such points.
//! - [`CounterRng`] gives the same random words to `rand`.
//!
//! The module depends on no other module.

mod aabb;
#[cfg(test)]
pub(crate) mod chi_squared;
pub mod clip;
mod counter_rng;
mod exponential;
mod id;
mod ray;
mod rotation;
pub mod sampling;
mod shape;
pub mod sobol;
mod triangle;
mod trigonometry;

pub use aabb::{Aabb, Face};
pub use counter_rng::CounterRng;
pub use exponential::exponential;
pub(crate) use id::define_id;
pub use ray::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance};
pub use rotation::{quaternion_length, rotation_x, rotation_y, rotation_z, unit_rotation};
pub use shape::{BezierPatch, Shape};
pub use triangle::{Triangle, TriangleHit, WatertightRay};
pub use trigonometry::{arc_cosine, arc_tangent, sin_cos_turns};
