//! Atomic writing of a baked level.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::level::FORMAT;
use super::names::{
    MESHES_FILE, PREVIEW_FILE, RELIGHT_FILE, VOLUME_FILE, page_file, spare_name, texture_file, validity_file,
};
use super::staging::{Names, Staging};
use super::standing::Standing;
use super::{
    LEVEL_FILE, Level, LevelError, LevelFile, LevelLight, LevelMesh, LevelPage, LevelRelight, LevelSurface,
    LevelVolume, write_exr, write_ktx2, write_validity,
};
use crate::lightmap::{Layout, Page, Unwrap, Voxels};
use crate::output::Overwrite;
use crate::scene::{Light, Scene, hash_light, hash_materials, hash_transform};

/// Content of a new level.
#[derive(Clone, Copy, Debug)]
pub struct LevelContent<'a> {
    /// Hash of the baked scene.
    pub content_hash: &'a str,
    /// Settings of the bake.
    pub settings: &'a serde_json::Value,
    /// Estimated relative error of the whole level: the RMS error of irradiance over its mean.
    pub error: f32,
    /// Scene that was baked.
    pub scene: &'a Scene,
    /// Layout of the texels.
    pub layout: &'a Layout,
    /// Pages of the layout.
    pub pages: &'a [Page],
    /// Irradiance volume, if there is one.
    pub volume: Option<&'a Voxels>,
    /// Precomputed transport for lights that change, if there is one: the bytes of its file, and its relative error
    /// against the baked indirect light.
    pub relight: Option<(&'a [u8], f32)>,
    /// Bytes of the preview picture, if there is one.
    pub preview: Option<&'a [u8]>,
}

/// Result of writing a level.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The level.
    pub level: Level,
    /// Number of texels that were clamped to the textures' range.
    pub clamped: usize,
}

impl Level {
    /// Writes a level into a folder atomically. At any moment the folder holds the old level or the new one. Files that
    /// already have the new content are left unchanged.
    ///
    /// # Errors
    /// When the folder cannot be written, the disk is full, or a file in the way may not be replaced. Also when the
    /// level would be refused when read.
    pub fn write(folder: &Path, content: LevelContent, overwrite: Overwrite) -> Result<Written, LevelError> {
        let standing = Standing::inspect(folder, overwrite)?;
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
        let preview = content.preview.map(|bytes| writer.add(PREVIEW_FILE, bytes)).transpose()?;
        let (meshes, surfaces) = writer.meshes(&content)?;
        let staging = writer.staging;
        let light = |light: &Light| LevelLight {
            key: light.name.clone(),
            place: Some(light.kind.place()),
            light: hash_light(light),
        };
        let level = Self {
            format: FORMAT,
            content_hash: content.content_hash.to_owned(),
            settings: content.settings.clone(),
            error: content.error,
            pages,
            padding: content.layout.padding,
            meshes,
            surfaces,
            lights: content.scene.lights.iter().map(light).collect(),
            has_sky: !content.scene.sky.is_dark(),
            volume,
            relight,
            preview,
            replaced: Vec::new(),
        };
        level.check().map_err(LevelError::Impossible)?;
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

/// Writer of the parts of a level.
struct Writer<'a> {
    staging: Staging,
    standing: &'a Standing,
    folder: &'a Path,
}

impl Writer<'_> {
    fn add(&mut self, name: &str, content: &[u8]) -> Result<LevelFile, LevelError> {
        let file = LevelFile::new(name, content);
        if !self.standing.has(&file) {
            self.staging.add(name, spare_name(name, &file.blake3), content)?;
        }
        Ok(file)
    }

    fn volume(&mut self, voxels: &Voxels) -> Result<Option<LevelVolume>, LevelError> {
        let page = voxels.page().ok_or_else(|| {
            LevelError::Impossible(format!("the volume has {} voxels, more than a picture holds", voxels.count))
        })?;
        let content = write_exr(&page, &self.folder.join(VOLUME_FILE))?;
        Ok(Some(LevelVolume {
            minimum: voxels.bounds.min.to_array(),
            maximum: voxels.bounds.max.to_array(),
            count: voxels.count.to_array(),
            exr: self.add(VOLUME_FILE, &content)?,
        }))
    }

    /// Writes one file with all meshes, which surfaces may share. Returns it with the entries of the surfaces.
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
                to_world: Some(surface.to_world.to_cols_array()),
            });
        }
        let parts: Vec<Vec<u8>> =
            meshes.par_iter().map(|(unwrap, source)| LevelMesh::new(unwrap, source).to_bytes()).collect();
        Ok((self.add(MESHES_FILE, &parts.concat())?, surfaces))
    }
}
