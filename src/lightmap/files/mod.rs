//! What a bake leaves on disk, and reading it again.
//!
//! | file | content |
//! | --- | --- |
//! | `page_N.ktx2` | the page as Bevy loads it: shared-exponent floats ([`rgb9e5`]) |
//! | `page_N.exr` | the same in full precision, linear `f32` RGB |
//! | `validity_N.png` | how much of each of its texels light can reach, from black to white |
//! | `volume.exr` | the irradiance volume, if there is one: slices along z from left to right, directions from top to bottom |
//! | `unwrapped_meshes.bin` | lightmap coordinates of all unwrapped meshes ([`LevelMesh`]) |
//! | `relight.bin` | the precomputed transport for lights that change, if there is one |
//! | `level.ron` | the [`Level`]: which surface has which rectangle of which page, settings, hashes of what was baked, and size and digest of each file |
//!
//! A folder is a level once `level.ron` is in it. Everything else is there before, written under temporary names, so
//! that a bake which dies leaves no half of a level, and one that fails leaves the level before. For a moment
//! `level.ron` names the temporary files, while files of the level before make way for them. So names may change under
//! a reader's hands: [`Level::read_with`] then reads anew, and digests tell files of one bake from those of another.
//!
//! Files that the level before has not recorded are somebody else's, and a bake is refused
//! ([`InTheWay`](crate::output::InTheWay)), unless it may overwrite them.

mod error;
mod exr;
mod ktx2;
mod level;
mod mesh;
mod names;
mod record;
pub mod rgb9e5;
mod staging;
mod standing;
#[cfg(test)]
mod tests;
mod validity;
mod write;

pub use error::LevelError;
pub use exr::{read_exr, write_exr};
pub use ktx2::{read_ktx2, write_ktx2};
pub use level::{Level, LevelLight, LevelPage, LevelRelight, LevelSurface, LevelVolume};
pub use mesh::LevelMesh;
pub use names::LEVEL_FILE;
pub use record::LevelFile;
pub use validity::{read_validity, write_validity};
pub use write::{LevelContent, Written};
