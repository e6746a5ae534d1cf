//! Baked levels: the content of `level.ron`, and reading of the files that it names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use glam::{UVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::standing::is_possible;
use super::{LEVEL_FILE, LevelError, LevelFile, LevelFiles, LevelMesh, read_exr, read_ktx2, read_validity};
use crate::geometry::{Aabb, SurfaceId};
use crate::input;
use crate::lightmap::{Layout, Page, PageSize, Placement, Rectangle, Unwrap, Voxels};
use crate::scene::{Hash, KeyIndex, LightPlace, MeshId, Role, Scene, SurfaceKey};

pub(super) const FORMAT: u32 = 2;
/// Start of `level.ron`. The digest of all following lines and a line break come next.
const DIGEST: &str = "// BLAKE3 of all that follows: ";
/// Maximum number of attempts to read a level while bakes replace it.
pub(crate) const MAX_TRIES: u32 = 20;
/// Largest `level.ron` that is read, bytes. A hundred thousand surfaces take a tenth of it.
pub(crate) const LARGEST_LEVEL: u64 = 256 << 20;

/// Content of `level.ron`: pages, files, and the rectangle of each surface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Version of this file's format.
    pub format: u32,
    /// Hash of the baked scene. The level is stale if the current scene has another hash.
    pub content_hash: String,
    /// Settings of the bake, for information.
    pub settings: serde_json::Value,
    /// Estimated relative error of the whole level: the RMS error of irradiance over its mean.
    pub error: f32,
    /// Lightmap pages.
    pub pages: Vec<LevelPage>,
    /// Minimum number of empty texels between charts. Levels of earlier versions do not say it, and have 2.
    #[serde(default = "padding_of_earlier_versions")]
    pub padding: u32,
    /// File of all unwrapped meshes; see [`LevelMesh`].
    pub meshes: LevelFile,
    /// Surfaces that have a rectangle.
    pub surfaces: Vec<LevelSurface>,
    /// Lights of the bake.
    pub lights: Vec<LevelLight>,
    /// True if the sky was baked. False also in levels of earlier versions.
    #[serde(default)]
    pub has_sky: bool,
    /// Irradiance volume, if there is one.
    #[serde(default)]
    pub volume: Option<LevelVolume>,
    /// Precomputed transport for lights that change, if there is one.
    #[serde(default)]
    pub relight: Option<LevelRelight>,
    /// Preview picture, if there is one.
    #[serde(default)]
    pub preview: Option<LevelFile>,
    /// Files of the level before that are still to be removed.
    #[serde(default)]
    pub replaced: Vec<LevelFile>,
}

fn padding_of_earlier_versions() -> u32 {
    2
}

/// Size and files of one page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelPage {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Texture.
    pub ktx2: LevelFile,
    /// Page in full precision.
    pub exr: LevelFile,
    /// Validity: the part of each texel that light can reach. `None` if the level has none.
    #[serde(default)]
    pub validity: Option<LevelFile>,
}

impl LevelPage {
    /// Returns the size of the page.
    pub fn size(&self) -> PageSize {
        PageSize { width: self.width, height: self.height }
    }
}

/// Rectangle and hashes of one surface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelSurface {
    /// Key of the surface.
    pub key: SurfaceKey,
    /// Index of its page.
    pub page: u32,
    /// Rectangle of its texels on the page.
    pub rectangle: Rectangle,
    /// Index of its unwrapped mesh.
    pub mesh: u32,
    /// Hash of its material with all textures; see [`hash_materials`](crate::scene::hash_materials).
    pub material: Hash,
    /// Hash of its transform; see [`hash_transform`](crate::scene::hash_transform).
    pub transform: Hash,
    /// Its transform: the columns of a matrix, the translation last. `None` in levels of earlier versions.
    #[serde(default)]
    pub to_world: Option<[f32; 12]>,
}

/// Light that a level was baked with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelLight {
    /// Name of the light.
    pub key: String,
    /// Position or direction. `None` in levels of earlier versions.
    #[serde(default)]
    pub place: Option<LightPlace>,
    /// Hash of its position, shape and intensity; see [`hash_light`](crate::scene::hash_light).
    pub light: Hash,
}

/// Precomputed transport for lights that change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelRelight {
    /// File of the transport.
    pub file: LevelFile,
    /// Relative difference between the relit light and the baked indirect light: the RMS over the mean.
    pub error: f32,
}

/// Bounds and file of the irradiance volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelVolume {
    /// Minimum corner of its box, in world space, meters.
    pub minimum: [f32; 3],
    /// Maximum corner of its box, in world space, meters.
    pub maximum: [f32; 3],
    /// Number of voxels along each axis.
    pub count: [u32; 3],
    /// File of the voxels.
    pub exr: LevelFile,
}

impl Level {
    /// Reads a level, and calls `read` for its files. All of them are of one bake: if a bake replaces the level
    /// meanwhile, everything is read again.
    ///
    /// # Errors
    /// When a file is missing, damaged or from another version, or `read` fails.
    pub fn read_with<T, E: From<LevelError>>(folder: &Path, read: impl Fn(&Self) -> Result<T, E>) -> Result<T, E> {
        let mut tries = 1;
        loop {
            let stamp = Stamp::of(folder);
            let done = Self::read(folder).map_err(E::from).and_then(|level| read(&level));
            if done.is_ok() || tries == MAX_TRIES || Stamp::of(folder) == stamp {
                return done;
            }
            tries += 1;
        }
    }

    /// Reads and checks a folder's `level.ron`.
    ///
    /// # Errors
    /// When the file is missing, from another version, or invalid.
    pub fn read(folder: &Path) -> Result<Self, LevelError> {
        let path = folder.join(LEVEL_FILE);
        let text = input::read_text(&path, LARGEST_LEVEL).map_err(LevelError::read(&path))?;
        Self::parse(&text, &path)
    }

    /// Parses and checks the text of a `level.ron`.
    ///
    /// # Errors
    /// When it is from another version, or invalid. `path` names the file in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LevelError> {
        /// Field that every version has.
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

    /// Returns the text of `level.ron`.
    pub(super) fn text(&self) -> Result<String, ron::Error> {
        let body = ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().depth_limit(3).new_line("\n"))?;
        Ok(format!("{DIGEST}{}\n{body}", blake3::hash(body.as_bytes()).to_hex()))
    }

    /// Returns an error for content that no bake writes.
    pub(super) fn check(&self) -> Result<(), String> {
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
        if let Some(page) = self.pages.iter().find(|page| !page.size().is_possible()) {
            return Err(format!("a page has {} x {} texels", page.width, page.height));
        }
        if let Some(LevelVolume { minimum, maximum, count, .. }) = &self.volume {
            if Voxels::page_size(UVec3::from_array(*count)).is_none() {
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

    /// Returns all files beside `level.ron`.
    pub fn files(&self) -> impl Iterator<Item = &LevelFile> {
        let pages = self.pages.iter().flat_map(|page| [Some(&page.ktx2), Some(&page.exr), page.validity.as_ref()]);
        let volume = self.volume.iter().map(|volume| &volume.exr);
        let relight = self.relight.iter().map(|relight| &relight.file);
        pages.flatten().chain([&self.meshes]).chain(volume).chain(relight).chain(&self.preview)
    }

    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut LevelFile> {
        let pages = self.pages.iter_mut().flat_map(|page| {
            let LevelPage { ktx2, exr, validity, .. } = page;
            [Some(ktx2), Some(exr), validity.as_mut()]
        });
        let volume = self.volume.iter_mut().map(|volume| &mut volume.exr);
        let relight = self.relight.iter_mut().map(|relight| &mut relight.file);
        pages.flatten().chain([&mut self.meshes]).chain(volume).chain(relight).chain(&mut self.preview)
    }

    /// Returns all files that this level or the one before has put into the folder.
    pub(super) fn records(&self) -> impl Iterator<Item = &LevelFile> {
        self.files().chain(&self.replaced)
    }

    /// Returns true if both are of one bake, whatever the names of their files.
    pub fn is_same_bake(&self, other: &Self) -> bool {
        let of = |level: &Self| {
            let mut level = level.clone();
            level.files_mut().for_each(|file| file.name.clear());
            Self { replaced: Vec::new(), ..level }
        };
        of(self) == of(other)
    }

    /// Reads the texels of a page as `Rgb9e5`, four bytes each, ready for a texture.
    ///
    /// # Errors
    /// When the file is missing, damaged, or has another size than in `level.ron`.
    pub fn read_texture(&self, files: &(impl LevelFiles + ?Sized), page: usize) -> Result<Vec<u8>, LevelError> {
        let page = &self.pages[page];
        let path = files.path(&page.ktx2);
        let (size, texels) = read_ktx2(&files.read(&page.ktx2)?, &path)?;
        if (size.width, size.height) != (page.width, page.height) {
            return Err(LevelError::damaged(&path, "it has another size than the level says"));
        }
        Ok(texels)
    }

    /// Reads a page in full precision.
    ///
    /// # Errors
    /// When the file is missing, damaged, or has another size than in `level.ron`.
    pub fn read_page(&self, files: &(impl LevelFiles + ?Sized), page: usize) -> Result<Page, LevelError> {
        let validity = self.read_validity(files, page)?;
        let LevelPage { exr, .. } = &self.pages[page];
        let mut page = read_exr(&files.read(exr)?, self.pages[page].size(), &files.path(exr))?;
        if let Some(validity) = validity {
            page.validity = validity.iter().map(|&valid| f32::from(valid) / 255.0).collect();
        }
        Ok(page)
    }

    /// Reads the part of each texel that light can reach, from 0 for none to 255 for all, rows from the top. `None` for
    /// a level without validity.
    ///
    /// # Errors
    /// When the file is missing, damaged, or has another size than in `level.ron`.
    pub fn read_validity(
        &self,
        files: &(impl LevelFiles + ?Sized),
        page: usize,
    ) -> Result<Option<Vec<u8>>, LevelError> {
        let page = &self.pages[page];
        let Some(file) = &page.validity else {
            return Ok(None);
        };
        read_validity(&files.read(file)?, page.size(), &files.path(file)).map(Some)
    }

    /// Reads the irradiance volume; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing, damaged, or has another size than in `level.ron`.
    pub fn read_volume(&self, files: &(impl LevelFiles + ?Sized)) -> Result<Option<Voxels>, LevelError> {
        let Some(LevelVolume { minimum, maximum, count, exr }) = &self.volume else {
            return Ok(None);
        };
        let path = files.path(exr);
        let count = UVec3::from_array(*count);
        let size = Voxels::page_size(count).ok_or_else(|| LevelError::damaged(&path, "it has no voxels"))?;
        let page = read_exr(&files.read(exr)?, size, &path)?;
        let bounds = Aabb { min: Vec3::from_array(*minimum), max: Vec3::from_array(*maximum) };
        Ok(Some(Voxels::from_page(bounds, count, &page)))
    }

    /// Reads the bytes of the precomputed transport; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing, damaged or cannot be read.
    pub fn read_relight<'a>(&self, files: &'a (impl LevelFiles + ?Sized)) -> Result<Option<Cow<'a, [u8]>>, LevelError> {
        self.relight.as_ref().map(|relight| files.read(&relight.file)).transpose()
    }

    /// Reads the unwrapped meshes, in the order of their indices.
    ///
    /// # Errors
    /// When the file is missing or damaged, or lacks a mesh that a surface refers to.
    pub fn read_meshes(&self, files: &(impl LevelFiles + ?Sized)) -> Result<Vec<LevelMesh>, LevelError> {
        let path = files.path(&self.meshes);
        let meshes = LevelMesh::all_from_bytes(&files.read(&self.meshes)?, &path)?;
        match self.surfaces.iter().find(|surface| surface.mesh as usize >= meshes.len()) {
            Some(surface) => Err(LevelError::damaged(&path, format!("the mesh of \"{}\" is missing", surface.key))),
            None => Ok(meshes),
        }
    }

    /// Returns the layout that a scene was baked with. Surfaces that are not in the level have no placement.
    ///
    /// A surface whose key is not in the level gets the placement of one with the same name and mesh. No other surface
    /// of the scene may have that key. This finds nodes that got another parent.
    ///
    /// # Errors
    /// When the file of meshes is missing or damaged, or a mesh in it differs from the scene's.
    pub fn layout(&self, files: &(impl LevelFiles + ?Sized), scene: &Scene) -> Result<Layout, LevelError> {
        let by_key: HashMap<&SurfaceKey, &LevelSurface> =
            self.surfaces.iter().map(|surface| (&surface.key, surface)).collect();
        let mut unwraps = Unwraps { scene, meshes: self.read_meshes(files)?, unwraps: HashMap::new() };
        let mut placements = vec![None; scene.surfaces.len()];
        let mut taken: HashSet<&SurfaceKey> = HashSet::new();
        for id in scene.surface_ids() {
            let Some((&key, &placed)) = by_key.get_key_value(&scene.surface(id).key) else { continue };
            let other =
                || LevelError::OtherMesh { path: files.path(&self.meshes), mesh: scene.mesh_of(id).name.clone() };
            let unwrap = unwraps.of(id, placed).ok_or_else(other)?;
            taken.insert(key);
            placements[id.index()] = Some(Placement { unwrap, page: placed.page, rectangle: placed.rectangle });
        }
        let index = KeyIndex::new(self.surfaces.iter().map(|surface| surface.key.clone()));
        for id in scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Static) {
            if placements[id.index()].is_some() {
                continue;
            }
            let wanted = &scene.surface(id).key;
            for key in index.candidates(wanted).into_iter().filter(|key| key.position() == wanted.position()) {
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
        Ok(Layout { placements, pages, padding: self.padding })
    }
}

/// Unwrapped meshes of a level for the meshes of a scene. Each pair is compared once.
struct Unwraps<'a> {
    scene: &'a Scene,
    meshes: Vec<LevelMesh>,
    unwraps: HashMap<(MeshId, u32), Option<Arc<Unwrap>>>,
}

impl Unwraps<'_> {
    /// Returns the unwrapped mesh of a surface. `None` if the level's is of another mesh.
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
    /// Returns the marks of a folder's `level.ron`; `None` if there is none.
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
