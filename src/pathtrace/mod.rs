//! Solvers over paths.
//!
//! [`irradiance_at`] follows diffuse paths from any points of a scene. It shares nothing with the radiosity solvers but
//! the scene, the rays and the light sampler, knows neither elements nor lightmaps, and its only error is noise, which
//! it reports: what a bake is held against. [`solve_volume`] asks it for the light in the air, where things move.
//!
//! [`render`] draws a picture: a [`View`] sends rays through a lens, a [`PathTracer`] finds the radiance along each, where
//! surfaces scatter light as their [`Bsdf`] says, highlights and all, and a [`Film`] keeps the mean and how noisy it is.
//! Other [`Integrator`]s may take its place: [`WhittedTracer`] follows mirrors, glass and shadows alone,
//! and a [`LightTracer`] light from where it shines, which [`render_from_lights`] draws with.
//! [`Exposure`] and [`Tonemapping`] make colours for a screen of it, as Bevy makes them.

mod alternate;
mod bsdf;
mod exposure;
mod film;
#[cfg(test)]
pub(crate) mod fixtures;
mod gather;
mod integrator;
mod light;
mod looks;
mod path;
mod printed;
mod render;
mod surroundings;
mod tonemapping;
mod view;
mod volume;
mod whitted;

pub use alternate::render_from_lights;
#[cfg(feature = "gpu")]
pub(crate) use alternate::{Turn, TwoKinds, take_turns};
pub use bsdf::{Bsdf, Scattered};
#[cfg(feature = "gpu")]
pub(crate) use bsdf::{glass_losses, layer_albedos};
pub use exposure::{Exposure, meter};
pub use film::{Film, FilmFault, Pixel};
pub use gather::{PointIrradiance, Receiver, irradiance_at};
pub use integrator::{Integrator, Seen, SeenSurface};
pub use light::LightTracer;
#[cfg(feature = "gpu")]
pub(crate) use light::seed_of_pass;
pub use path::PathTracer;
pub use printed::{Directions, PrintedMeans, PrintedPixel};
pub use render::{RenderSettings, render};
pub use tonemapping::{Tonemapping, to_srgb8};
pub use view::{Lens, PixelFilter, Sight, View};
pub use volume::{VolumeSettings, solve_volume};
pub use whitted::WhittedTracer;
