//! A baked level as a whole.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{UVec3, Vec3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::staging::Staging;
use super::{LevelError, LevelMesh, read_exr, read_ktx2, read_validity, write_exr, write_ktx2, write_validity};
use crate::geometry::{Aabb, SurfaceId};
use crate::lightmap::{Layout, Page, PageSize, Placement, Rectangle, Unwrap, Voxels};
use crate::scene::{KeyIndex, MeshId, Role, Scene, SurfaceKey};

/// The file that makes a folder a level.
pub const LEVEL_FILE: &str = "level.ron";

const VOLUME_FILE: &str = "volume.exr";

const RELIGHT_FILE: &str = "relight.bin";

const FORMAT: u32 = 1;
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
    /// The pages.
    pub pages: Vec<LevelPage>,
    /// The surfaces that have a rectangle.
    pub surfaces: Vec<LevelSurface>,
    /// The irradiance volume, if there is one.
    #[serde(default)]
    pub volume: Option<LevelVolume>,
    /// The precomputed transport for lights that change, beside `level.ron`, if there is one.
    #[serde(default)]
    pub relight: Option<String>,
}

/// One page's size and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelPage {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The texture, beside `level.ron`.
    pub ktx2: String,
    /// The same with full precision.
    pub exr: String,
    /// How much of each texel light can reach; levels of earlier versions do not say.
    #[serde(default)]
    pub validity: Option<String>,
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
    /// Its unwrapped mesh, beside `level.ron`; see [`LevelMesh`].
    pub mesh: String,
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
    /// Its voxels, beside `level.ron`.
    pub exr: String,
}

/// What becomes a level.
#[derive(Clone, Copy, Debug)]
pub struct LevelContent<'a> {
    /// Hash of what was baked.
    pub content_hash: &'a str,
    /// The settings of the bake.
    pub settings: &'a serde_json::Value,
    /// What was baked.
    pub scene: &'a Scene,
    /// Where its texels lie.
    pub layout: &'a Layout,
    /// The layout's pages.
    pub pages: &'a [Page],
    /// The irradiance volume, if there is one.
    pub volume: Option<&'a Voxels>,
    /// The precomputed transport for lights that change, as the bytes of its file, if there is one.
    pub relight: Option<&'a [u8]>,
}

/// What writing a level did.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The level.
    pub level: Level,
    /// Texels whose value did not fit the textures' range and was clamped.
    pub clamped: usize,
}

impl Level {
    /// Writes a level into a folder: whole or not at all. A level that was there before is replaced in one step: whenever
    /// the process ends, the folder holds the old level or the new one.
    ///
    /// # Errors
    /// When the folder cannot be written or the disk is full.
    pub fn write(folder: &Path, content: LevelContent) -> Result<Written, LevelError> {
        let mut staging = Staging::new(folder)?;
        let mut clamped = 0;
        let mut pages = Vec::new();
        for (number, page) in content.pages.iter().enumerate() {
            let (ktx2, exr) = (format!("page_{number}.ktx2"), format!("page_{number}.exr"));
            let validity = format!("validity_{number}.png");
            let (bytes, out_of_range) = write_ktx2(page);
            clamped += out_of_range;
            staging.add(&ktx2, &bytes)?;
            staging.add(&exr, &write_exr(page, &folder.join(&exr))?)?;
            staging.add(&validity, &write_validity(page, &folder.join(&validity))?)?;
            pages.push(LevelPage { width: page.width, height: page.height, ktx2, exr, validity: Some(validity) });
        }
        let volume = match content.volume {
            Some(voxels) => stage_volume(&mut staging, voxels, folder)?,
            None => None,
        };
        if let Some(bytes) = content.relight {
            staging.add(RELIGHT_FILE, bytes)?;
        }
        let surfaces = stage_meshes(&mut staging, &content)?;
        let level = Self {
            format: FORMAT,
            content_hash: content.content_hash.to_owned(),
            settings: content.settings.clone(),
            pages,
            surfaces,
            volume,
            relight: content.relight.map(|_| RELIGHT_FILE.to_owned()),
        };
        let hidden = level.renamed(|name| staging.hidden_name(name).unwrap_or_default());
        let (first, second) = (hidden.text(folder)?, level.text(folder)?);
        let previous = Self::read(folder).ok();
        let before = previous.iter().flat_map(Self::files);
        let obsolete = before.filter(|name| !level.files().any(|file| file == *name)).map(str::to_owned).collect();
        staging.publish(LEVEL_FILE, &first, &second, obsolete)?;
        Ok(Written { level, clamped })
    }

    /// The same with other names for its files.
    fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let mut level = self.clone();
        for page in &mut level.pages {
            page.ktx2 = name(&page.ktx2);
            page.exr = name(&page.exr);
            page.validity.iter_mut().for_each(|file| *file = name(file));
        }
        level.volume.iter_mut().for_each(|volume| volume.exr = name(&volume.exr));
        level.relight.iter_mut().for_each(|file| *file = name(file));
        level.surfaces.iter_mut().for_each(|surface| surface.mesh = name(&surface.mesh));
        level
    }

    fn text(&self, folder: &Path) -> Result<String, LevelError> {
        ron::ser::to_string_pretty(self, ron::ser::PrettyConfig::new().depth_limit(3))
            .map_err(|fault| LevelError::write(&folder.join(LEVEL_FILE))(std::io::Error::other(fault)))
    }

    /// Reads and checks a folder's `level.ron`.
    ///
    /// # Errors
    /// When it is missing, from another version, or says something impossible.
    pub fn read(folder: &Path) -> Result<Self, LevelError> {
        let path = folder.join(LEVEL_FILE);
        let mut text = String::new();
        let file = fs::File::open(&path).map_err(LevelError::read(&path))?;
        file.take(LONGEST).read_to_string(&mut text).map_err(LevelError::read(&path))?;
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
        let level: Self = ron::from_str(text).map_err(|fault| LevelError::damaged(path, fault))?;
        level.check().map_err(|fault| LevelError::damaged(path, fault))?;
        Ok(level)
    }

    fn check(&self) -> Result<(), String> {
        if let Some(name) = self.files().find(|name| !is_plain(name)) {
            return Err(format!("\"{name}\" is no name of a file beside it"));
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

    /// Names of all files beside `level.ron`; meshes that several surfaces share come several times.
    fn files(&self) -> impl Iterator<Item = &str> {
        let pages = self.pages.iter().flat_map(|page| [Some(&page.ktx2), Some(&page.exr), page.validity.as_ref()]);
        let pages = pages.flatten().map(String::as_str);
        let volume = self.volume.iter().map(|volume| volume.exr.as_str());
        let relight = self.relight.iter().map(String::as_str);
        pages.chain(volume).chain(relight).chain(self.surfaces.iter().map(|surface| surface.mesh.as_str()))
    }

    /// The texels of a page as `Rgb9e5`, four bytes each, ready for a texture.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_texture(&self, folder: &Path, page: usize) -> Result<Vec<u8>, LevelError> {
        let page = &self.pages[page];
        let path = folder.join(&page.ktx2);
        let (size, texels) = read_ktx2(&read_file(&path)?, &path)?;
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
        let path = folder.join(&self.pages[page].exr);
        let mut page = read_exr(&read_file(&path)?, self.pages[page].size(), &path)?;
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
        let Some(name) = &page.validity else {
            return Ok(None);
        };
        let path = folder.join(name);
        read_validity(&read_file(&path)?, page.size(), &path).map(Some)
    }

    /// The irradiance volume; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing, damaged, or of another size than `level.ron` says.
    pub fn read_volume(&self, folder: &Path) -> Result<Option<Voxels>, LevelError> {
        let Some(LevelVolume { minimum, maximum, count, exr }) = &self.volume else {
            return Ok(None);
        };
        let path = folder.join(exr);
        let count = UVec3::from_array(*count);
        let size = Voxels::page_size(count).ok_or_else(|| LevelError::damaged(&path, "it has no voxels"))?;
        let page = read_exr(&read_file(&path)?, size, &path)?;
        let bounds = Aabb { min: Vec3::from_array(*minimum), max: Vec3::from_array(*maximum) };
        Ok(Some(Voxels::from_page(bounds, count, &page)))
    }

    /// The bytes of the precomputed transport, and where they lie; `None` for a level without one.
    ///
    /// # Errors
    /// When the file is missing or cannot be read.
    pub fn read_relight(&self, folder: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, LevelError> {
        let Some(name) = &self.relight else {
            return Ok(None);
        };
        let path = folder.join(name);
        let bytes = read_file(&path)?;
        Ok(Some((path, bytes)))
    }

    /// The unwrapped mesh of a surface.
    ///
    /// # Errors
    /// When the file is missing or damaged.
    pub fn read_mesh(folder: &Path, surface: &LevelSurface) -> Result<LevelMesh, LevelError> {
        let path = folder.join(&surface.mesh);
        LevelMesh::from_bytes(&read_file(&path)?, &path)
    }

    /// The layout that a scene was baked with; surfaces that the level does not know have no place in it.
    ///
    /// A surface without a key of the level takes the place of one of the same name and the same mesh that no key of
    /// the scene means: a node with another parent.
    ///
    /// # Errors
    /// When a mesh file is missing or damaged, or belongs to another mesh than the scene's.
    pub fn layout(&self, folder: &Path, scene: &Scene) -> Result<Layout, LevelError> {
        let by_key: HashMap<&SurfaceKey, &LevelSurface> =
            self.surfaces.iter().map(|surface| (&surface.key, surface)).collect();
        let mut unwraps = Unwraps { folder, scene, meshes: HashMap::new(), unwraps: HashMap::new() };
        let mut placements = vec![None; scene.surfaces.len()];
        let mut taken: HashSet<&SurfaceKey> = HashSet::new();
        for id in scene.surface_ids() {
            let Some((&key, &placed)) = by_key.get_key_value(&scene.surface(id).key) else { continue };
            let other =
                || LevelError::OtherMesh { path: folder.join(&placed.mesh), mesh: scene.mesh_of(id).name.clone() };
            let unwrap = unwraps.of(id, placed)?.ok_or_else(other)?;
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
                    && let Some(unwrap) = unwraps.of(id, placed)?
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

/// Unwrapped meshes of a level for the meshes of a scene, each read and compared once.
struct Unwraps<'a> {
    folder: &'a Path,
    scene: &'a Scene,
    meshes: HashMap<&'a str, LevelMesh>,
    unwraps: HashMap<(MeshId, &'a str), Option<Arc<Unwrap>>>,
}

impl<'a> Unwraps<'a> {
    /// The unwrapped mesh of a surface; `None` where the level's is of another mesh.
    fn of(&mut self, id: SurfaceId, placed: &'a LevelSurface) -> Result<Option<Arc<Unwrap>>, LevelError> {
        let (mesh, file) = (self.scene.surface(id).mesh, placed.mesh.as_str());
        if let Some(unwrap) = self.unwraps.get(&(mesh, file)) {
            return Ok(unwrap.clone());
        }
        let read = match self.meshes.entry(file) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => place.insert(Level::read_mesh(self.folder, placed)?),
        };
        let unwrap = read.unwrap(self.scene.mesh_of(id)).map(Arc::new);
        self.unwraps.insert((mesh, file), unwrap.clone());
        Ok(unwrap)
    }
}

/// Stages the irradiance volume, and says where it stands.
fn stage_volume(staging: &mut Staging, voxels: &Voxels, folder: &Path) -> Result<Option<LevelVolume>, LevelError> {
    let Some(page) = voxels.page() else {
        return Ok(None);
    };
    staging.add(VOLUME_FILE, &write_exr(&page, &folder.join(VOLUME_FILE))?)?;
    Ok(Some(LevelVolume {
        minimum: voxels.bounds.min.to_array(),
        maximum: voxels.bounds.max.to_array(),
        count: voxels.count.to_array(),
        exr: VOLUME_FILE.to_owned(),
    }))
}

/// Stages one file for each mesh that surfaces share, and says what they show.
fn stage_meshes(staging: &mut Staging, content: &LevelContent) -> Result<Vec<LevelSurface>, LevelError> {
    let placed = || {
        let ids = content.scene.surface_ids();
        ids.filter_map(|id| Some((id, content.layout.placement(id)?)))
    };
    let mut names: HashMap<*const Unwrap, String> = HashMap::new();
    let mut meshes = Vec::new();
    for (id, placement) in placed() {
        names.entry(Arc::as_ptr(&placement.unwrap)).or_insert_with(|| {
            let name = format!("mesh_{}.uv1", meshes.len());
            meshes.push((name.clone(), &placement.unwrap, content.scene.mesh_of(id)));
            name
        });
    }
    let files: Vec<Vec<u8>> =
        meshes.par_iter().map(|(_, unwrap, source)| LevelMesh::new(unwrap, source).to_bytes()).collect();
    for ((name, ..), bytes) in meshes.iter().zip(files) {
        staging.add(name, &bytes)?;
    }
    Ok(placed()
        .map(|(id, placement)| LevelSurface {
            key: content.scene.surface(id).key.clone(),
            page: placement.page,
            rectangle: placement.rectangle,
            mesh: names[&Arc::as_ptr(&placement.unwrap)].clone(),
        })
        .collect())
}

fn read_file(path: &Path) -> Result<Vec<u8>, LevelError> {
    fs::read(path).map_err(LevelError::read(path))
}

/// True for a name that cannot lead out of the folder.
fn is_plain(name: &str) -> bool {
    let mut parts = PathBuf::from(name).components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    !name.contains(['/', '\\', ':', '\0'])
        && parts.pop().is_some_and(|part| part == name)
        && name != ".."
        && name != "."
}
