//! Writing a baked level: whole or not at all.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::level::FORMAT;
use super::names::{MESHES_FILE, RELIGHT_FILE, VOLUME_FILE, page_file, texture_file, validity_file};
use super::staging::{Names, Staging};
use super::standing::Standing;
use super::{
    LEVEL_FILE, Level, LevelError, LevelFile, LevelLight, LevelMesh, LevelPage, LevelRelight, LevelSurface,
    LevelVolume, write_exr, write_ktx2, write_validity,
};
use crate::lightmap::{Layout, Page, Unwrap, Voxels};
use crate::output::Overwrite;
use crate::scene::{Light, Scene, hash_light, hash_materials, hash_transform};

/// The content of a new level.
#[derive(Clone, Copy, Debug)]
pub struct LevelContent<'a> {
    /// Hash of what was baked.
    pub content_hash: &'a str,
    /// The settings of the bake.
    pub settings: &'a serde_json::Value,
    /// The estimated error of the whole level, relative to its mean light.
    pub error: f32,
    /// The scene that was baked.
    pub scene: &'a Scene,
    /// The places of its texels.
    pub layout: &'a Layout,
    /// The layout's pages.
    pub pages: &'a [Page],
    /// The irradiance volume, if there is one.
    pub volume: Option<&'a Voxels>,
    /// The precomputed transport for lights that change, if there is one: the bytes of its file, and how far the light
    /// that it finds is from the baked indirect light.
    pub relight: Option<(&'a [u8], f32)>,
}

/// The outcome of writing a level.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The level.
    pub level: Level,
    /// Texels whose value did not fit the textures' range and was clamped.
    pub clamped: usize,
}

impl Level {
    /// Writes a level into a folder: whole or not at all. A level that was there before is replaced in one step: whenever
    /// the process ends, the folder holds the old level or the new one. A file that is already there as it is to be is
    /// left as it is.
    ///
    /// # Errors
    /// When the folder cannot be written, the disk is full, or a file is in the way that may not be replaced.
    pub fn write(folder: &Path, content: LevelContent, overwrite: Overwrite) -> Result<Written, LevelError> {
        let standing = Standing::look(folder, overwrite)?;
        let mut writer = Writer { staging: Staging::new(folder)?, standing: &standing, folder };
        let mut clamped = 0;
        let mut pages = Vec::new();
        for (number, page) in content.pages.iter().enumerate() {
            let (texture, out_of_range) = write_ktx2(page);
            clamped += out_of_range;
            let (exr, validity) = (page_file(number), validity_file(number));
            pages.push(LevelPage {
                width: page.width,
                height: page.height,
                ktx2: writer.add(&texture_file(number), &texture)?,
                exr: writer.add(&exr, &write_exr(page, &folder.join(&exr))?)?,
                validity: Some(writer.add(&validity, &write_validity(page, &folder.join(&validity))?)?),
            });
        }
        let volume = content.volume.map_or(Ok(None), |voxels| writer.volume(voxels))?;
        let relight = match content.relight {
            Some((bytes, error)) => Some(LevelRelight { file: writer.add(RELIGHT_FILE, bytes)?, error }),
            None => None,
        };
        let (meshes, surfaces) = writer.meshes(&content)?;
        let staging = writer.staging;
        let light = |light: &Light| LevelLight { key: light.name.clone(), light: hash_light(light) };
        let level = Self {
            format: FORMAT,
            content_hash: content.content_hash.to_owned(),
            settings: content.settings.clone(),
            error: content.error,
            pages,
            meshes,
            surfaces,
            lights: content.scene.lights.iter().map(light).collect(),
            volume,
            relight,
            replaced: Vec::new(),
        };
        let is_obsolete = |file: &&LevelFile| !level.files().any(|kept| kept == *file);
        let obsolete: Vec<&LevelFile> = standing.own.iter().filter(is_obsolete).collect();
        let of_names = |names: &Names| {
            let mut level = level.clone();
            level.files_mut().for_each(|file| file.name = names.of(&file.name).to_owned());
            let is_left = |file: &&&LevelFile| names.is_left(&file.name);
            level.replaced = obsolete.iter().filter(is_left).map(|&file| file.clone()).collect();
            level
        };
        let unwritable = |fault| LevelError::write(&folder.join(LEVEL_FILE))(std::io::Error::other(fault));
        let names = obsolete.iter().map(|file| &file.name).chain(&standing.others).cloned().collect();
        let names = staging.publish(LEVEL_FILE, names, |names| of_names(names).text().map_err(unwritable))?;
        Ok(Written { level: of_names(&names), clamped })
    }
}

/// Stages what a level consists of.
struct Writer<'a> {
    staging: Staging,
    standing: &'a Standing,
    folder: &'a Path,
}

impl Writer<'_> {
    fn add(&mut self, name: &str, content: &[u8]) -> Result<LevelFile, LevelError> {
        let file = LevelFile::new(name, content);
        if !self.standing.has(&file) {
            self.staging.add(name, content)?;
        }
        Ok(file)
    }

    fn volume(&mut self, voxels: &Voxels) -> Result<Option<LevelVolume>, LevelError> {
        let Some(page) = voxels.page() else {
            return Ok(None);
        };
        let content = write_exr(&page, &self.folder.join(VOLUME_FILE))?;
        Ok(Some(LevelVolume {
            minimum: voxels.bounds.min.to_array(),
            maximum: voxels.bounds.max.to_array(),
            count: voxels.count.to_array(),
            exr: self.add(VOLUME_FILE, &content)?,
        }))
    }

    /// One file of all meshes, each of which surfaces may share, and what surfaces show.
    fn meshes(&mut self, content: &LevelContent) -> Result<(LevelFile, Vec<LevelSurface>), LevelError> {
        let LevelContent { scene, layout, .. } = content;
        let mut numbers: HashMap<*const Unwrap, u32> = HashMap::new();
        let (mut meshes, mut surfaces) = (Vec::new(), Vec::new());
        let materials = hash_materials(scene);
        for id in scene.surface_ids() {
            let Some(placement) = layout.placement(id) else { continue };
            let mesh = *numbers.entry(Arc::as_ptr(&placement.unwrap)).or_insert_with(|| {
                meshes.push((&placement.unwrap, scene.mesh_of(id)));
                meshes.len() as u32 - 1
            });
            let surface = scene.surface(id);
            surfaces.push(LevelSurface {
                key: surface.key.clone(),
                page: placement.page,
                rectangle: placement.rectangle,
                mesh,
                material: materials[surface.material.index()],
                transform: hash_transform(&surface.to_world),
            });
        }
        let parts: Vec<Vec<u8>> =
            meshes.par_iter().map(|(unwrap, source)| LevelMesh::new(unwrap, source).to_bytes()).collect();
        Ok((self.add(MESHES_FILE, &parts.concat())?, surfaces))
    }
}
