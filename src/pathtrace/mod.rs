//! Path-based solvers: reference irradiance, irradiance volumes and rendered pictures.
//!
//! [`irradiance_at`] computes irradiance at arbitrary points with diffuse paths. The solver shares only the scene, the
//! ray queries and the light sampler with radiosity. Noise is its only error, and is reported. Bakes are validated
//! against this solver. [`solve_volume`] uses [`irradiance_at`] to fill an irradiance volume for moving objects.
//!
//! [`render`] draws a picture. A [`View`] generates camera rays, an [`Integrator`] estimates radiance along each, and a
//! [`Film`] accumulates means and variances:
//! - [`PathTracer`] is the unbiased reference, with the full [`Bsdf`].
//! - [`WhittedTracer`] follows only mirrors, glass and shadow rays. With [`BakedIrradiance`], pictures show a bake.
//! - [`LightTracer`] follows paths from lights; [`render_from_lights`] draws with this tracer.
//! - [`render_tile`] draws a part of a picture. [`FilmParts`] joins parts that several machines have drawn.
//!   [`render_on_ranks`] draws with all ranks of a [`cluster`](crate::cluster).
//! - [`PlainTracer`] is path tracing without any technique against noise, as published.
//! - [`PublishedMeans`] is the method of directions as published.
//!
//! [`Exposure`] and [`Tonemapping`] convert radiance to display colors, as Bevy does.

mod baked_irradiance;
mod bsdf;
mod context;
mod default_camera;
#[cfg(test)]
mod double_precision;
mod exposure;
mod film;
mod film_part;
#[cfg(test)]
pub(crate) mod fixtures;
mod gather;
mod hybrid;
mod integrator;
mod light;
mod material_class;
mod on_ranks;
mod path;
mod plain;
mod published;
mod render;
mod tile;
mod tonemapping;
mod view;
mod volume;
mod whitted;

pub use baked_irradiance::BakedIrradiance;
pub use bsdf::{Bsdf, Scattered};
#[cfg(feature = "gpu")]
pub(crate) use bsdf::{glass_losses, layer_albedos};
pub use default_camera::default_camera;
#[cfg(feature = "cli")]
pub(crate) use default_camera::{DEFAULT_FOV, default_eye};
pub(crate) use exposure::ASPECT;
#[cfg(feature = "cli")]
pub(crate) use exposure::metered_film;
pub use exposure::{Exposure, meter, metered};
pub(crate) use film::to_png;
pub use film::{Film, FilmFault, Pixel};
pub use film_part::{FilmPart, FilmParts, MergeError, MergedFilm, PartError, PartWriteError, PictureInputs};
pub use gather::{PointIrradiance, Receiver, irradiance_at};
pub use hybrid::{LightPicture, render_from_lights};
#[cfg(feature = "gpu")]
pub(crate) use hybrid::{PassKind, TwoKinds, render_passes};
pub use integrator::{Integrator, Seen, SeenSurface};
pub use light::LightTracer;
#[cfg(feature = "gpu")]
pub(crate) use light::seed_of_pass;
pub use on_ranks::{measured_speed, render_on_ranks};
pub use path::PathTracer;
pub use plain::PlainTracer;
pub use published::{Directions, PublishedMeans};
pub use render::{RenderObserver, RenderSettings, render, render_tile, render_tile_from};
pub use tile::Tile;
pub use tonemapping::{Tonemapping, to_srgb8};
pub use view::{Lens, PixelFilter, ProjectedPoint, View};
pub(crate) use volume::VolumeTime;
pub use volume::{VolumeSettings, solve_volume, volume_work_of};
pub use whitted::WhittedTracer;
