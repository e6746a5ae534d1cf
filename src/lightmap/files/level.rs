//! A baked level as a whole: what `level.ron` says, and reading what it names.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use glam::{UVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::standing::is_possible;
use super::{LEVEL_FILE, LevelError, LevelFile, LevelMesh, read_exr, read_ktx2, read_validity};
use crate::geometry::{Aabb, SurfaceId};
use crate::input;
use crate::lightmap::{Layout, Page, PageSize, Placement, Rectangle, Unwrap, Voxels};
use crate::scene::{Hash, KeyIndex, MeshId, Role, Scene, SurfaceKey};

pub(super) const FORMAT: u32 = 2;
/// `level.ron` begins with this, the digest of all that follows its line, and a line break.
const DIGEST: &str = "// BLAKE3 of all that follows: ";
/// Bakes that may replace a level, one after the other, while it is being read.
const MOST_TRIES: u32 = 20;
/// Bytes beyond which no `level.ron` is believed: a hundred thousand surfaces take a tenth of it.
const LONGEST: u64 = 256 << 20;
/// No device has larger textures.
const LARGEST_PAGE: u32 = 16_384;

/// Which surface shows which part of which page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Version of this file's layout.
    pub format: u32,
    /// Hash of what was baked; another one for the scene at hand means that the level is stale.
    pub content_hash: String,
    /// The settings of the bake, for whoever wonders.
    pub settings: serde_json::Value,
    /// The estimated error of the whole level, relative to its mean light.
    pub error: f32,
    /// The pages.
    pub pages: Vec<LevelPage>,
    /// The unwrapped meshes, one after the other; see [`LevelMesh`].
    pub meshes: LevelFile,
    /// The surfaces that have a rectangle.
    pub surfaces: Vec<LevelSurface>,
    /// The lights whose light the bake followed.
    pub lights: Vec<LevelLight>,
    /// The irradiance volume, if there is one.
    #[serde(default)]
    pub volume: Option<LevelVolume>,
    /// The precomputed transport for lights that change, if there is one.
    #[serde(default)]
    pub relight: Option<LevelRelight>,
    /// Files of the level that this one replaced, as far as they are still to be removed.
    #[serde(default)]
    pub replaced: Vec<LevelFile>,
}

/// One page's size and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelPage {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The texture.
    pub ktx2: LevelFile,
    /// The same with full precision.
    pub exr: LevelFile,
    /// The part of each texel that light can reach, if the level says.
    #[serde(default)]
    pub validity: Option<LevelFile>,
}

impl LevelPage {
    /// Its columns and rows.
    pub fn size(&self) -> PageSize {
        PageSize { width: self.width, height: self.height }
    }
}

/// One surface's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelSurface {
    /// The surface.
    pub key: SurfaceKey,
    /// Its page.
    pub page: u32,
    /// Its texels on the page.
    pub rectangle: Rectangle,
    /// Number of the unwrapped mesh that it shows.
    pub mesh: u32,
    /// Hash of its material, textures included; see [`hash_materials`](crate::scene::hash_materials).
    pub material: Hash,
    /// Hash of its transform; see [`hash_transform`](crate::scene::hash_transform).
    pub transform: Hash,
}

/// A light that a level was baked with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelLight {
    /// Its key.
    pub key: String,
    /// Hash of its place, shape and strength; see [`hash_light`](crate::scene::hash_light).
    pub light: Hash,
}

/// The precomputed transport for lights that change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelRelight {
    /// Its bytes.
    pub file: LevelFile,
    /// Error of the light that it finds against the baked indirect light, relative to its mean.
    pub error: f32,
}

/// The irradiance volume's place and file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelVolume {
    /// The least coordinates of its box, world space, metres.
    pub minimum: [f32; 3],
    /// The greatest coordinates of its box, world space, metres.
    pub maximum: [f32; 3],
    /// Voxels along each axis.
    pub count: [u32; 3],
    /// Its voxels.
    pub exr: LevelFile,
}

impl Level {
    /// Reads a level and whatever `read` asks of its files, all of one bake: where a bake replaces the level meanwhile, so
    /// that a file is gone or another, all is read anew.
    ///
    /// # Errors
    /// When a file is missing, damaged or from another version, or `read` fails.
    pub fn read_with<T, E: From<LevelError>>(folder: &Path, read: impl Fn(&Self) -> Result<T, E>) -> Result<T, E> {
        let mut tries = 1;
        loop {
            let stamp = Stamp::of(folder);
            let done = Self::read(folder).map_err(E::from).and_then(|level| read(&level));
            if done.is_ok() || tries == MOST_TRIES || Stamp::of(folder) == stamp {
                return done;
            }
            tries += 1;
        }
    }

    /// Reads and checks a folder's `level.ron`.
    ///
    /// # Errors
    /// When it is missing, from another version, or says something impossible.
    pub fn read(folder: &Path) -> Result<Self, LevelError> {
        let path = folder.join(LEVEL_FILE);
        let text = input::read_text(&path, LONGEST).map_err(LevelError::read(&path))?;
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, LevelError> {
        /// What every version begins with.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = ron::from_str(text).map_err(|fault| LevelError::damaged(path, fault))?;
        if version.format != FORMAT {
            return Err(LevelError::Format { path: path.to_owned(), found: version.format, expected: FORMAT });
        }
        let body = text.strip_prefix(DIGEST).and_then(|rest| rest.split_once('\n'));
        let body = body.filter(|(digest, body)| **digest == *blake3::hash(body.as_bytes()).to_hex());
        let (_, body) = body.ok_or_else(|| LevelError::damaged(path, "its digest does not fit its content"))?;
        let level: Self = ron::from_str(body).map_err(|fault| LevelError::damaged(path, fault))?;
        level.check().map_err(|fault| LevelError::damaged(path, fault))?;
        Ok(level)
    }

    /// The text of `level.ron`.
    pub(super) fn text(&self) -> Result<String, ron::Error> {
        let body = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().depth_limit(3))?;
        Ok(format!("{DIGEST}{}\n{body}", blake3::hash(body.as_bytes()).to_hex()))
    }

    fn check(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for LevelFile { name, .. } in self.files() {
            if !is_possible(name) {
                return Err(format!("\"{name}\" is no name that a bake gives to a file"));
            }
            if !names.insert(name) {
                return Err(format!("it names \"{name}\" twice"));
            }
        }
        let errors = [Some(self.error), self.relight.as_ref().map(|relight| relight.error)];
        if errors.iter().flatten().any(|error| !error.is_finite() || *error < 0.0) {
            return Err("its error is negative, infinite or no number".to_owned());
        }
        let sound = |size: u32| (1..=LARGEST_PAGE).contains(&size);
        if let Some(page) = self.pages.iter().find(|page| !sound(page.width) || !sound(page.height)) {
            return Err(format!("a page has {} x {} texels", page.width, page.height));
        }
        if let Some(LevelVolume { minimum, maximum, count, .. }) = &self.volume {
            let fits = |size: PageSize| sound(size.width) && sound(size.height);
            if !Voxels::page_size(UVec3::from_array(*count)).is_some_and(fits) {
                return Err(format!("the volume has {} x {} x {} voxels", count[0], count[1], count[2]));
            }
            if !minimum.iter().zip(maximum).all(|(minimum, maximum)| minimum < maximum && maximum - minimum < f32::MAX)
            {
                return Err("the volume's box has no inside".to_owned());
            }
        }
        for LevelSurface { key, page, rectangle, .. } in &self.surfaces {
            let page =
                self.pages.get(*page as usize).ok_or_else(|| format!("\"{key}\" is on a page that is missing"))?;
            let ends = |start: u32, length: u32| u64::from(start) + u64::from(length);
            let fits = ends(rectangle.x, rectangle.width) <= u64::from(page.width)
                && ends(rectangle.y, rectangle.height) <= u64::from(page.height);
            if !fits || rectangle.width == 0 || rectangle.height == 0 {
                return Err(format!("the rectangle of \"{key}\" is not on its page"));
            }
        }
        Ok(())
    }

    /// All files beside `level.ron`.
    pub fn files(&self) -> impl Iterator<Item = &LevelFile> {
        let pages = self.pages.iter().flat_map(|page| [Some(&page.ktx2), Some(&page.exr), page.validity.as_ref()]);
        let volume = self.volume.iter().map(|volume| &volume.exr);
        let relight = self.relight.iter().map(|relight| &relight.file);
        pages.flatten().chain([&self.meshes]).chain(volume).chain(relight)
    }

    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut LevelFile> {
        let pages = self.pages.iter_mut().flat_map(|page| {
            let LevelPage { ktx2, exr, validity, .. } = page;
            [Some(ktx2), Some(exr), validity.as_mut()]
        });
        let volume = self.volume.iter_mut().map(|volume| &mut volume.exr);
        let relight = self.relight.iter_mut().map(|relight| &mut relight.file);
        pages.flatten().chain([&mut self.meshes]).chain(volume).chain(relight)
    }

    /// All files that this level or the one before it has put into the folder.
    pub(super) fn records(&self) -> impl Iterator<Item = &LevelFile> {
        self.files().chain(&self.replaced)
    }

    /// True when both are of one bake, whatever names their files go by.
    pub fn is_same_bake(&self, other: &Self) -> bool {
        let of = |level: &Self| {
            let mut level = level.clone();
            level.files_mut().for_each(|file| file.name.clear());
            Self { replaced: Vec::new(), ..level }
        };
        of(self) == of(other)
    }

    /// The texels of a page as `Rgb9e5`, four bytes each, ready for a texture.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_texture(&self, folder: &Path, page: usize) -> Result<Vec<u8>, LevelError> {
        let page = &self.pages[page];
        let path = folder.join(&page.ktx2.name);
        let (size, texels) = read_ktx2(&page.ktx2.read(folder)?, &path)?;
        if (size.width, size.height) != (page.width, page.height) {
            return Err(LevelError::damaged(&path, "it has another size than the level says"));
        }
        Ok(texels)
    }

    /// A page in full precision.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_page(&self, folder: &Path, page: usize) -> Result<Page, LevelError> {
        let validity = self.read_validity(folder, page)?;
        let LevelPage { exr, .. } = &self.pages[page];
        let mut page = read_exr(&exr.read(folder)?, self.pages[page].size(), &folder.join(&exr.name))?;
        if let Some(validity) = validity {
            page.validity = validity.iter().map(|&valid| f32::from(valid) / 255.0).collect();
        }
        Ok(page)
    }

    /// How much of a page's texels light can reach, from 0 for nothing to 255 for all, rows from the top; `None` for a level
    /// that does not say.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_validity(&self, folder: &Path, page: usize) -> Result<Option<Vec<u8>>, LevelError> {
        let page = &self.pages[page];
        let Some(file) = &page.validity else {
            return Ok(None);
        };
        read_validity(&file.read(folder)?, page.size(), &folder.join(&file.name)).map(Some)
    }

    /// The irradiance volume; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_volume(&self, folder: &Path) -> Result<Option<Voxels>, LevelError> {
        let Some(LevelVolume { minimum, maximum, count, exr }) = &self.volume else {
            return Ok(None);
        };
        let path = folder.join(&exr.name);
        let count = UVec3::from_array(*count);
        let size = Voxels::page_size(count).ok_or_else(|| LevelError::damaged(&path, "it has no voxels"))?;
        let page = read_exr(&exr.read(folder)?, size, &path)?;
        let bounds = Aabb { min: Vec3::from_array(*minimum), max: Vec3::from_array(*maximum) };
        Ok(Some(Voxels::from_page(bounds, count, &page)))
    }

    /// The bytes of the precomputed transport, and where they lie; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing, damaged or cannot be read.
    pub fn read_relight(&self, folder: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, LevelError> {
        let Some(LevelRelight { file, .. }) = &self.relight else {
            return Ok(None);
        };
        Ok(Some((folder.join(&file.name), file.read(folder)?)))
    }

    /// The unwrapped meshes, in the order that surfaces count them in.
    ///
    /// # Errors
    /// When the file is missing or damaged, or lacks a mesh that a surface shows.
    pub fn read_meshes(&self, folder: &Path) -> Result<Vec<LevelMesh>, LevelError> {
        let path = folder.join(&self.meshes.name);
        let meshes = LevelMesh::all_from_bytes(&self.meshes.read(folder)?, &path)?;
        match self.surfaces.iter().find(|surface| surface.mesh as usize >= meshes.len()) {
            Some(surface) => Err(LevelError::damaged(&path, format!("the mesh of \"{}\" is missing", surface.key))),
            None => Ok(meshes),
        }
    }

    /// The layout that a scene was baked with; surfaces that the level does not know have no place in it.
    ///
    /// A surface without a key of the level takes the place of one of the same name and the same mesh that no key of
    /// the scene means: a node with another parent.
    ///
    /// # Errors
    /// When the file of meshes is missing or damaged, or a mesh in it is another than the scene's.
    pub fn layout(&self, folder: &Path, scene: &Scene) -> Result<Layout, LevelError> {
        let by_key: HashMap<&SurfaceKey, &LevelSurface> =
            self.surfaces.iter().map(|surface| (&surface.key, surface)).collect();
        let mut unwraps = Unwraps { scene, meshes: self.read_meshes(folder)?, unwraps: HashMap::new() };
        let mut placements = vec![None; scene.surfaces.len()];
        let mut taken: HashSet<&SurfaceKey> = HashSet::new();
        for id in scene.surface_ids() {
            let Some((&key, &placed)) = by_key.get_key_value(&scene.surface(id).key) else { continue };
            let other =
                || LevelError::OtherMesh { path: folder.join(&self.meshes.name), mesh: scene.mesh_of(id).name.clone() };
            let unwrap = unwraps.of(id, placed).ok_or_else(other)?;
            taken.insert(key);
            placements[id.index()] = Some(Placement { unwrap, page: placed.page, rectangle: placed.rectangle });
        }
        let index = KeyIndex::new(self.surfaces.iter().map(|surface| surface.key.clone()));
        for id in scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Static) {
            if placements[id.index()].is_some() {
                continue;
            }
            for key in index.candidates(&scene.surface(id).key) {
                if let Some((&key, &placed)) = by_key.get_key_value(key)
                    && !taken.contains(key)
                    && let Some(unwrap) = unwraps.of(id, placed)
                {
                    taken.insert(key);
                    placements[id.index()] = Some(Placement { unwrap, page: placed.page, rectangle: placed.rectangle });
                    break;
                }
            }
        }
        let pages = self.pages.iter().map(LevelPage::size).collect();
        Ok(Layout { placements, pages })
    }
}

/// Unwrapped meshes of a level for the meshes of a scene, each compared once.
struct Unwraps<'a> {
    scene: &'a Scene,
    meshes: Vec<LevelMesh>,
    unwraps: HashMap<(MeshId, u32), Option<Arc<Unwrap>>>,
}

impl Unwraps<'_> {
    /// The unwrapped mesh of a surface; `None` where the level's is of another mesh.
    fn of(&mut self, id: SurfaceId, placed: &LevelSurface) -> Option<Arc<Unwrap>> {
        let mesh = self.scene.surface(id).mesh;
        let unwrap = || self.meshes[placed.mesh as usize].unwrap(self.scene.mesh_of(id)).map(Arc::new);
        self.unwraps.entry((mesh, placed.mesh)).or_insert_with(unwrap).clone()
    }
}

/// Marks that tell one `level.ron` of a folder from the next.
#[derive(PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    file: u64,
}

impl Stamp {
    /// `None` where there is none.
    fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(folder.join(LEVEL_FILE)).ok()?;
        Some(Self {
            modified: found.modified().ok(),
            length: found.len(),
            #[cfg(unix)]
            file: std::os::unix::fs::MetadataExt::ino(&found),
        })
    }
}
