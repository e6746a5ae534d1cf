//! Solvers over paths.
//!
//! [`irradiance_at`] follows diffuse paths from any points of a scene. It shares nothing with the radiosity solvers but
//! the scene, the rays and the light sampler, knows neither elements nor lightmaps, and its only error is noise, which
//! it reports: what a bake is held against. [`solve_volume`] asks it for the light in the air, where things move.

mod gather;
mod volume;

pub use gather::{PointIrradiance, Receiver, irradiance_at};
pub use volume::{VolumeSettings, solve_volume};
