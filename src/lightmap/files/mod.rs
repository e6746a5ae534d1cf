//! What a bake leaves on disk, and reading it again.
//!
//! | file | content |
//! | --- | --- |
//! | `page_N.ktx2` | the page as Bevy loads it: shared-exponent floats ([`rgb9e5`]) |
//! | `page_N.exr` | the same in full precision, linear `f32` RGB |
//! | `validity_N.png` | how much of each of its texels light can reach, from black to white |
//! | `volume.exr` | the irradiance volume, if there is one: slices along z from left to right, directions from top to bottom |
//! | `mesh_N.uv1` | lightmap coordinates of one unwrapped mesh ([`LevelMesh`]) |
//! | `level.ron` | the [`Level`]: which surface has which rectangle of which page, settings, content hash |
//!
//! A folder is a level once `level.ron` is in it. Everything else is there before, written under temporary names and
//! then renamed, so that a bake which dies leaves no half of a level. The level that it replaces comes back when a file
//! cannot be renamed.

mod error;
mod exr;
mod ktx2;
mod level;
mod mesh;
pub mod rgb9e5;
mod staging;
#[cfg(test)]
mod tests;
mod validity;

pub use error::LevelError;
pub use exr::{read_exr, write_exr};
pub use ktx2::{read_ktx2, write_ktx2};
pub use level::{LEVEL_FILE, Level, LevelContent, LevelPage, LevelSurface, LevelVolume, Written};
pub use mesh::LevelMesh;
pub use validity::{read_validity, write_validity};
