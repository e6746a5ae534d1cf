//! Rays, boxes, triangles and samples: what every other room measures with.
//!
//! Start from [`Ray`] and [`RayQuery`]: a solver asks a `RayQuery` what a ray meets and never learns which structure
//! answered. [`Triangle`] holds the watertight intersection test that every structure shares, so that all of them agree
//! to the last bit. [`clip`] cuts convex polygons to boxes. [`sampling`] turns numbers in the unit square into points and directions, and [`sobol`] makes those
//! numbers.
//!
//! This room sees no other.

mod aabb;
#[cfg(test)]
pub(crate) mod chi_squared;
pub mod clip;
mod exponential;
mod id;
mod ray;
pub mod sampling;
pub mod sobol;
mod triangle;
mod trigonometry;

pub use aabb::{Aabb, Face};
pub use exponential::exponential;
pub(crate) use id::define_id;
pub use ray::{Escaped, Hit, Ray, RayQuery, SurfaceId, Transmittance};
pub use triangle::{Triangle, TriangleHit, WatertightRay};
pub use trigonometry::{arc_cosine, arc_tangent, sin_cos_turns};
