//! Materials of an `.obj` file, with their textures.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Parsed;
use super::images::{self, ColorSpace, Opacity};
use super::mtl::{self, Map, MtlMaterial};
use super::names::Names;
use super::source::{FetchError, Source, describe_uri};
use super::text;
use crate::input;
use crate::scene::{AlphaMode, Material, MaterialId, Problem, Texture, TextureId, TextureRef, Wrap, key};

/// Texture files and their options: of the color, and of the alpha.
type ImageFiles = [Option<(PathBuf, String)>; 2];

/// Collector of materials from the files that `mtllib` lines name.
pub struct Materials<'a> {
    source: &'a Source,
    names: Names,
    parsed: Parsed,
    /// Material files that have been read.
    read: HashSet<PathBuf>,
    /// Names on `mtllib` lines so far.
    asked: HashSet<String>,
    /// Textures by their files. The flag is true for an alpha that is all or nothing; `None` without alpha.
    textures: HashMap<ImageFiles, (TextureId, Option<bool>)>,
}

impl<'a> Materials<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self {
            source,
            names: Names::default(),
            parsed: Parsed::default(),
            read: HashSet::new(),
            asked: HashSet::new(),
            textures: HashMap::new(),
        }
    }

    /// Returns the material that a `usemtl` line names.
    pub fn get(&self, name: &str) -> Option<MaterialId> {
        self.names.get(name)
    }

    /// Adds a material that no line can name.
    pub fn add(&mut self, material: Material) -> MaterialId {
        let materials = &mut self.parsed.scene.materials;
        materials.push(material);
        MaterialId::from_index(materials.len() - 1)
    }

    /// Returns a scene of only the materials and their textures.
    pub fn finish(self) -> Parsed {
        self.parsed
    }

    /// Reads the material files of a `mtllib` line: one name, which may contain blanks, or several.
    pub fn read_files(&mut self, names: &str) {
        if !self.asked.insert(names.to_owned()) || self.read_file(names).is_ok() {
            return;
        }
        for name in text::without_comment(names).split_whitespace() {
            if name != names && !self.asked.insert(name.to_owned()) {
                continue;
            }
            if let Err(reason) = self.read_file(name) {
                let file = key::cap(name).into_owned();
                self.parsed.warnings.push(Problem::MissingMaterials { file, reason });
            }
        }
    }

    fn read_file(&mut self, name: &str) -> Result<(), String> {
        let path = self.source.find(name, None).map_err(|error| error.to_string())?;
        if self.read.contains(&path) {
            return Ok(());
        }
        let what = || format!("'{}'", describe_uri(name));
        let (bytes, loan) =
            self.source.budget.read(&path, input::LARGEST_MATERIALS, what).map_err(|error| error.to_string())?;
        loan.keep();
        let text = text::decode(&bytes).ok_or("it holds bytes that are no text")?;
        let (materials, problems) = mtl::read(&text);
        self.parsed.warnings.extend(problems);
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        self.read.insert(path);
        for entry in materials {
            let name = entry.material.name.clone();
            let material = self.with_images(entry, &folder);
            let id = self.add(material);
            self.names.insert(&name, id);
        }
        Ok(())
    }

    fn with_images(&mut self, entry: MtlMaterial, folder: &Path) -> Material {
        let MtlMaterial { mut material, base_color, emission, opacity } = entry;
        if let Some((texture, is_cut_out)) =
            self.texture(&material.name, [base_color.as_ref(), opacity.as_ref()], folder)
        {
            material.base_color_texture = Some(texture);
            if let Some(is_cut_out) = is_cut_out {
                let is_whole = material.base_color.w >= 1.0;
                material.alpha = if is_cut_out && is_whole { AlphaMode::Mask(0.5) } else { AlphaMode::Blend };
            }
        }
        let emission = self.texture(&material.name, [emission.as_ref(), None], folder);
        material.emission_texture = emission.map(|(texture, _)| texture);
        material
    }

    /// Returns the texture of a color file and an alpha file. The flag is true for an alpha that is all or nothing;
    /// `None` without alpha.
    fn texture(
        &mut self,
        material: &str,
        maps: [Option<&Map>; 2],
        folder: &Path,
    ) -> Option<(TextureRef, Option<bool>)> {
        let images = maps.map(|map| Some((map?, self.source.find(&map?.file, Some(folder)))));
        let key = images.each_ref().map(|image| {
            let (map, Ok(path)) = image.as_ref()? else { return None };
            let options = format!("{:?}", (map.is_clamped, map.base_and_gain, map.channel, map.is_inverted));
            Some((path.clone(), options))
        });
        let transforms = maps.map(|map| map.map(Map::uv_transform));
        let transform = transforms[0].or(transforms[1])?;
        let of = |(texture, is_cut_out)| (TextureRef::new(texture).with_transform(transform), is_cut_out);
        if let Some(known) = self.textures.get(&key) {
            return Some(of(*known));
        }
        if transforms[1].is_some_and(|other| other != transform) {
            self.parsed.warnings.push(Problem::IgnoredTexture {
                material: material.to_owned(),
                texture: "the place of map_d".to_owned(),
                reason: "it lies as map_Kd does; give both the same -s and -o".to_owned(),
            });
        }
        let mut is_whole = true;
        let mut decode = |image: Option<(&Map, Result<PathBuf, FetchError>)>| {
            let (map, path) = image?;
            let decoded = path.map_err(|error| error.to_string()).and_then(|path| decoded(map, &path, self.source));
            if let Err(reason) = &decoded {
                is_whole = false;
                self.parsed.warnings.push(Problem::MissingTexture {
                    material: material.to_owned(),
                    texture: key::cap(&map.file).into_owned(),
                    reason: reason.clone(),
                });
            }
            decoded.ok()
        };
        let [color, mask] = images.map(&mut decode);
        let is_same = || key[0].as_ref().map(|key| &key.0) == key[1].as_ref().map(|key| &key.0);
        let (texture, is_cut_out) = match (color, mask, maps[1]) {
            // The file names the same texture for color and alpha, but it has no alpha channel: its colors are not an
            // opacity.
            (Some(color), Some(mask), _) if is_same() && !images::has_alpha(&mask) => (color, None),
            (color, Some(image), Some(&Map { channel, is_inverted, .. })) => {
                let opacity = Opacity { image: &image, channel, is_inverted };
                let bytes = images::bytes_of_opacity(color.as_ref(), &image);
                // The budget reports the overrun, and the whole file is refused.
                let _meanwhile = self.source.budget.lend(bytes, || format!("'{}'", key::cap(&image.name))).ok()?;
                let (texture, is_cut_out) = images::with_opacity(color.as_ref(), &opacity);
                (texture, Some(is_cut_out))
            }
            (color, ..) => (color?, None),
        };
        let textures = &mut self.parsed.scene.textures;
        textures.push(Arc::new(texture));
        let made = (TextureId::from_index(textures.len() - 1), is_cut_out);
        if is_whole {
            self.textures.insert(key, made);
        }
        Some(of(made))
    }
}

fn decoded(map: &Map, path: &Path, source: &Source) -> Result<Texture, String> {
    let what = || format!("'{}'", key::cap(&map.file));
    let (bytes, _loan) = source.budget.read(path, input::LARGEST_IMAGE, what).map_err(|error| error.to_string())?;
    let wrap = if map.is_clamped { Wrap::Clamp } else { Wrap::Repeat };
    let name = map.file.replace('\\', "/");
    let image = images::decode_within(&source.budget, &name, &bytes, ColorSpace::Srgb, [wrap; 2])?;
    let is_changed = map.base_and_gain != [0.0, 1.0];
    Ok(if is_changed { images::with_base_and_gain(image, map.base_and_gain) } else { image })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{Vec2, Vec4};
    use image::{DynamicImage, Rgb, RgbImage, Rgba, RgbaImage};

    /// Texture formats that MTL files name.
    const KINDS: [&str; 5] = ["png", "tga", "bmp", "gif", "tif"];
    const RED: Vec4 = Vec4::new(1.0, 0.0, 0.0, 1.0);
    const GREEN: Vec4 = Vec4::new(0.0, 1.0, 0.0, 1.0);

    /// Reads a material file in a folder `sub`. Beside it lie a red texture, one that is black on the left, and one of
    /// each format that is red on the left and green on the right.
    fn read(mtl: &str) -> Parsed {
        let directory = tempfile::tempdir().unwrap();
        let sub = directory.path().join("sub");
        std::fs::create_dir(&sub).unwrap();
        std::fs::write(sub.join("a.mtl"), mtl).unwrap();
        RgbImage::from_pixel(2, 1, Rgb([255, 0, 0])).save(sub.join("red.bmp")).unwrap();
        let mask = RgbImage::from_fn(2, 1, |x, _| Rgb([255 * x as u8; 3]));
        mask.save(directory.path().join("mask.png")).unwrap();
        let halves = RgbaImage::from_fn(2, 1, |x, _| Rgba(if x == 0 { [255, 0, 0, 255] } else { [0, 255, 0, 255] }));
        for kind in KINDS {
            DynamicImage::from(halves.clone()).save(sub.join(format!("halves.{kind}"))).unwrap();
        }
        let source = Source::of(&directory.path().join("room.obj"));
        let mut materials = Materials::new(&source);
        materials.read_files("sub/a.mtl");
        materials.finish()
    }

    #[test]
    fn pictures_beside_the_material_file_and_beside_the_scene_are_found_and_shared() {
        let parsed = read("newmtl a\nmap_Kd red.bmp\nnewmtl b\nmap_Kd C:\\maps\\RED.BMP\nnewmtl c\nmap_Kd mask.png\n");
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        let textures: Vec<usize> = parsed
            .scene
            .materials
            .iter()
            .map(|material| material.base_color_texture.unwrap().texture.index())
            .collect();
        assert_eq!(textures, [0, 0, 1]);
    }

    #[test]
    fn map_d_cuts_holes_where_it_is_black() {
        for (mtl, color) in [("map_Kd red.bmp\n", [1.0, 0.0, 0.0]), ("", [1.0; 3])] {
            let parsed = read(&format!("newmtl a\n{mtl}map_d mask.png\n"));
            assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
            let texture = &parsed.scene.textures[0];
            assert_eq!(parsed.scene.materials[0].alpha, AlphaMode::Mask(0.5));
            assert_eq!((texture.texel(0, 0).w, texture.texel(1, 0).w), (0.0, 1.0));
            assert_eq!(texture.texel(1, 0).truncate().to_array(), color);
        }
        let twice = read("newmtl a\nmap_Kd red.bmp\nmap_d red.bmp\n");
        assert_eq!(twice.scene.materials[0].alpha, AlphaMode::Opaque);
    }

    #[test]
    fn tiles_and_edges_are_as_the_options_say_and_lost_pictures_are_named() {
        let parsed = read("newmtl a\nmap_Kd -s 4 2 1 -clamp on red.bmp\nmap_Ke lost.png\n");
        let material = &parsed.scene.materials[0];
        let transform = material.base_color_texture.unwrap().transform;
        assert_eq!(transform.matrix2, glam::Mat2::from_diagonal(glam::Vec2::new(4.0, 2.0)));
        assert_eq!(parsed.scene.textures[0].wrap, [Wrap::Clamp; 2]);
        let lost =
            |problem: &Problem| matches!(problem, Problem::MissingTexture { texture, .. } if texture == "lost.png");
        assert!(parsed.warnings.iter().any(lost), "{:?}", parsed.warnings);
    }

    #[test]
    fn pictures_of_all_kinds_give_a_material_its_color() {
        for kind in KINDS {
            let parsed = read(&format!("newmtl a\nKd 1 1 1\nmap_Kd halves.{kind}\n"));
            assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
            let texture = &parsed.scene.textures[0];
            assert_eq!((texture.texel(0, 0), texture.texel(1, 0)), (RED, GREEN), "{kind}");
            assert_eq!(parsed.scene.materials[0].base_color, Vec4::ONE);
        }
    }

    #[test]
    fn a_picture_of_scale_four_is_there_four_times_along_each_axis() {
        let parsed = read("newmtl a\nKd 1 1 1\nmap_Kd -s 4 4 1 halves.png\n");
        let (texture, place) = (&parsed.scene.textures[0], parsed.scene.materials[0].base_color_texture.unwrap());
        for tile in 0..16 {
            let corner = Vec2::new((tile % 4) as f32, (tile / 4) as f32);
            for (x, expected) in [(0.25, RED), (0.75, GREEN)] {
                let uv = (corner + Vec2::new(x, 0.5)) / 4.0;
                let found = texture.sample(place.transform.transform_point2(uv));
                assert!(found.abs_diff_eq(expected, 1e-4), "{uv}: {found}");
            }
        }
    }
}
