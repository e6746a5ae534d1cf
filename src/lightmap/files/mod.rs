//! Files of a baked level: writing and reading.
//!
//! | file | content |
//! | --- | --- |
//! | `page_N.ktx2` | the page as Bevy loads it: shared-exponent floats ([`rgb9e5`]) |
//! | `page_N.exr` | the page in full precision, linear `f32` RGB |
//! | `validity_N.png` | the part of each of its texels that light can reach, from black to white |
//! | `volume.exr` | the irradiance volume, if any: slices along z from left to right, directions from top to bottom |
//! | `unwrapped_meshes.bin` | lightmap coordinates of all unwrapped meshes ([`LevelMesh`]) |
//! | `relight.bin` | the precomputed transport for lights that change, if there is one |
//! | `level.ron` | the [`Level`]: rectangles of surfaces, settings, hashes of the scene, size and digest of each file |
//!
//! A folder is a level once it has a `level.ron`. All other files are written before, under temporary names. A bake
//! that dies leaves no partial level, and one that fails leaves the level before.
//!
//! For a moment `level.ron` names the temporary files, while files of the level before are removed. So names may change
//! while a level is read. [`Level::read_with`] then reads again, and digests tell files of one bake from those of
//! another.
//!
//! On Windows, another program may hold a file of the level before, which then stays. The new file gets a spare name,
//! such as `page_0-0123456789abcdef.exr`. The next bake removes files that are no longer held.
//!
//! Files that the level before has not recorded are foreign. They make a bake fail
//! ([`InTheWay`](crate::output::InTheWay)), unless it may overwrite them.

mod error;
mod exr;
mod ktx2;
mod level;
mod mesh;
mod names;
mod place;
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
#[cfg(feature = "plugin")]
pub(crate) use level::{LARGEST_LEVEL, MAX_TRIES};
pub use level::{Level, LevelLight, LevelPage, LevelRelight, LevelSurface, LevelVolume};
pub use mesh::LevelMesh;
pub use names::LEVEL_FILE;
pub use place::{LevelBytes, LevelFiles};
pub use record::LevelFile;
pub use validity::{read_validity, write_validity};
pub use write::{LevelContent, Written};
