//! Solvers over paths.
//!
//! [`irradiance_at`] follows diffuse paths from any points of a scene. It shares nothing with the radiosity solvers but
//! the scene, the rays and the light sampler, knows neither elements nor lightmaps, and its only error is noise, which
//! it reports: what a bake is held against.

mod gather;

pub use gather::{PointIrradiance, Receiver, irradiance_at};
