//! Parts of a picture that several machines render, as files, and the picture that they make.

use std::io;
use std::path::{Path, PathBuf};

use glam::UVec2;

use super::{Film, Pixel, RenderSettings, Tile, View};
use crate::accel::TraversalCost;
use crate::cluster::{DecodeError, Decoder, Encoder};
use crate::input;
use crate::output::{InTheWay, Overwrite, WriteError, write_atomic};
use crate::scene::{self, Scene};

const MAGIC: &[u8; 8] = b"RADFILM1";
/// Bytes of a pixel in a merged picture, in the part that is being read, and in the file to be written.
const BYTES_PER_PIXEL: u64 = 400;
/// Version of this crate, which parts must have in common.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Inputs that the pixels of a picture depend on. Parts of one picture have equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureInputs {
    scene: scene::Hash,
    settings: scene::Hash,
    size: UVec2,
}

impl PictureInputs {
    /// Returns the inputs of a picture. `integrator` names the method and its limits. The time limit does not count. For
    /// parts, limits of time and error must be unset, since they depend on the whole picture.
    pub fn new(scene: &Scene, view: &View, integrator: &str, settings: &RenderSettings) -> Self {
        // The hash of a scene leaves out what only pictures show: bumps and solid glass.
        let mut hasher = blake3::Hasher::new();
        hasher.update(&scene::hash(scene).0);
        hasher.update(format!("{:?}", scene.materials).as_bytes());
        let scene = scene::Hash(*hasher.finalize().as_bytes());
        // The debug text of a float is exact, and only the same version reads the digest.
        let settings = RenderSettings { time_limit: None, ..*settings };
        let settings = blake3::hash(format!("{view:?} {integrator} {settings:?}").as_bytes());
        Self { scene, settings: scene::Hash(*settings.as_bytes()), size: view.size }
    }
}

/// Rendered tile of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmPart {
    /// Inputs of the picture.
    pub inputs: PictureInputs,
    /// Place in the picture.
    pub tile: Tile,
    /// Pixels of the tile.
    pub film: Film,
    /// Traversal cost of the ray through each pixel's center.
    pub costs: Vec<TraversalCost>,
    /// Exposure as metered for the whole picture (EV100).
    pub ev100: f32,
}

/// Reason why a file is not a part of the picture.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is none of `render --shard`.
    #[error("{} is no part of a picture: move it out of the folder", .0.display())]
    Foreign(PathBuf),
    /// The file is incomplete, or its bytes have changed.
    #[error("{} is damaged: render this part again", .0.display())]
    Damaged(PathBuf),
    /// Another version of the program rendered the part.
    #[error("{} is of version {version} of this program, which is {VERSION}: render all parts with one version", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Version that rendered the part.
        version: String,
    },
}

impl FilmPart {
    /// Returns the name of the part's file, by its place.
    pub fn file_name(tile: Tile) -> String {
        let Tile { origin, size } = tile;
        format!("part_{}_{}_{}x{}.film", origin.x, origin.y, size.x, size.y)
    }

    /// Writes the part as a file, in one step. An earlier part of the same name is replaced; other files are not.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or another file is in the way.
    pub fn write(&self, path: &Path) -> Result<(), PartWriteError> {
        Self::check_place(path)?;
        Ok(write_atomic(path, &self.to_bytes())?)
    }

    /// Checks that no other file than a part is at a path.
    ///
    /// # Errors
    /// Returns the file that is in the way.
    pub fn check_place(path: &Path) -> Result<(), InTheWay> {
        let is_part = |path: &Path| input::read_start(path, MAGIC.len() as u64).is_ok_and(|start| start == MAGIC);
        InTheWay::check(path, Overwrite::Own, is_part)
    }

    /// Reads a part from a file of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// Returns an error that names the file if it is larger, or no whole part of this version.
    pub fn read(path: &Path, max_bytes: u64) -> Result<Self, PartError> {
        let bytes = input::read(path, max_bytes).map_err(|source| PartError::Read { path: path.into(), source })?;
        let content = bytes.strip_prefix(MAGIC).ok_or_else(|| PartError::Foreign(path.into()))?;
        let damaged = || PartError::Damaged(path.into());
        let (digest, content) = content.split_first_chunk::<32>().ok_or_else(damaged)?;
        if blake3::hash(content) != *digest {
            return Err(damaged());
        }
        let mut content = Decoder::new(content);
        let version = content.slice::<u8>().map_err(|_| damaged())?;
        if version != VERSION.as_bytes() {
            let version = String::from_utf8_lossy(&version).into_owned();
            return Err(PartError::OtherVersion { path: path.into(), version });
        }
        Self::decode(content).map_err(|DecodeError| damaged())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let PictureInputs { scene, settings, size } = self.inputs;
        let costs: Vec<[u32; 2]> = self.costs.iter().map(|cost| [cost.nodes, cost.triangles]).collect();
        let content = Encoder::new()
            .slice(VERSION.as_bytes())
            .value(scene.0)
            .value(settings.0)
            .value(size)
            .value(self.tile)
            .value(self.ev100)
            .slice(self.film.pixels())
            .slice(&costs)
            .finish();
        [MAGIC, &blake3::hash(&content).as_bytes()[..], &content].concat()
    }

    fn decode(mut content: Decoder) -> Result<Self, DecodeError> {
        let (scene, settings) = (scene::Hash(content.value()?), scene::Hash(content.value()?));
        let (size, tile): (UVec2, Tile) = (content.value()?, content.value()?);
        let ev100 = content.value()?;
        let (pixels, costs) = (content.slice::<Pixel>()?, content.slice::<[u32; 2]>()?);
        content.finish()?;
        let count = tile.size.x as usize * tile.size.y as usize;
        if !tile.is_within(size) || pixels.len() != count || costs.len() != count {
            return Err(DecodeError);
        }
        let costs = costs.into_iter().map(|[nodes, triangles]| TraversalCost { nodes, triangles }).collect();
        let inputs = PictureInputs { scene, settings, size };
        Ok(Self { inputs, tile, film: Film::from_pixels(tile.size, pixels), costs, ev100 })
    }
}

/// Reason why a part cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PartWriteError {
    /// Another file is in the way.
    #[error(transparent)]
    InTheWay(#[from] InTheWay),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Reason why parts do not make a picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A part is of another scene.
    #[error("{} is of another scene than {}: merge the parts of one picture", .0.display(), .1.display())]
    OtherScene(PathBuf, PathBuf),
    /// A part is of another view or other settings.
    #[error("{} is of another size, camera or other settings than {}: merge the parts of one picture", .0.display(), .1.display())]
    OtherSettings(PathBuf, PathBuf),
    /// Two parts disagree about a pixel.
    #[error("{} has other pixels than the parts before: render all parts with the same build of this program", .0.display())]
    OtherPixels(PathBuf),
    /// Some pixels are in no part.
    #[error("{} pixels are missing, from row {} to row {}: render these rows with --shard or --tile", .pixels, .first_row, .last_row)]
    Missing {
        /// Number of pixels.
        pixels: usize,
        /// First row with a missing pixel, from zero.
        first_row: usize,
        /// Last row with a missing pixel.
        last_row: usize,
    },
    /// The picture does not fit into memory.
    #[error("the picture needs about {needed_mib} MiB of memory of {allowed_mib} MiB: allow more with --memory")]
    TooLarge {
        /// Memory that the picture needs, in MiB.
        needed_mib: u64,
        /// Memory that may be used, in MiB.
        allowed_mib: u64,
    },
    /// There is no part.
    #[error("there is no part of a picture in the folder: render parts into it with --shard or --tile")]
    NoParts,
}

/// Picture that parts are added to, in any order. A part may come twice.
#[derive(Debug)]
pub struct FilmParts {
    max_bytes: u64,
    /// Path and inputs of the first part, and its exposure.
    first: Option<(PathBuf, PictureInputs, f32)>,
    /// Pixel and cost of the whole picture, where known.
    pixels: Vec<Option<(Pixel, TraversalCost)>>,
}

/// Picture that all parts make.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedFilm {
    /// Pixels of the whole picture.
    pub film: Film,
    /// Traversal cost of the ray through each pixel's center.
    pub costs: Vec<TraversalCost>,
    /// Exposure as metered (EV100).
    pub ev100: f32,
}

impl FilmParts {
    /// Creates a picture without parts, which may use `max_bytes` bytes of memory.
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, first: None, pixels: Vec::new() }
    }

    /// Adds a part that was read from a path.
    ///
    /// # Errors
    /// Returns an error if the picture does not fit into memory. Returns an error that names the path if the part is of
    /// another picture than the first one.
    pub fn add(&mut self, path: &Path, part: &FilmPart) -> Result<(), MergeError> {
        let (first_path, inputs, _) = self.first.get_or_insert_with(|| (path.into(), part.inputs, part.ev100));
        if inputs.scene != part.inputs.scene {
            return Err(MergeError::OtherScene(path.into(), first_path.clone()));
        }
        if inputs != &part.inputs {
            return Err(MergeError::OtherSettings(path.into(), first_path.clone()));
        }
        let size = inputs.size;
        let needed = u64::from(size.x).saturating_mul(size.y.into()).saturating_mul(BYTES_PER_PIXEL);
        if needed > self.max_bytes {
            return Err(MergeError::TooLarge { needed_mib: needed >> 20, allowed_mib: self.max_bytes >> 20 });
        }
        self.pixels.resize(size.x as usize * size.y as usize, None);
        let Tile { origin, size: tile_size } = part.tile;
        for (index, new) in part.film.pixels().iter().copied().zip(part.costs.iter().copied()).enumerate() {
            let (x, y) = (index % tile_size.x as usize, index / tile_size.x as usize);
            let place = (origin.y as usize + y) * size.x as usize + origin.x as usize + x;
            if *self.pixels[place].get_or_insert(new) != new {
                return Err(MergeError::OtherPixels(path.into()));
            }
        }
        Ok(())
    }

    /// Returns the whole picture.
    ///
    /// # Errors
    /// Returns an error that names the rows that are missing.
    pub fn finish(self) -> Result<MergedFilm, MergeError> {
        let (_, PictureInputs { size, .. }, ev100) = self.first.ok_or(MergeError::NoParts)?;
        let missing = || self.pixels.iter().enumerate().filter(|(_, pixel)| pixel.is_none());
        let row = |(index, _): (usize, &Option<_>)| index / size.x as usize;
        if let (Some(first_row), Some(last_row)) = (missing().next().map(row), missing().next_back().map(row)) {
            return Err(MergeError::Missing { pixels: missing().count(), first_row, last_row });
        }
        let (pixels, costs) = self.pixels.into_iter().flatten().unzip();
        Ok(MergedFilm { film: Film::from_pixels(size, pixels), costs, ev100 })
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::builtin_scenes;
    use crate::lights::LightSampler;
    use crate::pathtrace::{PathTracer, PixelFilter, render, render_tile};
    use crate::progress::Unmonitored;
    use crate::scene::Camera;

    const SETTINGS: RenderSettings =
        RenderSettings { samples: 3, time_limit: None, error: None, tolerance: None, seed: 5 };

    fn view() -> View {
        let camera = Camera::looking_at(Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO, 0.7).unwrap();
        View { camera, size: UVec2::new(7, 9), lens: None, filter: PixelFilter::Tent }
    }

    fn tile(x: u32, y: u32, width: u32, height: u32) -> Tile {
        Tile { origin: UVec2::new(x, y), size: UVec2::new(width, height) }
    }

    /// Renders tiles of the Cornell box, and its whole picture.
    fn rendered(tiles: &[Tile]) -> (Vec<FilmPart>, Film) {
        let scene = builtin_scenes::build("cornell_box").unwrap();
        let (world, lights) = (World::build(scene.clone().into(), Preset::best()), LightSampler::new(&scene));
        let tracer = PathTracer::new(&scene, &world, &lights, None);
        let part = |&tile: &Tile| FilmPart {
            inputs: PictureInputs::new(&scene, &view(), "path", &SETTINGS),
            tile,
            film: render_tile(&tracer, &view(), tile, &SETTINGS, &Unmonitored),
            costs: vec![TraversalCost::default(); (tile.size.x * tile.size.y) as usize],
            ev100: 4.0,
        };
        (tiles.iter().map(part).collect(), render(&tracer, &view(), &SETTINGS, &Unmonitored))
    }

    const MAX_BYTES: u64 = 1 << 20;

    fn merge(parts: &[FilmPart]) -> Result<MergedFilm, MergeError> {
        let mut merged = FilmParts::new(MAX_BYTES);
        for (number, part) in parts.iter().enumerate() {
            merged.add(Path::new(&format!("{number}.film")), part)?;
        }
        merged.finish()
    }

    #[test]
    fn tiles_that_overlap_make_the_picture_of_a_single_run() {
        let (parts, whole) = rendered(&[tile(3, 0, 4, 9), tile(0, 0, 3, 5), tile(0, 4, 4, 5), tile(3, 0, 4, 9)]);
        let merged = merge(&parts).unwrap();
        assert_eq!((merged.film, merged.ev100), (whole, 4.0));
    }

    #[test]
    fn missing_rows_are_named() {
        let (parts, _) = rendered(&[tile(0, 0, 7, 4), tile(0, 5, 5, 4)]);
        let missing = MergeError::Missing { pixels: 7 + 4 * 2, first_row: 4, last_row: 8 };
        assert_eq!(merge(&parts).unwrap_err(), missing);
        assert_eq!(merge(&[]).unwrap_err(), MergeError::NoParts);
    }

    #[test]
    fn parts_of_other_pictures_are_named() {
        let (parts, _) = rendered(&[tile(0, 0, 7, 9)]);
        let [first, mut other] = [0, 0].map(|part: usize| parts[part].clone());
        let scene = builtin_scenes::build("cornell_empty").unwrap();
        other.inputs = PictureInputs::new(&scene, &view(), "path", &SETTINGS);
        let refusal = merge(&[first.clone(), other.clone()]).unwrap_err();
        assert_eq!(refusal, MergeError::OtherScene("1.film".into(), "0.film".into()));
        let scene = builtin_scenes::build("cornell_box").unwrap();
        for settings in [RenderSettings { seed: 6, ..SETTINGS }, RenderSettings { samples: 4, ..SETTINGS }] {
            other.inputs = PictureInputs::new(&scene, &view(), "path", &settings);
            let refusal = merge(&[first.clone(), other.clone()]).unwrap_err();
            assert_eq!(refusal, MergeError::OtherSettings("1.film".into(), "0.film".into()));
        }
    }

    #[test]
    fn a_picture_beyond_the_memory_is_refused_before_it_is_made() {
        let (parts, _) = rendered(&[tile(0, 0, 7, 9)]);
        let mut huge = parts[0].clone();
        huge.inputs.size = UVec2::MAX;
        assert!(matches!(merge(&[huge]), Err(MergeError::TooLarge { allowed_mib: 1, .. })));
    }

    #[test]
    fn parts_that_disagree_are_named() {
        let (parts, _) = rendered(&[tile(0, 0, 7, 9)]);
        let mut other = parts[0].clone();
        other.film = Film::new(other.tile.size);
        assert_eq!(merge(&[parts[0].clone(), other]).unwrap_err(), MergeError::OtherPixels("1.film".into()));
    }

    #[test]
    fn a_file_holds_the_part_and_any_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (parts, _) = rendered(&[tile(2, 3, 2, 2)]);
        let path = folder.path().join(FilmPart::file_name(parts[0].tile));
        assert!(path.ends_with("part_2_3_2x2.film"));
        parts[0].write(&path).unwrap();
        assert_eq!(FilmPart::read(&path, MAX_BYTES).unwrap(), parts[0]);
        // A part may be written again.
        parts[0].write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for place in [8, 40, 60, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(matches!(FilmPart::read(&path, MAX_BYTES), Err(PartError::Damaged(_))), "byte {place}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(FilmPart::read(&path, MAX_BYTES), Err(PartError::Damaged(_))));
    }

    #[test]
    fn other_files_are_foreign_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part_0_0_7x9.film");
        std::fs::write(&path, "three years of work").unwrap();
        assert!(matches!(FilmPart::read(&path, MAX_BYTES), Err(PartError::Foreign(_))));
        let (parts, _) = rendered(&[tile(0, 0, 7, 9)]);
        assert!(matches!(parts[0].write(&path), Err(PartWriteError::InTheWay(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"three years of work");
    }

    #[test]
    fn a_part_of_another_version_is_named_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.film");
        let content = Encoder::new().slice(b"0.0.7").value(1u32).finish();
        let bytes = [MAGIC, &blake3::hash(&content).as_bytes()[..], &content].concat();
        std::fs::write(&path, bytes).unwrap();
        let refusal = FilmPart::read(&path, MAX_BYTES).unwrap_err().to_string();
        assert!(refusal.contains("0.0.7") && refusal.contains("part.film"), "{refusal}");
    }
}
