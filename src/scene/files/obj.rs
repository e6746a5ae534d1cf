//! Wavefront OBJ (`004` item 1): all four face forms, negative indices, polygons, and `.mtl` materials.
//!
//! Each object or group becomes a surface for each material in it. Polygons are cut into fans. Fronts are
//! counter-clockwise and single-sided, as the format knows no other way. Faces without a material are light grey.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::mtl::{self, DEFAULT_REFLECTANCE, MtlMaterial};
use super::pictures::{self, ColorSpace};
use super::source::Source;
use super::{Loaded, SceneError};
use crate::scene::{
    Material, MaterialId, MeshData, MeshId, Problem, Scene, Surface, SurfaceKey, TextureId, TextureRef, Wrap,
};

/// Reads an `.obj` file's bytes.
pub fn read(bytes: &[u8], source: &Source) -> Result<Loaded, SceneError> {
    if bytes.contains(&0) {
        return Err(SceneError::Malformed {
            file: source.name.clone(),
            reason: "it holds bytes that are no text".to_owned(),
        });
    }
    let text = String::from_utf8_lossy(bytes).replace("\\\r\n", " ").replace("\\\n", " ");
    let mut reader = Reader::new(source);
    for (number, line) in text.lines().enumerate() {
        reader.read_line(number + 1, line);
    }
    Ok(reader.finish())
}

/// One corner of a face: indices of position, texture coordinate and normal.
type Corner = (usize, Option<usize>, Option<usize>);

/// The faces of one object that share a material.
struct Group {
    object: String,
    /// How many groups the object had before this one.
    number: usize,
    material: MaterialId,
    mesh: MeshData,
    vertices: HashMap<Corner, u32>,
    has_uv: bool,
    has_normals: bool,
}

struct Reader<'a> {
    source: &'a Source,
    positions: Vec<Vec3>,
    uv: Vec<Vec2>,
    normals: Vec<Vec3>,
    groups: Vec<Group>,
    group_of: HashMap<(String, MaterialId), usize>,
    groups_in: HashMap<String, usize>,
    object: String,
    material: Option<MaterialId>,
    material_of: HashMap<String, MaterialId>,
    loaded: Loaded,
    /// Faults by kind: the first line, and how many more.
    faults: Vec<(&'static str, usize, usize)>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            positions: Vec::new(),
            uv: Vec::new(),
            normals: Vec::new(),
            groups: Vec::new(),
            group_of: HashMap::new(),
            groups_in: HashMap::new(),
            object: "object".to_owned(),
            material: None,
            material_of: HashMap::new(),
            loaded: Loaded::default(),
            faults: Vec::new(),
        }
    }

    fn read_line(&mut self, number: usize, line: &str) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let mut result = Ok(());
        match keyword {
            "v" => self.positions.push(Vec3::from_array(numbers(rest))),
            "vn" => self.normals.push(Vec3::from_array(numbers(rest))),
            "vt" => {
                let [u, v] = numbers(rest);
                // The format counts v from the bottom.
                self.uv.push(Vec2::new(u, 1.0 - v));
            }
            "f" => result = self.read_face(rest),
            "o" | "g" => self.object = if rest.is_empty() { "object".to_owned() } else { rest.to_owned() },
            "usemtl" => {
                self.material = self.material_of.get(rest).copied();
                if self.material.is_none() {
                    result = Err("an unknown material is used; light grey is used instead");
                }
            }
            "mtllib" => self.read_materials(rest),
            _ => {}
        }
        if let Err(fault) = result {
            match self.faults.iter_mut().find(|(known, ..)| *known == fault) {
                Some((_, _, more)) => *more += 1,
                None => self.faults.push((fault, number, 0)),
            }
        }
    }

    fn read_face(&mut self, rest: &str) -> Result<(), &'static str> {
        let mut corners: Vec<Corner> = Vec::with_capacity(4);
        for word in rest.split_whitespace() {
            corners.push(self.corner(word)?);
        }
        if corners.len() < 3 {
            return Err("a face has fewer than three corners and is left out");
        }
        let group = self.current_group();
        let (positions, uv, normals) = (&self.positions, &self.uv, &self.normals);
        let group = &mut self.groups[group];
        let vertices: Vec<u32> = corners
            .into_iter()
            .map(|corner| {
                *group.vertices.entry(corner).or_insert_with(|| {
                    let (position, coordinate, normal) = corner;
                    group.has_uv |= coordinate.is_some();
                    group.has_normals |= normal.is_some();
                    let mesh = &mut group.mesh;
                    mesh.positions.push(positions[position]);
                    mesh.uv0.push(coordinate.map_or(Vec2::ZERO, |index| uv[index]));
                    mesh.normals.push(normal.map_or(Vec3::ZERO, |index| normals[index]));
                    mesh.positions.len() as u32 - 1
                })
            })
            .collect();
        group.mesh.triangles.extend(vertices[1..].windows(2).map(|edge| [vertices[0], edge[0], edge[1]]));
        Ok(())
    }

    /// `v`, `v/vt`, `v/vt/vn` or `v//vn`.
    fn corner(&self, word: &str) -> Result<Corner, &'static str> {
        let mut parts = word.split('/');
        let position = index(parts.next().unwrap_or_default(), self.positions.len())?;
        let mut optional = |length| match parts.next() {
            None | Some("") => Ok(None),
            Some(part) => index(part, length).map(Some),
        };
        let (coordinate, normal) = (optional(self.uv.len())?, optional(self.normals.len())?);
        let position = position.ok_or("a face refers to a vertex that is not there and is left out")?;
        Ok((position, coordinate.flatten(), normal.flatten()))
    }

    fn current_group(&mut self) -> usize {
        let material = self.material.unwrap_or_else(|| self.default_material());
        let key = (self.object.clone(), material);
        *self.group_of.entry(key).or_insert_with_key(|(object, _)| {
            let count = self.groups_in.entry(object.clone()).or_default();
            *count += 1;
            self.groups.push(Group {
                object: object.clone(),
                number: *count - 1,
                material,
                mesh: MeshData { name: object.clone(), ..MeshData::default() },
                vertices: HashMap::new(),
                has_uv: false,
                has_normals: false,
            });
            self.groups.len() - 1
        })
    }

    fn default_material(&mut self) -> MaterialId {
        // No name in a file is empty.
        *self.material_of.entry(String::new()).or_insert_with(|| {
            let materials = &mut self.loaded.scene.materials;
            materials.push(Material::diffuse("none", DEFAULT_REFLECTANCE));
            MaterialId::from_index(materials.len() - 1)
        })
    }

    /// Reads the material files of a `mtllib` line: one name, which may have spaces in it, or several.
    fn read_materials(&mut self, names: &str) {
        let whole = self.source.fetch(names);
        let files: Vec<_> = match whole {
            Ok(bytes) => vec![(names, Ok(bytes))],
            Err(_) => names.split_whitespace().map(|name| (name, self.source.fetch(name))).collect(),
        };
        for (name, content) in files {
            match content {
                Ok(bytes) => {
                    for material in mtl::read(&String::from_utf8_lossy(&bytes)) {
                        self.add_material(material);
                    }
                }
                Err(error) => self
                    .loaded
                    .warnings
                    .push(Problem::MissingMaterials { file: name.to_owned(), reason: error.to_string() }),
            }
        }
    }

    fn add_material(&mut self, entry: MtlMaterial) {
        let MtlMaterial { mut material, base_color_file, emission_file } = entry;
        material.base_color_texture = self.texture(&material, base_color_file);
        material.emission_texture = self.texture(&material, emission_file.filter(|_| material.is_emissive()));
        let id = MaterialId::from_index(self.loaded.scene.materials.len());
        // The first material of a name is the one that counts.
        self.material_of.entry(material.name.clone()).or_insert(id);
        self.loaded.scene.materials.push(material);
    }

    fn texture(&mut self, material: &Material, file: Option<String>) -> Option<TextureRef> {
        let file = file?.replace('\\', "/");
        let textures = &mut self.loaded.scene.textures;
        let known = textures.iter().position(|texture| texture.name == file);
        let decoded = || {
            let bytes = self.source.fetch(&file).map_err(|error| error.to_string())?;
            pictures::decode(&file, &bytes, ColorSpace::Srgb, [Wrap::Repeat; 2])
        };
        let index = known.map_or_else(
            || {
                textures.push(Arc::new(decoded()?));
                Ok::<_, String>(textures.len() - 1)
            },
            Ok,
        );
        match index {
            Ok(index) => Some(TextureRef::new(TextureId::from_index(index))),
            Err(reason) => {
                let material = material.name.clone();
                self.loaded.warnings.push(Problem::MissingTexture { material, texture: file, reason });
                None
            }
        }
    }

    fn finish(mut self) -> Loaded {
        let file = self.source.name.clone();
        self.loaded.warnings.extend(self.faults.into_iter().map(|(reason, line, more)| Problem::BadLine {
            file: file.clone(),
            line,
            reason: reason.to_owned(),
            more,
        }));
        let scene = &mut self.loaded.scene;
        self.groups.into_iter().for_each(|group| add_group(scene, group));
        self.loaded
    }
}

fn add_group(scene: &mut Scene, mut group: Group) {
    if !group.has_uv {
        group.mesh.uv0.clear();
    }
    if !group.has_normals {
        group.mesh.normals.clear();
    }
    let mesh = MeshId::from_index(scene.meshes.len());
    scene.meshes.push(Arc::new(group.mesh));
    let key = SurfaceKey::from_node(&group.object, group.number);
    scene.surfaces.push(Surface::new(key, mesh, group.material));
}

/// The place in a list of `length` that a one-based or negative index means, `None` when it lies outside.
fn index(word: &str, length: usize) -> Result<Option<usize>, &'static str> {
    let number: i64 = word.parse().map_err(|_| "a face has a corner that is no number and is left out")?;
    let length = length as i64;
    let index = if number < 0 { length.saturating_add(number) } else { number - 1 };
    Ok((0..length).contains(&index).then_some(index as usize))
}

/// The first numbers of a line; more, a weight or a colour, are passed over.
///
/// What cannot be read is NaN: a vertex still has its place in the order, and spoils its own triangles only.
fn numbers<const N: usize>(rest: &str) -> [f32; N] {
    let mut numbers = rest.split_whitespace().map(|number| number.parse::<f32>().unwrap_or(f32::NAN));
    core::array::from_fn(|_| numbers.next().unwrap_or(f32::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0 1.0\nv 0 1 0\nvt 0 0\nvt 1 0 0\nvt 1 1\nvt 0 1\nvn 0 0 2\n";

    fn parse(text: &str) -> Loaded {
        read(text.as_bytes(), &Source::of(Path::new("square.obj"))).unwrap()
    }

    #[test]
    fn each_face_form_gives_the_attributes_that_it_names() {
        for (face, has_uv, has_normals) in [
            ("f 1 2 3", false, false),
            ("f 1/1 2/2 3/3", true, false),
            ("f 1/1/1 2/2/1 3/3/1", true, true),
            ("f 1//1 2//1 3//1", false, true),
            ("f -4/-4/-1 -3/-3/-1 -2/-2/-1", true, true),
        ] {
            let loaded = parse(&format!("{SQUARE}{face}\n"));
            let mesh = &loaded.scene.meshes[0];
            assert!(loaded.warnings.is_empty(), "{face}");
            assert_eq!(mesh.positions, [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0)], "{face}");
            assert_eq!(mesh.triangles, [[0, 1, 2]], "{face}");
            // From the top: the file's (0, 0) is the lower left corner.
            let uv = if has_uv { vec![Vec2::Y, Vec2::ONE, Vec2::X] } else { Vec::new() };
            assert_eq!(mesh.uv0, uv, "{face}");
            assert_eq!(mesh.normals.len(), if has_normals { 3 } else { 0 }, "{face}");
        }
    }

    #[test]
    fn polygons_become_fans_and_share_their_vertices() {
        let loaded = parse(&format!("{SQUARE}f 1 2 3 4\nf 1 3 \\\n 4 # continued\n"));
        let mesh = &loaded.scene.meshes[0];
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 2, 3]]);
        assert_eq!(mesh.positions.len(), 4);
    }

    #[test]
    fn every_object_and_material_in_it_is_a_surface() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("my colours.mtl"), "newmtl red\nKd 1 0 0\nnewmtl lamp\nKe 5 5 5\n")
            .unwrap();
        let text = format!(
            "mtllib my colours.mtl\n{SQUARE}o room\nusemtl red\nf 1 2 3\nusemtl lamp\nf 1 3 4\nusemtl red\nf 1 2 4\n\
             g table\nf 1 2 3\n"
        );
        let loaded = read(text.as_bytes(), &Source::of(&directory.path().join("room.obj"))).unwrap();
        let surfaces = &loaded.scene.surfaces;
        let keys: Vec<&str> = surfaces.iter().map(|surface| surface.key.0.as_str()).collect();
        assert_eq!(keys, ["room:0", "room:1", "table:0"]);
        assert_eq!(loaded.scene.meshes[0].triangles.len(), 2);
        assert_eq!(loaded.scene.materials[surfaces[1].material.index()].emission, Vec3::splat(5.0));
        assert!(loaded.warnings.is_empty());
    }

    #[test]
    fn faults_are_named_once_with_their_line() {
        let loaded =
            parse(&format!("mtllib lost.mtl\n{SQUARE}f 1 2 9\nf 1 2 0\nf 1 2\nusemtl gold\nf 1 2 3\nf 1/77 2/2 3/3\n"));
        let sentences: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert!(sentences[0].contains("lost.mtl"), "{sentences:?}");
        assert!(sentences[1].starts_with("square.obj, line 11:") && sentences[1].contains("1 more"), "{sentences:?}");
        assert_eq!(loaded.scene.triangle_count(), 2);
        assert_eq!(loaded.scene.materials[0].base_color.truncate(), DEFAULT_REFLECTANCE);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"((v|vt|vn|f|o|usemtl|g)( -?[0-9]{1,2}(/-?[0-9]?){0,3}){0,5}\n){0,40}") {
            let scene = parse(&text).scene;
            for mesh in &scene.meshes {
                let corners = mesh.triangles.iter().flatten();
                assert!(corners.copied().all(|corner| (corner as usize) < mesh.positions.len()));
            }
        }
    }

    #[test]
    fn a_picture_is_no_obj() {
        assert!(read(b"\x89PNG\0\0", &Source::of(Path::new("a.obj"))).is_err());
    }
}
